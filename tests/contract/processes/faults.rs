//! Every fault of a provider in every call: what the user is told, and that the next call is served.
//!
//! Each cell of the table is a session beside a provider whose first process has one fault, and whose next process has none.
//! The legacy engine has a table of its own (`legacy`). `docs/faults.md` is generated from what was seen; calls that come to
//! the same share a row.

mod legacy;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_proto::pulumirpc::ListRequest;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::processes::ended;
use crate::harness::{Host, PATIENCE, Protocol, Session, Setup, Status, Stored, json};

/// Set to anything, it has the page written anew instead of compared.
const UPDATE: &str = "UPDATE_EXPECT";

/// How many cells run at the same time: most of them wait.
const AT_ONCE: usize = 6;

/// How long a failing call may take: the two seconds that the end of a process is waited for, and what a loaded machine adds.
const LONGEST: Duration = Duration::from_secs(60);

const NOTE: &str = "sandbox:index/note:Note";

/// The faults, and what the page says of each.
const FAULTS: [(&str, &str); 9] = [
    ("crash", "the process is killed by SIGKILL"),
    ("exit", "the process exits with status 1"),
    ("hang", "the provider does not answer, and the engine cancels twice"),
    ("garbage", "the answer is not a message"),
    ("oversized", "the answer is larger than 256 MiB"),
    ("half-close", "the provider closes its side of the connection"),
    ("plaintext", "the provider sends bytes that are not TLS"),
    ("late", "the answer comes after a Cancel"),
    ("flood", "the answer comes after 20,000 log lines"),
];

/// Faults of a provider that are of no one call: what happens, what comes of it, and the file and the name of the test that
/// shows it.
const OF_A_PROVIDER: [[&str; 4]; 8] = [
    [
        "it starts slowly",
        "its first call waits",
        "tests/contract/processes/faults.rs",
        "a_provider_that_starts_slowly_is_waited_for",
    ],
    [
        "it does not say within 60 seconds where it listens",
        "it is killed with what it has started, and the error says what it printed",
        "shim/provider/plugin/tests.rs",
        "a_provider_that_says_nothing_is_killed_with_all_that_it_started",
    ],
    [
        "it ends again before it has answered a call",
        "it is not started a third time",
        "tests/contract/processes/restarts.rs",
        "a_process_that_ends_again_before_it_answers_is_the_last",
    ],
    [
        "it refuses to stop",
        "a warning; isthmus interrupts its calls after a second Cancel",
        "tests/contract/processes/cancelling.rs",
        "a_provider_that_will_not_stop_is_complained_of",
    ],
    [
        "it refuses to end",
        "it is killed",
        "tests/contract/processes/deaths.rs",
        "a_provider_that_refuses_to_end_is_ended",
    ],
    [
        "it answers with something else than it has planned",
        "an error that names the resource and the property",
        "tests/contract/changes/failures.rs",
        "what_the_provider_breaks_is_named_with_resource_and_property",
    ],
    [
        "a renewal of an ephemeral resource is refused",
        "a warning, and no other renewal",
        "tests/contract/invokes/ephemeral.rs",
        "a_renewal_that_fails_is_told_with_the_token_and_not_tried_again",
    ],
    [
        "it takes too much memory",
        "with `ISTHMUS_PROVIDER_MEMORY` it is replaced between two calls",
        "tests/contract/processes/restarts.rs",
        "a_provider_that_has_grown_too_large_is_replaced_between_calls",
    ],
];

/// Faults of the host, in the same way.
const OF_THE_HOST: [[&str; 4]; 19] = [
    [
        "SIGHUP, SIGINT, SIGTERM",
        "calls are stopped, providers end, exit status 0",
        "tests/contract/processes/host_faults.rs",
        "every_signal_that_ends_the_daemon_ends_its_provider",
    ],
    [
        "any other signal that ends a process",
        "the daemon ends at once, and its guardians end the providers; of SIGSEGV and SIGBUS, if they come from outside, the second",
        "tests/contract/processes/host_faults.rs",
        "every_signal_that_ends_the_daemon_ends_its_provider",
    ],
    [
        "SIGKILL, to the daemon, its process group, its engine, or a guardian",
        "no process of a provider is left",
        "tests/contract/processes/endings/matrix.rs",
        "whatever_ends_the_daemon_no_process_of_a_provider_is_left",
    ],
    [
        "SIGSTOP, to a provider",
        "its calls wait; when the daemon or its engine ends, it is killed after `ISTHMUS_STOP_GRACE_PERIOD` (30 seconds)",
        "tests/contract/processes/host_faults.rs",
        "a_suspended_provider_is_killed_when_the_grace_period_is_over",
    ],
    [
        "SIGSTOP, to a guardian",
        "its provider outlives a killed daemon until SIGCONT or SIGKILL ends both",
        "tests/contract/processes/host_faults.rs",
        "a_suspended_guardian_ends_its_provider_when_it_goes_on",
    ],
    [
        "signals that end no process, SIGPIPE, SIGXFSZ",
        "none",
        "tests/contract/processes/host_faults.rs",
        "signals_that_do_not_end_the_daemon_do_not_disturb_it",
    ],
    [
        "no memory",
        "the daemon aborts, and its providers end",
        "tests/contract/processes/host_faults.rs",
        "without_memory_the_daemon_ends_and_leaves_no_provider",
    ],
    [
        "a full disk",
        "an entry of the journal fails as a whole, and the file keeps the others",
        "shim/state/journal/files/tests.rs",
        "a_full_disk_fails_the_append_and_leaves_what_was_there",
    ],
    [
        "a limit of file sizes (`ulimit -f`)",
        "as a full disk",
        "tests/contract/processes/limits.rs",
        "a_limit_of_file_sizes_is_like_a_full_disk",
    ],
    [
        "a home that cannot be written",
        "a warning; changes for today's engine are made without a journal",
        "tests/contract/processes/host_faults.rs",
        "a_home_that_cannot_be_written_is_reported_and_changes_are_made",
    ],
    [
        "a FIFO, a directory or the like in the place of a file of the journal",
        "it is named, nothing waits for it, and the other files are read",
        "tests/contract/stored/journal.rs",
        "what_is_no_file_in_the_journal_is_named_and_nothing_waits_for_it",
    ],
    [
        "no descriptor for a connection",
        "it waits, which is reported once",
        "tests/contract/processes/limits.rs",
        "a_limit_that_is_reached_delays_connections_and_is_reported",
    ],
    [
        "no descriptor for the start of a provider",
        "an error with the reason; the next start succeeds once there are some",
        "tests/contract/processes/host_faults.rs",
        "without_descriptors_a_provider_is_not_started_and_with_them_it_is",
    ],
    [
        "no directory for temporary files (`TMPDIR`)",
        "an error with its path when a provider is started",
        "tests/contract/processes/host_faults.rs",
        "without_a_directory_for_temporary_files_a_provider_is_not_started",
    ],
    [
        "spaces, newlines, quotes and Unicode in the paths of home, project and provider",
        "none",
        "tests/contract/processes/host_faults.rs",
        "directories_may_have_names_with_spaces_newlines_quotes_and_unicode",
    ],
    [
        "a state store of a newer release's format",
        "refused, and left as it is",
        "shim/state/suite/records.rs",
        "a_store_of_a_newer_version_is_left_alone",
    ],
    [
        "a file of another program in the place of the state store",
        "refused, and left as it is",
        "shim/state/sqlite/tests.rs",
        "databases_of_other_programs_are_refused_and_stay_as_they_are",
    ],
    [
        "stored state of a newer provider",
        "refused, and left as it is",
        "tests/contract/stored/provenance.rs",
        "state_that_is_too_new_is_refused_before_the_provider_is_asked",
    ],
    [
        "the wall clock is set",
        "limits of time use another clock; a renewal of an ephemeral resource looks at it every 30 seconds (by the code: no test sets it)",
        "bridge/session/daemon/leases.rs",
        "a_renewal_comes_before_it_is_wanted",
    ],
];

/// What the engine does to have a method called.
#[derive(Clone, Copy, Debug)]
enum Way {
    Parameterize,
    CheckConfig,
    Configure,
    Check,
    Create,
    Update,
    Delete,
    Refresh,
    Import,
    Move,
    List,
    Invoke(&'static str, &'static str),
    /// What was opened is renewed after a while.
    Renew,
    /// What was opened is closed by a Cancel.
    Close,
    /// A creation waits until it is stopped.
    Stop,
}

/// A method by its name in protocol 6, its name in protocol 5 if that is another, what is done by it, and the way there.
struct Call(&'static str, Option<&'static str>, &'static str, Way);

const DATA: Way = Way::Invoke("sandbox:index/getNote:getNote", "title");
const FUNCTION: Way = Way::Invoke("sandbox:index/greet:greet", "name");
const TOKEN: Way = Way::Invoke("sandbox:index/ephemeralToken:ephemeralToken", "audience");
const ACTION: Way = Way::Invoke("sandbox:index/actionBroadcast:actionBroadcast", "message");

const CALLS: [Call; 27] = [
    Call("GetProviderSchema", Some("GetSchema"), "", Way::Parameterize),
    Call("ValidateProviderConfig", Some("PrepareProviderConfig"), "", Way::CheckConfig),
    Call("ConfigureProvider", Some("Configure"), "", Way::Configure),
    Call("ValidateResourceConfig", Some("ValidateResourceTypeConfig"), "", Way::Check),
    Call("PlanResourceChange", None, "", Way::Create),
    Call("ApplyResourceChange", None, " (create)", Way::Create),
    Call("ApplyResourceChange", None, " (update)", Way::Update),
    Call("ApplyResourceChange", None, " (delete)", Way::Delete),
    Call("UpgradeResourceState", None, "", Way::Refresh),
    Call("ReadResource", None, "", Way::Refresh),
    Call("ImportResourceState", None, "", Way::Import),
    Call("GenerateResourceConfig", None, "", Way::Import),
    Call("MoveResourceState", None, "", Way::Move),
    Call("ValidateDataResourceConfig", Some("ValidateDataSourceConfig"), "", DATA),
    Call("ReadDataSource", None, "", DATA),
    Call("CallFunction", None, "", FUNCTION),
    Call("ValidateEphemeralResourceConfig", None, "", TOKEN),
    Call("OpenEphemeralResource", None, "", TOKEN),
    Call("RenewEphemeralResource", None, "", Way::Renew),
    Call("CloseEphemeralResource", None, "", Way::Close),
    Call("ValidateListResourceConfig", None, "", Way::List),
    Call("ListResource", None, "", Way::List),
    Call("GetResourceIdentitySchemas", None, "", Way::List),
    Call("ValidateActionConfig", None, "", ACTION),
    Call("PlanAction", None, "", ACTION),
    Call("InvokeAction", None, "", ACTION),
    Call("StopProvider", Some("Stop"), "", Way::Stop),
];

/// What a cell has come to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    /// The status and the first line of its message; `None`: the call was answered.
    failure: Option<String>,
    /// Whether the next call was served by another process.
    fresh: bool,
}

impl Call {
    fn name(&self, protocol: Protocol) -> &'static str {
        let Self(six, five, ..) = *self;
        if protocol == Protocol::V5 { five.unwrap_or(six) } else { six }
    }

    /// A script in the provider's place, whose first process has the fault; it writes down each process.
    fn script(&self, protocol: Protocol, fault: &str, real: &str) -> String {
        let fault = format!("{}:{fault}", self.name(protocol));
        format!(
            "mkdir \"$0.once\" 2>/dev/null && export SANDBOX_FAULT={fault} SANDBOX_REQUESTS=\"$0.requests\"\n\
             echo $$ >> \"$0.processes\"\nexec {real} \"$@\"\n"
        )
    }

    /// The error names the provider, the method, and what has happened.
    fn check_explanation(&self, cell: &str, fault: &str, protocol: Protocol, status: &Status) {
        let name = self.name(protocol);
        // A start is cancelled whatever it waits for, a plan that was stopped is not applied, and a fault in a stop is one of
        // what was to be stopped.
        let is_cancelled = fault == "late"
            || fault == "hang" && matches!(self.3, Way::Parameterize)
            || matches!(self.3, Way::Stop);
        assert!(status.message().contains("sandbox"), "{cell} does not name the provider: {status}");
        assert!(is_cancelled || status.message().contains(name), "{cell} does not name the method: {status}");
        let wanted = match fault {
            "crash" => "signal 9 (SIGKILL)",
            "exit" => "the sandbox was asked to exit",
            _ => "",
        };
        assert!(status.message().contains(wanted), "{cell} does not say {wanted:?}: {status}");
    }

    /// The first line of a message, the same for every method, process and protocol.
    fn first_line(&self, protocol: Protocol, status: &Status) -> String {
        let line = status.message().lines().next().unwrap_or_default();
        let line = line.replace(self.name(protocol), "RPC");
        line.replace('|', "\\|")
    }
}

impl Seen {
    fn of(call: &Call, protocol: Protocol, failure: Option<Status>, fresh: bool) -> Self {
        let failure =
            failure.map(|status| format!("{:?}: {}", status.code(), call.first_line(protocol, &status)));
        Self { failure, fresh }
    }
}

/// One session, with a provider of its own.
struct Cell {
    host: Arc<Host>,
    protocol: Protocol,
    call: &'static Call,
    fault: &'static str,
    directory: PathBuf,
    made: Stored,
}

impl Cell {
    /// Puts the provider with the fault into its place.
    fn provider(&self) -> String {
        std::fs::create_dir_all(&self.directory).expect("a directory in the host's directory");
        let file = self.directory.join("terraform-provider-sandbox");
        let real = format!("'{}'", self.host.provider());
        let file =
            crate::harness::host::script_at(&file, &self.call.script(self.protocol, self.fault, &real));
        file.to_str().expect("a path in UTF-8").to_owned()
    }

    fn written(&self, suffix: &str) -> String {
        let file = self.directory.join(format!("terraform-provider-sandbox.{suffix}"));
        std::fs::read_to_string(file).unwrap_or_default()
    }

    fn processes(&self) -> Vec<u32> {
        self.written("processes").lines().map(|line| line.parse().expect("a process id")).collect()
    }

    /// Does what has the method called.
    async fn go(&self, session: &Session, provider: &str) -> Result<(), Status> {
        let (note, hello) = (session.note(), json!({"title": "Hello"}));
        match self.call.3 {
            Way::Parameterize => drop(session.parameterize(&[provider]).await?),
            Way::CheckConfig => drop(session.check_config(&json!({}), &json!({})).await?),
            Way::Configure => drop(session.configure(&json!({})).await?),
            Way::Check => drop(note.check(&hello).await?),
            Way::Create => drop(note.create(&hello).await?),
            Way::Update => drop(note.update(&self.made, &json!({"title": "Hello", "body": "again"})).await?),
            Way::Delete => note.delete(&self.made).await?,
            Way::Refresh => drop(note.refresh(&self.made).await?),
            Way::Import => drop(note.import(&self.made.id).await?),
            Way::Move => drop(note.diff(&self.made, &hello).await?),
            Way::List => {
                let listed =
                    session.list(ListRequest { token: NOTE.to_owned(), ..Default::default() }).await?;
                listed.error.map_or(Ok(()), Err)?;
            }
            Way::Invoke(token, argument) => {
                let answered = session.invoke(token, &json!({argument: "Hello"})).await?;
                answered.unwrap_or_else(|failures| panic!("{token}: {failures:?}"));
            }
            Way::Renew | Way::Close => {
                let lifetime = if matches!(self.call.3, Way::Renew) { "300ms" } else { "1h" };
                let request = json!({"audience": "Hello", "lifetime": lifetime});
                let opened = session.invoke("sandbox:index/ephemeralToken:ephemeralToken", &request).await?;
                opened.unwrap_or_else(|failures| panic!("{failures:?}"));
                if matches!(self.call.3, Way::Close) {
                    session.cancel().await?;
                }
                self.reached(self.call.name(self.protocol)).await;
                if matches!(self.fault, "crash" | "exit") {
                    ended(self.processes()[0]).await;
                }
            }
            Way::Stop => drop(session.faulty().make(&json!({"mode": "late", "during": "create"})).await?),
        }
        Ok(())
    }

    /// Waits until the faulty process was asked.
    async fn reached(&self, method: &str) {
        let method = format!("/{method}\"");
        while !self.written("requests").contains(&method) {
            // The record is a file; there is nothing to wait on but the file itself.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn run(&self) -> Seen {
        let Call(six, _, what, way) = self.call;
        let cell = format!("{six}{what}, {}, protocol {}", self.fault, self.protocol);
        let provider = self.provider();
        let session = self.host.greeted().await.expect("a session");
        if !matches!(way, Way::Parameterize) {
            session.parameterize(&[&provider]).await.unwrap_or_else(|status| panic!("{cell}: {status}"));
        }
        if !matches!(way, Way::Parameterize | Way::CheckConfig | Way::Configure) {
            session.configure(&json!({})).await.unwrap_or_else(|status| panic!("{cell}: {status}"));
        }
        let begun = Instant::now();
        let (cancels, during) = match (self.fault, way) {
            (_, Way::Stop) => (2, "ApplyResourceChange"),
            ("hang", _) => (2, self.call.name(self.protocol)),
            ("late", _) => (1, self.call.name(self.protocol)),
            _ => (0, ""),
        };
        let cancel = async {
            if cancels > 0 {
                self.reached(during).await;
            }
            for _ in 0..cancels {
                session.cancel().await.unwrap_or_else(|status| panic!("{cell}: {status}"));
            }
        };
        let (outcome, ()) = tokio::join!(self.go(&session, &provider), cancel);
        assert!(begun.elapsed() < LONGEST, "{cell} took {:?}", begun.elapsed());
        if let Err(status) = &outcome {
            self.call.check_explanation(&cell, self.fault, self.protocol, status);
        }
        let before = self.processes().len();
        let next = async || {
            if matches!(way, Way::Parameterize) && outcome.is_err() {
                session.parameterize(&[&provider]).await?;
            }
            if matches!(way, Way::Parameterize | Way::CheckConfig)
                || matches!(way, Way::Configure) && outcome.is_err()
            {
                session.configure(&json!({})).await?;
            }
            session.note().make(&json!({"title": "Next"})).await
        };
        // Nothing waits for the answer to these, so that a later call may be the first to hear of the fault.
        let is_heard_of_later = matches!(way, Way::Renew | Way::Close);
        while let Err(status) = next().await {
            let may_fail = is_heard_of_later && begun.elapsed() < LONGEST;
            assert!(may_fail, "the call after {cell}: {status}");
        }
        let processes = self.processes();
        drop(session);
        for process in &processes {
            ended(*process).await;
        }
        Seen::of(self.call, self.protocol, outcome.err(), processes.len() > before)
    }
}

/// Runs all cells of a protocol.
async fn table(protocol: Protocol) -> BTreeMap<(&'static str, String), Seen> {
    let setup = Setup::sandbox(protocol)
        .with("SANDBOX_ODD", "usable")
        .with("SANDBOX_GENERATE", "config")
        // Longer than a flood of log lines takes on a busy machine.
        .with("ISTHMUS_STOP_GRACE_PERIOD", "2")
        .with("ISTHMUS_SCHEMA_CACHE", "false");
    let (host, session) = setup.session().await.expect("a session");
    let host = Arc::new(host);
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut cells = JoinSet::new();
    for (number, call) in CALLS.iter().enumerate() {
        for (fault, _) in FAULTS {
            let made = match call.3 {
                Way::Move => {
                    let memo = session.resource("sandbox:index/memo:Memo", "memo");
                    memo.make(&json!({"name": "Hello", "text": "World"})).await
                }
                _ => session.note().make(&json!({"title": "Hello"})).await,
            };
            let made = made.expect("an object");
            let directory = host.directory().join(format!("cells/{number}-{fault}"));
            let cell = Cell { host: Arc::clone(&host), protocol, call, fault, directory, made };
            let room = Arc::clone(&room);
            cells.spawn(async move {
                let _room = room.acquire_owned().await.expect("it is never closed");
                let seen = tokio::time::timeout(PATIENCE * 2, cell.run()).await;
                let name = format!("{}{}", cell.call.0, cell.call.2);
                let seen = seen.unwrap_or_else(|_| panic!("{name} hangs with {fault}"));
                ((fault, name), seen)
            });
        }
    }
    let seen = cells.join_all().await.into_iter().collect();
    assert!(host.lives(), "the daemon goes on");
    seen
}

const HEAD: &str = "\
# Faults

<!-- Generated from what tests/contract/processes/faults.rs has seen. UPDATE_EXPECT=1 cargo test --test contract faults:: -->

This page has the error that you see for each fault below isthmus, and the effect on the next call. Isthmus starts a provider that
has ended again at the next call ([decision](decisions/restarted-providers.md)). It repeats no call.

## Faults of a provider

Each row is a fault in each of its calls, on protocols 5 and 6. The table has the first line of each message, with
`RPC` for the name of the call. The whole message ends with the last output of the process. Isthmus leaves no process behind. It does
not wait for the answer when it renews or closes an ephemeral resource.

";

const LEGACY: &str = "
## The same faults in the calls of the legacy engine

That engine cancels nothing, so two of the faults cannot occur. [cut.rs](../tests/contract/lumirpc/cut.rs) has the errors of calls
that the plugin interrupts when it ends.

";

/// What was seen, by fault and call.
type Table = BTreeMap<(&'static str, String), Seen>;

/// The whole page.
fn page(today: &Table, legacy: &Table) -> String {
    let mut page = HEAD.to_owned();
    push_table(&mut page, today, &FAULTS, &CALLS);
    page.push_str(LEGACY);
    push_table(&mut page, legacy, &legacy::faults(), &legacy::CALLS);
    for (heading, rows) in
        [("Other faults of a provider", &OF_A_PROVIDER[..]), ("Faults of the host", &OF_THE_HOST)]
    {
        page.push_str(&format!("\n## {heading}\n\n| fault | outcome | shown by |\n|---|---|---|\n"));
        for [fault, outcome, file, test] in rows {
            let name = file.rsplit('/').next().unwrap_or_default();
            page.push_str(&format!("| {fault} | {outcome} | `{test}` in [{name}](../{file}) |\n"));
        }
    }
    page
}

/// A row for all calls that have come to the same by a fault.
fn push_table(page: &mut String, seen: &Table, faults: &[(&'static str, &str)], calls: &[Call]) {
    page.push_str("| fault | calls | outcome | the next call is served by |\n|---|---|---|---|\n");
    for (fault, meaning) in faults {
        let mut rows: Vec<(&Seen, Vec<&str>)> = Vec::new();
        for Call(name, _, what, _) in calls {
            let (key, seen) = seen
                .get_key_value(&(*fault, format!("{name}{what}")))
                .unwrap_or_else(|| panic!("{fault} in {name}{what} was not run"));
            match rows.iter_mut().find(|(same, _)| *same == seen) {
                Some((_, names)) => names.push(&key.1),
                None => rows.push((seen, vec![&key.1])),
            }
        }
        rows.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        for (number, (seen, names)) in rows.iter().enumerate() {
            let calls = if rows.len() == 1 {
                "all".to_owned()
            } else if number == 0 {
                "all others".to_owned()
            } else {
                names.join(", ")
            };
            let outcome = seen.failure.as_deref().unwrap_or("the call succeeds");
            let process = if seen.fresh { "a fresh process" } else { "the same process" };
            page.push_str(&format!("| {fault}: {meaning} | {calls} | {outcome} | {process} |\n"));
        }
    }
}

#[test]
fn every_fault_that_is_in_no_cell_names_a_test() {
    for [fault, _, file, test] in OF_A_PROVIDER.iter().chain(&OF_THE_HOST) {
        let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {test}(")), "{fault}: {file} has no {test}");
    }
}

#[tokio::test]
async fn a_provider_that_starts_slowly_is_waited_for() {
    let begun = Instant::now();
    let setup = Setup::sandbox(Protocol::V6).with("SANDBOX_START_DELAY", "1500");
    let (_host, session) = setup.session().await.expect("a session");
    assert!(begun.elapsed() >= Duration::from_millis(1500), "{:?}", begun.elapsed());
    session.note().make(&json!({"title": "Hello"})).await.expect("it is served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_in_every_call_is_explained_and_survived() {
    let (five, six) = tokio::join!(table(Protocol::V5), table(Protocol::V6));
    let (legacy_five, legacy_six) = tokio::join!(legacy::table(Protocol::V5), legacy::table(Protocol::V6));
    for (five, six) in [(&five, &six), (&legacy_five, &legacy_six)] {
        for (cell, seen) in six {
            assert_eq!(five.get(cell), Some(seen), "{cell:?}: both protocols come to the same");
        }
    }
    let made = page(&six, &legacy_six);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "docs/faults.md is not what was seen; run `{UPDATE}=1 cargo test --test contract faults::`:\n{made}"
    );
}
