//! Whole programs of twenty resources, with the plugin killed at a random moment of each run.
//!
//! `ISTHMUS_KILLS` says how many runs there are, `ISTHMUS_KILL_SEED` which.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use isthmus_proto::property::{Struct, Value};
use rustix::process::{Signal, kill_process};

use super::super::engine::{Engine, Goal, Step};
use super::super::{goal, sandbox};
use super::{expect_reports, survey};

/// How many resources a program has.
const RESOURCES: usize = 20;

/// How many runs are killed where nothing else is said.
const SLICE: usize = 25;

/// Numbers that are random enough, and the same for the same seed (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(drawn).expect("31 bits") % limit
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

#[tokio::test]
async fn whatever_moment_the_plugin_is_killed_at_nothing_is_lost_or_made_twice_without_a_word() {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let runs = setting("ISTHMUS_KILLS").unwrap_or(SLICE);
    let seed = setting("ISTHMUS_KILL_SEED").unwrap_or(1);
    println!("ISTHMUS_KILLS={runs} ISTHMUS_KILL_SEED={seed}");
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ u64::try_from(seed).expect("64 bits"));
    let (mut engine, objects) = sandbox().await;
    let all = first_wishes(&mut dice);
    let mut wishes = all.clone();

    let begun = Instant::now();
    engine.deploy(&program(&wishes)).await.expect("a first deployment");
    let mut longest = begun.elapsed();
    let (mut killed, mut orphans) = (0, 0);
    for run in 0..runs {
        change(&mut wishes, &all, &mut dice);
        let goals = program(&wishes);
        let plugin = engine.start().await;
        let process = plugin.process();
        let moment = longest.mul_f64(dice.below(1000) as f64 / 1000.0);
        let killer = tokio::spawn(async move {
            tokio::time::sleep(moment).await;
            kill_process(process, Signal::KILL).expect("the plugin is there until it is waited for");
        });
        let begun = Instant::now();
        let outcome = match engine.plan_program(&plugin, &goals).await {
            Ok(_) => engine.deploy_program(&plugin, &goals).await,
            Err(error) => Err(error),
        };
        killer.abort();
        match outcome {
            Ok(_) => longest = longest.max(begun.elapsed()).min(Duration::from_secs(5)),
            Err(_) => killed += 1,
        }
        plugin.kill().await;
        orphans = survey(&engine, &objects, &format!("run {run}")).await;
    }
    println!("\n| {runs} | {killed} | 0 | {orphans} |");
    assert!(killed * 4 >= runs, "the plugin was hardly ever killed in time: {killed} of {runs}");

    let steps = engine.deploy(&program(&wishes)).await.expect("a last deployment, which nobody disturbs");
    assert!(steps.iter().all(|(_, step)| *step != Step::Delete || runs > 0), "{steps:?}");
    engine.deploy(&[]).await.expect("everything is deleted");
    assert_eq!(engine.believes_in(), Vec::<&str>::new());
    survey(&engine, &objects, "the end").await;
    // All that is left is what the engine was never told of.
    expect_reports(&engine, &objects).await;
}
