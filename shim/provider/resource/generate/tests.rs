//! Which responses are a configuration.

use super::super::testing::{THING, existing, invalid, received, refusal, sent, stage, stage_with, value};
use super::*;

type Answer = tfplugin6::generate_resource_config::Response;

#[tokio::test]
async fn the_provider_is_asked_for_the_configuration_of_an_object() {
    let object = existing(r#"{"id": "1", "name": "a"}"#);
    let answers = [
        (sent(r#"{"name": "a"}"#), vec![], Ok(Some(value(r#"{"name": "a"}"#)))),
        (sent("null"), vec![], Err(invalid("GenerateResourceConfig", "the configuration is null"))),
        (sent(r#"{"name": "?"}"#), vec![], Err(invalid("GenerateResourceConfig", "some values are unknown"))),
        (None, refusal("not that one"), Err("not that one".to_owned())),
    ];
    for (config, diagnostics, expected) in answers {
        let offered = tfplugin6::ServerCapabilities { generate_resource_config: true, ..Default::default() };
        let stage = stage_with(offered).await;
        let resource = stage.provider.resource(THING).expect("there is one");
        stage.script.answer("GenerateResourceConfig", Answer { config, diagnostics });
        let generated = resource.generated_config(&object, &mut Vec::new()).await;
        match (generated.map_err(|error| error.to_string()), expected) {
            (Err(error), Err(expected)) => assert!(error.contains(&expected), "{error}"),
            (generated, expected) => assert_eq!(generated, expected),
        }
        let request: tfplugin6::generate_resource_config::Request =
            stage.script.request("GenerateResourceConfig");
        assert_eq!((&*request.type_name, received(request.state.as_ref())), (THING, object.value.clone()));
    }
}

#[tokio::test]
async fn a_provider_that_does_not_offer_it_is_not_asked() {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let generated = resource.generated_config(&existing(r#"{"id": "1"}"#), &mut Vec::new()).await;
    assert_eq!(generated.expect("nothing failed"), None);
    assert!(!stage.script.calls().iter().any(|call| call == "GenerateResourceConfig"));
}
