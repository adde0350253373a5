//! Deletions that fail, and what the next attempt begins with.

use std::path::Path;

use crate::harness::engine::Severity;
use crate::harness::resource::half_made;
use crate::harness::said::portable;
use crate::harness::{Code, Host, Json, Session, Setup, Stored, json, on_one_protocol, secret};

/// Something that is deleted in two attempts.
async fn in_halves(session: &Session) -> Result<Stored, tonic::Status> {
    session.faulty().make(&json!({"mode": "halves", "during": "delete", "size": secret(271_828_182)})).await
}

async fn fails(session: &Session, stored: &Stored) {
    let status = session.faulty().delete(stored).await.expect_err("one half is left");
    assert_eq!(status.code(), Code::Aborted, "{status}");
    assert!(status.message().contains("sandbox_faulty deleted one half"), "{status}");
    assert!(half_made(&status).is_none(), "an engine has no place for it");
}

fn journal(host: &Host) -> std::path::PathBuf {
    host.directory().join("isthmus/journal/key")
}

/// The private data that came with the last call of this name.
fn last_private(host: &Host, name: &str) -> Json {
    host.calls().into_iter().rfind(|call| call["call"] == name).expect("it was called")["private"].clone()
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

on_one_protocol! {
    async fn a_deletion_goes_on_in_the_next_run(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        let made = in_halves(&session).await?;
        fails(&session, &made).await;
        let (_again, session) = Setup::sandbox(protocol).beside(&host).session().await?;
        session.faulty().delete(&made).await?;
    }

    async fn a_difference_and_a_change_begin_with_what_is_left(host, session: sandbox) {
        let faulty = session.faulty();
        let made = in_halves(&session).await?;
        fails(&session, &made).await;
        let mut news = made.inputs.clone();
        assert!(!faulty.diff(&made, &news).await?.some, "what the program says is still so");
        assert_eq!(last_private(&host, "PlanResourceChange"), "half deleted");
        news["size"] = json!(2);
        let changed = faulty.update(&made, &news).await?;
        assert_eq!(last_private(&host, "ApplyResourceChange"), "half deleted");
        // From here on the engine has it all.
        faulty.diff(&made, &news).await?;
        assert_eq!(last_private(&host, "PlanResourceChange"), "");
        fails(&session, &changed).await;
    }

    async fn a_read_hands_it_to_the_engine_and_a_preview_of_one_loses_nothing(host, session: sandbox) {
        let faulty = session.faulty();
        let made = in_halves(&session).await?;
        fails(&session, &made).await;
        // Nothing in the request tells a preview from the real one: an engine that stores no answer sends the same again.
        let _previewed = faulty.refresh(&made).await?.expect("one half is there");
        let read = faulty.refresh(&made).await?.expect("one half is there");
        assert_eq!(last_private(&host, "ReadResource"), "half deleted");
        assert_eq!(read.outputs["payload"], "half deleted");
        assert_eq!(read.outputs["size"], secret(271_828_182));
        faulty.diff(&made, &made.inputs).await?;
        assert_eq!(last_private(&host, "PlanResourceChange"), "half deleted", "the engine still has what it had");
        faulty.delete(&read).await?;
    }

    async fn what_an_engine_is_given_later_goes_before_what_is_left(host, session: sandbox) {
        let faulty = session.faulty();
        let made = in_halves(&session).await?;
        fails(&session, &made).await;
        let read = faulty.refresh(&made).await?.expect("one half is there");
        let mut news = made.inputs.clone();
        news["size"] = json!(2);
        let changed = faulty.update(&read, &news).await?;
        let again = faulty.update(&changed, &made.inputs).await?;
        assert_eq!(again.outputs, made.outputs, "the same properties, of another time");
        faulty.diff(&again, &again.inputs).await?;
        assert_eq!(last_private(&host, "PlanResourceChange"), "", "what was left has been overtaken");
    }

    async fn what_is_left_belongs_to_one_resource_with_these_properties(host, session: sandbox) {
        let made = in_halves(&session).await?;
        fails(&session, &made).await;
        let namesake = session.resource("sandbox:index/faulty:Faulty", "another");
        let mut changed = made.clone();
        changed.outputs["payload"] = json!("something else");
        let other = Stored { id: "another".to_owned(), ..made.clone() };
        for (resource, stored) in [(&namesake, &made), (&session.faulty(), &changed), (&session.faulty(), &other)] {
            resource.diff(stored, &made.inputs).await?;
            assert_eq!(last_private(&host, "PlanResourceChange"), "");
        }
        session.faulty().diff(&made, &made.inputs).await?;
        assert_eq!(last_private(&host, "PlanResourceChange"), "half deleted");
    }

    async fn nothing_is_kept_in_the_clear_and_nothing_of_what_was_there_before(host, session: sandbox) {
        let made = in_halves(&session).await?;
        for mode in ["error", "partial", "leftover"] {
            let same = session.faulty().make(&json!({"mode": mode, "during": "delete"})).await?;
            session.faulty().delete(&same).await.expect_err(mode);
        }
        fails(&session, &made).await;
        assert!(journal(&host).exists());
        for file in files(&host.directory().join("isthmus")) {
            let bytes = std::fs::read(&file).expect("a file");
            for text in [&b"half deleted"[..], b"271828182"] {
                assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", file.display());
            }
        }
    }

    async fn a_journal_that_cannot_be_read_is_warned_of(host, session: sandbox) {
        std::fs::create_dir_all(journal(&host).parent().expect("a directory")).expect("a directory");
        std::fs::write(journal(&host), "no keys").expect("a file");
        let made = in_halves(&session).await?;
        assert!(!session.faulty().diff(&made, &made.inputs).await?.some);
        fails(&session, &made).await;
        let shown = host.engine.shown().into_iter().filter(|line| line.severity == Severity::Warning);
        let texts: Vec<String> = shown.map(|line| line.message).collect();
        for words in ["Failed to write the journal", "Failed to read what an earlier failed deletion has left", "Failed to store what the failed deletion has left"] {
            let told = texts.iter().any(|text| text.contains(words) && portable((*text).clone()).contains("isthmus/journal/key is damaged"));
            assert!(told, "{words}: {texts:?}");
        }
    }

    async fn unknown_values_after_a_change_are_told_by_their_places_and_the_rest_is_kept(session: sandbox) {
        let faulty = session.faulty();
        let status = faulty.make(&json!({"mode": "unknown"})).await.expect_err("something is still unknown");
        let kept = half_made(&status).expect("the engine is told what exists");
        let expected = "some values are still unknown, and are kept as null: payload";
        assert!(status.message().contains(expected), "{status}");
        let outputs = crate::harness::json_of(&kept.properties.expect("with its properties"));
        assert_eq!((&outputs["id"], outputs.get("payload")), (&json!(kept.id), None));

        let made = faulty.make(&json!({"mode": "none"})).await?;
        let status = faulty.update(&made, &json!({"mode": "unknown", "during": "update"})).await.expect_err("as well");
        assert!(status.message().contains(expected), "{status}");
        assert_eq!(half_made(&status).expect("it is told").id, made.id);
    }
}
