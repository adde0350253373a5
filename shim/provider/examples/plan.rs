//! Plans the creation of one resource of a provider binary, and prints what would be there:
//!
//! ```sh
//! cargo run -p isthmus-provider --example plan -- ./terraform-provider-random random_pet '{"length": 3}'
//! ```
//!
//! Attributes that the configuration leaves out are null. A provider that needs a configuration of its own is not served by this.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::error::Error;
use std::path::absolute;

use isthmus_cty::json::{Json, from_tree, to_json};
use isthmus_cty::{Type, Value};
use isthmus_provider::plugin::{LaunchSpec, LogSink, Plugin};
use isthmus_provider::schema::Schema;
use isthmus_provider::{CallObserver, KnownSchema, Provider, Resource};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(executable), Some(type_name), Some(config)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: plan PROVIDER_BINARY RESOURCE_TYPE CONFIGURATION_AS_JSON".into());
    };
    let spec = LaunchSpec::new("example", absolute(executable)?);
    let plugin = Plugin::launch(spec, LogSink::discard()).await?;
    let mut warnings = Vec::new();
    let provider =
        Provider::start("example", plugin, CallObserver::default(), KnownSchema::Nothing, &mut warnings)
            .await?
            .0;
    let planned = plan(&provider, &type_name, &config).await;
    // Before an error is returned: dropping a provider kills it.
    provider.shutdown().await;
    println!("{}", planned?);
    Ok(())
}

async fn plan(provider: &Provider, type_name: &str, config: &str) -> Result<String, Box<dyn Error>> {
    let mut warnings = Vec::new();
    let schema = provider.catalogue().provider()?;
    let own_config = configuration(&schema, "{}")?;
    provider.configure(&own_config, &mut warnings).await?;
    let resource: Resource<'_> = provider.resource(type_name)?;
    let config = configuration(resource.schema(), config)?;
    resource.validate(&config, &mut warnings).await?;
    let plan = resource.plan(None, &config, &mut warnings).await?;
    let known = without_unknowns(plan.planned);
    Ok(to_json(&known, &resource.schema().block.implied_type)?)
}

/// A configuration by the schema: missing attributes are null, missing blocks absent.
fn configuration(schema: &Schema, json: &str) -> Result<Value, Box<dyn Error>> {
    let Json::Object(mut members) = Json::parse(json.as_bytes())? else {
        return Err("the configuration has to be a JSON object".into());
    };
    let Type::Object(own) = &schema.block.implied_type else {
        unreachable!("the type of a block is an object")
    };
    for name in own.attributes.keys() {
        if !members.iter().any(|(given, _)| **given == **name) {
            members.push((name.to_string(), Json::Null));
        }
    }
    Ok(from_tree(&Json::Object(members), &schema.block.implied_type)?)
}

/// JSON has no unknown values: at the outermost level they become null.
fn without_unknowns(value: Value) -> Value {
    let Value::Object(attributes) = value else { return value };
    let known = attributes.into_iter().map(|(name, value)| {
        let is_known = !matches!(value, Value::Unknown(_));
        (name, if is_known { value } else { Value::Null })
    });
    Value::Object(known.collect())
}
