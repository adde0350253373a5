//! The audit log of a shared daemon: what is on record, and that nothing happens without it.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Code, Host, Outcome, Protocol, Setup, json, on_one_protocol};

/// A daemon with an audit log in its directory.
async fn audited(setup: Setup, log: &Path) -> Host {
    let log = log.to_str().expect("a path in UTF-8");
    setup.with("ISTHMUS_AUDIT_LOG", log).with_daemon().start().await
}

fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("it is there");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The lines as `event operation name outcome`.
fn outline(lines: &[Value]) -> Vec<String> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or("-").to_owned();
    let words = ["event", "operation", "name", "outcome"];
    lines.iter().map(|line| words.map(|word| text(line, word)).join(" ")).collect()
}

on_one_protocol! {
    async fn what_is_changed_read_or_configured_is_on_record_without_values(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("audit.jsonl");
        let host = audited(Setup::sandbox(protocol), &log).await;
        let session = host.parameterized().await?;
        session.configure(&json!({"token": "mark-of-configuration"})).await?;
        let inputs = json!({"title": "mark-of-title", "secretHint": "mark-of-secret"});
        session.note().preview_create(&inputs).await?;
        let made = session.note().make(&inputs).await?;
        session.note().refresh(&made).await?;
        session.note().delete(&made).await?;
        session.faulty().create(&json!({"mode": "error"})).await.expect_err("it fails as it is told");
        let lines = lines(&log);
        let expected = [
            "begin Configure default -",
            "end Configure default OK",
            "begin Create note -",
            "end Create note OK",
            "begin Read note -",
            "end Read note OK",
            "begin Delete note -",
            "end Delete note OK",
            "begin Create faulty -",
            "end Create faulty ABORTED",
        ];
        assert_eq!(outline(&lines), expected);
        let user = format!("user:{}", isthmus_platform::process::User::current());
        for line in &lines {
            assert_eq!(line["identity"], user.as_str());
            assert_eq!(line["provider"], "local/sandbox");
            assert!(!line.to_string().contains("mark-of-"), "{line}");
        }
        assert_eq!(lines[2]["type"], "sandbox:index/note:Note");
        assert!(lines[3]["milliseconds"].as_f64().is_some_and(|milliseconds| milliseconds > 0.0), "{}", lines[3]);
    }

    async fn a_secret_in_a_name_is_redacted(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("audit.jsonl");
        let host = audited(Setup::sandbox(protocol), &log).await;
        let session = host.parameterized().await?;
        session.configure(&json!({"token": "token-as-a-name"})).await?;
        session.resource("sandbox:index/note:Note", "token-as-a-name").create(&json!({"title": "a"})).await?;
        let lines = lines(&log);
        assert!(lines.iter().any(|line| line["operation"] == "Create"), "{lines:?}");
        assert!(lines.iter().all(|line| !line.to_string().contains("token-as-a-name")), "{lines:?}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_put_on_record_is_not_made() -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("audit.jsonl");
    let host = audited(Setup::sandbox(Protocol::V6), &log).await;
    let session = host.session().await?;
    session.note().make(&json!({"title": "one"})).await?;
    // Gone, and its directory with it.
    std::fs::remove_file(&log).expect("it is there");
    std::fs::remove_dir(directory.path()).expect("it is empty");
    let status = session.note().create(&json!({"title": "two"})).await.expect_err("it is not on record");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    let text = status.message();
    assert!(text.contains("refused before it was made") && text.contains("ISTHMUS_AUDIT_LOG"), "{text}");
    assert_eq!(host.objects().len(), 1, "the provider was not called");
    session.note().check(&json!({"title": "two"})).await?;
    // Once it can be written again, calls are made again.
    std::fs::create_dir(directory.path()).expect("a new directory");
    session.note().create(&json!({"title": "two"})).await?;
    assert_eq!(host.objects().len(), 2);
    assert_eq!(outline(&lines(&log)), ["begin Create note -", "end Create note OK"]);
    Ok(())
}

#[tokio::test]
async fn a_log_that_others_can_read_ends_the_daemon() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("audit.jsonl");
    std::fs::write(&log, "").expect("a new file");
    isthmus_platform::files::set_mode(&log, 0o640).expect("it is ours");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command.arg("daemon").arg("--socket").arg(directory.path().join("daemon.sock"));
    command.env_clear().env(isthmus_platform::HOME, directory.path()).env("ISTHMUS_AUDIT_LOG", &log);
    let output = command.stdin(std::process::Stdio::null()).output().await.expect("a process");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("or others can read it"), "{said}");
}
