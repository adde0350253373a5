//! The HTTP port of a shared daemon: metrics, which Prometheus' own libraries read, its health, and the status page.

use std::collections::BTreeMap;
use std::process::Stdio;

use crate::harness::processes::Signal;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::harness::daemon::Daemon;
use crate::harness::http::{exchange, get};
use crate::harness::{Host, Outcome, Protocol, Setup, json, on_one_protocol};

/// A daemon with the port, which it chooses itself. Its provider is a file of its own: one that other tests link to is another
/// file to the daemon each time.
async fn observed(setup: Setup) -> (Host, String) {
    let host = setup.with("ISTHMUS_METRICS", "127.0.0.1:0").with_daemon().start().await.with_own_provider();
    let stderr = host.daemon().stderr();
    let address = stderr.split_once("metrics and status on http://").expect("it names the address").1;
    let address = address.split_once('/').expect("the end of the address").0.to_owned();
    (host, address)
}

/// A sample of a metric; of a histogram, the count.
#[derive(Debug)]
struct Sample {
    labels: BTreeMap<String, String>,
    value: f64,
}

/// The metrics, as Prometheus reads them, which finds no fault with them.
#[derive(Debug)]
struct Metrics(BTreeMap<String, Vec<Sample>>);

impl Metrics {
    async fn scrape(address: &str) -> Self {
        let response = get(address, "/metrics").await;
        assert_eq!(response.status, 200, "{response:?}");
        assert!(response.head.contains("content-type: text/plain; version=0.0.4"), "{}", response.head);
        let mut command = Command::new(fixtures::tools::tool("metrics"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the reader starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(response.body.as_bytes()).await.expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        assert!(output.status.success(), "they are not read: {}", response.body);
        let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(read["problems"], serde_json::json!([]), "{}", response.body);
        let mut metrics: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
        for sample in read["samples"].as_array().expect("a list") {
            let labels = serde_json::from_value(sample["labels"].clone()).expect("texts");
            let value = sample["value"].as_f64().expect("a number");
            let name = sample["metric"].as_str().expect("a text").to_owned();
            metrics.entry(name).or_default().push(Sample { labels, value });
        }
        Self(metrics)
    }

    /// The sum of a metric's samples with these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|found| found == value))
        };
        self.0.get(name).into_iter().flatten().filter(has).map(|sample| sample.value).sum()
    }
}

/// What is promised in docs/observability.md.
const PROMISED: [&str; 18] = [
    "isthmus_build_info",
    "isthmus_call_duration_seconds",
    "isthmus_calls_in_flight",
    "isthmus_calls_total",
    "isthmus_log_lines_dropped_total",
    "isthmus_pool_waiting",
    "isthmus_provider_call_duration_seconds",
    "isthmus_provider_calls_total",
    "isthmus_provider_memory_bytes",
    "isthmus_provider_processes",
    "isthmus_provider_starts_total",
    "isthmus_schema_cache_hits_total",
    "isthmus_schema_cache_misses_total",
    "isthmus_sessions",
    "isthmus_unconfirmed_outcomes",
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_resident_memory_bytes",
];

/// A run that creates a resource, and has ended.
async fn run(host: &Host, address: &str) -> Outcome {
    let session = host.session().await?;
    session.note().make(&json!({"title": "one"})).await?;
    drop(session);
    while Metrics::scrape(address).await.sum("isthmus_sessions", &[]) > 0.0 {}
    Ok(())
}

on_one_protocol! {
    async fn calls_providers_and_caches_are_counted(protocol) {
        let (host, address) = observed(Setup::sandbox(protocol)).await;
        run(&host, &address).await?;
        host.schema_is_kept().await;
        run(&host, &address).await?;
        let session = host.session().await?;
        session.faulty().create(&json!({"mode": "error"})).await.expect_err("it fails as it is told");
        let metrics = Metrics::scrape(&address).await;
        let names: Vec<&str> = metrics.0.keys().map(String::as_str).collect();
        assert_eq!(names, PROMISED);
        let sandbox = ("provider", "local/sandbox");
        let created = [("rpc", "Create"), sandbox];
        assert_eq!(metrics.sum("isthmus_calls_total", &[("rpc", "Create"), sandbox, ("outcome", "OK")]), 2.0);
        assert_eq!(metrics.sum("isthmus_calls_total", &created), 3.0);
        assert_eq!(metrics.sum("isthmus_call_duration_seconds", &created), 3.0);
        assert_eq!(metrics.sum("isthmus_calls_total", &[("rpc", "Configure"), sandbox]), 3.0);
        assert!(metrics.sum("isthmus_calls_total", &[("rpc", "Handshake"), ("provider", "none")]) >= 3.0);
        let applied = [("rpc", "ApplyResourceChange"), sandbox];
        assert_eq!(metrics.sum("isthmus_provider_calls_total", &applied), 3.0, "{metrics:?}");
        assert_eq!(metrics.sum("isthmus_provider_call_duration_seconds", &applied), 3.0);
        // By the same names on both protocols.
        assert_eq!(metrics.sum("isthmus_provider_calls_total", &[("rpc", "ConfigureProvider")]), 1.0);
        assert_eq!(metrics.sum("isthmus_provider_starts_total", &[sandbox]), 1.0);
        assert_eq!(metrics.sum("isthmus_provider_processes", &[sandbox]), 1.0);
        assert!(metrics.sum("isthmus_provider_memory_bytes", &[sandbox]) > f64::from(1 << 20));
        assert_eq!(metrics.sum("isthmus_sessions", &[]), 1.0);
        assert_eq!(metrics.sum("isthmus_calls_in_flight", &[]), 0.0);
        assert_eq!(metrics.sum("isthmus_schema_cache_misses_total", &[]), 1.0);
        assert_eq!(metrics.sum("isthmus_schema_cache_hits_total", &[]), 2.0);
        assert_eq!(metrics.sum("isthmus_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
        assert!(metrics.sum("process_resident_memory_bytes", &[]) > f64::from(1 << 20));
        assert!(metrics.sum("process_open_fds", &[]) > 3.0);
    }

    async fn calls_in_flight_waits_and_unknown_outcomes_are_shown(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1");
        let (host, address) = observed(setup.with("ISTHMUS_STOP_GRACE_PERIOD", "0.3")).await;
        let session = host.session().await?;
        let (faulty, inputs) = (session.faulty(), json!({"mode": "hang-forever"}));
        let mut creating = Box::pin(faulty.create(&inputs));
        tokio::select! {
            early = &mut creating => panic!("it hangs: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 1) => {}
        }
        assert_eq!(Metrics::scrape(&address).await.sum("isthmus_calls_in_flight", &[]), 1.0);
        let other = host.parameterized().await?;
        let token = json!({"token": "another"});
        let mut waiting = Box::pin(other.configure(&token));
        let waits = async {
            while Metrics::scrape(&address).await.sum("isthmus_pool_waiting", &[]) < 1.0 {}
        };
        tokio::select! {
            early = &mut waiting => panic!("it waits: {early:?}"),
            () = waits => {}
        }
        session.cancel().await?;
        let (created, cancelled) = tokio::join!(creating, session.cancel());
        cancelled?;
        created.expect_err("it was broken off");
        assert_eq!(Metrics::scrape(&address).await.sum("isthmus_unconfirmed_outcomes", &[]), 1.0);
        drop((faulty, session));
        waiting.await?;
        assert_eq!(Metrics::scrape(&address).await.sum("isthmus_pool_waiting", &[]), 0.0);
    }

    async fn no_value_is_in_a_metric_or_on_the_page(protocol) {
        let (host, address) = observed(Setup::sandbox(protocol).with("SANDBOX_ODD", "usable")).await;
        let session = host.parameterized().await?;
        session.configure(&json!({"token": "mark-of-configuration"})).await?;
        let made = session.note().make(&json!({"title": "mark-of-title", "secretHint": "mark-of-secret"})).await?;
        session.note().delete(&made).await?;
        let leak = session.resource("sandbox:index/leak:Leak", "mark-of-name");
        let leaking = json!({"how": "error", "during": "create", "open": "mark-of-error"});
        let status = leak.create(&leaking).await.expect_err("it fails as it is told");
        assert!(status.message().contains("mark-of-error"), "{status}");
        let (metrics, page) = (get(&address, "/metrics").await, get(&address, "/").await);
        for shown in [&metrics.body, &page.body] {
            assert!(shown.contains("local/sandbox"), "{shown}");
            assert!(!shown.contains("mark-of-"), "{shown}");
        }
        assert!(page.body.contains(r#"<td data-name="call">Create</td><td data-name="provider">local/sandbox</td>"#), "{}", page.body);
    }
}

#[tokio::test]
async fn a_daemon_that_drains_is_alive_and_not_ready() {
    let setup =
        Setup::sandbox(Protocol::V6).with("ISTHMUS_DRAIN_PERIOD", "0").with("ISTHMUS_STOP_GRACE_PERIOD", "5");
    let (mut host, address) = observed(setup).await;
    let session = host.session().await.expect("a session");
    assert_eq!(get(&address, "/readyz").await.status, 200);
    let (faulty, inputs) = (session.faulty(), json!({"mode": "hang-forever"}));
    let drained = async {
        host.provider_is_in("ApplyResourceChange", 1).await;
        host.daemon().signal(Signal::TERM);
        while get(&address, "/readyz").await.status != 503 {}
        assert_eq!(get(&address, "/healthz").await.status, 200);
        let page = get(&address, "/").await.body;
        assert!(page.contains("draining"), "{page}");
    };
    let (created, ()) = tokio::join!(faulty.create(&inputs), drained);
    created.expect_err("it was broken off");
    host.daemon_mut().ended().await;
}

#[tokio::test]
async fn a_daemon_that_is_replaced_leaves_the_port_to_its_successor() -> Outcome {
    let (host, address) = observed(Setup::sandbox(Protocol::V6)).await;
    let session = host.session().await?;
    session.note().make(&json!({"title": "one"})).await?;
    assert_eq!(Metrics::scrape(&address).await.sum("isthmus_sessions", &[]), 1.0);
    let variables = [("ISTHMUS_METRICS".to_owned(), address.clone().into())];
    let successor = Daemon::replacing(host.directory(), &variables).await;
    assert!(
        successor.stderr().contains(&format!("metrics and status on http://{address}/")),
        "{}",
        successor.stderr()
    );
    // The session is still the predecessor's.
    assert_eq!(Metrics::scrape(&address).await.sum("isthmus_sessions", &[]), 0.0);
    session.note().make(&json!({"title": "two"})).await?;
    Ok(())
}

#[tokio::test]
async fn the_port_only_answers() {
    let (_host, address) = observed(Setup::sandbox(Protocol::V6)).await;
    let page = get(&address, "/").await;
    assert_eq!(page.status, 200);
    for header in ["default-src 'none'", "x-content-type-options: nosniff", "cache-control: no-store"] {
        assert!(page.head.contains(header), "{header} is not in: {}", page.head);
    }
    assert_eq!(get(&address, "/etc/passwd").await.status, 404);
    let post =
        format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(exchange(&address, &post).await.status, 405);
    let long = format!("GET /{} HTTP/1.1\r\nhost: {address}\r\n\r\n", "x".repeat(100_000));
    assert!(exchange(&address, &long).await.status >= 400);
}

#[tokio::test]
async fn connections_that_say_nothing_keep_no_probe_out() {
    let (_host, address) = observed(Setup::sandbox(Protocol::V6)).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(tokio::net::TcpStream::connect(&address).await.expect("it listens"));
    }
    assert_eq!(get(&address, "/healthz").await.status, 200);
    assert_eq!(get(&address, "/metrics").await.status, 200);
    drop(silent);
}

#[tokio::test]
async fn a_page_of_another_site_gets_nothing_from_the_loopback() {
    let (_host, address) = observed(Setup::sandbox(Protocol::V6)).await;
    let (_, port) = address.rsplit_once(':').expect("a port");
    for (host, status) in [
        ("evil.example".to_owned(), 421),
        (format!("evil.example:{port}"), 421),
        ("127.0.0.1.evil.example".to_owned(), 421),
        (format!("localhost:{port}"), 200),
        ("LOCALHOST".to_owned(), 200),
        (format!("[::1]:{port}"), 200),
        ("127.0.0.1".to_owned(), 200),
    ] {
        let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let response = exchange(&address, &request).await;
        assert_eq!(response.status, status, "{host}: {}", response.body);
        assert_eq!(response.body.contains("<html"), status == 200, "{host}: {}", response.body);
    }
}

#[tokio::test]
async fn without_the_setting_no_port_is_opened() {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    host.session().await.expect("a session");
    let process = host.daemon().process();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{process}/fd"))
        .expect("it runs")
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.to_str()?.to_owned()))
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{process}/net/{table}"));
    for table in tables {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        // The state of a socket that listens is 0A; its inode is in the tenth column.
        let listening = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let listening = listening.filter(|line| line.get(3) == Some(&"0A"));
        let found: Vec<_> =
            listening.filter(|line| own.iter().any(|inode| line.get(9) == Some(&inode.as_str()))).collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_ends_the_daemon_with_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command.arg("daemon").arg("--socket").arg(directory.path().join("daemon.sock"));
    command.env_clear().env(isthmus_platform::HOME, directory.path()).env("ISTHMUS_METRICS", &address);
    let output = command.stdin(Stdio::null()).output().await.expect("a process");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("failed to listen on {address}, which ISTHMUS_METRICS names")), "{said}");
    assert!(!directory.path().join("daemon.sock").exists(), "nothing is left");
}
