//! Identities: stored, loaded, and given for imports.

use isthmus_proto::tfplugin6::resource_identity_schema::IdentityAttribute as Attribute;
use prost::Message as _;
use tfplugin6::get_resource_identity_schemas::Response as Schemas;

use super::*;
use crate::schema::testing::{attribute, block, schema};
use crate::testing::{Stage, strange_identity, unwired, wire};

const THING: &str = "x_thing";

async fn stage() -> Stage {
    let thing = schema(block(vec![attribute("id", "\"string\"", "c")], vec![]));
    Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: [(THING.to_owned(), thing.encode_to_vec().into())].into(),
        ..Default::default()
    })
    .await
}

fn message(version: i64) -> tfplugin6::ResourceIdentitySchema {
    let attribute = |name: &str, json: &str, required_for_import| Attribute {
        name: name.to_owned(),
        r#type: json.as_bytes().to_vec().into(),
        required_for_import,
        optional_for_import: !required_for_import,
        description: String::new(),
    };
    let identity_attributes = vec![
        attribute("region", "\"string\"", false),
        attribute("number", "\"number\"", true),
        attribute("parts", "[\"list\",\"string\"]", false),
    ];
    tfplugin6::ResourceIdentitySchema { version, identity_attributes }
}

fn schemas(version: i64) -> Schemas {
    Schemas { identity_schemas: [(THING.to_owned(), message(version))].into(), diagnostics: Vec::new() }
}

fn own() -> Type {
    IdentitySchema::compile(THING, &message(0)).expect("a schema").own
}

fn value(json: &str) -> Value {
    from_tree(&parsed(json), &own()).expect("an identity")
}

fn parsed(json: &str) -> Json {
    Json::parse(json.as_bytes()).expect("JSON")
}

fn data(json: &str) -> tfplugin6::ResourceIdentityData {
    tfplugin6::ResourceIdentityData { identity_data: wire(&value(json), &own()) }
}

fn thing(identity: Option<tfplugin6::ResourceIdentityData>) -> Object {
    Object { value: value("{}"), private: bytes::Bytes::new(), identity }
}

const WHOLE: &str = r#"{"number":9007199254740993,"parts":["a"],"region":null}"#;

#[tokio::test]
async fn an_identity_goes_to_the_store_and_back_and_its_schema_is_asked_for_once() {
    let stage = stage().await;
    stage.script.answer("GetResourceIdentitySchemas", schemas(3));
    let resource = stage.provider.resource(THING).expect("there is one");
    let mut warnings = Vec::new();
    assert_eq!(resource.identity_to_store(&thing(None), &mut warnings).await.expect("none"), None);
    assert_eq!(stage.script.calls(), ["GetProviderSchema"], "nothing needs the schema yet");

    let stored = resource.identity_to_store(&thing(Some(data(WHOLE))), &mut warnings).await.expect("stored");
    assert_eq!(stored, Some(StoredIdentity { schema_version: 3, json: parsed(WHOLE) }));
    let back = resource.identity_from_store(&stored.expect("there is one"), &mut warnings).await;
    let back = back.expect("it is read").expect("there is one");
    assert_eq!(unwired(back.identity_data.as_ref(), &own()), value(WHOLE));
    assert_eq!(stage.script.calls(), ["GetProviderSchema", "GetResourceIdentitySchemas"]);
}

#[tokio::test]
async fn providers_without_identities_have_none() {
    for answer in [None, Some(Schemas::default())] {
        let stage = stage().await;
        if let Some(answer) = answer {
            stage.script.answer("GetResourceIdentitySchemas", answer);
        }
        let resource = stage.provider.resource(THING).expect("there is one");
        let mut warnings = Vec::new();
        assert!(resource.identity_schema(&mut warnings).await.expect("an answer").is_none());
        let object = thing(Some(data(WHOLE)));
        assert_eq!(resource.identity_to_store(&object, &mut warnings).await.expect("none"), None);
        let stored = StoredIdentity { schema_version: 0, json: parsed(WHOLE) };
        assert_eq!(resource.identity_from_store(&stored, &mut warnings).await.expect("none"), None);
    }
}

#[tokio::test]
async fn a_failure_to_get_the_schemas_is_not_remembered() {
    let stage = stage().await;
    stage.script.fail("GetResourceIdentitySchemas", tonic::Status::internal("not now"));
    stage.script.answer("GetResourceIdentitySchemas", schemas(0));
    let resource = stage.provider.resource(THING).expect("there is one");
    resource.identity_schema(&mut Vec::new()).await.expect_err("not now");
    assert!(resource.identity_schema(&mut Vec::new()).await.expect("now").is_some());
}

#[tokio::test]
async fn an_older_identity_is_upgraded_and_a_newer_one_is_refused() {
    let stage = stage().await;
    stage.script.answer("GetResourceIdentitySchemas", schemas(2));
    let upgraded = tfplugin6::upgrade_resource_identity::Response {
        upgraded_identity: Some(data(WHOLE)),
        diagnostics: Vec::new(),
    };
    stage.script.answer("UpgradeResourceIdentity", upgraded);
    let resource = stage.provider.resource(THING).expect("there is one");
    let old = StoredIdentity { schema_version: 1, json: parsed(r#"{"old":1.50}"#) };
    let identity = resource.identity_from_store(&old, &mut Vec::new()).await.expect("upgraded");
    assert_eq!(identity, Some(data(WHOLE)));
    let request: tfplugin6::upgrade_resource_identity::Request =
        stage.script.request("UpgradeResourceIdentity");
    let raw = request.raw_identity.expect("there is one").json;
    assert_eq!((request.version, &*raw), (1, &br#"{"old":1.50}"#[..]));

    let newer = StoredIdentity { schema_version: 3, json: parsed("{}") };
    let error = resource.identity_from_store(&newer, &mut Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains("version 3") && error.contains("up to 2"), "{error}");
}

#[tokio::test]
async fn an_upgraded_identity_is_known_and_fits_its_schema() {
    let unknown = Some(tfplugin6::ResourceIdentityData { identity_data: wire(&Value::unknown(), &own()) });
    for (upgraded_identity, reason) in [
        (unknown, "its identity has unknown values"),
        (strange_identity(), "its identity does not fit its schema"),
    ] {
        let stage = stage().await;
        stage.script.answer("GetResourceIdentitySchemas", schemas(2));
        let upgraded =
            tfplugin6::upgrade_resource_identity::Response { upgraded_identity, diagnostics: Vec::new() };
        stage.script.answer("UpgradeResourceIdentity", upgraded);
        let resource = stage.provider.resource(THING).expect("there is one");
        let old = StoredIdentity { schema_version: 1, json: parsed("{}") };
        let error = resource.identity_from_store(&old, &mut Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("UpgradeResourceIdentity") && error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn an_identity_by_hand_has_exactly_the_schemas_attributes() {
    let stage = stage().await;
    stage.script.answer("GetResourceIdentitySchemas", schemas(0));
    let resource = stage.provider.resource(THING).expect("there is one");
    let schema = resource.identity_schema(&mut Vec::new()).await.expect("an answer").expect("a schema");
    for given in [WHOLE, r#"{"number": "9007199254740993", "parts": ["a"]}"#] {
        let identity = resource.identity_for_import(&schema, &parsed(given)).expect("an identity");
        assert_eq!(identity, data(WHOLE), "{given}");
    }
    let described = r#"it is a JSON object of "region" (a string, optional), "number" (a number), "parts" (a list, optional)"#;
    for (given, fault) in [
        (r#"{"nr": 1, "zone": 2}"#, r#"it has no attribute "nr", "zone", and "number" must be given; "#),
        (r#"{"number": null}"#, r#""number" must be given; "#),
        (r#"{"number": "x"}"#, "number: a number is required"),
        ("[]", "it is not a JSON object; "),
    ] {
        let error = resource.identity_for_import(&schema, &parsed(given)).unwrap_err().to_string();
        assert!(error.contains(fault) && error.ends_with(described), "{given}: {error}");
    }
}

#[tokio::test]
async fn a_faulty_identity_schema_is_its_resources_fault() {
    let stage = stage().await;
    let mut faulty = schemas(0);
    faulty.identity_schemas.get_mut(THING).expect("there is one").identity_attributes[0].r#type = "?".into();
    stage.script.answer("GetResourceIdentitySchemas", faulty);
    let resource = stage.provider.resource(THING).expect("there is one");
    let error = resource.identity_schema(&mut Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains(THING) && error.contains("at region"), "{error}");
}
