//! Check: what is wrong with a program is said at the property that is wrong.

use isthmus_proto::pulumirpc::CheckRequest;

use crate::harness::engine::Severity;
use crate::harness::{Code, Outcome, Setup, bag, json, on_one_protocol, secret};

on_one_protocol! {
    async fn keys_of_the_engines_own_pass(session: sandbox) {
        session.note().checked(&json!({"title": "Hello", "__defaults": ["priority"], "__other": {}})).await?;
    }

    async fn the_provider_judges_inputs_at_their_properties(session: sandbox) {
        let checked = session.note().check(&json!({"title": "", "labels": {"a.b": ""}})).await?;
        let mut failures = checked.failures;
        failures.sort();
        let [(label, label_reason), (title, title_reason)] = &failures[..] else { panic!("two: {failures:?}") };
        assert_eq!((label.as_str(), title.as_str()), ("", "title"));
        assert!(label_reason.contains("A label is empty"), "{label_reason}");
        assert!(label_reason.ends_with(r#"Examine values at 'note.labels["a.b"]'."#), "{label_reason}");
        assert!(title_reason.contains("Give the note a title of at least one character"), "{title_reason}");
    }

    async fn sensitive_inputs_are_marked_secret(session: sandbox) {
        let news = json!({"title": "Hello", "secretHint": "under the mat", "passphrase": secret("sesame")});
        let inputs = session.note().checked(&news).await?;
        assert_eq!(inputs["secretHint"], secret("under the mat"));
        assert_eq!(inputs["passphrase"], secret("sesame"));
        assert_eq!(inputs["title"], "Hello");
    }

    async fn a_resource_that_there_is_not_is_named_with_the_one_that_was_meant(session: sandbox) {
        let notes = session.resource("sandbox:index/notes:Notes", "notes");
        let status = notes.check(&json!({"title": "Hello"})).await.expect_err("there is no such resource");
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains("sandbox:index/note:Note"), "{status}");
        let status = notes.create(&json!({"title": "Hello"})).await.expect_err("there is no such resource");
        assert_eq!(status.code(), Code::NotFound);
    }

    async fn the_type_is_in_the_urn_as_well(session: sandbox) {
        // Engines before 3.154 do not send it by itself; a resource with a parent has its type before its own.
        let request = CheckRequest {
            urn: "urn:pulumi:test::contract::my:index:Group$sandbox:index/note:Note::note".to_owned(),
            olds: Some(bag(&json!({}))),
            news: Some(bag(&json!({"title": ""}))),
            ..Default::default()
        };
        let answer = session.call("Check", request, async |mut client, request| client.check(request).await).await?;
        assert_eq!(answer.failures.len(), 1);
        assert_eq!(answer.failures[0].property, "title");

        let request = CheckRequest { urn: "note".to_owned(), ..Default::default() };
        let status = session.call("Check", request, async |mut client, request| client.check(request).await).await;
        assert_eq!(status.expect_err("no URN").code(), Code::InvalidArgument);
    }

    async fn a_deprecated_property_is_warned_of_once(host, session: sandbox) {
        let note = session.note();
        note.checked(&json!({"title": "Hello", "tag": null})).await?;
        assert_eq!(host.engine.shown(), [], "null is not set");

        for _ in 0..2 {
            note.checked(&json!({"title": "Hello", "tag": "old"})).await?;
        }
        let [warning] = &host.engine.shown()[..] else { panic!("one warning: {:?}", host.engine.shown()) };
        assert_eq!(warning.severity, Severity::Warning);
        assert_eq!(warning.message, "This property is deprecated: Use labels. (at property `tag`)");
        assert_eq!(warning.urn, note.urn());
    }
}

/// The provider is on HashiCorp's framework, which warns of deprecated attributes itself.
#[tokio::test]
async fn a_deprecation_that_the_provider_speaks_of_is_not_repeated() -> Outcome {
    let (host, session) = Setup::foreign("local").session().await?;
    let file = session.resource("local:index/file:File", "file");
    file.checked(&json!({"filename": "x", "sensitiveContent": "y"})).await?;
    let [warning] = &host.engine.shown()[..] else { panic!("one warning: {:?}", host.engine.shown()) };
    assert!(warning.message.starts_with("Attribute Deprecated"), "{warning:?}");
    assert!(warning.message.contains("`sensitiveContent`"), "{warning:?}");
    Ok(())
}
