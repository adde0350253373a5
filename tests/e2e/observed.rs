//! A run of the real command line through a shared daemon, as its operator sees it: one whole trace at a collector, metrics,
//! the audit log, the log lines, and the status page in a browser. Secrets of the run, all with the word `zaffre` in them, are
//! in none of these.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fixtures::tools::install_chromium;
use isthmus_test_engine::{Collector, Span};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::harness::{Bridge, Project, Provider, wait_until};

const WORD: &str = "zaffre";

/// How long spans and a browser may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A running daemon that shows what it does in every way. It is killed when this goes.
struct Daemon {
    child: Child,
    directory: TempDir,
    /// Of its port for metrics and status.
    address: String,
}

impl Daemon {
    fn start(project: &Project, collector: &Collector) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(directory.path(), mode).expect("it is ours");
        let mut command = project.at_home(env!("CARGO_BIN_EXE_isthmus"));
        command.arg("daemon").arg("--socket").arg(directory.path().join("daemon.sock"));
        command
            .env("ISTHMUS_METRICS", "127.0.0.1:0")
            .env("ISTHMUS_AUDIT_LOG", directory.path().join("audit"));
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint())
            .env("OTEL_BSP_SCHEDULE_DELAY", "100");
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut next = |text: &str| loop {
            let line = said.next().expect("it listens").expect("text");
            if line.contains(text) {
                break line;
            }
        };
        let line = next("metrics and status on http://");
        let address = line.rsplit_once("http://").expect("the address").1.trim_end_matches('/').to_owned();
        next("listening on");
        // It may write on.
        std::thread::spawn(move || said.count());
        Self { child, directory, address }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("daemon.sock")
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// What a command prints about it.
    fn shown(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
        command
            .args(arguments)
            .arg("--socket")
            .arg(self.socket())
            .env_clear()
            .env("HOME", self.directory.path());
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn audit(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("audit")).expect("it was written")
    }

    /// Ends it in order.
    fn end(&mut self) {
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(process, Signal::TERM).expect("it runs");
        let child = &mut self.child;
        wait_until(PATIENCE, || child.try_wait().expect("a child"), || "the daemon runs on".to_owned());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

/// What a browser prints.
fn browser(directory: &Path, arguments: &[&str]) -> String {
    install_chromium();
    let mut command = Command::new("timeout");
    command.args([
        &PATIENCE.as_secs().to_string(),
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
    ]);
    command.arg(format!("--user-data-dir={}", directory.join("browser").display()));
    command.args(["--disable-dev-shm-usage", "--window-size=1200,900"]).args(arguments);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The page as a browser shows it, and its picture.
fn in_a_browser(address: &str, directory: &Path) -> (String, Vec<u8>) {
    let (picture, address) = (directory.join("page.png"), format!("http://{address}/"));
    let page = browser(directory, &["--dump-dom", &address]);
    browser(directory, &[&format!("--screenshot={}", picture.display()), &address]);
    (page, std::fs::read(&picture).expect("a picture"))
}

/// Pixels of a phone's screen, from side to side.
const PHONE: u32 = 390;

/// The width that a page takes on a phone. A window is never so narrow, so it is in a frame.
fn width_on_a_phone(page: &str, directory: &Path) -> u32 {
    let frame = directory.join("phone.html");
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let measure =
        "document.title = document.querySelector('iframe').contentDocument.documentElement.scrollWidth";
    let html = format!(
        "<iframe srcdoc=\"{page}\" style=\"border: 0; height: 844px; width: {PHONE}px\" onload=\"{measure}\"></iframe>"
    );
    std::fs::write(&frame, format!("<!DOCTYPE html><title></title>{html}")).expect("a page");
    let shown = browser(directory, &["--dump-dom", &format!("file://{}", frame.display())]);
    let title = shown.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    title.and_then(|(width, _)| width.parse().ok()).unwrap_or_else(|| panic!("no width: {shown}"))
}

#[test]
fn a_run_is_one_trace_is_counted_and_on_record_and_no_secret_of_it_is_shown() {
    fixtures::needs!(Chromium);
    let collector = Collector::start();
    let project = Project::bare("an observed run", &[Provider::Sandbox]);
    project.set("SANDBOX_ODD", "usable");
    project.set("SANDBOX_DIR", project.path("").to_str().expect("test directories have plain names"));
    let mut daemon = Daemon::start(&project, &collector);
    project.set("ISTHMUS_DAEMON", daemon.socket().to_str().expect("test directories have plain names"));
    project.set("TRACEPARENT", &format!("00-{TRACE}-{PARENT}-01"));
    project.switch_to(Bridge::Ours);
    project.add_package(Provider::Sandbox);
    project.create_stack();
    project.run(&["config", "set", "--secret", "sandbox:token", "zaffre-of-the-configuration"]).succeeded();
    project.program(
        "resources:
  note:
    type: sandbox:Note
    properties:
      title: hello
      secretHint: {fn::secret: zaffre-of-a-property}
  leak:
    type: sandbox:Leak
    properties: {how: warning, during: create, open: {fn::secret: zaffre-of-a-warning}}
",
    );
    let up = project.up();
    assert_eq!(up.steps("note"), ["create"], "{up}");
    project.program(
        "resources:
  failing:
    type: sandbox:Leak
    properties: {how: error, during: create, open: {fn::secret: zaffre-of-an-error}}
",
    );
    drop(project.up_fails());
    let (page, picture) = in_a_browser(&daemon.address, daemon.directory.path());
    // The daemon keeps the provider, which `Project::destroy` would take for one that was left behind.
    project.run(&["destroy", "--yes", "--skip-preview"]).succeeded();

    let metrics = daemon.get("/metrics");
    let created = r#"isthmus_calls_total{rpc="Create",provider="local/sandbox",outcome="OK"} "#;
    assert!(metrics.contains(created), "{metrics}");
    assert!(page.contains("local/sandbox") && page.contains("isthmus daemon"), "{page}");
    assert!(picture.starts_with(b"\x89PNG"), "a picture");
    let failure = r#"<td data-name="call">Create</td><td data-name="provider">local/sandbox</td>"#;
    assert!(page.contains(failure), "the failure is shown: {page}");
    let width = width_on_a_phone(&page, daemon.directory.path());
    assert!(width <= PHONE, "the page scrolls sideways: {width}");
    let (lines, processes) = (daemon.shown(&["logs", "--no-follow"]), daemon.shown(&["ps"]));
    assert!(lines.contains("Create failed: "), "{lines}");
    assert!(processes.contains("local/sandbox"), "{processes}");
    let audit = daemon.audit();
    let is_on_record =
        |operation: &str| audit.contains(&format!("\"operation\":\"{operation}\",\"outcome\":\"OK\""));
    assert!(is_on_record("Create") && is_on_record("Configure") && is_on_record("Delete"), "{audit}");

    daemon.end();
    let spans = collector.wait(PATIENCE, |spans| spans.iter().any(|span| span.name == "Delete"));
    // The preview has planned it, and the update has made it.
    let below = |create: &&Span| -> Vec<String> {
        spans.iter().filter(|span| span.parent == create.id).map(|span| span.name.clone()).collect()
    };
    let of_note = spans.iter().filter(|span| {
        span.attributes.get("isthmus.resource_type").is_some_and(|found| found == "sandbox:index/note:Note")
    });
    let creations: Vec<Vec<String>> =
        of_note.filter(|span| span.name == "Create").map(|create| below(&create)).collect();
    let is_made = |calls: &Vec<String>| {
        ["PlanResourceChange", "ApplyResourceChange"].iter().all(|call| calls.iter().any(|made| made == call))
    };
    assert!(creations.iter().any(is_made), "{creations:?}");
    // The whole of it: each span is in the trace of the command line, below another one of it.
    for span in &spans {
        assert_eq!(span.trace, TRACE, "{span:#?}");
        let is_below = span.parent == PARENT || spans.iter().any(|other| other.id == span.parent);
        assert!(is_below, "its parent is not in the trace: {span:#?}");
    }
    let traces: String = spans.iter().map(|span| span.everything.as_str()).collect();
    for (place, text) in [
        ("a metric", &metrics),
        ("the page", &page),
        ("a log line", &lines),
        ("ps", &processes),
        ("the audit log", &audit),
        ("a trace", &traces),
    ] {
        assert!(!text.contains(WORD), "{WORD} is in {place}: {text}");
    }
}
