//! Rules about inputs.

use super::driver::{At, Service};
use super::{Legacy, Rule, rules};
use crate::harness::{Json, Outcome, Protocol, json, secret};

rules! {
    "Check reports every input that does not fit the schema, at its property" in ["resource/check", "resource/failure"],
    legacy: Legacy::Same,
    async fn inputs_that_do_not_fit_are_reported_at_once(at) {
        let client = at.sandbox().await?;
        let (_, failures) = client.note().check(&json!({"pinned": [], "boddy": "x"})).await?;
        let mut properties: Vec<&str> = failures.iter().map(|(property, _)| property.as_str()).collect();
        properties.sort_unstable();
        assert_eq!(properties, ["", "pinned", "title"], "{failures:?}");
    }

    "A reason never quotes a secret value" in ["resource/failure"],
    legacy: Legacy::Same,
    async fn a_reason_never_quotes_a_secret(at) {
        let client = at.sandbox().await?;
        let (_, failures) = client.note().check(&json!({"title": "Hello", "secretHint": ["hunter2-hunter2"]})).await?;
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(!format!("{failures:?}").contains("hunter2"), "{failures:?}");
    }

    "The provider's own validation is reported at the property" in ["resource/diagnose", "resource/check"],
    legacy: Legacy::Same,
    async fn the_providers_validation_names_the_property(at) {
        let client = at.sandbox().await?;
        let (_, failures) = client.note().check(&json!({"title": ""})).await?;
        let [(property, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
        assert_eq!(property, "title");
        assert!(reason.contains("Give the note a title of at least one character"), "{reason}");
    }

    "A diagnostic of the provider about several properties is reported at one of them, or at none"
    in ["resource/diagnose", "resource/check"],
    legacy: Legacy::Same,
    async fn several_properties_are_validated_together(at) {
        let client = at.conformance().await?;
        let planner = client.resource("conformance:index/planner:Planner");
        let inputs = |read: Json, destroy: Json| {
            json!({"name": "first", "onValidate": "one", "onRead": read, "onDestroy": destroy})
        };
        let (_, failures) = planner.check(&inputs(json!("warn"), Json::Null)).await?;
        assert_eq!(failures, []);
        for (news, property, words) in [
            (inputs(json!("warn"), json!("warn")), "onRead", "Only one of these can be set"),
            (inputs(Json::Null, Json::Null), "", "Exactly one of these has to be set"),
        ] {
            let (_, failures) = planner.check(&news).await?;
            let [(found, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
            assert_eq!(found, property, "{reason}");
            assert!(reason.contains(words), "{reason}");
        }
    }

    "Check generates a name where a program gives none" in ["resource/autoname"],
    legacy: Legacy::Same,
    async fn a_name_is_generated(at) {
        let client = at.conformance().await?;
        let (inputs, failures) = client.record().check(&json!({"title": "One"})).await?;
        assert_eq!(failures, []);
        let name = inputs["name"].as_str().expect("a name");
        assert!(name.len() == "it-1234567".len() && name.starts_with("it-"), "{name}");
        let (again, _) = client.record().check(&json!({"title": "Two", "name": name})).await?;
        assert_eq!(again["name"], name, "it stays");
    }

    "Check adds no defaults of the provider to the inputs" in ["resource/check"],
    legacy: Legacy::Same,
    async fn check_adds_no_defaults(at) {
        let client = at.sandbox().await?;
        let (inputs, _) = client.note().check(&json!({"title": "Hello"})).await?;
        assert_eq!(inputs, json!({"title": "Hello"}), "the priority has a default");
    }

    "With `ISTHMUS_WRITE_ONLY=hash`, Check replaces a write-only value by a salted hash" in ["resource/write_only"],
    legacy: Legacy::Inexpressible("Check can only add to the inputs, so the engine stores the program's value"),
    async fn a_write_only_value_can_be_kept_from_the_engine(at) {
        let setup = crate::harness::Setup::conformance(at.protocol).with("ISTHMUS_WRITE_ONLY", "hash");
        let client = at.start(setup).await?;
        let news = json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1});
        let (inputs, _) = client.record().check(&news).await?;
        assert!(!inputs.to_string().contains("sesame"), "{inputs}");
        client.record().create(&inputs).await?;
        assert_eq!(client.host.objects()[0]["password"], "sesame");
    }

    "Write-only values reach the provider and are in no outputs" in ["rules/write_only"],
    legacy: Legacy::Same,
    async fn write_only_values_are_in_no_outputs(at) {
        let client = at.conformance().await?;
        let news = json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1});
        let made = client.record().make(&news).await?;
        assert_eq!(client.host.objects()[0]["password"], "sesame");
        assert_eq!(made.outputs.get("passwordWo").filter(|value| !value.is_null()), None);
        let read = client.record().read(&made).await?.expect("it is there");
        assert!(!read.to_string().contains("sesame"), "{read}");
    }

    "Sensitive outputs are secret" in ["rules/sensitive", "resource/state", "resource/target"],
    legacy: Legacy::Differs("the engine has no secrets, so that they are withheld, or returned in the clear with a warning"),
    async fn sensitive_outputs_are_secret(at) {
        for setting in ["show", "withhold"] {
            let setup = crate::harness::Setup::sandbox(at.protocol).with("ISTHMUS_SENSITIVE_OUTPUTS", setting);
            let client = at.start(setup).await?;
            let made = client.note().make(&json!({"title": "Hello", "secretHint": "under the mat"})).await?;
            let hint = made.outputs.get("secretHint").cloned().unwrap_or(Json::Null);
            let warned = client.warnings().iter().any(|warning| warning.contains("stored in the clear"));
            let expected = match (at.service, setting) {
                (Service::Today, _) => (secret("under the mat"), false),
                (Service::Legacy, "show") => (json!("under the mat"), true),
                (Service::Legacy, _) => (Json::Null, false),
            };
            assert_eq!((hint, warned), expected, "{setting}");
        }
    }
}
