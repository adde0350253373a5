//! Replays of recordings, by which it is seen what another isthmus or another provider does otherwise.

use std::process::Command;

use serde_json::Value;

use super::Said;
use super::record::{Recorded, life_of_a_record};
use crate::harness::host::program_path;
use crate::harness::{Protocol, Setup, Status, json, on_one_protocol, secret};

impl Recorded {
    /// A replay, with nothing around it but the recording.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env(isthmus_platform::HOME, self.directory.path().join("empty"))
            // Windows has it below the home directory otherwise.
            .env(crate::harness::TMPDIR, std::env::temp_dir());
        command.arg("replay").arg(self.file()).args(words).current_dir(self.directory.path());
        command
    }

    pub(super) fn replay(&self, words: &[&str]) -> Said {
        Said::of(&mut self.command(words))
    }

    /// Writes the recording otherwise.
    fn edit(&self, change: impl Fn(&mut Value)) {
        let mut lines = self.lines();
        lines.iter_mut().for_each(change);
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.file(), lines.concat()).expect("it is written");
    }
}

on_one_protocol! {
    async fn the_life_of_a_resource_is_the_same_when_it_is_replayed(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::conformance(protocol)).start().await;
        life_of_a_record(&host.parameterized().await?).await?;
        drop(host);
        // The provider is gone, and whatever it has written.
        let provider = program_path(recorded.directory.path().join("terraform-provider-conformance"));
        std::fs::rename(provider, recorded.directory.path().join("away")).expect("a link");
        let said = recorded.replay(&[]).well();
        assert_eq!(said, "11 calls of 1 session replayed; not replayed: Parameterize 1\nResult: the same\n");
    }

    async fn failures_are_the_same_when_they_are_replayed(protocol) {
        let recorded = Recorded::new();
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable");
        let host = recorded.setup(setup).start().await;
        let session = host.session().await?;
        let leak = session.resource("sandbox:index/leak:Leak", "leak");
        for how in ["error", "status", "partial", "warning"] {
            let inputs = json!({"secret": "hunter2-hunter2", "open": secret("hunter2"), "how": how, "during": "create"});
            drop(leak.make(&inputs).await);
        }
        drop(host);
        let said = recorded.replay(&[]).well();
        assert!(said.ends_with("Result: the same\n"), "{said}");
    }

    async fn what_differs_is_shown_line_by_line(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::sandbox(protocol)).start().await;
        host.session().await?.note().make(&json!({"title": "Milk", "priority": 2})).await?;
        drop(host);
        // As an isthmus would have recorded it that sends another configuration, and answers otherwise.
        recorded.edit(|line| match line["method"].as_str() {
            Some("PlanResourceChange") => line["request"]["config"]["title"] = json!("Bread"),
            Some("Check") => line["response"]["inputs"]["color"] = json!("blue"),
            _ => {}
        });
        let said = recorded.replay(&[]);
        assert_eq!(said.code, 1, "{said:?}");
        let expected = "\
Check urn:pulumi:test::contract::sandbox:index/note:Note::note
  response
    - inputs.color: \"blue\"
Create urn:pulumi:test::contract::sandbox:index/note:Note::note
  PlanResourceChange request
    - config.title: \"Bread\"
    + config.title: \"Milk\"

4 calls of 1 session replayed; not replayed: Parameterize 1
Result: 2 messages differ
";
        assert_eq!(said.stdout, expected);

        let said = recorded.replay(&["--json"]);
        assert_eq!(said.code, 1, "{said:?}");
        let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!((&document["format_version"], &document["command"]), (&json!("1.0"), &json!("replay")));
        assert_eq!((&document["same"], &document["calls"], &document["sessions"]), (&json!(false), &json!(4), &json!(1)));
        assert_eq!(document["not_replayed"], json!({"Parameterize": 1}));
        let first = &document["differences"][0];
        assert_eq!((&first["method"], &first["part"]), (&json!("Check"), &json!("response")));
        assert_eq!(first["lines"], json!(["- inputs.color: \"blue\""]));
    }

    async fn another_provider_shows_what_changes_and_is_not_made_to_change_anything(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::sandbox(protocol)).start().await;
        let session = host.session().await?;
        let note = session.note();
        let inputs = note.checked(&json!({"title": "Milk", "secretHint": "hunter2-hunter2"})).await?;
        note.preview_create(&inputs).await?;
        let made = note.create(&inputs).await?;
        note.diff(&made, &inputs).await?;
        note.delete(&made).await?;
        drop(host);
        let provider = recorded.directory.path().join("terraform-provider-sandbox");
        let mut command = recorded.command(&["--provider", provider.to_str().expect("a plain path")]);
        command.env("SANDBOX_PROTOCOL", protocol.to_string());
        command.env("SANDBOX_CALLS", recorded.directory.path().join("others"));
        command.env("SANDBOX_DIR", recorded.directory.path());
        let same = Said::of(&mut command).well();
        let skipped = "not replayed: Create 1, Delete 1, Parameterize 1";
        assert!(same.contains(skipped) && same.ends_with("Result: the same\n"), "{same}");
        let made = std::fs::read_to_string(recorded.directory.path().join("others")).expect("calls");
        assert!(made.contains("PlanResourceChange"), "{made}");
        assert!(!made.contains("ApplyResourceChange") && !made.contains("ReadResource"), "{made}");
    }

    async fn private_data_of_another_provider_is_its_own(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::conformance(protocol)).start().await;
        let session = host.session().await?;
        let record = session.record();
        let made = record.make(&json!({"name": "first", "title": "One"})).await?;
        let news = record.checked(&json!({"name": "first", "title": "Two"})).await?;
        record.preview_update(&made, &news).await?;
        drop(host);
        assert!(recorded.text().contains("private-0000"));
        let provider = recorded.directory.path().join("terraform-provider-conformance");
        let mut command = recorded.command(&["--provider", provider.to_str().expect("a plain path")]);
        command.env("CONFORMANCE_PROTOCOL", protocol.to_string());
        command.env("CONFORMANCE_DIR", recorded.directory.path());
        let said = Said::of(&mut command).well();
        assert!(said.ends_with("Result: the same\n"), "{said}");
    }

    async fn another_version_of_a_provider_shows_what_changes(protocol) {
        let recorded = Recorded::new();
        let setup = Setup::conformance(protocol).with("CONFORMANCE_SCHEMA_VERSION", "1");
        let host = recorded.setup(setup).start().await;
        let session = host.session().await?;
        let versioned = session.resource("conformance:index/versioned:Versioned", "it");
        let inputs = json!({"name": "it", "title": "One", "size": 5, "labels": "a,b"});
        let made = versioned.make(&inputs).await?;
        assert!(!versioned.diff(&made, &inputs).await?.some);
        drop(host);
        let provider = recorded.directory.path().join("terraform-provider-conformance");
        let replay = |version: &str| {
            let mut command = recorded.command(&["--provider", provider.to_str().expect("a plain path")]);
            command.env("CONFORMANCE_SCHEMA_VERSION", version).env("CONFORMANCE_PROTOCOL", protocol.to_string());
            command.env("CONFORMANCE_DIR", recorded.directory.path());
            Said::of(&mut command)
        };
        assert!(replay("1").well().ends_with("Result: the same\n"));
        let newer = replay("3");
        assert_eq!(newer.code, 1, "{newer:?}");
        for expected in [
            "Check urn:pulumi:test::contract::conformance:index/versioned:Versioned::it\n  response\n",
            "labels",
        ] {
            assert!(newer.stdout.contains(expected), "{expected:?}: {}", newer.stdout);
        }
    }
}

/// The recording of one checked note.
async fn checked_note() -> Result<Recorded, Status> {
    let recorded = Recorded::new();
    let host = recorded.setup(Setup::sandbox(Protocol::V6)).start().await;
    let session = host.session().await?;
    session.note().checked(&json!({"title": "Milk"})).await?;
    drop(host);
    Ok(recorded)
}

#[tokio::test]
async fn a_recording_does_not_say_where_its_replay_connects_or_what_a_terminal_does() -> Result<(), Status> {
    let recorded = checked_note().await?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    recorded.edit(|line| {
        if line["method"] == "Handshake" {
            line["request"]["engine_address"] = address.clone().into();
        }
        // A warning, which would be shown to the engine.
        if line["method"] == "ValidateResourceConfig" {
            line["response"]["diagnostics"] =
                json!([{"severity": "WARNING", "summary": "sent away", "detail": "", "attribute": null}]);
        }
        if line["method"] == "Parameterize" {
            line["method"] = "Cancel\u{1b}[31m".into();
        }
    });
    let said = recorded.replay(&[]);
    assert!(said.stdout.contains("not replayed: Cancel\\u{1b}[31m 1"), "{said:?}");
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{said:?}");
    listener.set_nonblocking(true).expect("it is ours");
    assert_eq!(listener.accept().expect_err("nothing connects").kind(), std::io::ErrorKind::WouldBlock);
    Ok(())
}

#[tokio::test]
async fn a_replay_that_compares_nothing_is_an_error() -> Result<(), Status> {
    let recorded = checked_note().await?;
    let of_another_provider = Setup::conformance(Protocol::V6).start().await;
    let provider = of_another_provider.directory().join("terraform-provider-conformance");
    let said = recorded.replay(&["--provider", provider.to_str().expect("a plain path")]).failed();
    assert!(said.contains("no call in"), "{said}");
    recorded.edit(|line| {
        if line["side"] == "engine" {
            line["method"] = "Cancel".into();
        }
    });
    assert!(recorded.replay(&[]).failed().contains("can be replayed, so nothing was compared"));
    recorded.edit(|line| {
        if line["method"] == "Cancel" {
            line["sequence"] = "one".into();
        }
    });
    assert!(recorded.replay(&[]).failed().contains("does not belong to a recording"));
    Ok(())
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_neither_waited_for_nor_read_for_ever() {
    let recorded = Recorded::new();
    isthmus_platform::files::symlink("/dev/zero", recorded.file()).expect("a link");
    assert!(recorded.replay(&[]).failed().contains("not a regular file"));
    std::fs::remove_file(recorded.file()).expect("it is ours");
    rustix::fs::mkfifoat(rustix::fs::CWD, recorded.file(), rustix::fs::Mode::RUSR).expect("a FIFO");
    assert!(recorded.replay(&[]).failed().contains("not a regular file"));
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let recorded = Recorded::new();
    assert!(recorded.replay(&[]).failed().contains("failed to open"));
    for (contents, expected) in [
        ("", "is not a recording"),
        ("notes\n", "is not a recording: its first line is not the header of one"),
        (
            "{\"kind\":\"header\",\"format_version\":\"2.0\"}\n",
            "has format version 2.0, and this isthmus reads 1.0",
        ),
        ("{\"kind\":\"header\",\"format_version\":\"1.0\"}\n{\"kind\":\n", "line 2 of"),
        ("{\"kind\":\"header\",\"format_version\":\"1.0\"}\n", "has no session with a provider"),
    ] {
        std::fs::write(recorded.file(), contents).expect("it is written");
        let said = recorded.replay(&[]).failed();
        assert!(said.contains(expected), "{contents:?}: {said}");
    }
    assert_eq!(recorded.replay(&["--provider-version", "1.0.0"]).code, 2, "it is about --provider");
}
