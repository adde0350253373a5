//! Peers and state of another age than the daemon's.

use crate::harness::scripted::Ancient;
use crate::harness::{Code, Setup, Stored, json, on_both_protocols, secret};

on_both_protocols! {
    async fn what_a_provider_has_never_heard_of_is_not_supported(protocol) {
        let ancient = Ancient::start(protocol).await;
        let setup = Setup::sandbox(protocol).with("TF_REATTACH_PROVIDERS", &ancient.reattach());
        let host = setup.start().await;
        let session = host.greeted().await?;
        session.parameterize(&["./terraform-provider-ancient"]).await?;
        session.configure(&json!({})).await?;

        let thing = session.resource("ancient:index/thing:Thing", "thing");
        let inputs = json!({"name": "x"});
        let stored = Stored { id: "1".to_owned(), inputs: inputs.clone(), outputs: json!({"id": "1", "name": "x"}) };
        for (status, call) in [
            (thing.check(&inputs).await.expect_err("Check"), "Validate"),
            (thing.create(&inputs).await.expect_err("Create"), "PlanResourceChange"),
            (thing.refresh(&stored).await.expect_err("Read"), "UpgradeResourceState"),
            (thing.import("1").await.expect_err("import"), "ImportResourceState"),
        ] {
            let wanted = format!("the provider ancient does not support {call}");
            assert!(status.message().contains(&wanted), "{status}");
            assert!(![Code::Unknown, Code::Internal, Code::DataLoss].contains(&status.code()), "{status}");
        }
        // What it can do, it does; and asking it to stop is no reason to fail.
        session.schema().await?;
        session.cancel().await?;
    }

    async fn a_refresh_passes_over_what_inputs_of_an_older_schema_do_not_say_any_more(protocol) {
        let setup = |version| Setup::conformance(protocol).with("CONFORMANCE_SCHEMA_VERSION", version);
        let (host, session) = setup("0").session().await?;
        for (resource_type, labels) in [
            ("versioned:Versioned", &["delete labels"][..]),
            ("legacyVersioned:LegacyVersioned", &["delete labels[0]", "delete labels[1]"]),
        ] {
            let token = format!("conformance:index/{resource_type}");
            let inputs = json!({"name": "first", "oldTitle": "One", "size": secret("5"), "labels": "a,b"});
            let made = session.resource(&token, "it").make(&inputs).await?;

            // The title is called otherwise, and the labels are a list.
            let (_host, session) = setup("3").beside(&host).session().await?;
            let versioned = session.resource(&token, "it");
            let read = versioned.refresh(&made).await?.expect("it is there");
            assert_eq!((&read.outputs["title"], &read.outputs["labels"]), (&json!("One"), &json!(["a", "b"])));
            assert_eq!(read.outputs["size"], secret(5), "what is secret stays so");
            // An engine that refreshes compares with what it had stored.
            let difference = versioned.diff(&read, &made.inputs).await?;
            assert_eq!(difference.changes, [labels, &["delete title"]].concat());
            let news = json!({"name": "first", "title": "One", "size": secret(5), "labels": ["a", "b"]});
            assert!(!versioned.diff(&read, &news).await?.some, "a program of today");
        }
    }

    async fn a_secret_of_an_older_schema_stays_one_wherever_it_may_be_now(protocol) {
        let setup = |version| Setup::conformance(protocol).with("CONFORMANCE_SCHEMA_VERSION", version);
        let (host, session) = setup("0").session().await?;
        let token = "conformance:index/versioned:Versioned";
        let inputs = json!({"name": "first", "oldTitle": secret("One"), "size": "5", "labels": secret("a,b")});
        let made = session.resource(token, "it").make(&inputs).await?;
        let (_host, session) = setup("3").beside(&host).session().await?;
        let read = session.resource(token, "it").refresh(&made).await?.expect("it is there");
        assert_eq!((&read.outputs["title"], &read.outputs["labels"]), (&secret("One"), &secret(json!(["a", "b"]))));
        assert_eq!((&read.outputs["size"], &read.outputs["name"]), (&json!(5), &json!("first")));
    }

    async fn state_without_any_of_the_daemons_own_keys_works(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "labels": {"a": "b"}})).await?;
        let mut bare = made.clone();
        bare.outputs.as_object_mut().expect("a bag").retain(|name, _| !name.starts_with("__"));
        let changed = note.update(&bare, &json!({"title": "Hi", "labels": {"a": "b"}})).await?;
        assert_eq!(changed.outputs["title"], "Hi");
        note.delete(&bare).await?;
    }
}
