//! Rules about ids, about reading, and about state of an older schema.

use std::path::Path;

use super::driver::{At, Service};
use super::{Legacy, Rule, rules};
use crate::harness::{Code, Json, Outcome, Protocol, Setup, Stored, json};
use crate::lumirpc::tofu::isthmus;

const PAIR: &str = "sandbox:index/oddPair:OddPair";

rules! {
    "The id is the attribute `id`, else the identity, else a random text" in ["resource/identity"],
    legacy: Legacy::Same,
    async fn the_id_is_the_attribute_the_identity_or_random(at) {
        let client = at.start(Setup::sandbox(at.protocol).with("SANDBOX_ODD", "usable")).await?;
        for (token, inputs, id) in [
            ("sandbox:index/oddNumberId:OddNumberId", json!({"label": "a"}), "9007199254740993"),
            ("sandbox:index/oddPair:OddPair", json!({"zone": "z", "number": 1}), r#"{"number":1,"zone":"z"}"#),
        ] {
            assert_eq!(client.resource(token).make(&inputs).await?.id, id, "{token}");
        }
        let bare = client.resource("sandbox:index/oddBare:OddBare").make(&json!({"label": "a"})).await?;
        assert_eq!(bare.id.len(), 32, "{}", bare.id);
    }

    "An invalid identity in a response of the provider is an error, and replaces no valid one" in ["resource/identity"],
    legacy: Legacy::Same,
    async fn an_invalid_identity_replaces_no_valid_one(at) {
        let inputs = |label: &str| json!({"zone": "z", "number": 1, "label": label});
        for kind in ["unknown", "strange"] {
            let good = at.start(Setup::sandbox(at.protocol).with("SANDBOX_ODD", "usable")).await?;
            let made = good.resource(PAIR).make(&inputs("a")).await?;
            let applied = good.applied();
            let wrong = |method: &str| {
                let setup = Setup::sandbox(at.protocol).beside(&good.host).with("SANDBOX_ODD", "usable");
                at.start(setup.with("SANDBOX_IDENTITY", &format!("{method}:{kind}")))
            };
            let words = match kind {
                "unknown" => "its identity has unknown values",
                _ => "its identity does not fit its schema",
            };
            let client = wrong("PlanResourceChange").await?;
            let status = client.resource(PAIR).update(&made, &inputs("b")).await.expect_err(words);
            assert!(status.message().contains(words), "{kind}: {status}");
            assert_eq!((status.code(), client.applied()), (Code::Aborted, applied), "{kind}: {status}");

            let client = wrong("ReadResource").await?;
            let status = client.resource(PAIR).read(&made).await.expect_err(words);
            assert!(status.message().contains(words), "{kind}: {status}");

            let client = wrong("ApplyResourceChange").await?;
            let status = client.resource(PAIR).update(&made, &inputs("b")).await.expect_err(words);
            assert!(status.message().contains(words), "{kind}: {status}");
            assert_eq!(status.code(), Code::Unknown, "{kind}: {status}");
            let stored = client.resource(PAIR).after_failure(&made, &status);
            let another = json!({"zone": "z", "number": 2});
            let status = client.resource(PAIR).make(&another).await.expect_err(words);
            assert!(status.message().contains(words), "{kind}: {status}");

            // The identity is the one of the creation, and it is sent with the next change.
            let last = at.start(Setup::sandbox(at.protocol).beside(&good.host).with("SANDBOX_ODD", "usable")).await?;
            let updated = last.resource(PAIR).update(&stored, &inputs("c")).await?;
            assert_eq!(updated.outputs["label"], "c", "{kind}");
            if at.service == Service::Today {
                let identity = |stored: &Stored| {
                    let meta: Json = serde_json::from_str(stored.outputs["__meta"].as_str().expect("a text"))
                        .expect("JSON");
                    meta["isthmus"]["identity"].clone()
                };
                assert!(identity(&made).to_string().contains("zone"), "{:?}", made.outputs);
                assert_eq!(identity(&stored), identity(&made), "{kind}");
            }
        }
    }

    "A provider that returns an identity where its schemas have none is reported" in ["resource/identity"],
    legacy: Legacy::Same,
    async fn an_undeclared_identity_is_an_error(at) {
        let setup = Setup::sandbox(at.protocol).with("SANDBOX_ODD", "usable");
        let client = at.start(setup.with("SANDBOX_IDENTITY", "ReadResource:undeclared")).await?;
        let bare = client.resource("sandbox:index/oddBare:OddBare");
        let made = bare.make(&json!({"label": "a"})).await?;
        let status = bare.read(&made).await.expect_err("its type has none");
        let words = "it has an identity, of which the provider has no schema for this type";
        assert!(status.message().contains(words), "{status}");
    }

    "Read returns what is there now, and nothing where there is nothing" in ["resource/read"],
    legacy: Legacy::Same,
    async fn a_read_returns_what_is_there(at) {
        let client = at.sandbox().await?;
        let made = client.note().make(&json!({"title": "Hello", "body": "World"})).await?;
        client.host.tamper(|note| note["body"] = json!("Tampered"));
        assert_eq!(client.note().read(&made).await?.expect("it is there")["body"], "Tampered");
        client.host.lose_object();
        assert_eq!(client.note().read(&made).await?, None);
    }

    "An object that the engine does not know is imported by its id" in ["resource/read"],
    legacy: Legacy::Differs("Get is a look-up, so that nothing is stored"),
    async fn an_unknown_object_is_imported(at) {
        let first = at.sandbox().await?;
        let made = first.note().make(&json!({"title": "Hello"})).await?;
        let home = first.host.directory().join("another");
        let home = home.to_str().expect("a path in UTF-8");
        let setup = Setup::sandbox(at.protocol).beside(&first.host).with("ISTHMUS_HOME", home);
        let client = at.start(setup).await?;
        let found = client.note().look_up(&made.id).await?.expect("it is there");
        assert_eq!(found["title"], "Hello");
        if at.service == Service::Legacy {
            let listed = isthmus(Path::new(home), &["state", "list"]).succeeded();
            assert!(listed.stderr.contains("the state store holds no objects"), "{listed:?}");
        }
    }

    "A sensitive attribute that no read returns does not change an imported object" in ["resource/state", "resource/prior", "resource/read"],
    legacy: Legacy::Same,
    async fn what_no_read_returns_is_no_change(at) {
        let first = at.sandbox().await?;
        let inputs = json!({"title": "Hello", "secretHint": "under the mat"});
        let made = first.note().make(&inputs).await?;
        let home = first.host.directory().join("another");
        let home = home.to_str().expect("a path in UTF-8");
        let setup = Setup::sandbox(at.protocol)
            .beside(&first.host)
            .with("ISTHMUS_HOME", home)
            .with("SANDBOX_SENSITIVE", "withheld");
        let client = at.start(setup).await?;
        let taken = client.note().take_over(&made.id, &inputs).await?;
        assert_eq!(taken.outputs["secretHint"], json!(null));
        assert_eq!(client.note().replaces(&taken, &inputs).await?, [""; 0]);
        let news = json!({"title": "Hi", "secretHint": "under the mat"});
        let updated = client.note().update(&taken, &news).await?;
        assert_eq!(updated.outputs["title"], "Hi");
        assert_eq!(client.host.objects()[0]["secret_hint"], "under the mat");
    }

    "State of an older schema is upgraded by the provider" in ["resource/state"],
    legacy: Legacy::Same,
    async fn state_of_an_older_schema_is_upgraded(at) {
        let setup = |version| Setup::conformance(at.protocol).with("CONFORMANCE_SCHEMA_VERSION", version);
        for token in ["conformance:index/versioned:Versioned", "conformance:index/legacyVersioned:LegacyVersioned"] {
            let old = at.start(setup("0")).await?;
            let inputs = json!({"name": "first", "oldTitle": "One", "size": "5", "labels": "a,b"});
            let made = old.resource(token).make(&inputs).await?;
            let new = at.start(setup("3").beside(&old.host)).await?;
            let resource = new.resource(token);
            let read = resource.read(&made).await?.expect("it is there");
            assert_eq!((&read["title"], &read["size"], &read["labels"]), (&json!("One"), &json!(5), &json!(["a", "b"])));
            let news = json!({"name": "first", "title": "One", "size": 5, "labels": ["a", "b"]});
            assert_eq!(resource.replaces(&made, &news).await?, [""; 0], "{token}");
            let updated = resource.update(&made, &news).await?;
            assert_eq!(updated.outputs["labels"], json!(["a", "b"]));
            resource.delete(&updated).await?;
            assert!(new.host.objects().is_empty(), "{token}");
        }
    }

    "A refresh passes over stored inputs that do not fit the schema any more" in ["resource/stored_inputs"],
    legacy: Legacy::Inexpressible("it has no refresh; Get is called with an id alone"),
    async fn a_refresh_passes_over_inputs_of_an_older_schema(at) {
        let setup = |version| Setup::conformance(at.protocol).with("CONFORMANCE_SCHEMA_VERSION", version);
        let old = at.start(setup("0")).await?;
        let token = "conformance:index/versioned:Versioned";
        let made = old.resource(token).make(&json!({"name": "first", "oldTitle": "One", "labels": "a,b"})).await?;
        let new = at.start(setup("3").beside(&old.host)).await?;
        let difference = new.resource(token).today().diff(&made, &made.inputs).await?;
        assert!(difference.replaces.is_empty(), "{difference:?}");
    }
}
