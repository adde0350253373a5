//! Read: what changed behind the engine's back, and what it does not know yet.

use crate::harness::{json, on_both_protocols, secret};

on_both_protocols! {
    async fn drift_is_seen_in_outputs_and_inputs(host, session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World"})).await?;
        host.tamper(|object| object["body"] = json!("Moon"));

        let read = note.refresh(&made).await?.expect("the note is there");
        assert_eq!(read.id, made.id);
        assert_eq!(read.outputs["body"], "Moon");
        assert_eq!(read.inputs, json!({"title": "Hello", "body": "Moon"}));

        // The engine then asks Diff the other way round: what was read against what the program wants.
        let difference = note.diff(&read, &made.inputs).await?;
        assert!(difference.changes.contains(&"update body".to_owned()), "{difference:?}");
        let mended = note.update(&read, &made.inputs).await?;
        assert_eq!(mended.outputs["body"], "World");
    }

    async fn a_refresh_keeps_what_is_write_only_among_the_inputs(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "passphrase": secret("sesame-sesame")})).await?;
        let read = note.refresh(&made).await?.expect("the note is there");
        assert_eq!(read.inputs, made.inputs);
        assert_eq!(read.inputs["passphrase"], secret("sesame-sesame"));
        assert!(!note.diff(&read, &read.inputs).await?.some);
    }

    async fn a_record_of_the_framework_is_imported_with_its_private_state(session: conformance) {
        let record = session.record();
        let made = record.make(&json!({
            "name": "first", "title": "One", "labels": ["x"], "rules": [{"port": 80}], "settings": {"mode": "fast"},
        })).await?;
        let imported = record.import(&made.id).await?.expect("the record is there");
        assert_eq!(imported.id, made.id);
        assert_eq!(imported.inputs["title"], "One");
        assert_eq!(imported.inputs["settings"]["mode"], "fast");

        // The provider refuses whatever comes without the private state that it gave out with the import.
        let read = record.refresh(&imported).await?.expect("the record is there");
        let mut news = read.inputs.clone();
        news["title"] = json!("Two");
        let changed = record.update(&read, &record.check_again(&read.inputs, &news).await?.inputs).await?;
        assert_eq!(changed.outputs["etag"], "v2");
        record.delete(&changed).await?;
    }

    async fn private_state_that_was_lost_is_the_providers_error(session: conformance) {
        let record = session.record();
        let mut made = record.make(&json!({"name": "first"})).await?;
        let meta = made.outputs["__meta"].as_str().expect("private state is kept in __meta");
        assert!(meta.contains("private_state"), "{meta}");
        made.outputs.as_object_mut().expect("a bag").remove("__meta");
        let status = record.refresh(&made).await.expect_err("the provider wants its private state back");
        assert!(status.message().contains("Private state was lost"), "{status}");
    }
}
