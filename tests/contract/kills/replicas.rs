//! Replicas of a shared daemon, one of which is killed every five seconds, and a database that does not answer for a while.
//!
//! `ISTHMUS_REPLICAS=full` is the run of `docs/reliability.md`: two hundred programs, kills for two minutes, and a database that is
//! stopped for thirty seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::harness::processes::Signal;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::engine::{Program, Saved, deploy, is_listed, is_report, lock, objects_in};
use super::random::{Dice, change_some};
use crate::harness::engine::Severity;
use crate::harness::replicas::{REPLICAS, Replicas};
use crate::harness::{Host, Json, Session, Setup, json};

/// How many resources a program has at most.
const RESOURCES: usize = 4;
/// The time from one kill to the next.
const PERIOD: Duration = Duration::from_secs(5);
/// How many sessions show how long it takes until another replica has taken over.
const PROBES: usize = 6;
/// How long a call may take: the replicas wait for their database for half a minute, before and after the provider's call.
const PATIENCE: Duration = Duration::from_secs(150);
/// How often a program is run until it is done, when nothing is killed any more.
const ATTEMPTS: usize = 5;
/// How much is done.
struct Size {
    programs: usize,
    /// How many programs run at once.
    at_once: usize,
    kills: usize,
    outage: Duration,
}

impl Size {
    fn chosen() -> Self {
        match std::env::var_os("ISTHMUS_REPLICAS") {
            Some(_) => Self { programs: 200, at_once: 24, kills: 24, outage: Duration::from_secs(30) },
            None => Self { programs: 16, at_once: 12, kills: 3, outage: Duration::from_secs(5) },
        }
    }
}

/// What happens while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Kills,
    Outage,
    Quiet,
}

const PHASES: [(Phase, &str); 3] = [
    (Phase::Kills, "SIGKILL of a replica every 5 s"),
    (Phase::Outage, "the database stopped"),
    (Phase::Quiet, "neither"),
];

/// What was seen in a phase.
#[derive(Clone, Debug, Default)]
struct Tally {
    runs: usize,
    cut_short: usize,
    calls: usize,
    changes: usize,
    /// Statuses of changes that failed, by their codes.
    failures: BTreeMap<String, usize>,
    reports: usize,
}

/// One program, its stack, and what its users were told.
struct Stack {
    number: usize,
    program: Program,
    saved: Arc<Mutex<Saved>>,
    dice: Dice,
    reports: Vec<String>,
    is_done: bool,
}

/// What all programs share.
struct Load {
    plugin: Setup,
    phase: AtomicU8,
    tallies: Mutex<BTreeMap<Phase, Tally>>,
    /// Other warnings than reports, by their beginnings.
    warnings: Mutex<BTreeMap<String, usize>>,
}

impl Load {
    fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed))].0
    }

    fn enter(&self, phase: Phase) {
        let place = PHASES.iter().position(|(other, _)| *other == phase).expect("it is one of them");
        self.phase.store(u8::try_from(place).expect("few phases"), Ordering::Relaxed);
    }

    async fn session(&self, host: &Host, stack: &str) -> Result<Session, tonic::Status> {
        let session = host.connect().await.of_stack(stack).patient(PATIENCE);
        session.handshake(host.engine.address()).await?;
        session.parameterize(&[&host.provider()]).await?;
        session.configure(&json!({})).await?;
        Ok(session)
    }

    /// Runs a program once, by a plugin of its own.
    async fn run(&self, stack: &mut Stack) {
        let phase = self.phase();
        let host = self.plugin.clone().start().await;
        let deployed = async {
            let session = self.session(&host, &format!("stack{}", stack.number)).await?;
            deploy(session, &stack.program, &stack.saved).await
        };
        let deployed = deployed.await;
        stack.is_done = deployed.is_ok();
        let shown = host.engine.shown().into_iter().filter(|line| line.severity == Severity::Warning);
        let (reports, others): (Vec<String>, Vec<String>) =
            shown.map(|line| line.message).partition(|text| is_report(text));
        for text in others {
            let beginning: String = text.chars().take(160).collect();
            *locked(&self.warnings).entry(beginning).or_default() += 1;
        }
        let mut tallies = locked(&self.tallies);
        let tally = tallies.entry(phase).or_default();
        tally.runs += 1;
        tally.cut_short += usize::from(deployed.is_err());
        tally.reports += reports.len();
        for line in host.transcript().lines() {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some("→"), Some(call), _) => {
                    tally.calls += 1;
                    tally.changes += usize::from(["Create", "Update", "Delete"].contains(&call));
                }
                (Some("←"), Some("failed:"), Some(call)) => {
                    let code = line.split("code: ").nth(1).unwrap_or_default();
                    let code: String = code.chars().take_while(char::is_ascii_alphabetic).collect();
                    let text = line.split("message: ").nth(1).unwrap_or_default();
                    let text: String = text.chars().take(90).collect();
                    *tally.failures.entry(format!("{call} {code} {text}")).or_default() += 1;
                }
                _ => {}
            }
        }
        drop(tallies);
        stack.reports.extend(reports);
    }
}

impl Tally {
    /// How many changes have an outcome that their engine does not know.
    fn unknown(&self) -> usize {
        let is_change = |name: &str| ["Create", "Update", "Delete"].iter().any(|call| name.starts_with(call));
        let unknown = self.failures.iter().filter(|(name, _)| is_change(name) && name.contains(" Unknown "));
        unknown.map(|(_, count)| count).sum()
    }

    /// How many calls failed without an effect.
    fn refused(&self) -> usize {
        self.failures.values().sum::<usize>() - self.unknown()
    }
}

impl Stack {
    fn new(number: usize) -> Self {
        Self {
            number,
            program: Program::new(),
            saved: Arc::default(),
            dice: Dice::new(number + 1),
            reports: Vec::new(),
            is_done: true,
        }
    }

    /// Changes the program. One that was cut short is run again as it is, as users do.
    fn change(&mut self) {
        if self.is_done {
            let names = (0..RESOURCES).map(|number| format!("stack{}-note{number}", self.number));
            change_some(&mut self.program, names, &mut self.dice);
        }
    }
}

/// A session that shows when another replica has taken over.
struct Probe {
    host: Host,
    session: Session,
}

impl Probe {
    /// It has changed a resource, so it does not go on without replicas.
    async fn start(load: &Load, number: usize) -> Self {
        let host = load.plugin.clone().start().await;
        let session = load.session(&host, &format!("probe{number}")).await.expect("all replicas run");
        let note = session.resource("sandbox:index/note:Note", "probe");
        let made = note.make(&json!({"title": "probe"})).await.expect("all replicas run");
        note.delete(&made).await.expect("all replicas run");
        Self { host, session }
    }
}

/// The time until a call is answered.
async fn answer(session: Session) -> Result<Duration, tonic::Status> {
    let begun = Instant::now();
    session.resource("sandbox:index/note:Note", "probe").check(&json!({"title": "probe"})).await?;
    Ok(begun.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_replica_is_killed_and_while_the_database_is_gone_nothing_is_lost_or_made_twice() {
    fixtures::needs!(PostgreSql);
    let size = Size::chosen();
    let mut replicas = Replicas::start().await;
    let load = Arc::new(Load {
        plugin: replicas.plugin().without_a_record(),
        phase: AtomicU8::new(0),
        tallies: Mutex::default(),
        warnings: Mutex::default(),
    });
    let mut probes = Vec::new();
    for number in 0..PROBES {
        probes.push(Probe::start(&load, number).await);
    }
    let (stop, stopped) = watch::channel(false);
    let turns = Arc::new(Semaphore::new(size.at_once));
    let mut programs = JoinSet::new();
    for number in 0..size.programs {
        let (load, turns, stopped) = (Arc::clone(&load), Arc::clone(&turns), stopped.clone());
        programs.spawn(async move {
            let mut stack = Stack::new(number);
            // Each is run at least once.
            loop {
                let _turn = turns.acquire().await.expect("it is not closed");
                stack.change();
                load.run(&mut stack).await;
                if *stopped.borrow() {
                    return stack;
                }
            }
        });
    }

    let mut taken_over = Vec::new();
    let mut clock = tokio::time::interval(PERIOD);
    clock.tick().await;
    for kill in 0..size.kills {
        clock.tick().await;
        let victim = kill % REPLICAS;
        let connected = replicas.connected(victim);
        let lost: Vec<&Probe> =
            probes.iter().filter(|probe| connected.contains(&probe.host.process())).collect();
        replicas.signal(victim, Signal::KILL);
        let answers: JoinSet<_> = lost.iter().map(|probe| answer(probe.session.clone())).collect();
        for answer in answers.join_all().await {
            taken_over.push(answer.unwrap_or_else(|status| panic!("nobody takes over: {status}")));
        }
        replicas.ended(victim).await;
        replicas.run(victim).await;
    }
    load.enter(Phase::Outage);
    replicas.signal_database(Signal::STOP);
    tokio::time::sleep(size.outage).await;
    replicas.signal_database(Signal::CONT);
    clock.reset();
    clock.tick().await;
    stop.send(true).expect("programs run");
    let mut stacks = programs.join_all().await;

    load.enter(Phase::Quiet);
    let mut quiet = JoinSet::new();
    for mut stack in stacks.drain(..) {
        let (load, turns) = (Arc::clone(&load), Arc::clone(&turns));
        quiet.spawn(async move {
            let _turn = turns.acquire().await.expect("it is not closed");
            for _ in 0..ATTEMPTS {
                load.run(&mut stack).await;
                if stack.is_done {
                    break;
                }
            }
            stack
        });
    }
    let stacks = quiet.join_all().await;
    for stack in &stacks {
        assert!(stack.is_done, "stack{} cannot be finished: {:#?}", stack.number, locked(&load.tallies));
        let wanted: BTreeSet<&String> = stack.program.keys().collect();
        let saved = lock(&stack.saved);
        assert_eq!(saved.resources.keys().collect::<BTreeSet<_>>(), wanted, "stack{}", stack.number);
        assert!(saved.condemned.is_empty(), "stack{}", stack.number);
    }

    // What the provider has and no engine knows.
    let known: BTreeSet<String> = stacks.iter().flat_map(|stack| lock(&stack.saved).ids()).collect();
    let objects = objects_in(&replicas.directory.path().join("objects"));
    let strangers: Vec<(String, String)> =
        objects.into_iter().filter(|(id, _)| !known.contains(id)).collect();
    let open = replicas.open_operations();
    let is_known = |(id, title): &&(String, String)| {
        // A lost replica's seem to be in progress until its leases have expired.
        let is_of_it =
            |open: &&Json| open["urn"].as_str().is_some_and(|urn| urn.ends_with(&format!("::{title}")));
        let in_progress = |open: &Json| open["kind"] == "creation" && open["condition"] == "in progress";
        open.iter().any(|open| is_listed(open, id, title) || (is_of_it(&open) && in_progress(open)))
    };
    let lost = strangers.iter().filter(|of| !is_known(of)).count();
    let is_reported = |(id, title): &&(String, String)| {
        let mut reports = stacks.iter().flat_map(|stack| &stack.reports);
        reports.any(|report| report.contains(id.as_str()) || report.contains(&format!("::{title} ")))
    };
    let unreported: Vec<&(String, String)> = strangers.iter().filter(|of| !is_reported(of)).collect();

    taken_over.sort();
    let median = taken_over.get(taken_over.len() / 2).copied().unwrap_or_default();
    let worst = taken_over.last().copied().unwrap_or_default();
    let tallies = locked(&load.tallies).clone();
    println!("{tallies:#?}\n{:#?}", locked(&load.warnings));
    for (phase, name) in PHASES {
        let tally = tallies.get(&phase).cloned().unwrap_or_default();
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            tally.runs,
            tally.cut_short,
            tally.calls,
            tally.changes,
            tally.unknown(),
            tally.refused(),
            tally.reports,
        );
    }
    println!(
        "{} programs on {}, {} kills, database stopped for {} s: {} objects that no engine knows, of which {lost} are lost and {} were \
         not reported; {} sessions taken over in {} ms (median), {} ms (worst)",
        size.programs,
        replicas.places(),
        size.kills,
        size.outage.as_secs(),
        strangers.len(),
        unreported.len(),
        taken_over.len(),
        median.as_millis(),
        worst.as_millis(),
    );
    assert_eq!(lost, 0, "{strangers:?}");
    assert!(unreported.is_empty(), "{unreported:?}");
    let alone: usize = locked(&load.warnings)
        .iter()
        .filter(|(text, _)| text.contains("providers are started by this plugin"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(alone, 0, "plugins have gone on without the replicas");
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
