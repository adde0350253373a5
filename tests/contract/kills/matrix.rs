//! SIGKILL of the daemon at each fail point, in each kind of change.
//!
//! Which points a change reaches is found by a run that notes them. So no point is passed over, and none is counted that
//! was not reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::engine::{Engine, Program, Wish};
use crate::harness::Protocol;

/// The least number of points that changes must reach.
const LEAST: usize = 40;
/// The part of all kills that a slice has; with `ISTHMUS_KILLS` all are done.
const PART: usize = 4;
/// How many runs go on at once.
const AT_ONCE: usize = 4;

/// A change that a run makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Create,
    Update,
    Replace,
    Delete,
}

impl Change {
    const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Replace, Self::Delete];

    /// The program before.
    fn before(self) -> Program {
        let is_there = self != Self::Create;
        is_there.then(|| ("one".to_owned(), Wish { body: 0, color: 0 })).into_iter().collect()
    }

    /// The program that makes it.
    fn after(self) -> Program {
        let wish = match self {
            Self::Create => Wish { body: 0, color: 0 },
            Self::Update => Wish { body: 1, color: 0 },
            Self::Replace => Wish { body: 0, color: 1 },
            Self::Delete => return Program::new(),
        };
        Program::from([("one".to_owned(), wish)])
    }

    /// An engine that has what was before, with the journal file of a process that was killed before the run's end.
    async fn prepared(self, protocol: Protocol) -> Engine {
        let mut engine = Engine::new(protocol);
        let is_whole = engine.run(&self.before(), &[("FAIL_POINT", "cancel-received")], None).await;
        assert!(!is_whole, "it was killed");
        engine
    }
}

/// What became of a run that was killed.
#[derive(Debug)]
struct Killed {
    change: Change,
    point: String,
    strangers: usize,
    reports: usize,
    longest: Duration,
}

async fn points(change: Change) -> BTreeMap<String, usize> {
    let mut engine = change.prepared(Protocol::V6).await;
    let file = engine.points_file();
    let noting = [("FAIL_POINTS_FILE", file.to_str().expect("text"))];
    assert!(engine.run(&change.after(), &noting, None).await, "{change:?} without a kill");
    let mut points = BTreeMap::new();
    for line in std::fs::read_to_string(file).expect("points are noted").lines() {
        *points.entry(line.to_owned()).or_default() += 1;
    }
    points
}

async fn killed(change: Change, point: String, protocol: Protocol) -> Killed {
    let mut engine = change.prepared(protocol).await;
    let before = engine.reports.len();
    engine.run(&change.after(), &[("FAIL_POINT", &point)], None).await;
    engine.survey();
    // Then until nothing is left to do, and as often as it takes for reports that wait.
    for _ in 0..3 {
        assert!(engine.run(&change.after(), &[], None).await, "{change:?} after a kill at {point}");
    }
    let survey = engine.survey();
    assert_eq!(engine.has(), (change.after().into_keys().collect(), 0));
    for (id, title) in &survey.strangers {
        let is_of_it = |report: &&String| report.contains(id) || report.contains(&format!("::{title}"));
        assert!(
            engine.reports.iter().any(|report| is_of_it(&report)),
            "{change:?} at {point}: {id} was not reported: {:?}",
            engine.reports
        );
    }
    let reports = engine.reports.len() - before;
    Killed { change, point, strangers: survey.strangers.len(), reports, longest: engine.longest }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_whatever_point_the_daemon_is_killed_nothing_is_lost_and_what_is_lost_to_the_engine_is_reported() {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut all = BTreeSet::new();
    let mut runs = JoinSet::new();
    let mut turn = 0;
    for change in Change::ALL {
        for (point, times) in points(change).await {
            all.insert(point.clone());
            // The first time, and the last one.
            for time in BTreeSet::from([1, times]) {
                turn += 1;
                if turn % PART != 0 && std::env::var_os("ISTHMUS_KILLS").is_none() {
                    continue;
                }
                let (places, point) = (Arc::clone(&places), format!("{point}:{time}"));
                let protocol = if runs.len() % 2 == 0 { Protocol::V5 } else { Protocol::V6 };
                runs.spawn(async move {
                    let _place = places.acquire().await.expect("it is not closed");
                    killed(change, point, protocol).await
                });
            }
        }
    }
    let killed = runs.join_all().await;
    for change in Change::ALL {
        let of_change = || killed.iter().filter(|killed| killed.change == change);
        let sum = |count: fn(&Killed) -> usize| of_change().map(count).sum::<usize>();
        let points: BTreeSet<&str> =
            of_change().map(|killed| killed.point.split(':').next().unwrap_or_default()).collect();
        let longest = of_change().map(|killed| killed.longest).max().unwrap_or_default();
        println!(
            "| {change:?} | {} | {} | {} | {} | {} ms |",
            points.len(),
            of_change().count(),
            sum(|killed| killed.strangers),
            sum(|killed| killed.reports),
            longest.as_millis()
        );
    }
    let (strangers, reports) =
        killed.iter().fold((0, 0), |sum, killed| (sum.0 + killed.strangers, sum.1 + killed.reports));
    println!(
        "{} points, {} kills, {strangers} objects that the engine does not know, {reports} reports",
        all.len(),
        killed.len()
    );
    assert!(all.len() >= LEAST, "{} points: {all:?}", all.len());
    assert!(strangers > 0, "a kill between answer and engine loses an object to the engine");
    // Reports of updates and deletions that have changed the object are among them.
    let noisy: Vec<&Killed> = killed.iter().filter(|killed| killed.reports > killed.strangers + 1).collect();
    assert!(noisy.is_empty(), "{noisy:#?}");
}
