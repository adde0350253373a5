//! Where stored state comes from: what is kept of it, resources that become another type, and state that cannot be used.

use crate::harness::resource::{Difference, Resource};
use crate::harness::{Code, Json, Session, Setup, Stored, json, on_one_protocol, secret};

fn memo(session: &Session) -> Resource {
    session.resource("sandbox:index/memo:Memo", "memo")
}

fn meta(stored: &Stored) -> Json {
    serde_json::from_str(stored.outputs["__meta"].as_str().expect("a text")).expect("JSON")
}

/// The calls that were not there when there were `before`.
fn names_since(host: &crate::harness::Host, before: usize) -> Vec<String> {
    host.call_names().split_off(before)
}

on_one_protocol! {
    async fn state_says_which_type_of_which_provider_wrote_it(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello"})).await?;
        let source = json!({
            "provider": "registry.opentofu.org/hashicorp/sandbox",
            "resource_type": "sandbox_note",
        });
        assert_eq!(meta(&made)["isthmus"]["source"], source);
        assert_eq!(meta(&made)["schema_version"], "1");
        let changed = note.update(&made, &json!({"title": "Hi"})).await?;
        assert_eq!(meta(&changed)["isthmus"]["source"], source);
        let read = note.refresh(&changed).await?.expect("it is there");
        assert_eq!(meta(&read)["isthmus"]["source"], source);
        let imported = note.import(&made.id).await?.expect("it is there");
        assert_eq!(meta(&imported)["isthmus"]["source"], source);
    }

    async fn state_of_a_provider_of_a_registry_says_which_version_wrote_it(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        host.place("registry.opentofu.org/acme/sandbox", "1.2.3");
        let session = host.greeted().await?;
        session.parameterize(&["acme/sandbox", "1.2.3"]).await?;
        session.configure(&json!({})).await?;
        let mut made = session.note().make(&json!({"title": "Hello"})).await?;
        let mut meta = meta(&made);
        assert_eq!(
            meta["isthmus"]["source"],
            json!({
                "provider": "registry.opentofu.org/acme/sandbox",
                "provider_version": "1.2.3",
                "resource_type": "sandbox_note",
            })
        );

        // As a later version would have left it.
        meta["schema_version"] = json!("7");
        meta["isthmus"]["source"]["provider_version"] = json!("2.0.0");
        made.outputs["__meta"] = json!(meta.to_string());
        let status = session.note().diff(&made, &made.inputs).await.expect_err("it is too new");
        let expected = "sandbox_note has schema version 7 (version 2.0.0 of the provider wrote it)";
        assert!(status.message().contains(expected), "{status}");
    }

    async fn of_a_type_that_the_provider_no_longer_has_the_version_that_had_it_is_named(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        host.place("registry.opentofu.org/acme/sandbox", "1.2.3");
        let session = host.greeted().await?;
        session.parameterize(&["acme/sandbox", "1.2.3"]).await?;
        session.configure(&json!({})).await?;
        let gone = session.resource("sandbox:index/card:Card", "card");
        let mut made = session.note().make(&json!({"title": "Hello"})).await?;
        let mut meta = meta(&made);
        meta["isthmus"]["source"]["provider_version"] = json!("1.1.0");
        made.outputs["__meta"] = json!(meta.to_string());
        for status in [
            gone.diff(&made, &made.inputs).await.expect_err("a difference"),
            gone.update(&made, &made.inputs).await.expect_err("an update"),
            gone.refresh(&made).await.expect_err("a refresh"),
            gone.delete(&made).await.expect_err("a deletion"),
        ] {
            assert_eq!(status.code(), Code::NotFound, "{status}");
            let delete = format!("`pulumi state delete '{}'`", gone.urn());
            for part in ["has no resource \"sandbox:index/card:Card\"", "version 1.1.0 of the provider wrote", &delete] {
                assert!(status.message().contains(part), "{part}: {status}");
            }
        }
        let status = gone.create(&json!({})).await.expect_err("a creation");
        assert!(!status.message().contains("state delete"), "{status}");
    }

    async fn a_resource_whose_type_changes_is_taken_over(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let old = memo(&session).make(&json!({"name": "Hello", "text": "World"})).await?;
        let note = session.note();
        let news = note.check_again(&old.inputs, &json!({"title": "Hello", "body": "World"})).await?.inputs;

        let before = host.call_names().len();
        let difference = note.diff(&old, &news).await?;
        assert_eq!(difference.replaces, [""; 0], "{difference:?}");
        // A memo has no priority, for which a note has a default; its name has become the title.
        assert!(difference.changes.contains(&"update priority".to_owned()), "{difference:?}");
        assert!(!difference.changes.iter().any(|change| change.contains("title")), "{difference:?}");
        assert_eq!(names_since(&host, before), ["MoveResourceState", "ReadResource", "PlanResourceChange"]);
        let moved = host.calls().into_iter().find(|call| call["call"] == "MoveResourceState").expect("the move");
        assert_eq!(moved["type_name"], "sandbox_note");
        assert_eq!(moved["source"], "registry.opentofu.org/hashicorp/sandbox sandbox_memo");
        assert_eq!((&moved["version"], &moved["private"]), (&json!(3), &json!("{\"sandbox_memo\":true}")));

        let before = host.call_names().len();
        let updated = note.update(&old, &news).await?;
        assert_eq!(names_since(&host, before), ["PlanResourceChange", "ApplyResourceChange"], "it was read for both");
        assert_eq!(updated.outputs["priority"], 3);
        assert_eq!(meta(&updated)["isthmus"]["source"]["resource_type"], "sandbox_note");
        let before = host.call_names().len();
        assert!(!note.diff(&updated, &news).await?.some);
        assert_eq!(names_since(&host, before), ["UpgradeResourceState", "PlanResourceChange"]);
        note.delete(&updated).await?;
        assert!(host.objects().is_empty());
    }

    async fn what_was_read_of_a_moved_object_is_for_one_more_operation_on_the_same_properties(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let old = memo(&session).make(&json!({"name": "Hello", "text": "World"})).await?;
        let note = session.note();
        let news = note.check_again(&old.inputs, &json!({"title": "Hello", "body": "World"})).await?.inputs;
        let reads = || host.count("ReadResource");
        note.diff(&old, &news).await?;
        note.preview_update(&old, &news).await?;
        assert_eq!((host.count("MoveResourceState"), reads()), (1, 1), "of Diff and of the preview");
        note.diff(&old, &news).await?;
        assert_eq!(reads(), 2, "it is what is there now");
        let mut other = old.clone();
        other.outputs["text"] = json!("Edited");
        note.diff(&other, &news).await?;
        assert_eq!(reads(), 3, "other properties are of another object");
        note.delete(&other).await?;
        assert_eq!(reads(), 3);
        assert!(host.objects().is_empty());
    }

    async fn a_resource_whose_type_changed_can_be_read_and_deleted_as_what_it_is_now(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let old = memo(&session).make(&json!({"name": "Hello", "text": "World"})).await?;
        let before = host.call_names().len();
        let read = session.note().refresh(&old).await?.expect("the memo is there, as a note");
        let asked = names_since(&host, before);
        assert_eq!(asked.iter().filter(|name| *name == "ReadResource").count(), 1, "{asked:?}");
        assert_eq!((&read.id, &read.outputs["title"]), (&old.id, &json!("Hello")));
        assert_eq!(meta(&read)["isthmus"]["source"]["resource_type"], "sandbox_note");
        session.note().delete(&old).await?;
        assert!(host.objects().is_empty());
    }

    async fn what_is_not_to_be_changed_is_that_of_the_resource_as_it_is_now(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let old = memo(&session).make(&json!({"name": "Hello"})).await?;
        let news = json!({"title": "Another", "priority": 3});
        let difference = session.note().diff_in_full(&old, &news, &["title"]).await?;
        assert!(!difference.diffs.contains(&"title".to_owned()), "{difference:?}");
        assert!(difference.diffs.contains(&"priority".to_owned()), "{difference:?}");
    }

    async fn what_a_program_kept_secret_by_another_name_and_ignores_stays_secret(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let old = memo(&session).make(&json!({"name": "Hello", "text": secret("World")})).await?;
        let news = json!({"title": "Another", "body": "Everybody"});
        let updated = session.note().ignoring(&["body"]).update(&old, &news).await?;
        assert_eq!((&updated.outputs["title"], &updated.outputs["body"]), (&json!("Another"), &secret("World")));
    }

    async fn what_an_import_could_not_read_is_no_change_after_a_move_either(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_SENSITIVE", "withheld").with("SANDBOX_ODD", "true");
        let (_host, session) = setup.session().await?;
        let note = session.note();
        let program = |hint: &str| json!({"title": "Hello", "secretHint": secret(hint)});
        let made = note.make(&program("mat")).await?;
        let mut imported = note.import(&made.id).await?.expect("it is there");
        // As if it had been of a type that has the attribute as well.
        let mut meta = meta(&imported);
        meta["isthmus"]["source"]["resource_type"] = json!("sandbox_memo");
        imported.outputs["__meta"] = json!(meta.to_string());
        assert_eq!(note.diff(&imported, &program("mat")).await?, Difference::default());
        imported.inputs = program("mat");
        let difference = note.diff(&imported, &program("gate")).await?;
        assert!(difference.changes.contains(&"update secretHint".to_owned()), "{difference:?}");
    }

    async fn a_record_of_the_framework_becomes_a_place(host, session: conformance) {
        let made = session.record().make(&json!({"name": "first", "title": "One", "secret": secret("hush")})).await?;
        let place = session.resource("conformance:index/place:Place", "place");
        let news = place.check_again(&made.inputs, &json!({"name": "first", "note": "One"})).await?.inputs;
        assert!(!place.diff(&made, &news).await?.some, "nothing but the type has changed");
        assert!(!place.diff(&made, &news).await?.some, "and the engine goes on with what it has");
        let changed = place.update(&made, &json!({"name": "first", "note": "Two"})).await?;
        assert_eq!(changed.outputs["note"], "Two");
        assert_eq!(changed.outputs.get("secret"), None, "a place has no secret");
        place.delete(&changed).await?;
        assert!(host.objects().is_empty());
    }

    async fn a_move_that_the_provider_refuses_names_both_types(host, session: sandbox) {
        let old = session.faulty().make(&json!({"mode": "none"})).await?;
        let note = session.note();
        let news = json!({"title": "Hello"});
        for status in [
            note.diff(&old, &news).await.expect_err("Diff"),
            note.update(&old, &news).await.expect_err("Update"),
            note.refresh(&old).await.expect_err("Read"),
            note.delete(&old).await.expect_err("Delete"),
        ] {
            assert_eq!(status.code(), Code::Aborted, "nothing has happened: {status}");
            for words in ["sandbox_faulty", "sandbox_note", "Unable to Move Resource State", "Nothing was changed"] {
                assert!(status.message().contains(words), "{words}: {status}");
            }
        }
        assert!(!host.call_names()[4..].contains(&"ReadResource".to_owned()), "{:?}", host.call_names());
        session.faulty().delete(&old).await?;
    }

    async fn a_provider_from_before_moves_is_not_asked(protocol) {
        let minor = format!("{protocol}.3");
        let setup = Setup::sandbox(protocol).with("SANDBOX_MINOR", &minor).with("SANDBOX_ODD", "true");
        let (host, session) = setup.session().await?;
        let old = memo(&session).make(&json!({"name": "Hello"})).await?;
        let before = host.call_names().len();
        let status = session.note().diff(&old, &json!({"title": "Hello"})).await.expect_err("it cannot");
        for words in ["sandbox_memo", "sandbox_note", "does not support moves between types"] {
            assert!(status.message().contains(words), "{words}: {status}");
        }
        assert_eq!(names_since(&host, before), [""; 0]);
    }

    async fn state_that_does_not_say_where_it_comes_from_is_of_the_current_type(host, session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello"})).await?;
        let mut without = made.clone();
        without.outputs["__meta"] = json!("{\"schema_version\":\"1\"}");
        let before = host.call_names().len();
        assert!(!note.diff(&without, &made.inputs).await?.some);
        assert_eq!(names_since(&host, before), ["UpgradeResourceState", "PlanResourceChange"]);
    }

    async fn another_types_state_that_was_edited_is_not_guessed_at(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let made = memo(&session).make(&json!({"name": "Hello"})).await?;
        let mut edited = made.clone();
        edited.outputs.as_object_mut().expect("a bag").remove("__pulumi_raw_state_delta");
        let before = host.call_names().len();
        let status = session.note().diff(&edited, &json!({"title": "Hello"})).await.expect_err("nobody knows what it was");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
        for words in ["sandbox_memo", "sandbox_note", "restore it"] {
            assert!(status.message().contains(words), "{words}: {status}");
        }
        assert_eq!(names_since(&host, before), [""; 0]);
    }

    async fn state_that_is_too_new_is_refused_before_the_provider_is_asked(host, session: sandbox) {
        let note = session.note();
        let mut made = note.make(&json!({"title": "Hello"})).await?;
        let mut meta = meta(&made);
        meta["schema_version"] = json!("2");
        made.outputs["__meta"] = json!(meta.to_string());
        let before = host.call_names().len();
        for status in [
            note.diff(&made, &made.inputs).await.expect_err("Diff"),
            note.preview_update(&made, &made.inputs).await.expect_err("Update in a preview"),
            note.update(&made, &made.inputs).await.expect_err("Update"),
            note.refresh(&made).await.expect_err("Read"),
            note.delete(&made).await.expect_err("Delete"),
        ] {
            assert_eq!(status.code(), Code::Aborted, "nothing has happened: {status}");
            for words in [
                "the stored state of this sandbox_note has schema version 2",
                "the provider sandbox knows versions up to 1",
                "use the version of the provider that wrote it, or a newer one",
            ] {
                assert!(status.message().contains(words), "{words}: {status}");
            }
        }
        assert_eq!(names_since(&host, before), [""; 0]);
    }

    async fn an_upgrade_that_fails_or_makes_no_sense_stops_the_operation(host, session: sandbox) {
        let faulty = session.faulty();
        for (mode, words) in [
            ("error", "sandbox_faulty failed"),
            ("refusal", "asked to refuse"),
            ("nothing", "the upgraded object is null"),
            ("absent", "the upgraded object is null"),
            ("empty", "the upgraded object is null"),
            ("unknown", "some values are unknown"),
            ("garbage", "fault of the provider"),
            ("wrong-type", "fault of the provider"),
        ] {
            let made = faulty.make(&json!({"mode": mode, "during": "upgrade"})).await?;
            let before = host.call_names().len();
            for status in [
                faulty.diff(&made, &made.inputs).await.expect_err("Diff"),
                faulty.update(&made, &json!({"mode": "none"})).await.expect_err("Update"),
                faulty.refresh(&made).await.expect_err("Read"),
                faulty.delete(&made).await.expect_err("Delete"),
            ] {
                assert!(status.message().contains(words), "{mode}: {status}");
                assert!(![Code::Unknown, Code::Internal, Code::DataLoss].contains(&status.code()), "{mode}: {status}");
            }
            let asked = names_since(&host, before);
            assert!(asked.iter().all(|name| name == "UpgradeResourceState"), "{mode}: {asked:?}");
        }
    }
}
