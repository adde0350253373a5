//! The whole system in one process, whose every interleaving and fault a seed decides.
//!
//! `tests/simulation/run` builds and runs it; docs/reliability.md has its results. A seed that breaks a promise is printed, and
//! `tests/simulation/run --seed N` plays it again, with all that happens.
//!
//! - [`system`]: what the operating system is to a party; [`world`]: the parties and their order; [`network`]: connections.
//! - [`cloud`]: the objects and the provider; [`plugin`]: isthmus; [`engine`] and [`legacy`]: engines, each with its stack.
//! - [`scenario`]: what a seed makes of them, with its faults and the promises.

mod cloud;
mod dice;
mod engine;
mod legacy;
mod network;
mod plugin;
mod scenario;
mod system;
mod world;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use isthmus_common::planted::Bug;

use crate::scenario::Report;
use crate::world::Counts;

/// Plays seeds.
#[derive(Clone, Debug, Parser)]
struct Options {
    /// Plays this seed alone, and prints all that happens.
    #[arg(long)]
    seed: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// How many are played at once.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Ends after so many broken promises.
    #[arg(long, default_value_t = 10)]
    most: usize,
    /// Plants this bug.
    #[arg(long, value_parser = bug_of)]
    bug: Option<Bug>,
    /// Plants each bug in turn, and ends with the first seed that finds it: fails if one is not found.
    #[arg(long)]
    planted: bool,
}

/// All bugs.
const BUGS: [Bug; 10] = [
    Bug::NoIntent,
    Bug::NoOutcome,
    Bug::UnknownIsFailure,
    Bug::CancelSettles,
    Bug::NoDoubt,
    Bug::ShownUndelivered,
    Bug::LocksIgnored,
    Bug::CompactionForgets,
    Bug::NoSync,
    Bug::TornWrite,
];

fn bug_of(name: &str) -> Result<Bug, String> {
    let found = BUGS.into_iter().find(|bug| format!("{bug:?}") == name);
    found.ok_or_else(|| format!("the bugs are {BUGS:?}"))
}

/// The panics of all threads: each is a broken promise.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn main() -> ExitCode {
    let options = Options::parse();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let text = format!("{}: {panic}", thread.name().unwrap_or_default());
        PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }));
    let is_good = match options.seed {
        Some(seed) => replay(seed, options.bug),
        None if options.planted => find_planted(&options),
        None => search(&options),
    };
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays one seed, and shows all of it.
fn replay(seed: u64, bug: Option<Bug>) -> bool {
    let report = played(seed, bug, true);
    for (kind, times) in &report.counts.0 {
        show(&format!("| {kind} | {times} |"));
    }
    match report.broken {
        None => true,
        Some(broken) => {
            show(&format!("seed {seed}: {broken}"));
            false
        }
    }
}

/// Plants each bug, and shows the first seed that finds it.
fn find_planted(options: &Options) -> bool {
    let mut is_good = true;
    for bug in BUGS {
        let found = played_all(&Options { bug: Some(bug), most: 1, ..options.clone() }).broken;
        match found.first() {
            Some((seed, broken)) => {
                let broken = broken.lines().next().unwrap_or_default();
                show(&format!("| {bug:?} | {seed} | {} |", broken.chars().take(100).collect::<String>()));
            }
            None => {
                show(&format!("| {bug:?} | not found in {} seeds | |", options.seeds));
                is_good = false;
            }
        }
    }
    is_good
}

/// Plays seeds, and shows what was found.
fn search(options: &Options) -> bool {
    let began = Instant::now();
    let found = played_all(options);
    let took = began.elapsed().as_secs_f64();
    let rate = found.seeds as f64 / took;
    show(&format!("{} seeds from {} in {took:.0} s, {rate:.0} a second", found.seeds, options.from));
    for (kind, times) in &found.counts.0 {
        show(&format!("| {kind} | {times} |"));
    }
    show(&format!("{} broken promises", found.broken.len()));
    found.broken.is_empty()
}

/// What seeds have found.
#[derive(Debug, Default)]
struct Found {
    seeds: u64,
    counts: Counts,
    broken: Vec<(u64, String)>,
}

fn played_all(options: &Options) -> Found {
    let next = AtomicU64::new(options.from);
    let end = options.from + options.seeds;
    let found = Mutex::new(Found::default());
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let report = played(seed, options.bug, false);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.seeds += 1;
                    found.counts.join(&report.counts);
                    if let Some(broken) = report.broken {
                        // At once: whoever interrupts this has it.
                        if options.bug.is_none() {
                            show(&format!("seed {seed}: {broken}"));
                        }
                        found.broken.push((seed, broken));
                        if found.broken.len() >= options.most {
                            next.store(end, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Plays a seed on a thread of its own: what the standard library draws once a thread is the seed's, too.
fn played(seed: u64, bug: Option<Bug>, traced: bool) -> Report {
    let name = format!("seed {seed}");
    let thread = std::thread::Builder::new().name(name.clone()).stack_size(8 << 20);
    let thread = thread.spawn(move || {
        isthmus_common::simulation::plant(bug);
        let directory = tempfile::Builder::new().prefix("isthmus-simulation-").tempdir_in(place());
        let directory = directory.expect("a directory");
        scenario::play(seed, directory.path(), traced)
    });
    let mut report = thread.expect("a thread").join().unwrap_or_default();
    let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(panic) = panics.iter().find(|panic| panic.starts_with(&format!("{name}: "))) {
        report.broken = Some(format!("a panic: {panic}"));
    }
    panics.retain(|panic| !panic.starts_with(&format!("{name}: ")));
    report
}

/// Files in memory are the fastest.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

fn show(text: &str) {
    // There is no other place for it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
