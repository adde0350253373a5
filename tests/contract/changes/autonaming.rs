//! Names that Check makes up, where a program gives none.

use isthmus_proto::pulumirpc::check_request::AutonamingOptions;
use isthmus_proto::pulumirpc::check_request::autonaming_options::Mode;
use serde::{Deserialize, Serialize};

use crate::harness::engine::Severity;
use crate::harness::resource::{Difference, Resource};
use crate::harness::{Json, Outcome, Protocol, Setup, json, on_one_protocol, secret, unknown};

/// A name that the Go bridge has made.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
struct Made {
    resource: String,
    /// In hexadecimal.
    seed: String,
    name: String,
}

/// The test data of `bridge/package/names/random_digits.rs`, made anew by the program that it came from.
#[tokio::test]
async fn the_names_are_those_of_the_go_bridge() -> Outcome {
    let text = include_str!("../../../bridge/package/names/testdata/go_bridge_names.json");
    let recorded: Vec<Made> = serde_json::from_str(text).expect("test data");
    for setup in [Setup::conformance(Protocol::V6).go_bridge(), Setup::conformance(Protocol::V6)] {
        let (_host, session) = setup.session().await?;
        let mut made = recorded.clone();
        for row in &mut made {
            let seed = hex::decode(&row.seed).expect("test data");
            let record = session.resource("conformance:index/record:Record", &row.resource);
            let checked = record.check_named(&json!({}), &json!({}), &seed, None).await?;
            row.name = text_of(&checked.inputs["name"]);
        }
        let made_anew = serde_json::to_string_pretty(&made).expect("rows are JSON");
        assert!(made == recorded, "the names are now {made_anew}");
    }
    Ok(())
}

/// With HashiCorp's SDK, and as the Go bridge has it.
#[tokio::test]
async fn a_made_up_name_gives_way_to_what_the_sdk_says_it_conflicts_with() -> Outcome {
    for setup in [Setup::conformance(Protocol::V5).go_bridge(), Setup::conformance(Protocol::V5)] {
        let (_host, session) = setup.session().await?;
        let shapes = session.resource("conformance:index/legacyShapes:LegacyShapes", "shapes");
        let prefixed = json!({"namePrefix": "pre-", "atLeasts": [{"label": "x"}]});
        assert_eq!(shapes.checked(&prefixed).await?, prefixed);
        let named = shapes.checked(&json!({"atLeasts": [{"label": "x"}]})).await?;
        assert_eq!(text_of(&named["name"]), "shapes-d1b443e");
    }
    Ok(())
}

on_one_protocol! {
    async fn the_daemon_takes_what_the_user_wants_of_names(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.connect().await;
        let answer = session.handshake(host.engine.address()).await?;
        assert!(answer.supports_autonaming_configuration);
        session.parameterize(&[&host.provider()]).await?;
        let answer = session.configure(&json!({})).await?;
        assert!(answer.supports_autonaming_configuration);
    }

    async fn a_resource_without_a_name_gets_one(session: conformance) {
        let record = session.record();

        let [first, again] = [checked(&record, &[1; 32]).await?, checked(&record, &[1; 32]).await?];
        let other = checked(&record, &[2; 32]).await?;
        let [one, another] = [checked(&record, &[]).await?, checked(&record, &[]).await?];

        for name in [&first, &other, &one, &another] {
            let digits = name.strip_prefix("record-").unwrap_or_else(|| panic!("{name}"));
            assert!(digits.len() == 7 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
        }
        assert_eq!(first, again, "a seed always makes the same name");
        assert_ne!(first, other, "another seed makes another name");
        assert_ne!(one, another, "without a seed all names differ");
        let made = record.create(&json!({"name": first})).await?;
        assert_eq!(made.outputs["name"], first.as_str());
    }

    async fn a_name_that_was_made_up_stays_until_the_resource_is_replaced(session: conformance) {
        let record = session.record();
        let made = record.make(&json!({"title": "first"})).await?;
        let news = json!({"title": "second"});

        for wish in [None, propose("other"), enforce("other"), disable()] {
            let checked = record.check_named(&made.inputs, &news, &[9; 32], wish).await?;
            assert_eq!(checked.inputs, json!({"title": "second", "name": made.inputs["name"]}));
        }
        assert_eq!(record.diff(&made, &made.inputs).await?, Difference::default());
        // For a replacement, an engine asks as if the resource were new.
        let replacement = record.check_named(&json!({}), &news, &[9; 32], None).await?;
        assert_ne!(replacement.inputs["name"], made.inputs["name"]);
    }

    async fn the_name_of_a_program_is_left_alone(session: sandbox) {
        let bucket = session.resource("sandbox:index/bucket:Bucket", "bucket");
        for own in [json!("own"), secret("own"), unknown(), Json::Null, json!(5)] {
            let news = json!({"name": own});
            let checked = bucket.check_named(&json!({"name": "former"}), &news, &[1; 32], enforce("other")).await?;
            assert_eq!((checked.inputs, checked.failures), (news, vec![]));
        }
    }

    async fn only_what_is_called_name_is_named(session: sandbox) {
        let note = session.note();
        assert_eq!(note.checked(&json!({"title": "Hello"})).await?, json!({"title": "Hello"}));
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = server.checked(&json!({"disks": [{"mount": "/"}]})).await?;
        assert_eq!(inputs["disks"], json!([{"mount": "/"}]));
        assert!(text_of(&inputs["name"]).starts_with("server-"), "{inputs}");
    }

    async fn the_user_may_propose_and_enforce_names(session: conformance) {
        let record = session.record();
        for wish in [propose("wanted"), enforce("wanted")] {
            let checked = record.check_named(&json!({}), &json!({}), &[1; 32], wish).await?;
            assert_eq!((checked.inputs, checked.failures), (json!({"name": "wanted"}), vec![]));
        }
        let long = "n".repeat(256);
        let checked = record.check_named(&json!({}), &json!({}), &[1; 32], enforce(&long)).await?;
        assert_eq!(checked.inputs, json!({"name": long}), "what is enforced is not judged");
    }

    async fn a_name_that_has_to_be_there_and_is_not_made_is_missed_with_the_cause(session: conformance) {
        let long = "n".repeat(248);
        for (resource, wish, cause) in [
            ("record", disable(), "automatic naming is disabled (`pulumi:autonaming`"),
            ("record", propose(&"n".repeat(256)), "256 bytes long, more than 255"),
            (long.as_str(), None, "256 bytes long, more than 255"),
        ] {
            let record = session.resource("conformance:index/record:Record", resource);
            let checked = record.check_named(&json!({}), &json!({}), &[1; 32], wish).await?;
            let [(property, reason)] = &checked.failures[..] else { panic!("one failure: {checked:?}") };
            assert_eq!((property.as_str(), checked.inputs), ("name", json!({})));
            assert!(reason.starts_with("Missing required property 'name' (") && reason.contains(cause), "{reason}");
        }
    }

    async fn a_name_that_may_be_absent_is_absent_when_it_is_not_made(host, session: sandbox) {
        let bucket = session.resource("sandbox:index/bucket:Bucket", "bucket");
        let checked = bucket.check_named(&json!({}), &json!({}), &[1; 32], disable()).await?;
        assert_eq!((checked.inputs, checked.failures), (json!({}), vec![]));
        assert_eq!(host.engine.shown(), [], "who has disabled names need not be told");

        let wish = propose(&"n".repeat(256));
        let checked = bucket.check_named(&json!({}), &json!({}), &[1; 32], wish).await?;
        assert_eq!((checked.inputs, checked.failures), (json!({}), vec![]));
        let warning = host.engine.line("a warning", |line| line.severity == Severity::Warning).await;
        assert!(warning.message.contains("256 bytes long"), "{warning:?}");
        assert!(warning.message.contains("`name`"), "{warning:?}");
    }

    async fn a_made_up_name_gives_way_to_what_it_conflicts_with(host, session: sandbox) {
        let bucket = session.resource("sandbox:index/bucket:Bucket", "bucket");

        let made = bucket.make(&json!({"namePrefix": "pre-"})).await?;
        assert_eq!(made.inputs, json!({"namePrefix": "pre-"}));
        assert!(text_of(&made.outputs["name"]).starts_with("pre-"), "{made:?}");
        let validated = host.call_names().iter().filter(|call| call.starts_with("Validate")).count();
        assert_eq!(validated, 2, "the provider is asked once more: {:?}", host.call_names());

        let checked = bucket.check_again(&made.inputs, &json!({"namePrefix": "pre-"})).await?;
        assert_eq!((checked.inputs, checked.failures), (json!({"namePrefix": "pre-"}), vec![]));
    }

    async fn a_name_of_the_programs_own_does_not_give_way(session: sandbox) {
        let bucket = session.resource("sandbox:index/bucket:Bucket", "bucket");
        let checked = bucket.check(&json!({"name": "own", "namePrefix": "pre-"})).await?;
        let mut properties: Vec<&str> =
            checked.failures.iter().map(|(property, _)| property.as_str()).collect();
        properties.sort_unstable();
        assert_eq!(properties, ["name", "namePrefix"]);
        assert_eq!(checked.inputs["name"], "own");
    }

    async fn what_has_a_made_up_name_is_replaced_by_creating_first(session: sandbox) {
        // Its only required text is its name.
        let server = session.resource("sandbox:index/server:Server", "server");
        let order = async |program: Json, changed: Json| {
            let made = server.make(&program).await?;
            let news = server.check_again(&made.inputs, &changed).await?.inputs;
            assert_eq!(news["name"], made.inputs["name"]);
            let difference = server.diff(&made, &news).await?;
            assert_eq!(difference.replaces, ["image"]);
            Ok::<_, crate::harness::Status>(difference.delete_before_replace)
        };
        let own = order(json!({"name": "own", "image": "a"}), json!({"name": "own", "image": "b"})).await?;
        assert!(own, "a name that stays can only be taken when the old server has gone");
        let made_up = order(json!({"image": "a"}), json!({"image": "b"})).await?;
        assert!(!made_up, "the replacement gets another name");
        let own = order(json!({"name": "own", "image": "a"}), json!({"name": "own", "image": "b"})).await?;
        assert!(own, "the last check counts");
    }

    async fn a_name_that_could_be_absent_and_stays_is_replaced_by_deleting_first(session: sandbox) {
        let bucket = session.resource("sandbox:index/bucket:Bucket", "bucket");
        for (program, changed, is_deleted_first) in [
            (json!({"name": "own", "region": "a"}), json!({"name": "own", "region": "b"}), true),
            (json!({"name": "own", "region": "a"}), json!({"name": "new", "region": "b"}), false),
            (json!({"namePrefix": "own-", "region": "a"}), json!({"namePrefix": "own-", "region": "b"}), false),
            (json!({"region": "a"}), json!({"region": "b"}), false),
        ] {
            let made = bucket.make(&program).await?;
            let news = bucket.check_again(&made.inputs, &changed).await?.inputs;
            let difference = bucket.diff(&made, &news).await?;
            assert!(difference.replaces.contains(&"region".to_owned()), "{difference:?}");
            assert_eq!(difference.delete_before_replace, is_deleted_first, "{program} to {changed}");
        }
    }
}

/// The name that a resource without inputs gets.
async fn checked(resource: &Resource, seed: &[u8]) -> Result<String, crate::harness::Status> {
    let checked = resource.check_named(&json!({}), &json!({}), seed, None).await?;
    assert_eq!(checked.failures, []);
    Ok(text_of(&checked.inputs["name"]))
}

fn text_of(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text")).to_owned()
}

fn propose(name: &str) -> Option<AutonamingOptions> {
    Some(AutonamingOptions { proposed_name: name.to_owned(), mode: Mode::Propose.into() })
}

fn enforce(name: &str) -> Option<AutonamingOptions> {
    Some(AutonamingOptions { proposed_name: name.to_owned(), mode: Mode::Enforce.into() })
}

fn disable() -> Option<AutonamingOptions> {
    Some(AutonamingOptions { proposed_name: String::new(), mode: Mode::Disable.into() })
}
