//! Recordings: both sides of a session in one file, without its secrets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;
use tempfile::TempDir;

use super::{Machine, Said};
use crate::harness::host::mode;
use crate::harness::{Protocol, Session, Setup, Status, json, on_both_protocols, secret};

/// Every secret here has it at its end.
const WORD: &str = "zaffre";

/// A directory with a recording.
pub(super) struct Recorded {
    pub(super) directory: Arc<TempDir>,
}

impl Recorded {
    pub(super) fn new() -> Self {
        Self { directory: Arc::new(tempfile::tempdir().expect("a directory")) }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.directory.path().join("session.jsonl")
    }

    /// A plugin whose sessions are recorded.
    pub(super) fn setup(&self, setup: Setup) -> Setup {
        setup.within(&self.directory).with_value("ISTHMUS_RECORD", self.file().as_os_str())
    }

    pub(super) fn text(&self) -> String {
        std::fs::read_to_string(self.file()).expect("a recording")
    }

    pub(super) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// What a recording has of the word: in the clear, in base64 at each of the three places that it may have there, and in what is
/// in base64 itself.
fn traces(text: &str) -> Vec<String> {
    let places = (0..3).map(|before| {
        let encoded = STANDARD_NO_PAD.encode(format!("{}{WORD}", "_".repeat(before)));
        encoded[[0, 2, 3][before]..encoded.len() - 1].to_owned()
    });
    let traces: Vec<String> = places.chain([WORD.to_owned()]).collect();
    let encoded = text.split('"').filter_map(|part| STANDARD.decode(part).ok());
    let encoded: String = encoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    traces.into_iter().filter(|trace| text.contains(trace) || encoded.contains(trace)).collect()
}

/// The calls of a session: the number of the engine's call that each belongs to, its side, and its method.
fn calls(lines: &[Value]) -> Vec<String> {
    let calls = lines.iter().filter(|line| line["kind"] == "call");
    let call = |line: &Value| {
        let indent = if line["parent"].is_null() { "" } else { "  " };
        format!(
            "{indent}{} {}",
            line["side"].as_str().expect("a side"),
            line["method"].as_str().expect("a method")
        )
    };
    calls.map(call).collect()
}

/// Everything that an engine does with a record of the conformance provider.
pub(super) async fn life_of_a_record(session: &Session) -> Result<(), Status> {
    session.configure(&json!({"region": secret(format!("region-{WORD}"))})).await?;
    let record = session.record();
    let inputs = json!({
        "name": "first", "title": "One", "labels": ["b", "a"],
        "secret": format!("sensitive-{WORD}"), "passwordWo": format!("write-only-{WORD}"),
        "rules": [{"port": secret(4711)}], "extra": secret(json!({"key": format!("marked-{WORD}")})),
    });
    let checked = record.checked(&inputs).await?;
    record.preview_create(&checked).await?;
    let made = record.create(&checked).await?;
    let mut news = inputs.clone();
    news["title"] = secret(format!("title-{WORD}"));
    let news = record.checked(&news).await?;
    record.diff(&made, &news).await?;
    record.preview_update(&made, &news).await?;
    let changed = record.update(&made, &news).await?;
    let read = record.refresh(&changed).await?.expect("it is there");
    record.delete(&read).await
}

on_both_protocols! {
    async fn a_recording_holds_no_secret_of_any_kind(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::conformance(protocol)).start().await;
        life_of_a_record(&host.parameterized().await?).await?;
        drop(host);
        let text = recorded.text();
        assert_eq!(traces(&text), Vec::<String>::new(), "{text}");
        assert!(!text.contains("4711"), "{text}");
        // What its provider keeps in private data is `{"counter": …}`, in base64 in what the engine stores.
        let counter = STANDARD_NO_PAD.encode("{\"counter\"");
        assert!(!text.contains("counter\\\"") && !text.contains(&counter[..12]), "{text}");
        assert!(text.contains("private-0000") && text.contains("secret-0000"), "{text}");

        // Diagnostics, statuses, and what is made up.
        let recorded = Recorded::new();
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable");
        let host = recorded.setup(setup).start().await;
        let session = host.session().await?;
        let leak = session.resource("sandbox:index/leak:Leak", "leak");
        for form in ["plain", "json", "quoted", "query", "base64", "base64url", "basic", "hex"] {
            for how in ["error", "status", "partial", "warning"] {
                let inputs = json!({"secret": format!("p\"ss/w&rd <1> {WORD}"), "how": how, "during": "create", "form": form});
                // Warnings are none.
                drop(leak.make(&inputs).await);
            }
        }
        // Inputs that are refused: by Terraform's name, misspelt, of another kind, and repeated beside it.
        for inputs in [
            json!({"title": "", "secret_hint": format!("named-{WORD}")}),
            json!({"title": "a", "secretHnt": format!("misspelt-{WORD}")}),
            json!({"title": "", "passphrase": [{"a": format!("other-{WORD}")}]}),
        ] {
            let checked = session.note().check(&inputs).await?;
            assert_ne!(checked.failures, [], "{inputs}");
        }
        let generated = session.resource("sandbox:index/secret:Secret", "one").make(&json!({"length": 24})).await?;
        drop(host);
        let text = recorded.text();
        assert_eq!(traces(&text), Vec::<String>::new(), "{text}");
        let generated = generated.outputs["value"]["value"].as_str().expect("a secret").to_owned();
        assert!(generated.len() == 24 && !text.contains(&generated), "{generated}: {text}");
    }

    async fn a_configuration_without_marks_is_replaced_as_a_whole_and_replayed(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::conformance(protocol)).start().await;
        let session = host.parameterized().await?;
        let quota = format!(r#"{{"key-{WORD}":0.0000001}}"#);
        // As an engine sends it: texts of JSON, whose marks come with Configure.
        let news = json!({
            "region": format!("region-{WORD}"), "retries": "31337", "label": format!(r#"{{"name-{WORD}":"value-{WORD}"}}"#),
            "regions": format!(r#"["r-{WORD}"]"#), "quota": quota,
        });
        session.check_config(&json!({}), &news).await?;
        let marked = |name: &str| secret(news[name].clone());
        session
            .configure(&json!({
                "region": marked("region"), "retries": marked("retries"), "label": marked("label"),
                "regions": marked("regions"), "quota": marked("quota"),
            }))
            .await?;
        let inner = json!({(format!("key-{WORD}")): 5});
        let inputs = json!({"name": "first", "title": "One", "extra": {"open": "o", "inner": secret(inner)}});
        session.record().checked(&inputs).await?;
        drop(host);
        let text = recorded.text();
        assert_eq!(traces(&text), Vec::<String>::new(), "{text}");
        assert!(!text.contains("31337") && !text.contains("0.0000001") && !text.contains("1e-"), "{text}");
        recorded.lines();
        let said = recorded.replay(&[]).well();
        assert!(said.ends_with("Result: the same\n"), "{said}");
    }

    async fn an_open_configuration_is_recorded_as_it_is_and_replayed(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::conformance(protocol)).start().await;
        let session = host.parameterized().await?;
        let news = json!({
            "region": "open-region", "retries": "31337", "verbose": "true",
            "label": r#"{"open-name":"open-value"}"#, "regions": r#"["open-element"]"#,
            "secretHeaders": format!(r#"{{"h":"{WORD}-secret"}}"#),
        });
        session.check_config(&json!({}), &news).await?;
        session.configure(&news).await?;
        session.record().checked(&json!({"name": "first", "title": "One"})).await?;
        drop(host);
        let lines = recorded.lines();
        let configure = lines.iter().find(|line| line["method"] == "Configure").expect("it was called");
        let args = configure["request"]["args"].to_string();
        for open in ["open-region", "31337", "\"true\"", "open-name", "open-value", "open-element"] {
            assert!(args.contains(open), "{open}: {args}");
        }
        assert_eq!(traces(&recorded.text()), Vec::<String>::new(), "{args}");
        let said = recorded.replay(&[]).well();
        assert!(said.ends_with("Result: the same\n"), "{said}");
    }

    async fn a_recording_has_the_calls_of_both_sides(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::sandbox(protocol)).start().await;
        let session = host.session().await?;
        session.note().make(&json!({"title": "Milk"})).await?;
        drop(host);
        let lines = recorded.lines();
        assert_eq!((&lines[0]["kind"], &lines[0]["format_version"]), (&json!("header"), &json!("1.0")));
        let package = lines.iter().find(|line| line["kind"] == "session").expect("a session");
        assert_eq!(package["package"], json!({"name": "sandbox", "version": "0.0.0"}));
        let [configure, validate] = match protocol {
            Protocol::V5 => ["Configure", "ValidateResourceTypeConfig"],
            Protocol::V6 => ["ConfigureProvider", "ValidateResourceConfig"],
        };
        let calls = calls(&lines);
        // When a provider is asked for its schemas depends on what is cached.
        let (schemas, others): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| call.starts_with("  provider Get"));
        assert_eq!(schemas.len(), 2, "{schemas:?}");
        assert_eq!(
            others,
            [
                "engine Handshake", "engine Parameterize", "engine Configure", &format!("  provider {configure}"),
                "engine Check", &format!("  provider {validate}"),
                "engine Create", "  provider PlanResourceChange", "  provider ApplyResourceChange",
            ]
        );
        assert_eq!(mode(&recorded.file()), 0o600);
        let create = lines.iter().find(|line| line["method"] == "Create").expect("it was called");
        assert_eq!(create["request"]["properties"]["title"], "Milk");
        assert_eq!(create["response"]["properties"]["priority"], 3);
    }

    async fn a_session_that_is_recorded_uses_no_shared_daemon(protocol) {
        let recorded = Recorded::new();
        let host = recorded.setup(Setup::sandbox(protocol)).with_daemon().start().await;
        host.session().await?.note().make(&json!({"title": "Milk"})).await?;
        drop(host);
        assert!(calls(&recorded.lines()).contains(&"engine Create".to_owned()));
    }

    async fn sessions_of_several_processes_are_in_one_file(protocol) {
        let recorded = Recorded::new();
        let first = recorded.setup(Setup::sandbox(protocol)).start().await;
        let second = recorded.setup(Setup::sandbox(protocol)).start().await;
        let (one, other) = (first.session().await?, second.session().await?);
        let (one, other) = (one.note(), other.note());
        for number in 0..20 {
            let title = json!({"title": format!("{number}")});
            let (one, other) = tokio::join!(one.check(&title), other.check(&title));
            assert_eq!(one?.failures, other?.failures);
        }
        drop((first, second));
        let lines = recorded.lines();
        let sessions: std::collections::BTreeSet<_> = lines.iter().filter_map(|line| line["session"].as_str()).collect();
        assert_eq!(sessions.len(), 2);
        assert_eq!(calls(&lines).iter().filter(|call| *call == "engine Check").count(), 40);
        assert_eq!(lines.iter().filter(|line| line["kind"] == "header").count(), 1);
    }

    async fn a_file_of_others_stays_as_it_is_and_nothing_is_served_without_a_recording(protocol) {
        let recorded = Recorded::new();
        std::fs::write(recorded.file(), "notes\n").expect("it is written");
        isthmus_platform::files::set_mode(&recorded.file(), 0o600).expect("its own");
        let host = recorded.setup(Setup::sandbox(protocol)).start().await;
        let status = host.session().await.expect_err("there is no recording");
        let expected = "ISTHMUS_RECORD: ";
        assert!(status.message().contains(expected) && status.message().contains("is not a recording"), "{status}");
        assert_eq!(recorded.text(), "notes\n");
    }
}

fn record(machine: &Machine, words: &[&str]) -> Said {
    machine.isthmus(&[&["record"], words].concat())
}

#[test]
fn the_command_gets_the_file_and_its_exit_code_is_that_of_the_command() {
    let machine = Machine::new();
    let said = record(&machine, &["session.jsonl", "--", "sh", "-c", "echo $ISTHMUS_RECORD; exit 7"]);
    assert_eq!(said.code, 7, "{said:?}");
    assert_eq!(Path::new(said.stdout.trim()), machine.path("session.jsonl"));
    assert!(said.stderr.contains("session.jsonl has no call"), "{said:?}");
    assert_eq!(mode(&machine.path("session.jsonl")), 0o600);

    let said = record(&machine, &["session.jsonl", "--", "touch", "ran"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("session.jsonl exists, and a recording overwrites nothing"), "{said:?}");
    assert!(!machine.path("ran").exists());

    let said = record(&machine, &["other.jsonl", "--", "no-such-command"]);
    assert_eq!(said.code, 127, "{said:?}");
    assert!(said.stderr.contains("failed to run no-such-command"), "{said:?}");
    assert_eq!(record(&machine, &["third.jsonl"]).code, 2);
    let said = record(&machine, &["fourth.jsonl", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(said.code, 128 + 9, "{said:?}");
}
