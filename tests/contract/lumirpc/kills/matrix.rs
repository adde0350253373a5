//! SIGKILL of the plugin at each fail point, in each kind of change.
//!
//! Which points a change reaches is found by a run that notes them. `ISTHMUS_KILLS` does all kills, and not a part of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use isthmus_proto::property::Value;

use super::super::engine::{Engine, Goal};
use super::super::{goal, sandbox};
use super::{expect_reports, survey};

/// The least number of points that changes must reach.
const LEAST: usize = 20;
/// The part of all kills that a slice has.
const PART: usize = 6;

/// A change that a deployment makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Create,
    Update,
    Replace,
    Delete,
}

impl Change {
    const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Replace, Self::Delete];

    fn before(self) -> Vec<Goal> {
        if self == Self::Create { Vec::new() } else { vec![note("text", "color")] }
    }

    fn after(self) -> Vec<Goal> {
        match self {
            Self::Create => vec![note("text", "color")],
            Self::Update => vec![note("another text", "color")],
            Self::Replace => vec![note("text", "another color")],
            Self::Delete => Vec::new(),
        }
    }

    /// An engine that has what was before.
    async fn prepared(self) -> (Engine, PathBuf) {
        let (mut engine, objects) = sandbox().await;
        engine.deploy(&self.before()).await.expect("what was before");
        (engine, objects)
    }

    /// How often each point is reached.
    async fn points(self) -> BTreeMap<String, usize> {
        let (mut engine, objects) = self.prepared().await;
        let file = objects.with_file_name("points");
        engine.set("FAIL_POINTS_FILE", file.to_str().expect("text"));
        engine.deploy(&self.after()).await.expect("a deployment without a kill");
        let mut points = BTreeMap::new();
        for line in std::fs::read_to_string(file).expect("points are noted").lines() {
            *points.entry(line.to_owned()).or_default() += 1;
        }
        points
    }

    /// Returns how many objects the engine does not know after a kill.
    async fn killed(self, point: &str) -> usize {
        let (mut engine, objects) = self.prepared().await;
        engine.set("FAIL_POINT", point);
        // It may die before it has a port, and after the last answer.
        if let Ok(plugin) = engine.try_start().await {
            if engine.plan_program(&plugin, &self.after()).await.is_ok() {
                engine.deploy_program(&plugin, &self.after()).await.ok();
            }
            plugin.kill().await;
        }
        let when = format!("{self:?}, killed at {point}");
        survey(&engine, &objects, &when).await;
        engine.set("FAIL_POINT", "none");
        // As often as it takes for reports that wait.
        for _ in 0..3 {
            engine
                .deploy(&self.after())
                .await
                .unwrap_or_else(|error| panic!("{when}, and run again: {error}"));
        }
        assert_eq!(engine.believes_in().len(), self.after().len(), "{when}");
        let strangers = survey(&engine, &objects, &when).await;
        expect_reports(&engine, &objects).await;
        strangers
    }
}

fn note(body: &str, color: &str) -> Goal {
    let inputs = [
        ("urnName", Value::from("note")),
        ("title", "note".into()),
        ("body", body.into()),
        ("color", color.into()),
    ];
    goal("sandbox:note:Note", inputs)
}

#[tokio::test]
async fn at_whatever_point_the_plugin_is_killed_nothing_is_lost_or_made_twice_without_a_word() {
    let (mut all, mut turn, mut strangers) = (BTreeSet::new(), 0, 0);
    let mut rows = Vec::new();
    for change in Change::ALL {
        let (mut kills, mut of_change) = (0, 0);
        let points = change.points().await;
        for (point, times) in &points {
            // The first time, and the last one.
            for time in BTreeSet::from([1, *times]) {
                turn += 1;
                if turn % PART == 0 || std::env::var_os("ISTHMUS_KILLS").is_some() {
                    kills += 1;
                    of_change += change.killed(&format!("{point}:{time}")).await;
                }
            }
        }
        rows.push(format!("| {change:?} | {} | {kills} | 0 | {of_change} |", points.len()));
        strangers += of_change;
        all.extend(points.into_keys());
    }
    println!(
        "\n{}\n{} points, {strangers} objects that the engine does not know",
        rows.join("\n"),
        all.len()
    );
    assert!(all.len() >= LEAST, "{} points: {all:?}", all.len());
}
