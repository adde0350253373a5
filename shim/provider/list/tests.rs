//! Lists, event by event.

use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tfplugin6::resource_identity_schema::IdentityAttribute;

use super::*;
use crate::rules::testing::object;
use crate::schema::Block;
use crate::schema::testing::{attribute, block, compiled, schema};
use crate::testing::{Stage, diagnostic, unwired, wire};

const THING: &str = "x_thing";

fn thing() -> tfplugin6::schema::Block {
    block(vec![attribute("name", "\"string\"", "o")], vec![])
}

fn search() -> tfplugin6::schema::Block {
    block(vec![attribute("prefix", "\"string\"", "o")], vec![])
}

fn value(of: tfplugin6::schema::Block, text: &str) -> Value {
    object(&compiled(of), text)
}

/// A provider with list resources; `identified`: with identities.
async fn stage(identified: bool) -> Stage {
    let entry = |of| [(THING.to_owned(), schema(of).encode_to_vec().into())].into();
    let stage = Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: entry(thing()),
        list_resource_schemas: entry(search()),
        ..Default::default()
    })
    .await;
    let attribute = IdentityAttribute {
        name: "id".to_owned(),
        r#type: "\"string\"".into(),
        required_for_import: true,
        ..Default::default()
    };
    let identity = tfplugin6::ResourceIdentitySchema { version: 0, identity_attributes: vec![attribute] };
    stage.script.answer(
        "GetResourceIdentitySchemas",
        tfplugin6::get_resource_identity_schemas::Response {
            identity_schemas: identified.then(|| (THING.to_owned(), identity)).into_iter().collect(),
            diagnostics: Vec::new(),
        },
    );
    let valid = tfplugin6::validate_list_resource_config::Response::default();
    stage.script.answer("ValidateListResourceConfig", valid);
    stage
}

fn event(id: &str) -> Event {
    let own = Type::object([(Arc::from("id"), Type::String)]);
    let identity = Value::Object([(Arc::from("id"), Value::string(id))].into());
    let data = tfplugin6::ResourceIdentityData { identity_data: wire(&identity, &own) };
    Event { identity: Some(data), display_name: format!("thing {id}"), ..Event::default() }
}

async fn begin(
    stage: &Stage,
    include_object: bool,
    limit: Option<u64>,
) -> Result<(Listing, Vec<Diagnostic>), ProviderError> {
    let config = value(search(), r#"{"prefix": "a"}"#);
    let request = ListRequest { type_name: THING, config: &config, include_object, limit };
    let mut warnings = Vec::new();
    Ok((stage.provider.list(request, &mut warnings).await?, warnings))
}

/// The ids of the listed objects, and the error at the end, if any.
async fn read(stage: &Stage, listing: &mut Listing) -> (Vec<String>, Option<String>) {
    let mut ids = Vec::new();
    loop {
        match listing.next(&stage.provider, &mut Vec::new()).await {
            Ok(Some(found)) => ids.push(found.identity.to_string()),
            Ok(None) => return (ids, None),
            Err(error) => return (ids, Some(error.to_string())),
        }
    }
}

#[tokio::test]
async fn a_list_is_judged_and_then_read_event_by_event() {
    let stage = stage(true).await;
    let compiled: Block = compiled(thing());
    let state = value(thing(), r#"{"name": "a"}"#);
    let with_object = Event { resource_object: wire(&state, &compiled.implied_type), ..event("1") };
    stage.script.answer("ListResource", with_object);
    stage.script.answer("ListResource", event("2"));
    let (mut listing, _) = begin(&stage, true, None).await.expect("it begins");
    let next =
        listing.next(&stage.provider, &mut Vec::new()).await.expect("it goes on").expect("there is one");
    assert_eq!(
        (next.identity.to_string().as_str(), next.display_name.as_str()),
        (r#"{"id":"1"}"#, "thing 1")
    );
    assert_eq!(next.object, Some(state));
    let next =
        listing.next(&stage.provider, &mut Vec::new()).await.expect("it goes on").expect("there is one");
    assert_eq!(next.object, None);
    for _ in 0..2 {
        assert_eq!(listing.next(&stage.provider, &mut Vec::new()).await.expect("that was all"), None);
    }

    let own = compiled_search();
    let request: tfplugin6::validate_list_resource_config::Request =
        stage.script.request("ValidateListResourceConfig");
    assert_eq!(unwired(request.config.as_ref(), &own), value(search(), r#"{"prefix": "a"}"#));
    assert_eq!(unwired(request.include_resource_object.as_ref(), &Type::Bool), Value::Bool(true));
    assert_eq!(unwired(request.limit.as_ref(), &Type::Number), Value::Number(i64::MAX.into()));
    let request: tfplugin6::list_resource::Request = stage.script.request("ListResource");
    assert_eq!((request.include_resource_object, request.limit), (true, i64::MAX));
}

fn compiled_search() -> Type {
    compiled(search()).implied_type
}

#[tokio::test]
async fn no_more_is_read_than_is_wanted() {
    for (limit, ids) in [(1, 1), (2, 2), (9, 3)] {
        let stage = stage(true).await;
        ["1", "2", "3"].into_iter().for_each(|id| stage.script.answer("ListResource", event(id)));
        let (mut listing, _) = begin(&stage, false, Some(limit)).await.expect("it begins");
        assert_eq!(read(&stage, &mut listing).await.0.len(), ids);
        assert_eq!(listing.left(), Some(0));
        let request: tfplugin6::list_resource::Request = stage.script.request("ListResource");
        assert_eq!(u64::try_from(request.limit), Ok(limit));
    }
}

#[tokio::test]
async fn a_list_ends_where_an_event_cannot_be_used() {
    let invalid = |reason: &str| {
        format!(
            "the provider scripted answered ListResource of {THING} with something invalid: {reason}; this is a fault of the \
             provider"
        )
    };
    let unknown = wire(&Value::unknown(), &compiled(thing()).implied_type);
    let garbage = tfplugin6::DynamicValue { msgpack: "?".into(), json: bytes::Bytes::new() };
    let garbled = tfplugin6::ResourceIdentityData { identity_data: Some(garbage) };
    for (bad, expected) in [
        (Event { identity: None, ..event("x") }, invalid("it found something without an identity")),
        (
            Event { resource_object: unknown, ..event("x") },
            invalid("it found something of which not all is known"),
        ),
        (
            Event { diagnostic: vec![diagnostic(Severity::Error, "no access")], ..event("x") },
            "no access".to_owned(),
        ),
    ] {
        let stage = stage(true).await;
        [event("1"), bad, event("2")]
            .into_iter()
            .for_each(|event| stage.script.answer("ListResource", event));
        let (mut listing, _) = begin(&stage, true, None).await.expect("it begins");
        assert_eq!(read(&stage, &mut listing).await, (vec![r#"{"id":"1"}"#.to_owned()], Some(expected)));
    }
    let stage = stage(true).await;
    stage.script.answer("ListResource", Event { identity: Some(garbled), ..event("x") });
    let (mut listing, _) = begin(&stage, false, None).await.expect("it begins");
    let error = read(&stage, &mut listing).await.1.expect("it cannot be read");
    assert!(error.contains("an identity does not fit its schema"), "{error}");
}

#[tokio::test]
async fn a_warning_of_the_whole_list_is_no_object() {
    let stage = stage(true).await;
    let warning = vec![diagnostic(Severity::Warning, "slow")];
    stage.script.answer("ListResource", Event { diagnostic: warning, ..Event::default() });
    stage.script.answer("ListResource", event("1"));
    let (mut listing, _) = begin(&stage, false, None).await.expect("it begins");
    let mut warnings = Vec::new();
    let found =
        listing.next(&stage.provider, &mut warnings).await.expect("it goes on").expect("there is one");
    assert_eq!((found.display_name.as_str(), warnings.len()), ("thing 1", 1));
}

#[tokio::test]
async fn what_has_no_identity_cannot_be_listed() {
    let stage = stage(false).await;
    let error = begin(&stage, false, None).await.unwrap_err().to_string();
    assert!(error.contains("it can be listed, but has no identity"), "{error}");
}

#[tokio::test]
async fn a_list_resource_without_an_implementation_is_an_error() {
    let stage = stage(true).await;
    stage.script.fail("ListResource", tonic::Status::unimplemented("no lists"));
    let (mut listing, _) = begin(&stage, false, None).await.expect("it begins");
    let error = read(&stage, &mut listing).await.1.expect("there is no such call");
    assert_eq!(error, "the provider scripted does not support ListResource");
}
