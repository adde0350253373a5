//! A client of protocol 6: its messages and own calls.

#[path = "lifecycle.rs"]
mod lifecycle;

use isthmus_cty::Type;
use isthmus_proto::tfplugin6 as message;
use isthmus_proto::tfplugin6::provider_client::ProviderClient;
use isthmus_sandbox::Protocol;
use tonic::transport::Channel;

type Client = ProviderClient<Channel>;

const PROTOCOL: Protocol = Protocol::V6;
const VALIDATE: &str = "ValidateResourceConfig";

fn attribute_type(attribute: &message::schema::Attribute) -> Type {
    use message::schema::object::NestingMode;
    let Some(nested) = &attribute.nested_type else {
        return Type::from_json(&attribute.r#type).expect("a type");
    };
    let one = nested.attributes.iter().map(|attribute| (attribute.name.as_str(), attribute_type(attribute)));
    let one = Type::object(one);
    match nested.nesting() {
        NestingMode::Single => one,
        NestingMode::List => Type::list(one),
        NestingMode::Set => Type::set(one),
        NestingMode::Map => Type::map(one),
        NestingMode::Invalid => panic!("{} has no nesting", attribute.name),
    }
}

async fn schema(client: &mut Client) -> message::get_provider_schema::Response {
    client.get_provider_schema(message::get_provider_schema::Request {}).await.expect("a schema").into_inner()
}

async fn configure(client: &mut Client, config: message::DynamicValue) -> Vec<message::Diagnostic> {
    let request = message::configure_provider::Request { config: Some(config), ..Default::default() };
    client.configure_provider(request).await.expect("an answer").into_inner().diagnostics
}

async fn validate(
    client: &mut Client,
    type_name: &str,
    config: message::DynamicValue,
) -> Vec<message::Diagnostic> {
    let request = message::validate_resource_config::Request {
        type_name: type_name.to_owned(),
        config: Some(config),
        client_capabilities: None,
    };
    client.validate_resource_config(request).await.expect("an answer").into_inner().diagnostics
}

async fn stop(client: &mut Client) {
    client.stop_provider(message::stop_provider::Request {}).await.expect("an answer");
}
