//! Whole programs of twenty resources, with something killed at a random moment of each run.
//!
//! `ISTHMUS_KILLS` says how many runs are killed of each kind, `ISTHMUS_KILL_SEED` which.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use isthmus_proto::property::{Struct, Value};

use super::super::engine::{Engine, Goal, Plugin};
use super::super::{goal, sandbox};
use super::{expect_reports, survey};
use crate::harness::{Protocol, processes};
use crate::kills::Dice;

/// How many resources a program has.
const RESOURCES: usize = 20;

/// How many runs of each kind are killed where nothing else is said.
const SLICE: usize = 10;
/// The variable by which the processes of a run are found.
const MARK: &str = "KILLS_MARK";
/// How long processes may outlive what they belong to. A machine that builds beside its tests is slow.
const LIMIT: Duration = Duration::from_secs(15);

/// What dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Plugin,
    Provider,
    Engine,
    EngineAndPlugin,
}

impl Victim {
    /// Counts the kill. Ends when the engine is dead: it hears of nothing any more. Of the others it hears.
    async fn die(self, moment: Duration, plugin: &Plugin, mark: &str, kills: &Cell<usize>) {
        tokio::time::sleep(moment).await;
        match self {
            Self::Plugin => plugin.kill_process(),
            Self::Provider => {
                let living = || {
                    let found = processes::with_variable(MARK, mark).into_iter();
                    // Not its guardian, which has the path among its arguments.
                    let is_provider = |program: &str| program.ends_with("/terraform-provider-sandbox");
                    found.filter(move |found| found.command.split(' ').next().is_some_and(is_provider))
                };
                // It may not have begun yet.
                while living().next().is_none() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                living().for_each(|found| processes::kill(found.process));
            }
            Self::Engine => plugin.kill_engine(),
            Self::EngineAndPlugin => {
                plugin.kill_process();
                plugin.kill_engine();
            }
        }
        kills.set(kills.get() + 1);
        if matches!(self, Self::Plugin | Self::Provider) {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits until no process of a run is left, and says how long that took.
async fn expect_no_process(mark: &str) -> Duration {
    let since = Instant::now();
    loop {
        let left = processes::with_variable(MARK, mark);
        if left.is_empty() {
            return since.elapsed();
        }
        assert!(since.elapsed() < LIMIT, "processes are left: {left:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a program says of one of its resources; `None` of one that it does not want now.
#[derive(Clone, Debug)]
struct Wish {
    body: usize,
    color: usize,
    /// Earlier resources whose ids are among the labels.
    uses: Vec<usize>,
}

fn name(number: usize) -> String {
    format!("note{number}")
}

/// The program: a resource is left out together with those that use it.
fn program(wishes: &[Option<Wish>]) -> Vec<Goal> {
    let mut wanted = HashSet::new();
    let mut goals = Vec::new();
    for (number, wish) in wishes.iter().enumerate() {
        let Some(wish) = wish.as_ref().filter(|wish| wish.uses.iter().all(|used| wanted.contains(used)))
        else {
            continue;
        };
        wanted.insert(number);
        let labels: Struct =
            wish.uses.iter().map(|used| (name(*used), Engine::id_of(&name(*used)))).collect();
        let mut inputs = Struct::from([
            ("urnName", Value::from(name(number))),
            ("title", name(number).into()),
            ("body", format!("text {}", wish.body).into()),
            ("color", format!("color {}", wish.color).into()),
        ]);
        inputs.insert("labels", labels);
        goals.push(goal("sandbox:note:Note", inputs));
    }
    goals
}

fn first_wishes(dice: &mut Dice) -> Vec<Option<Wish>> {
    let mut wish = |number: usize| {
        let uses: BTreeSet<usize> =
            (0..dice.below(3)).filter(|_| number > 0).map(|_| dice.below(number)).collect();
        Some(Wish { body: 0, color: 0, uses: uses.into_iter().collect() })
    };
    (0..RESOURCES).map(&mut wish).collect()
}

/// Changes some of the wishes: texts, colours (which replace the resource), and whether it is wanted.
fn change(wishes: &mut [Option<Wish>], all: &[Option<Wish>], dice: &mut Dice) {
    for (wish, whole) in wishes.iter_mut().zip(all) {
        match (dice.below(8), wish) {
            (0 | 1, Some(wish)) => wish.body += 1,
            (2, Some(wish)) => wish.color += 1,
            (3, wish @ Some(_)) => *wish = None,
            (3..=5, wish @ None) => wish.clone_from(whole),
            _ => {}
        }
    }
}

async fn whatever_is_killed(victim: Victim, protocol: Protocol) {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let runs = setting("ISTHMUS_KILLS").unwrap_or(SLICE);
    let seed = setting("ISTHMUS_KILL_SEED").unwrap_or(1);
    println!("ISTHMUS_KILLS={runs} ISTHMUS_KILL_SEED={seed}");
    let mut dice = Dice::new(seed);
    let (mut engine, objects) = sandbox().await;
    engine.has_a_process();
    engine.set("SANDBOX_PROTOCOL", &protocol.to_string());
    engine.set("ISTHMUS_STOP_GRACE_PERIOD", "1");
    let all = first_wishes(&mut dice);
    let mut wishes = all.clone();

    let begun = Instant::now();
    engine.deploy(&program(&wishes)).await.expect("a first deployment");
    let mut longest = begun.elapsed();
    let (kills, mut cut_short, mut orphans, mut last_gone) = (Cell::new(0), 0, 0, Duration::ZERO);
    for run in 0..runs {
        change(&mut wishes, &all, &mut dice);
        let goals = program(&wishes);
        let mark = format!("{}-{}-{run}", std::process::id(), objects.display());
        engine.set(MARK, &mark);
        let plugin = engine.start().await;
        let moment = longest.mul_f64(dice.below(1000) as f64 / 1000.0);
        let begun = Instant::now();
        let deploying = async {
            engine.plan_program(&plugin, &goals).await?;
            engine.deploy_program(&plugin, &goals).await
        };
        let outcome = tokio::select! {
            deployed = deploying => deployed,
            () = victim.die(moment, &plugin, &mark, &kills) => Err("the engine is dead".to_owned()),
        };
        match outcome {
            Ok(_) => longest = longest.max(begun.elapsed()).min(Duration::from_secs(5)),
            Err(_) => cut_short += 1,
        }
        match victim {
            Victim::Plugin | Victim::Provider => plugin.kill().await,
            // Its side of the connections is gone, and the plugin ends by itself.
            Victim::Engine | Victim::EngineAndPlugin => {
                plugin.kill_engine();
                drop(plugin);
            }
        }
        last_gone = last_gone.max(expect_no_process(&mark).await);
        orphans = survey(&engine, &objects, &format!("run {run}")).await;
    }
    let kills = kills.get();
    println!(
        "\n| {victim:?} | {runs} | {kills} | {cut_short} | 0 | {orphans} | {} ms |",
        last_gone.as_millis()
    );
    assert!(kills * 4 >= runs, "hardly anything was killed in time: {kills} of {runs}");

    engine.deploy(&program(&wishes)).await.expect("a last deployment, which nobody disturbs");
    engine.deploy(&[]).await.expect("everything is deleted");
    assert_eq!(engine.believes_in(), Vec::<&str>::new());
    survey(&engine, &objects, "the end").await;
    // All that is left is what the engine was never told of.
    expect_reports(&engine, &objects).await;
}

#[tokio::test]
async fn whenever_the_plugin_is_killed_nothing_is_lost() {
    whatever_is_killed(Victim::Plugin, Protocol::V5).await;
}

#[tokio::test]
async fn whenever_the_provider_is_killed_nothing_is_lost() {
    whatever_is_killed(Victim::Provider, Protocol::V6).await;
}

#[tokio::test]
async fn whenever_the_engine_is_killed_nothing_is_lost() {
    whatever_is_killed(Victim::Engine, Protocol::V5).await;
}

#[tokio::test]
async fn whenever_engine_and_plugin_are_killed_nothing_is_lost() {
    whatever_is_killed(Victim::EngineAndPlugin, Protocol::V6).await;
}
