//! Every way in which a daemon ends, with every kind of process that a provider can be or leave behind.
//!
//! The processes of a run are found by a variable of the environment that only they have, so that nothing has to be
//! known of who started them. A run fails when one is left [`LIMIT`] after its ending (longer where a provider is given
//! time to end its calls).
//!
//! `ISTHMUS_ENDINGS` says how often each combination runs; without it, once, and with more time for each, because a
//! machine that builds beside its tests is slow. The table that it prints is in `tests/contract/results/`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::host::EngineInput;
use crate::harness::processes::{self, Found};
use crate::harness::{Host, Protocol, Session, Setup, json};

/// How long processes may outlive the reason to end.
const LIMIT: Duration = Duration::from_secs(2);
/// The same where the machine does other work as well.
const RELAXED_LIMIT: Duration = Duration::from_secs(15);
/// How long calls may go on in these runs when the daemon ends in order, in seconds.
const GRACE: u64 = 1;
/// How long a provider may take to end when asked to, as in Terraform core.
const SHUTDOWN: Duration = Duration::from_secs(2);
/// The variable by which the processes of a run are found.
const MARK: &str = "ENDINGS_MARK";
/// How many runs go on at once.
const AT_ONCE: usize = 6;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Killed,
    GroupKilled,
    Hangup,
    Terminated,
    Interrupted,
    InterruptedTwice,
    EngineKilled(EngineInput),
    GuardianKilled,
    GuardianTerminated,
    SessionClosed,
}

const ENDINGS: [Ending; 11] = [
    Ending::Killed,
    Ending::GroupKilled,
    Ending::Hangup,
    Ending::Terminated,
    Ending::Interrupted,
    Ending::InterruptedTwice,
    Ending::EngineKilled(EngineInput::Pipe),
    Ending::EngineKilled(EngineInput::Null),
    Ending::GuardianKilled,
    Ending::GuardianTerminated,
    Ending::SessionClosed,
];

/// What runs beneath the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Child {
    Plain(Protocol5Or6),
    Several,
    Starting,
    InACall,
    IgnoresEverything,
    Helper,
    ReparentedHelper,
    HelperInAGroupOfItsOwn,
    Wrapper,
    DeafWrapper,
    HelperInAnotherSession,
    HelperInAnotherSessionToBeKilled,
}

/// The protocol, in a form that can be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol5Or6 {
    V5,
    V6,
}

const CHILDREN: [Child; 13] = [
    Child::Plain(Protocol5Or6::V5),
    Child::Plain(Protocol5Or6::V6),
    Child::Several,
    Child::Starting,
    Child::InACall,
    Child::IgnoresEverything,
    Child::Helper,
    Child::ReparentedHelper,
    Child::HelperInAGroupOfItsOwn,
    Child::Wrapper,
    Child::DeafWrapper,
    Child::HelperInAnotherSession,
    Child::HelperInAnotherSessionToBeKilled,
];

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Killed => "SIGKILL of the daemon",
            Self::GroupKilled => "SIGKILL of its process group",
            Self::Hangup => "SIGHUP",
            Self::Terminated => "SIGTERM",
            Self::Interrupted => "SIGINT",
            Self::InterruptedTwice => "SIGINT twice",
            Self::EngineKilled(EngineInput::Pipe) => "SIGKILL of the engine, standard input a pipe",
            Self::EngineKilled(EngineInput::Null) => "SIGKILL of the engine, standard input `/dev/null`",
            Self::GuardianKilled => "SIGKILL of the guardian",
            Self::GuardianTerminated => "SIGTERM of guardian and daemon",
            Self::SessionClosed => "the engine closes its connection",
        })
    }
}

impl fmt::Display for Child {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain(Protocol5Or6::V5) => "provider, protocol 5",
            Self::Plain(Protocol5Or6::V6) => "provider, protocol 6",
            Self::Several => "two providers",
            Self::Starting => "provider that is starting",
            Self::InACall => "provider in a call that never ends",
            Self::IgnoresEverything => "provider that ignores everything",
            Self::Helper => "helper of a provider",
            Self::ReparentedHelper => "helper, re-parented",
            Self::HelperInAGroupOfItsOwn => "helper, process group of its own",
            Self::Wrapper => "shell wrapper",
            Self::DeafWrapper => "shell wrapper that ignores signals",
            Self::HelperInAnotherSession => "helper in another session (to be left)",
            Self::HelperInAnotherSessionToBeKilled => "the same, `ISTHMUS_KILL_SESSIONS=true`",
        })
    }
}

impl Ending {
    /// Whether calls under way are given time to end.
    fn is_orderly(self) -> bool {
        match self {
            Self::Hangup
            | Self::Terminated
            | Self::Interrupted
            | Self::EngineKilled(_)
            | Self::GuardianTerminated
            | Self::SessionClosed => true,
            Self::Killed | Self::GroupKilled | Self::InterruptedTwice | Self::GuardianKilled => false,
        }
    }

    /// Whether the daemon goes on.
    fn leaves_the_daemon(self) -> bool {
        matches!(self, Self::GuardianKilled | Self::SessionClosed)
    }
}

impl Child {
    /// What the provider binary is, if it is no plain sandbox; `$REAL` is that.
    fn script(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain(_) | Self::Several | Self::Starting | Self::InACall => return None,
            Self::IgnoresEverything => "trap '' TERM INT HUP\nexec \"$REAL\" \"$@\"\n",
            Self::Helper => "sleep 1000 &\nexec \"$REAL\" \"$@\"\n",
            Self::ReparentedHelper => "(sleep 1000 &)\nexec \"$REAL\" \"$@\"\n",
            Self::HelperInAGroupOfItsOwn => "bash -c 'set -m; sleep 1000 &'\nexec \"$REAL\" \"$@\"\n",
            Self::Wrapper => "\"$REAL\" \"$@\"\nexit $?\n",
            Self::DeafWrapper => "trap '' TERM INT HUP\n\"$REAL\" \"$@\"\nexit $?\n",
            Self::HelperInAnotherSession | Self::HelperInAnotherSessionToBeKilled => {
                "setsid sleep 1000 </dev/null >/dev/null 2>&1 &\nexec \"$REAL\" \"$@\"\n"
            }
        })
    }

    fn has_helper(self) -> bool {
        self.script().is_some_and(|script| script.contains("sleep"))
    }

    /// How many processes are meant to be left.
    fn meant_to_be_left(self, ending: Ending) -> usize {
        match self {
            Self::HelperInAnotherSession => 1,
            // Nothing but the guardian knew what was its provider's.
            Self::HelperInAnotherSessionToBeKilled if ending == Ending::GuardianKilled => 1,
            _ => 0,
        }
    }

    fn setup(self, number: usize) -> Setup {
        let protocol = match self {
            Self::Plain(Protocol5Or6::V5) => Protocol::V5,
            Self::Plain(Protocol5Or6::V6) => Protocol::V6,
            _ if number.is_multiple_of(2) => Protocol::V5,
            _ => Protocol::V6,
        };
        let setup = Setup::sandbox(protocol)
            .with("ISTHMUS_STOP_GRACE_PERIOD", &GRACE.to_string())
            // The sandbox is as large as the daemon, and without optimisation its checksum takes longer than these endings.
            .with("ISTHMUS_SCHEMA_CACHE", "off");
        let setup = match self.script() {
            Some(script) => setup.wrapped(script),
            None => setup,
        };
        match self {
            Self::Starting => setup.with("SANDBOX_HANDSHAKE", "silent"),
            Self::IgnoresEverything => setup.with("SANDBOX_SHUTDOWN", "hang").with("SANDBOX_STOP", "hang"),
            Self::HelperInAnotherSessionToBeKilled => setup.with("ISTHMUS_KILL_SESSIONS", "true"),
            _ => setup,
        }
    }
}

fn limit(ending: Ending, child: Child, relaxed: bool) -> Duration {
    let limit = if relaxed { RELAXED_LIMIT } else { LIMIT };
    match child {
        Child::InACall | Child::IgnoresEverything if ending.is_orderly() => {
            limit + Duration::from_secs(GRACE) + SHUTDOWN
        }
        _ => limit,
    }
}

/// The live processes that have `mark` in their environment.
fn marked(mark: &str) -> Vec<Found> {
    processes::with_variable(MARK, mark)
}

async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < crate::harness::PATIENCE, "waited in vain until {what}");
        // Nothing tells of a process that came or went.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What came of a run.
#[derive(Debug)]
struct Run {
    ending: Ending,
    child: Child,
    /// What was left at the limit, beyond what was meant to be.
    left: Vec<Found>,
    missing: usize,
    elapsed: Duration,
}

/// The sessions that a run has open, and the calls under way.
#[derive(Debug, Default)]
struct Open {
    sessions: Vec<Session>,
    calls: JoinSet<()>,
}

async fn run(ending: Ending, child: Child, number: usize, relaxed: bool) -> Run {
    let mark = format!("{}-{number}", std::process::id());
    let setup = child.setup(number).with(MARK, &mark);
    let setup = match ending {
        Ending::GroupKilled => setup.in_a_process_group(),
        Ending::EngineKilled(input) => setup.below_an_engine(input),
        _ => setup,
    };
    let host = setup.start().await;
    let open = bring_up(&host, child, &mark).await;
    let daemon = host.process();
    let guardians: Vec<Found> =
        marked(&mark).into_iter().filter(|found| found.command.starts_with("isthmus-guardian")).collect();

    let begun = Instant::now();
    let sessions = end(ending, &host, daemon, &guardians, open);
    let meant = child.meant_to_be_left(ending);
    let limit = limit(ending, child, relaxed);
    let mut left;
    loop {
        left = marked(&mark);
        left.retain(|found| !(ending.leaves_the_daemon() && found.process == daemon));
        if left.len() <= meant || begun.elapsed() > limit {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let elapsed = begun.elapsed();
    for found in &left {
        processes::kill(found.process);
    }
    drop(sessions);
    let missing = meant.saturating_sub(left.len());
    left.retain(|found| !found.command.starts_with("sleep") || meant == 0);
    Run { ending, child, left, missing, elapsed }
}

/// Brings the daemon to where a provider runs as the run wants it.
async fn bring_up(host: &Host, child: Child, mark: &str) -> Open {
    let mut open = Open::default();
    if child == Child::Starting {
        let session = host.greeted().await.expect("the daemon answers");
        let provider = host.provider();
        let starting = session.clone();
        open.calls.spawn(async move { drop(starting.parameterize(&[&provider]).await) });
        open.sessions.push(session);
        let is_provider = |found: &Found| {
            found.command.starts_with('/') && found.command.contains("terraform-provider-sandbox")
        };
        until("the provider starts", || marked(mark).iter().any(is_provider)).await;
        return open;
    }
    let count = if child == Child::Several { 2 } else { 1 };
    for _ in 0..count {
        open.sessions.push(host.session().await.expect("the provider works"));
    }
    if matches!(child, Child::InACall | Child::IgnoresEverything) {
        let faulty = open.sessions[0].faulty();
        open.calls.spawn(async move { drop(faulty.create(&json!({"mode": "hang-forever"})).await) });
        host.provider_is_in("ApplyResourceChange", 1).await;
    }
    if child.has_helper() {
        until("the helper runs", || marked(mark).iter().any(|found| found.command.starts_with("sleep")))
            .await;
    }
    open
}

/// Ends the daemon, or its provider. Returns what of the engine's side goes on.
fn end(ending: Ending, host: &Host, daemon: u32, guardians: &[Found], open: Open) -> Option<Open> {
    let send = processes::signal;
    let id = |process: u32| i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process id");
    match ending {
        Ending::Killed => send(daemon, Signal::KILL),
        Ending::GroupKilled => kill_process_group(id(daemon), Signal::KILL).expect("the group is there"),
        Ending::Hangup => send(daemon, Signal::HUP),
        Ending::Terminated => send(daemon, Signal::TERM),
        Ending::Interrupted => send(daemon, Signal::INT),
        Ending::InterruptedTwice => {
            send(daemon, Signal::INT);
            let again = Duration::from_millis(50);
            // Two signals that come at once are one; the second may find nothing any more.
            tokio::spawn(async move {
                tokio::time::sleep(again).await;
                let _ = kill_process(id(daemon), Signal::INT);
            });
        }
        Ending::EngineKilled(_) => host.kill_starter(),
        Ending::GuardianKilled => guardians.iter().for_each(|found| send(found.process, Signal::KILL)),
        Ending::GuardianTerminated => {
            // As at the end of a machine, when everything gets the signal.
            guardians.iter().for_each(|found| send(found.process, Signal::TERM));
            send(daemon, Signal::TERM);
        }
        Ending::SessionClosed => {
            drop(open);
            return None;
        }
    }
    Some(open)
}

/// What became of all runs of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: usize,
    with_processes_left: usize,
    processes_left: usize,
    longest: Duration,
}

fn table(tallies: &BTreeMap<(Child, Ending), Tally>) -> String {
    let mut table = String::from("|  |");
    for child in CHILDREN {
        table.push_str(&format!(" {child} |"));
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(CHILDREN.len()));
    for ending in ENDINGS {
        table.push_str(&format!("\n| {ending} |"));
        for child in CHILDREN {
            let Tally { runs, with_processes_left, processes_left, longest } =
                tallies.get(&(child, ending)).copied().unwrap_or_default();
            let longest = longest.as_millis();
            table.push_str(&match with_processes_left {
                0 => format!(" 0 of {runs}, {longest} ms |"),
                left => format!(" **{left} of {runs}** ({processes_left}) |"),
            });
        }
    }
    table.push('\n');
    table
}

/// Every combination; see the module.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_ends_the_daemon_no_process_of_a_provider_is_left() {
    let repetitions: Option<usize> =
        std::env::var("ISTHMUS_ENDINGS").ok().map(|text| text.parse().expect("a number"));
    let relaxed = repetitions.is_none();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut runs = JoinSet::new();
    let mut number = 0;
    for _ in 0..repetitions.unwrap_or(1) {
        for (row, child) in CHILDREN.into_iter().enumerate() {
            for (column, ending) in ENDINGS.into_iter().enumerate() {
                number += 1;
                let (places, number) = (Arc::clone(&places), number * 2 + (row + column) % 2);
                runs.spawn(async move {
                    let _place = places.acquire_owned().await.expect("it is never closed");
                    run(ending, child, number, relaxed).await
                });
            }
        }
    }
    let mut tallies: BTreeMap<(Child, Ending), Tally> = BTreeMap::new();
    let mut faults = Vec::new();
    while let Some(run) = runs.join_next().await {
        let run = run.expect("a run ends without a panic");
        let tally = tallies.entry((run.child, run.ending)).or_default();
        tally.runs += 1;
        tally.with_processes_left += usize::from(!run.left.is_empty());
        tally.processes_left += run.left.len();
        tally.longest = tally.longest.max(run.elapsed);
        if !run.left.is_empty() || run.missing > 0 {
            faults
                .push(format!("{}: {}: left {:?}, missing {}", run.ending, run.child, run.left, run.missing));
        }
    }
    let all: usize = tallies.values().map(|tally| tally.runs).sum();
    let with_left: usize = tallies.values().map(|tally| tally.with_processes_left).sum();
    println!("{}", table(&tallies));
    println!("{all} runs, {with_left} of them with processes left");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
