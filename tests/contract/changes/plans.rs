//! Plans that follow on others: of replacements, of what was previewed, and of what is left to do after a failure.

use crate::harness::resource::{Resource, half_made};
use crate::harness::{Code, Host, Json, Session, Stored, json, json_of, on_one_protocol, unknown};

fn server(session: &Session) -> Resource {
    session.resource("sandbox:index/server:Server", "server")
}

/// The private data that came with each plan of an object that was not there.
fn private_of_creations(host: &Host) -> Vec<String> {
    let plans = host
        .calls()
        .into_iter()
        .filter(|call| call["call"] == "PlanResourceChange" && call["prior_null"] == true);
    plans.map(|call| call["private"].as_str().expect("a text").to_owned()).collect()
}

on_one_protocol! {
    async fn nothing_is_handed_on_to_another_process(host, session: sandbox) {
        let made = server(&session).make(&json!({"name": "web", "image": "one"})).await?;
        let news = json!({"name": "web", "image": "two"});
        assert_eq!(server(&session).diff(&made, &news).await?.replaces, ["image"]);
        let other = host.session().await?;
        server(&other).make(&news).await?;
        assert_eq!(private_of_creations(&host), ["", ""]);
    }

    async fn nothing_is_handed_on_by_what_is_tainted(host, session: sandbox) {
        let server = server(&session);
        let news = json!({"name": "web", "bootTime": "1h", "timeouts": {"create": "10ms"}});
        let status = server.make(&news).await.expect_err("it does not boot in time");
        let kept = half_made(&status).expect("the engine is told what exists");
        let outputs = json_of(&kept.properties.expect("with its properties"));
        let stored = Stored { id: kept.id, inputs: news.clone(), outputs };
        assert!(!server.diff(&stored, &news).await?.replaces.is_empty());
        server.preview_create(&json!({"name": "web"})).await?;
        assert_eq!(private_of_creations(&host), ["", ""]);
    }

    async fn a_creation_that_is_not_what_was_previewed_is_not_begun(host, session: sandbox) {
        let faulty = session.faulty();
        for (previewed, created) in [
            (json!({"mode": "fickle", "during": "plan"}), json!({"mode": "fickle", "during": "plan"})),
            (json!({"mode": "fickle", "during": "plan", "size": unknown()}), json!({"mode": "fickle", "during": "plan", "size": 3})),
        ] {
            faulty.preview_create(&previewed).await?;
            let status = faulty.create(&created).await.expect_err("the provider has changed its mind");
            assert_eq!(status.code(), Code::Aborted, "nothing has happened: {status}");
            for words in ["inconsistent final plan", "sandbox_faulty", "provider sandbox", "payload"] {
                assert!(status.message().contains(words), "{words}: {status}");
            }
            assert!(!status.message().contains("change of mind"), "values may be secret: {status}");
        }
        assert_eq!(host.count("ApplyResourceChange"), 0);
    }

    async fn plans_for_other_inputs_or_of_other_processes_are_not_compared(host, session: sandbox) {
        let faulty = session.faulty();
        faulty.preview_create(&json!({"mode": "fickle", "during": "plan", "size": 2})).await?;
        faulty.create(&json!({"mode": "fickle", "during": "plan", "size": 3})).await?;
        faulty.preview_create(&json!({"mode": "fickle", "during": "plan"})).await?;
        let other = host.session().await?;
        other.faulty().create(&json!({"mode": "fickle", "during": "plan"})).await?;
    }

    async fn what_was_unknown_may_turn_out_to_be_anything(session: sandbox) {
        let note = session.note();
        note.preview_create(&json!({"title": unknown(), "body": "World"})).await?;
        let made = note.create(&json!({"title": "Hello", "body": "World"})).await?;
        note.preview_update(&made, &json!({"title": unknown(), "body": "World", "labels": {"a": unknown()}})).await?;
        let news = json!({"title": "Hi", "body": "World", "labels": {"a": "b"}});
        assert!(note.diff(&made, &news).await?.some);
        let changed = note.update(&made, &news).await?;
        assert_eq!(changed.outputs["labels"], json!({"a": "b"}));
    }

    async fn a_preview_supersedes_that_of_a_run_which_has_changed_nothing(host, session: conformance) {
        let timed = session.resource("conformance:index/legacyTimed:LegacyTimed", "timed");
        let made = timed.make(&json!({"name": "timed", "value": ""})).await?;
        // It plans no other `granted` for a value that it does not know.
        timed.preview_update(&made, &json!({"name": "timed", "value": unknown()})).await?;
        // The value turns out to be what it was, and the engine calls no Update.
        assert!(!timed.diff(&made, &json!({"name": "timed", "value": ""})).await?.some);
        let news = json!({"name": "timed", "value": "new"});
        timed.preview_update(&made, &news).await?;
        assert!(timed.diff(&made, &news).await?.some);
        assert_eq!(timed.update(&made, &news).await?.outputs["granted"], json!("update 15m0s"));
        timed.preview_update(&made, &json!({"name": "timed", "value": unknown()})).await?;
        let status = timed.update(&made, &news).await.expect_err("the same run");
        assert!(status.message().contains("inconsistent final plan"), "{status}");
        assert_eq!(host.count("ApplyResourceChange"), 2);
    }

    async fn an_update_without_a_difference_changes_nothing(host, session: sandbox) {
        let faulty = session.faulty();
        let made = faulty.make(&json!({"mode": "none", "during": "update"})).await?;
        let news = json!({"mode": "partial", "during": "update"});
        let status = faulty.update(&made, &news).await.expect_err("it goes wrong half way");
        let outputs: Json = json_of(&half_made(&status).expect("it is told").properties.expect("with its properties"));
        let stored = Stored { outputs, ..made };
        let before = host.call_names().len();
        assert!(!faulty.diff(&stored, &news).await?.some, "what the program wants is there");
        let same = faulty.update(&stored, &news).await?;
        assert_eq!(same.outputs, stored.outputs);
        // The state is upgraded once.
        let asked = ["UpgradeResourceState", "PlanResourceChange", "PlanResourceChange"];
        assert_eq!(host.call_names()[before..], asked);
    }

    async fn a_replacement_on_the_framework_and_on_the_sdk_starts_anew(host, session: conformance) {
        for resource in [session.record(), session.resource("conformance:index/legacy:Legacy", "legacy")] {
            let made = resource.make(&json!({"name": "first", "title": "One"})).await?;
            let news = resource.checked(&json!({"name": "second", "title": "One"})).await?;
            assert_eq!(resource.diff(&made, &news).await?.replaces, ["name"]);
            let preview = resource.preview_create(&news).await?;
            assert_eq!(preview.get("id").filter(|id| **id != unknown()), None, "the new object's id is not known yet");
            assert_eq!(resource.diff(&made, &news).await?.replaces, ["name"]);
            let second = resource.create(&news).await?;
            assert_eq!(second.id, "second-1");
            resource.delete(&made).await?;
            let read = resource.refresh(&second).await?.expect("it is there");
            assert!(!resource.diff(&read, &news).await?.some);
            resource.delete(&read).await?;
        }
        assert!(host.objects().is_empty());
    }
}
