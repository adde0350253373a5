//! A provider in the test's own process with a configuration of every shape, functions of every type, and nothing else.
//!
//! What it says of a configuration depends on the value of `api_key`. It remembers the configurations that it was given.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use isthmus_cty::{Type, Value, json, msgpack};
use isthmus_proto::tfplugin6::attribute_path::step::Selector;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode;
use isthmus_proto::{tfplugin5, tfplugin6};
use isthmus_sandbox::Protocol;
use serde_json::{Value as Json, json};
use tonic::{Request, Response, Status};

use super::scripted::{Served, translated};
use super::{Host, Session, Setup};

/// A running provider of the type `settings`. It ends with this.
#[derive(Debug)]
pub(crate) struct Settings {
    served: Served,
    service: Service,
}

impl Settings {
    /// Serves a protocol.
    pub(crate) async fn start(protocol: Protocol) -> Self {
        let service = Service::default();
        Self { served: Served::start(protocol, service.clone()).await, service }
    }

    /// Starts it with a daemon that has chosen it, and has not configured it.
    pub(crate) async fn session(protocol: Protocol) -> Result<(Self, Host, Session), Status> {
        let provider = Self::start(protocol).await;
        let reattach = provider.served.reattach_as(&["settings"]);
        let host = Setup::sandbox(protocol).with("TF_REATTACH_PROVIDERS", &reattach).start().await;
        let session = host.greeted().await?;
        session.parameterize(&["./terraform-provider-settings"]).await?;
        Ok((provider, host, session))
    }

    /// The configurations that it was given so far.
    pub(crate) fn configurations(&self) -> Vec<Value> {
        self.service.configurations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The only configuration that it was given, without what is null or empty.
    pub(crate) fn configuration(&self) -> Json {
        let configurations = self.configurations();
        assert_eq!(configurations.len(), 1, "it was configured once: {configurations:?}");
        let text = json::to_json(&configurations[0], &config_type()).expect("it is known");
        let Ok(Json::Object(mut members)) = serde_json::from_str(&text) else { panic!("an object: {text}") };
        members.retain(|_, value| !value.is_null() && *value != json!([]));
        Json::Object(members)
    }
}

#[derive(Clone, Debug, Default)]
struct Service {
    configurations: Arc<Mutex<Vec<Value>>>,
}

impl Service {
    fn validated(config: Option<&tfplugin6::DynamicValue>) -> Vec<tfplugin6::Diagnostic> {
        let at = |steps: Vec<Selector>| {
            let steps = steps.into_iter();
            let steps = steps.map(|step| tfplugin6::attribute_path::Step { selector: Some(step) });
            Some(tfplugin6::AttributePath { steps: steps.collect() })
        };
        let attribute = |name: &str| Selector::AttributeName(name.to_owned());
        match key(&read(config)).as_deref() {
            None => vec![error(
                "Missing Configuration for Required Attribute",
                "Must set a configuration value for the api_key attribute.",
                at(vec![attribute("api_key")]),
            )],
            Some("bad") => vec![error("Bad key", "The \"api_key\" is bad", at(vec![attribute("api_key")]))],
            Some("root") => vec![error("Bad", "Set \"retry_count\".", None)],
            Some("nested") => vec![
                error(
                    "Bad user",
                    "",
                    at(vec![attribute("login"), Selector::ElementKeyInt(0), attribute("user_name")]),
                ),
                error(
                    "Bad tag",
                    "no",
                    at(vec![attribute("tags"), Selector::ElementKeyString("a b".to_owned())]),
                ),
                error(
                    "Missing required argument",
                    "The argument \"url\" is required.",
                    at(vec![attribute("endpoint"), Selector::ElementKeyInt(1), attribute("url")]),
                ),
            ],
            Some(_) => Vec::new(),
        }
    }

    fn configured(&self, config: Option<&tfplugin6::DynamicValue>) -> Vec<tfplugin6::Diagnostic> {
        let config = read(config);
        let refused = key(&config).as_deref() == Some("refused");
        self.configurations.lock().unwrap_or_else(PoisonError::into_inner).push(config);
        if refused {
            let text = "The \"api_key\" does not go with \"retry_count\", nor with \"nothing\"";
            return vec![error("Refused", text, None)];
        }
        Vec::new()
    }

    /// The first argument is the result.
    fn called(request: tfplugin6::call_function::Request) -> tfplugin6::call_function::Response {
        if request.name == "fail" {
            let error =
                tfplugin6::FunctionError { text: "it always does".to_owned(), function_argument: None };
            return tfplugin6::call_function::Response { result: None, error: Some(error) };
        }
        let result = request.arguments.into_iter().next();
        tfplugin6::call_function::Response { result, error: None }
    }
}

fn error(summary: &str, detail: &str, attribute: Option<tfplugin6::AttributePath>) -> tfplugin6::Diagnostic {
    tfplugin6::Diagnostic {
        severity: tfplugin6::diagnostic::Severity::Error.into(),
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        attribute,
    }
}

fn read(config: Option<&tfplugin6::DynamicValue>) -> Value {
    let config = config.expect("there is a configuration");
    msgpack::decode(&config.msgpack, &config_type()).expect("it fits the schema")
}

/// The text of `api_key`, empty while it is not known. `None`: it is not set.
fn key(config: &Value) -> Option<String> {
    let Value::Object(attributes) = config else { panic!("a configuration is an object: {config:?}") };
    match &attributes["api_key"] {
        Value::Null => None,
        Value::String(text) => Some(text.to_string()),
        _ => Some(String::new()),
    }
}

fn config_type() -> Type {
    let block = |attributes: &str| format!(r#"["list",["object",{{{attributes}}}]]"#);
    let endpoint = block(r#""insecure":"bool","url":"string""#);
    let login = block(r#""pass_word":"string","user_name":"string""#);
    let attributes = ATTRIBUTES.map(|(name, of)| format!("{name:?}:{of}")).join(",");
    let text = format!(r#"["object",{{{attributes},"endpoint":{endpoint},"login":{login}}}]"#);
    Type::from_json(text.as_bytes()).expect("a type")
}

const ATTRIBUTES: [(&str, &str); 8] = [
    ("anything", r#""dynamic""#),
    ("api_key", r#""string""#),
    ("debug", r#""bool""#),
    ("limits", r#"["object",{"max_size":"number","soft":"bool"}]"#),
    ("region", r#"["list","string"]"#),
    ("retry_count", r#""number""#),
    ("tags", r#"["map","string"]"#),
    ("zones", r#"["set","string"]"#),
];

fn schema() -> tfplugin6::get_provider_schema::Response {
    let attribute = |name: &str, of: &'static str| tfplugin6::schema::Attribute {
        name: name.to_owned(),
        r#type: Bytes::from_static(of.as_bytes()),
        description: if name == "api_key" { "The key.".to_owned() } else { String::new() },
        required: name == "api_key" || name == "url",
        optional: name != "api_key" && name != "url",
        sensitive: name == "api_key" || name == "pass_word",
        ..Default::default()
    };
    let nested = |name: &str, attributes, max_items| tfplugin6::schema::NestedBlock {
        type_name: name.to_owned(),
        block: Some(tfplugin6::schema::Block { attributes, ..Default::default() }),
        nesting: NestingMode::List.into(),
        min_items: 0,
        max_items,
    };
    let text = r#""string""#;
    let block = tfplugin6::schema::Block {
        attributes: ATTRIBUTES.into_iter().map(|(name, of)| attribute(name, of)).collect(),
        block_types: vec![
            nested("endpoint", vec![attribute("insecure", r#""bool""#), attribute("url", text)], 0),
            nested("login", vec![attribute("pass_word", text), attribute("user_name", text)], 1),
        ],
        ..Default::default()
    };
    let person = r#"["object",{"first_name":"string","how_old":"number"}]"#;
    let functions = [
        ("anything", r#""dynamic""#, true),
        ("fail", text, false),
        ("pair", r#"["tuple",["string","number"]]"#, false),
        ("person", person, false),
    ];
    let functions = functions.into_iter().map(|(name, of, allow_null_value)| {
        let parameter = tfplugin6::function::Parameter {
            name: "what_it_is".to_owned(),
            r#type: of.into(),
            allow_null_value,
            ..Default::default()
        };
        let further = tfplugin6::function::Parameter {
            name: "further_ones".to_owned(),
            r#type: text.into(),
            ..Default::default()
        };
        let function = tfplugin6::Function {
            parameters: vec![parameter],
            variadic_parameter: Some(further),
            r#return: Some(tfplugin6::function::Return { r#type: of.into() }),
            ..Default::default()
        };
        (name.to_owned(), function)
    });
    tfplugin6::get_provider_schema::Response {
        provider: Some(tfplugin6::Schema { version: 0, block: Some(block) }),
        functions: functions.collect::<HashMap<_, _>>(),
        ..Default::default()
    }
}

#[tonic::async_trait]
impl tfplugin5::provider_server::Provider for Service {
    async fn get_schema(
        &self,
        _: Request<tfplugin5::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin5::get_provider_schema::Response>, Status> {
        Ok(Response::new(translated(&schema())))
    }

    async fn prepare_provider_config(
        &self,
        request: Request<tfplugin5::prepare_provider_config::Request>,
    ) -> Result<Response<tfplugin5::prepare_provider_config::Response>, Status> {
        let config = request.get_ref().config.as_ref().map(translated);
        let diagnostics = Self::validated(config.as_ref()).iter().map(translated).collect();
        Ok(Response::new(tfplugin5::prepare_provider_config::Response { prepared_config: None, diagnostics }))
    }

    async fn configure(
        &self,
        request: Request<tfplugin5::configure::Request>,
    ) -> Result<Response<tfplugin5::configure::Response>, Status> {
        let config = request.get_ref().config.as_ref().map(translated);
        let diagnostics = self.configured(config.as_ref()).iter().map(translated).collect();
        Ok(Response::new(tfplugin5::configure::Response { diagnostics }))
    }

    async fn call_function(
        &self,
        request: Request<tfplugin5::call_function::Request>,
    ) -> Result<Response<tfplugin5::call_function::Response>, Status> {
        Ok(Response::new(translated(&Self::called(translated(request.get_ref())))))
    }
}

#[tonic::async_trait]
impl tfplugin6::provider_server::Provider for Service {
    async fn get_provider_schema(
        &self,
        _: Request<tfplugin6::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin6::get_provider_schema::Response>, Status> {
        Ok(Response::new(schema()))
    }

    async fn validate_provider_config(
        &self,
        request: Request<tfplugin6::validate_provider_config::Request>,
    ) -> Result<Response<tfplugin6::validate_provider_config::Response>, Status> {
        let diagnostics = Self::validated(request.get_ref().config.as_ref());
        Ok(Response::new(tfplugin6::validate_provider_config::Response { diagnostics }))
    }

    async fn configure_provider(
        &self,
        request: Request<tfplugin6::configure_provider::Request>,
    ) -> Result<Response<tfplugin6::configure_provider::Response>, Status> {
        let diagnostics = self.configured(request.get_ref().config.as_ref());
        Ok(Response::new(tfplugin6::configure_provider::Response { diagnostics }))
    }

    async fn call_function(
        &self,
        request: Request<tfplugin6::call_function::Request>,
    ) -> Result<Response<tfplugin6::call_function::Response>, Status> {
        Ok(Response::new(Self::called(request.into_inner())))
    }
}
