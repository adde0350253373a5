//! Deferrals: what a provider cannot do yet is told in previews, and changes nothing.

use crate::harness::engine::{SIGNATURE, Severity};
use crate::harness::resource::{half_made, is_awaited};
use crate::harness::{Code, Host, Json, Setup, json, on_both_protocols, unknown};

const GET_NOTE: &str = "sandbox:index/getNote:getNote";

/// The sandbox's word for each reason, and what users are told to see to.
const REASONS: [(&str, &str); 3] = [
    ("resource-config", "all of its inputs must be known"),
    ("provider-config", "all of the provider's own configuration must be known"),
    ("absent", "something that it depends on must exist"),
];

/// The only warning that was shown.
fn warning(host: &Host) -> String {
    let shown = host.engine.shown();
    let [line] = &*shown else { panic!("one line, not {shown:?}") };
    assert_eq!(line.severity, Severity::Warning);
    line.message.clone()
}

/// Whether the last of these calls said that it may be put off.
fn may_be_put_off(host: &Host, call: &str) -> Option<bool> {
    let calls = host.calls();
    let last = calls.iter().rev().find(|line| line["call"] == call);
    last.unwrap_or_else(|| panic!("there was no {call}"))["deferral_allowed"].as_bool()
}

on_both_protocols! {
    async fn a_creation_that_is_put_off_is_previewed_with_unknown_results_and_fails(protocol) {
        for (reason, first) in REASONS {
            let setup = Setup::sandbox(protocol).with("SANDBOX_DEFER", &format!("plan:{reason}"));
            let (host, session) = setup.session().await?;
            let note = session.note();
            let inputs = note.checked(&json!({"title": "Hello", "labels": {"a": unknown()}})).await?;
            let planned = note.preview_create(&inputs).await?;
            let expected = json!({
                "title": "Hello", "labels": {"a": unknown()}, "priority": unknown(),
                "id": unknown(), "checksum": unknown(), "revision": unknown(), "locked": unknown(),
            });
            assert_eq!(planned, expected);
            let warning = warning(&host);
            assert!(warning.contains("deferred this sandbox_note") && warning.contains(first), "{warning}");
            assert_eq!(may_be_put_off(&host, "PlanResourceChange"), Some(true));

            let status = note.make(&json!({"title": "Hello"})).await.expect_err("it has to wait");
            assert_eq!(status.code(), Code::Aborted);
            assert!(status.message().contains(first), "{status}");
            assert!(status.message().contains("sandbox_note cannot be created yet, and nothing was changed"), "{status}");
            assert!(half_made(&status).is_none(), "{status}");
            assert!(is_awaited(&status), "engines go on with what does not depend on it: {status}");
            let told = host.engine.shown().pop().expect("engines show no text of it");
            assert_eq!((told.severity, told.message.as_str()), (Severity::Warning, status.message()));
            assert!(host.objects().is_empty());
            assert!(!host.call_names().contains(&"ApplyResourceChange".to_owned()));
        }
    }

    async fn an_update_that_is_put_off_is_previewed_and_changes_nothing(protocol) {
        let (first, session) = Setup::sandbox(protocol).session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        let before = first.objects();

        let setup = Setup::sandbox(protocol).beside(&first).with("SANDBOX_DEFER", "plan:resource-config");
        let (host, session) = setup.session().await?;
        let note = session.note();
        assert!(!note.diff(&made, &made.inputs).await?.some, "nothing else is asked for");
        let mut news = made.inputs.clone();
        news["title"] = json!("Bye");
        let difference = note.diff(&made, &news).await?;
        assert!(difference.some && difference.replaces.is_empty(), "{difference:?}");
        assert!(difference.changes.contains(&"update title".to_owned()), "{difference:?}");
        let planned = note.preview_update(&made, &news).await?;
        assert_eq!((&planned["title"], &planned["checksum"]), (&json!("Bye"), &unknown()));
        assert!(warning(&host).contains("deferred this sandbox_note"), "it is told once");

        for news in [&news, &made.inputs] {
            let status = note.update(&made, news).await.expect_err("it has to wait");
            assert_eq!(status.code(), Code::Aborted);
            assert!(status.message().contains("cannot be changed yet, and nothing was changed"), "{status}");
            assert!(is_awaited(&status), "{status}");
        }
        assert_eq!(host.objects(), before);
    }

    async fn a_refresh_that_is_put_off_keeps_the_state(protocol) {
        for (reason, first) in REASONS {
            let (before, session) = Setup::sandbox(protocol).session().await?;
            let made = session.note().make(&json!({"title": "Hello"})).await?;
            before.tamper(|note| note["title"] = json!("Tampered"));

            let setup = Setup::sandbox(protocol).beside(&before).with("SANDBOX_DEFER", &format!("read:{reason}"));
            let (host, session) = setup.session().await?;
            assert_eq!(session.note().refresh(&made).await?, Some(made));
            let warning = warning(&host);
            assert!(warning.contains("deferred reading this sandbox_note") && warning.contains(first), "{warning}");
            assert_eq!(may_be_put_off(&host, "ReadResource"), Some(true));
        }
    }

    async fn an_import_that_is_put_off_fails(protocol) {
        let (first, session) = Setup::sandbox(protocol).session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        for operation in ["import", "read"] {
            for (reason, words) in REASONS {
                let defer = format!("{operation}:{reason}");
                let (host, session) =
                    Setup::sandbox(protocol).beside(&first).with("SANDBOX_DEFER", &defer).session().await?;
                let status = session.note().import(&made.id).await.expect_err("it has to wait");
                assert!(status.message().contains("cannot be imported yet"), "{status}");
                assert!(!is_awaited(&status), "only of changes do engines know it: {status}");
                assert!(status.message().contains(words), "{status}");
                assert_eq!(may_be_put_off(&host, "ImportResourceState"), Some(true));
            }
        }
    }

    async fn a_data_source_that_is_put_off_is_unknown_in_a_preview_and_fails_later(protocol) {
        for (reason, first) in REASONS {
            let setup = Setup::sandbox(protocol).with("SANDBOX_DEFER", &format!("data:{reason}"));
            let (host, session) = setup.session().await?;
            let found = session.preview_invoke(GET_NOTE, &json!({"title": "Hello"})).await?;
            assert_eq!(found, Ok(json!({"title": "Hello"})), "what this engine would refuse is left out");
            let warning = warning(&host);
            assert!(warning.contains("deferred reading the data source sandbox_note"), "{warning}");
            assert!(warning.contains(first), "{warning}");
            assert_eq!(may_be_put_off(&host, "ReadDataSource"), Some(true));

            let status = session.invoke(GET_NOTE, &json!({"title": "Hello"})).await.expect_err("it has to wait");
            assert!(status.message().contains("cannot be read yet") && status.message().contains(first), "{status}");
        }
    }

    async fn an_engine_that_takes_outputs_is_told_what_is_unknown(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_DEFER", "data:absent").start().await;
        let session = host.connect().await;
        assert!(session.handshake_with_outputs(host.engine.address()).await?.accepts_outputs_in_invoke);
        session.parameterize(&[&host.provider()]).await?;
        session.configure(&json!({})).await?;
        let title = output(Some(json!("Hello")), &["urn:one"]);
        let found = session.preview_invoke(GET_NOTE, &json!({"title": title})).await?.expect("it is not read");
        let later = output(None, &["urn:one"]);
        let expected = json!({
            "title": title, "id": later, "body": later, "labels": later, "revision": later, "secretHint": later,
        });
        assert_eq!(found, expected);
        assert!(warning(&host).contains("deferred reading the data source sandbox_note"));
    }

    async fn a_data_source_with_unknown_arguments_is_not_read_in_a_preview(host, session: sandbox) {
        let found = session.preview_invoke(GET_NOTE, &json!({"title": unknown()})).await?;
        assert_eq!(found, Ok(not_known_yet(&unknown())));
        let asked = host.call_names();
        assert!(!asked.iter().any(|call| call.contains("Data")), "{asked:?}");
        let failures = session.preview_invoke(GET_NOTE, &json!({"title": [unknown()]})).await?.expect_err("a list");
        assert_eq!(failures[0].0, "title");
    }

    async fn a_deferral_for_no_reason_or_where_it_was_not_offered_is_the_providers_fault(protocol) {
        let (first, session) = Setup::sandbox(protocol).session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        for (reason, words) in [("none", "without a reason"), ("future", "for reason 99, which no protocol has")] {
            let setup = Setup::sandbox(protocol).beside(&first);
            let defer = format!("plan+read+import+data:{reason}");
            let (_host, session) = setup.with("SANDBOX_DEFER", &defer).session().await?;
            let note = session.note();
            let mut failed = vec![
                note.preview_create(&json!({"title": "Hello"})).await.expect_err("a plan"),
                note.refresh(&made).await.expect_err("a refresh"),
                note.import(&made.id).await.expect_err("an import"),
            ];
            failed.push(session.preview_invoke(GET_NOTE, &json!({"title": "Hello"})).await.expect_err("a data source"));
            for status in failed {
                assert!(status.message().contains(words), "{status}");
                assert!(status.message().contains("the provider sandbox answered"), "{status}");
            }
        }
        let setup = Setup::sandbox(protocol).beside(&first).with("SANDBOX_DEFER", "destroy:absent");
        let (host, session) = setup.session().await?;
        let status = session.note().delete(&made).await.expect_err("the end cannot be put off");
        assert!(status.message().contains("the provider sandbox answered PlanResourceChange"), "{status}");
        assert!(status.message().contains("which was not offered to it"), "{status}");
        assert_eq!(may_be_put_off(&host, "PlanResourceChange"), Some(false));
        assert_eq!(host.objects().len(), 1);
    }

    async fn a_provider_without_all_of_its_configuration_puts_plans_off(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.parameterized().await?;
        session.configure(&json!({"directory": unknown()})).await?;
        let configure = if protocol == crate::harness::Protocol::V5 { "Configure" } else { "ConfigureProvider" };
        assert_eq!(may_be_put_off(&host, configure), Some(true));
        let planned = session.note().preview_create(&json!({"title": "Hello"})).await?;
        assert_eq!((&planned["title"], &planned["id"]), (&json!("Hello"), &unknown()));
        assert!(warning(&host).contains("all of the provider's own configuration must be known"));
    }
}

/// A value with what it depends on, if it is known.
fn output(value: Option<Json>, dependencies: &[&str]) -> Json {
    let mut output = json!({SIGNATURE: "d0e6a833031e9bbcd3f4e8bde6ca49a4", "dependencies": dependencies});
    if let Some(value) = value {
        output["value"] = value;
    }
    output
}

/// What is known of a note that was not looked up.
fn not_known_yet(title: &Json) -> Json {
    let unknown = unknown();
    json!({
        "title": title, "id": unknown, "body": unknown, "labels": unknown, "revision": unknown, "secretHint": unknown,
    })
}
