//! A provider as a whole: schema, configuration, data sources, functions, and failed calls.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_cty::Type;
use isthmus_proto::tfplugin5;
use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tonic::{Code, Status};

use super::*;
use crate::FunctionError;
use crate::schema::testing::{attribute, block, schema};
use crate::testing::{Script, Stage, diagnostic, unwired, wire};

fn configuration() -> tfplugin6::Schema {
    schema(block(vec![attribute("region", "\"string\"", "o")], vec![]))
}

fn answer() -> tfplugin6::get_provider_schema::Response {
    let data = schema(block(
        vec![attribute("name", "\"string\"", "r"), attribute("size", "\"number\"", "c")],
        vec![],
    ));
    let of = |own: &'static str| Bytes::from_static(own.as_bytes());
    let parameter = |own| tfplugin6::function::Parameter { r#type: of(own), ..Default::default() };
    let function = tfplugin6::Function {
        parameters: vec![parameter("\"string\"")],
        variadic_parameter: Some(parameter("\"dynamic\"")),
        r#return: Some(tfplugin6::function::Return { r#type: of("\"string\"") }),
        ..Default::default()
    };
    tfplugin6::get_provider_schema::Response {
        provider: Some(configuration()),
        data_source_schemas: HashMap::from([("x_data".to_owned(), data.encode_to_vec().into())]),
        functions: HashMap::from([("join".to_owned(), function)]),
        ..Default::default()
    }
}

fn region(name: &str) -> Value {
    Value::object([("region", name.into())])
}

fn region_type() -> Type {
    Type::object([("region", Type::String)])
}

fn data_type() -> Type {
    Type::object([("name", Type::String), ("size", Type::Number)])
}

fn data(size: Value) -> Value {
    Value::object([("name", "n".into()), ("size", size)])
}

#[tokio::test]
async fn a_process_is_asked_for_its_schema_once_and_configured_once() {
    let stage = Stage::of(answer()).await;
    stage.script.answer("ValidateProviderConfig", tfplugin6::validate_provider_config::Response::default());
    stage.script.answer("ConfigureProvider", tfplugin6::configure_provider::Response::default());
    let mut warnings = Vec::new();
    stage.provider.validate_config(&region("eu"), &mut warnings).await.expect("it is valid");
    stage.provider.configure(&region("eu"), &mut warnings).await.expect("it is configured");
    stage.provider.configure(&region("us"), &mut warnings).await.expect("it stays so");
    assert_eq!(stage.script.calls(), ["GetProviderSchema", "ValidateProviderConfig", "ConfigureProvider"]);
    let request: tfplugin6::configure_provider::Request = stage.script.request("ConfigureProvider");
    assert_eq!(unwired(request.config.as_ref(), &region_type()), region("eu"));
    assert_eq!(request.terraform_version, TERRAFORM_VERSION);
    let capabilities = request.client_capabilities.expect("it is told what we can do");
    assert!(capabilities.write_only_attributes_allowed && capabilities.deferral_allowed);
    assert!(capabilities.computed_blocks_allowed && !capabilities.store_planned_private);
}

#[tokio::test]
async fn a_configuration_that_failed_may_be_tried_again() {
    let stage = Stage::of(answer()).await;
    let refusal = tfplugin6::configure_provider::Response {
        diagnostics: vec![diagnostic(Severity::Error, "no such region")],
    };
    stage.script.answer("ConfigureProvider", refusal);
    stage.script.answer("ConfigureProvider", tfplugin6::configure_provider::Response::default());
    let mut warnings = Vec::new();
    let error = stage.provider.configure(&region("xx"), &mut warnings).await.unwrap_err();
    assert_eq!(error.to_string(), "no such region");
    stage.provider.configure(&region("eu"), &mut warnings).await.expect("it is configured");
    assert_eq!(stage.script.calls().len(), 3);
}

#[tokio::test]
async fn protocol_5_is_spoken_by_its_own_names() {
    let script = Script::default();
    script.answer(
        "GetSchema",
        tfplugin5::get_provider_schema::Response {
            provider: Some(tfplugin5::Schema {
                version: 0,
                block: Some(tfplugin5::schema::Block::default()),
            }),
            diagnostics: vec![tfplugin5::Diagnostic {
                severity: tfplugin5::diagnostic::Severity::Warning.into(),
                summary: "old".to_owned(),
                attribute: Some(tfplugin5::AttributePath {
                    steps: vec![tfplugin5::attribute_path::Step {
                        selector: Some(tfplugin5::attribute_path::step::Selector::AttributeName(
                            "region".to_owned(),
                        )),
                    }],
                }),
                ..Default::default()
            }],
            ..Default::default()
        },
    );
    // Core ignores the prepared configuration of SDKs, and so do we.
    let prepared = Some(tfplugin5::DynamicValue { msgpack: Bytes::from_static(&[0x80]), json: Bytes::new() });
    let answer =
        tfplugin5::prepare_provider_config::Response { prepared_config: prepared, ..Default::default() };
    script.answer("PrepareProviderConfig", answer);
    script.answer("Configure", tfplugin5::configure::Response::default());
    script.answer("Stop", tfplugin5::stop::Response::default());
    let (started, warnings) = Stage::start(ProtocolVersion::V5, script, KnownSchema::Nothing).await;
    let stage = started.expect("it starts");
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["region: old"]);
    let (nothing, mut warnings) = (Value::object::<&str>([]), Vec::new());
    stage.provider.validate_config(&nothing, &mut warnings).await.expect("it is valid");
    stage.provider.configure(&nothing, &mut warnings).await.expect("it is configured");
    stage.provider.stop().await.expect("it stops");
    assert_eq!(stage.script.calls(), ["GetSchema", "PrepareProviderConfig", "Configure", "Stop"]);
}

#[tokio::test]
async fn errors_in_the_schema_keep_a_provider_from_starting() {
    let script = Script::default();
    let diagnostics = vec![diagnostic(Severity::Error, "broken"), diagnostic(Severity::Warning, "and old")];
    script.answer("GetProviderSchema", tfplugin6::get_provider_schema::Response { diagnostics, ..answer() });
    let (started, warnings) = Stage::start(ProtocolVersion::V6, script, KnownSchema::Nothing).await;
    assert_eq!(started.err().map(|error| error.to_string()).as_deref(), Some("broken"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[tokio::test]
async fn a_schema_that_cannot_be_read_is_the_providers_fault() {
    let script = Script::default();
    // Another message: a number instead of a map.
    let garbage = tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() };
    script.answer("GetProviderSchema", garbage);
    let (started, _) = Stage::start(ProtocolVersion::V6, script, KnownSchema::Nothing).await;
    let error = started.err().map(|error| error.to_string()).unwrap_or_default();
    let expected = "the provider scripted answered GetProviderSchema with something invalid: ";
    assert!(error.starts_with(expected) && error.ends_with("; this is a fault of the provider"), "{error}");
}

#[tokio::test]
async fn a_known_schema_is_not_compiled_again() {
    let Stage { provider, news, .. } = Stage::of(answer()).await;
    let SchemaUpdate::New(first) = news else { panic!("nothing was known: {news:?}") };
    let known = Arc::clone(provider.catalogue());
    assert_eq!(first.fingerprint(), known.fingerprint());

    let script = Script::default();
    script.answer("GetProviderSchema", answer());
    let (again, _) = Stage::start(ProtocolVersion::V6, script, KnownSchema::Earlier(&known)).await;
    let again = again.expect("it starts");
    assert!(matches!(again.news, SchemaUpdate::AsKnown), "{:?}", again.news);
    assert!(Arc::ptr_eq(again.provider.catalogue(), &known));

    let script = Script::default();
    let changed = tfplugin6::get_provider_schema::Response { functions: HashMap::new(), ..answer() };
    script.answer("GetProviderSchema", changed);
    let (other, _) = Stage::start(ProtocolVersion::V6, script, KnownSchema::Earlier(&known)).await;
    let other = other.expect("it starts");
    let SchemaUpdate::New(second) = other.news else { panic!("it is another: {:?}", other.news) };
    assert_ne!(second.fingerprint(), known.fingerprint());
    assert!(other.provider.catalogue().functions().is_empty());
}

#[tokio::test]
async fn a_confirmed_schema_is_not_requested_for_a_day_if_the_provider_says_that_this_is_optional() {
    let capabilities = |optional| tfplugin6::ServerCapabilities {
        get_provider_schema_optional: optional,
        ..Default::default()
    };
    let hours = |number: u64| Duration::from_secs(number * 60 * 60);
    let now = SystemTime::now();
    for (optional, asked, is_requested) in [
        (true, now, false),
        (true, now - hours(23), false),
        (true, now - hours(25), true),
        (true, now + hours(1), true),
        (false, now, true),
    ] {
        let answer = tfplugin6::get_provider_schema::Response {
            server_capabilities: Some(capabilities(optional)),
            ..answer()
        };
        let known = Arc::clone(Stage::of(answer.clone()).await.provider.catalogue());
        let script = Script::default();
        script.answer("GetProviderSchema", answer);
        let confirmed = KnownSchema::Confirmed(&known, asked);
        let (started, _) = Stage::start(ProtocolVersion::V6, script, confirmed).await;
        let stage = started.expect("it starts");
        assert!(matches!(stage.news, SchemaUpdate::AsKnown), "{:?}", stage.news);
        assert_eq!(!stage.script.calls().is_empty(), is_requested, "{optional}, {asked:?}");
        assert_eq!(stage.provider.schema_time() == asked, !is_requested, "{optional}, {asked:?}");
    }
}

#[tokio::test]
async fn a_schema_that_came_with_a_warning_is_not_to_be_remembered() {
    let script = Script::default();
    let diagnostics = vec![diagnostic(Severity::Warning, "old")];
    script.answer("GetProviderSchema", tfplugin6::get_provider_schema::Response { diagnostics, ..answer() });
    let (started, warnings) = Stage::start(ProtocolVersion::V6, script, KnownSchema::Nothing).await;
    let stage = started.expect("it starts");
    assert!(matches!(stage.news, SchemaUpdate::Uncacheable), "{:?}", stage.news);
    assert_eq!(warnings.len(), 1);
}

#[tokio::test]
async fn unsupported_calls_are_distinguished_from_failed_ones() {
    let stage = Stage::of(answer()).await;
    let error = stage.provider.call_function("join", &["a".into()]).await.unwrap_err();
    assert_eq!(error.to_string(), "the provider scripted does not support CallFunction");
    assert!(matches!(error, FunctionError::Provider(ProviderError::Unsupported { .. })), "{error:?}");

    stage.script.fail("StopProvider", Status::resource_exhausted("too much"));
    let error = stage.provider.stop().await.unwrap_err();
    assert!(matches!(&error, ProviderError::Call { status, .. } if status.code() == Code::ResourceExhausted));
    assert_eq!(
        error.to_string(),
        "the call StopProvider of the provider scripted failed: too much (ResourceExhausted)"
    );
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_our_fault_and_never_sent() {
    let stage = Stage::of(answer()).await;
    let error = stage
        .provider
        .configure(&Value::object([("regoin", "eu".into())]), &mut Vec::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ProviderError::InvalidValue { .. }), "{error:?}");
    assert_eq!(stage.script.calls(), ["GetProviderSchema"]);
}

#[tokio::test]
async fn a_data_source_is_validated_and_read() {
    let stage = Stage::of(answer()).await;
    let valid = tfplugin6::validate_data_resource_config::Response {
        diagnostics: vec![diagnostic(Severity::Warning, "careful")],
    };
    stage.script.answer("ValidateDataResourceConfig", valid);
    let state = wire(&data(3.into()), &data_type());
    stage
        .script
        .answer("ReadDataSource", tfplugin6::read_data_source::Response { state, ..Default::default() });
    let mut warnings = Vec::new();
    let read = stage.provider.read_data_source("x_data", &data(Value::Null), &mut warnings).await;
    assert_eq!(read.expect("it is read"), DataSourceAnswer::Read(data(3.into())));
    assert_eq!(stage.script.calls()[1..], ["ValidateDataResourceConfig", "ReadDataSource"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let request: tfplugin6::read_data_source::Request = stage.script.request("ReadDataSource");
    assert_eq!(unwired(request.config.as_ref(), &data_type()), data(Value::Null));
    assert_eq!(request.provider_meta, None);
}

#[tokio::test]
async fn a_data_source_result_must_be_wholly_known() {
    let deferred = Some(tfplugin6::Deferred::default());
    for (state, deferred, expected) in [
        (None, None, "it returned no value where one was expected"),
        (wire(&data(Value::unknown()), &data_type()), None, "it returned values that are not known"),
        (wire(&data(1.into()), &data_type()), deferred, "it deferred the operation without a reason"),
    ] {
        let stage = Stage::of(answer()).await;
        let valid = tfplugin6::validate_data_resource_config::Response::default();
        stage.script.answer("ValidateDataResourceConfig", valid);
        stage.script.answer(
            "ReadDataSource",
            tfplugin6::read_data_source::Response { state, deferred, ..Default::default() },
        );
        let config = data(Value::Null);
        let error = stage.provider.read_data_source("x_data", &config, &mut Vec::new()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the provider scripted answered ReadDataSource of x_data with something invalid: {expected}; this is a \
                 fault of the provider"
            )
        );
    }
}

#[tokio::test]
async fn a_function_takes_each_argument_by_its_parameters_type() {
    let stage = Stage::of(answer()).await;
    let result = wire(&"a-1".into(), &Type::String);
    stage.script.answer("CallFunction", tfplugin6::call_function::Response { result, error: None });
    let more = Value::dynamic(Type::Number, 1.into());
    let joined = stage.provider.call_function("join", &["a".into(), more.clone()]).await;
    assert_eq!(joined.expect("it is called"), "a-1".into());
    let request: tfplugin6::call_function::Request = stage.script.request("CallFunction");
    let [first, second] = &*request.arguments else { panic!("{request:?}") };
    assert_eq!(unwired(Some(first), &Type::String), "a".into());
    assert_eq!(unwired(Some(second), &Type::Dynamic), more);
}

#[tokio::test]
async fn a_function_may_refuse_its_arguments() {
    let stage = Stage::of(answer()).await;
    let error = tfplugin6::FunctionError { text: "too long".to_owned(), function_argument: Some(0) };
    stage
        .script
        .answer("CallFunction", tfplugin6::call_function::Response { result: None, error: Some(error) });
    let error = stage.provider.call_function("join", &["a".into()]).await.unwrap_err();
    assert!(matches!(&error, FunctionError::Refused { argument: Some(0), .. }), "{error:?}");
    assert_eq!(error.to_string(), "too long");
    let error = stage.provider.call_function("join", &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "the function join takes at least 1 arguments, but 0 were given");
    let error = stage.provider.call_function("split", &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "the provider has no function split");
}

#[tokio::test]
async fn a_provider_with_metadata_is_sent_null_for_it() {
    let stage = Stage::of(tfplugin6::get_provider_schema::Response {
        provider_meta: Some(configuration()),
        ..answer()
    })
    .await;
    let valid = tfplugin6::validate_data_resource_config::Response::default();
    stage.script.answer("ValidateDataResourceConfig", valid);
    let state = wire(&data(3.into()), &data_type());
    stage
        .script
        .answer("ReadDataSource", tfplugin6::read_data_source::Response { state, ..Default::default() });
    let config = data(Value::Null);
    stage.provider.read_data_source("x_data", &config, &mut Vec::new()).await.expect("it is read");
    let request: tfplugin6::read_data_source::Request = stage.script.request("ReadDataSource");
    assert_eq!(unwired(request.provider_meta.as_ref(), &region_type()), Value::Null);
}
