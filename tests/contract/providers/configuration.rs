//! The provider's own configuration.

use isthmus_proto::pulumirpc::diff_response::DiffChanges;

use crate::harness::engine::Severity;
use crate::harness::{Code, Json, Setup, json, on_both_protocols, secret, unknown};

on_both_protocols! {
    async fn a_provider_may_judge_several_settings_at_once(protocol) {
        let host = Setup::conformance(protocol).start().await;
        let session = host.parameterized().await?;
        let check = async |token: Json, old_token: Json| {
            let news = json!({"region": "guarded", "token": token, "oldToken": old_token});
            Ok::<_, crate::harness::Status>(session.check_config(&json!({}), &news).await?.failures)
        };
        assert_eq!(check(secret("a"), Json::Null).await?, []);
        assert_eq!(check(secret("a"), unknown()).await?, []);
        for (failures, words, names_one) in [
            (check(secret("a"), secret("b")).await?, "Only one of these can be set", true),
            (check(Json::Null, Json::Null).await?, "Exactly one of these has to be set", false),
        ] {
            let [(_, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
            assert!(reason.contains(words), "{reason}");
            assert_eq!(reason.contains("`pulumi config get conformance:token`"), names_one, "{reason}");
        }
    }

    async fn a_changed_configuration_replaces_nothing(protocol) {
        let host = Setup::conformance(protocol).start().await;
        let session = host.parameterized().await?;
        let old = json!({"region": "north", "version": "0.0.0"});

        let same = session.diff_config(&old, &old).await?;
        assert!(same.replaces.is_empty() && same.diffs.is_empty(), "{same:?}");
        assert_eq!(same.changes(), DiffChanges::DiffNone);
        let unknown = session.diff_config(&old, &json!({"region": unknown(), "version": "0.0.0"})).await?;
        assert_eq!((unknown.changes(), unknown.diffs), (DiffChanges::DiffSome, vec!["region".to_owned()]));
        let moved = session.diff_config(&old, &json!({"region": "south", "version": "0.0.0"})).await?;
        assert_eq!(moved.diffs, ["region"]);
        assert_eq!(moved.replaces, [""; 0]);
        let newer = session.diff_config(&old, &json!({"region": "north", "version": "0.0.1"})).await?;
        assert_eq!(newer.replaces, [""; 0]);
        // Engines take the version of the plugin for the package's in later runs of a stack.
        let other = session.diff_config(&old, &json!({"region": "north", "version": "1.4.0"})).await?;
        assert_eq!((other.changes(), other.diffs), (DiffChanges::DiffNone, vec![]));
    }

    async fn the_provider_gets_its_configuration(protocol) {
        let host = Setup::conformance(protocol).start().await;
        let session = host.parameterized().await?;
        // Secrets may come in Configure, whatever was agreed.
        let arguments = json!({"region": "north", "token": secret("sesame"), "version": "0.0.0"});
        assert!(session.configure(&arguments).await?.supports_preview);

        session.record().make(&json!({"name": "first"})).await?;
        let found = session.invoke("conformance:index/getLookup:getLookup", &json!({"name": "first"})).await?;
        assert_eq!(found.expect("a record")["region"], "north");
    }

    async fn a_warning_about_the_configuration_is_shown_once(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_CONFIGURE", "warn").start().await;
        let session = host.parameterized().await?;
        session.configure(&json!({})).await?;
        let warnings = host.engine.shown();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].severity, Severity::Warning);
    }

    async fn a_provider_that_dies_of_its_configuration_is_quoted(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_CONFIGURE", "crash").start().await;
        let session = host.parameterized().await?;
        let status = session.configure(&json!({})).await.expect_err("the provider dies");
        assert!(status.message().contains("sandbox_faulty was asked to crash"), "{status}");
        assert_ne!(status.code(), Code::Unknown, "nothing has happened");
    }

    async fn nothing_reaches_a_provider_that_is_not_configured(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        let session = host.parameterized().await?;
        let note = session.note();
        let asked = host.call_names();
        let inputs = json!({"title": "Hello", "body": "again"});
        let refused = [
            ("Create", note.make(&inputs).await.map(drop).expect_err("Create")),
            ("Update", note.update(&made, &inputs).await.map(drop).expect_err("Update")),
            ("Delete", note.delete(&made).await.expect_err("Delete")),
            ("Read", note.refresh(&made).await.map(drop).expect_err("Read")),
            ("Diff", note.diff(&made, &inputs).await.map(drop).expect_err("Diff")),
            (
                "Invoke",
                session.invoke("sandbox:index/getNote:getNote", &json!({"title": "Hello"})).await.map(drop)
                    .expect_err("Invoke"),
            ),
        ];
        for (call, status) in refused {
            assert_eq!(status.code(), Code::FailedPrecondition, "{call}: {status}");
            assert!(status.message().contains("the provider sandbox is not configured"), "{call}: {status}");
        }
        let since = host.call_names()[asked.len()..].to_vec();
        let changing = ["ApplyResourceChange", "PlanResourceChange", "ReadResource", "ReadDataSource", "Configure"];
        assert!(!since.iter().any(|call| changing.contains(&call.as_str())), "{since:?}");
        assert_eq!(host.objects().len(), 1);
        // What needs no configuration is answered, and a Configure is not too late.
        assert_eq!(note.check(&inputs).await?.failures, []);
        session.configure(&json!({})).await?;
        note.delete(&made).await?;
    }
}
