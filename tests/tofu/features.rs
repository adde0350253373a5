//! What each of OpenTofu, the Go bridge and the daemon does for every feature: the table in `docs/differences.md`.
//!
//! A feature is a scenario ([`Feature`]), which runs the same steps with each of the three and says what it saw: the cells
//! are made by code from the answers and from what the provider was asked, and nothing in them is typed in. The table is
//! compared with the page, and written into it anew by
//!
//!     UPDATE_EXPECT=1 cargo test --test tofu features
//!
//! `ISTHMUS_FEATURES=words` runs only the features whose names hold the words, and prints what it saw.

pub(crate) mod changes;
mod failures;
pub(crate) mod life;
mod offers;
pub(crate) mod outcome;
pub(crate) mod program;
mod reading;
pub(crate) mod secrets;
pub(crate) mod stored;
mod timing;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;

use fixtures::tools::tool;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::providers;
use life::{Life, Side, Stage};
use outcome::{Grade, Outcome};

/// How many scenarios run at a time.
const AT_A_TIME: usize = 4;

/// Set to anything, it has the table written anew instead of compared.
pub(crate) const UPDATE: &str = "UPDATE_EXPECT";

const BEGIN: &str = "<!-- Features: made by tests/tofu/features.rs -->\n";
const END: &str = "<!-- End of features -->\n";

/// A feature, and the scenario that shows it.
#[derive(Clone, Copy)]
pub(crate) struct Feature {
    /// What it is.
    what: &'static str,
    /// Why it matters.
    why: &'static str,
    /// Why the daemon does less than OpenTofu, where it does.
    excuse: Option<&'static str>,
    run: Run,
}

/// What a scenario does with a resource: it says what it saw.
pub(crate) type Run = for<'a> fn(&'a mut Life) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A feature whose scenario is an `async fn`.
macro_rules! scenario {
    ($what:literal, $why:literal, $run:ident) => {
        $crate::features::Feature { what: $what, why: $why, excuse: None, run: |life| Box::pin($run(life)) }
    };
    ($what:literal, $why:literal, $run:ident, excuse: $excuse:literal) => {
        $crate::features::Feature {
            what: $what,
            why: $why,
            excuse: Some($excuse),
            run: |life| Box::pin($run(life)),
        }
    };
}
use scenario;

/// All features, by what they are about.
const FAMILIES: &[(&str, &[Feature])] = &[
    ("Plans and differences", changes::FEATURES),
    ("Failures, and providers that break the rules", failures::FEATURES),
    ("What is stored", stored::FEATURES),
    ("Refreshes and imports", reading::FEATURES),
    ("Secrets", secrets::FEATURES),
    ("Timeouts and cancellation", timing::FEATURES),
    ("What else providers offer", offers::FEATURES),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_of_features_is_what_is_seen() {
    providers::build();
    let versions = versions();
    let wanted = std::env::var("ISTHMUS_FEATURES").ok();
    let features = FAMILIES.iter().flat_map(|(_, features)| features.iter()).enumerate();
    let chosen = features
        .filter(|(_, feature)| wanted.as_ref().is_none_or(|words| feature.what.contains(words.as_str())));
    let seen = seen(chosen.map(|(index, feature)| (index, feature.run))).await;
    if wanted.is_some() {
        for ((index, side), outcome) in &seen {
            println!("{index} {side:?}: {}", outcome.1);
        }
        return;
    }
    let mut table = String::new();
    let mut less = Vec::new();
    let mut index = 0;
    for (family, features) in FAMILIES {
        table += &format!(
            "\n### {family}\n\n| what | OpenTofu | Go bridge | isthmus | why it matters |\n|---|---|---|---|---|\n"
        );
        for feature in *features {
            let [tofu, go_bridge, isthmus] = Side::ALL.map(|side| &seen[&(index, side)]);
            let is_less = isthmus.0 < tofu.0 || isthmus.0 < go_bridge.0;
            let [tofu, go_bridge, isthmus] = [tofu, go_bridge, isthmus].map(|(_, text)| text);
            if is_less != feature.excuse.is_some() {
                less.push(format!(
                    "{}: {isthmus}; OpenTofu: {tofu}; the Go bridge: {go_bridge}",
                    feature.what
                ));
            }
            let excuse = feature.excuse.map_or_else(String::new, |excuse| format!(" ({excuse})"));
            table += &format!(
                "| {} | {tofu} | {go_bridge} | {isthmus}{excuse} | {} |\n",
                feature.what, feature.why
            );
            index += 1;
        }
    }
    compare(&format!("{}{table}", head(&versions)));
    assert!(
        less.is_empty(),
        "the daemon does less than another, or has a reason that it needs no more:\n{}",
        less.join("\n")
    );
}

/// The scenario of the feature that is called so.
pub(crate) fn scenario_of(what: &str) -> Option<Run> {
    let mut features = FAMILIES.iter().flat_map(|(_, features)| features.iter());
    features.find(|feature| feature.what == what).map(|feature| feature.run)
}

/// What is seen of numbered scenarios with each side: how much of it there is, and the text.
pub(crate) async fn seen(
    scenarios: impl Iterator<Item = (usize, Run)>,
) -> BTreeMap<(usize, Side), (Grade, String)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let stage = Arc::new(Stage::new(directory.path().to_owned()).await);
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut running = JoinSet::new();
    for (index, run) in scenarios {
        for side in Side::ALL {
            let (stage, turns) = (Arc::clone(&stage), Arc::clone(&turns));
            running.spawn(async move {
                let _turn = turns.acquire().await.expect("it is never closed");
                let living = tokio::spawn(async move {
                    let name = format!("f{index:02}x");
                    let mut life = Life::new(side, name.clone(), stage);
                    let outcome = run(&mut life).await;
                    // Where a scenario stands in the table is not what is seen of it.
                    (outcome.grade, outcome.to_string().replace(&name, "NAME"))
                });
                (index, side, living.await)
            });
        }
    }
    let mut seen = BTreeMap::new();
    let mut broken = Vec::new();
    while let Some(run) = running.join_next().await {
        match run.expect("it only waits for another") {
            (index, side, Ok(outcome)) => drop(seen.insert((index, side), outcome)),
            (index, side, Err(_)) => broken.push((index, side)),
        }
    }
    assert!(broken.is_empty(), "what is asked here cannot be told of {broken:?}; see above");
    seen
}

#[test]
fn every_feature_has_a_name_of_its_own_and_a_reason() {
    let mut names = std::collections::BTreeSet::new();
    for feature in FAMILIES.iter().flat_map(|(_, features)| features.iter()) {
        assert!(names.insert(feature.what), "two features are called {}", feature.what);
        for cell in [feature.what, feature.why] {
            assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{cell:?}");
        }
    }
}

fn head(versions: &str) -> String {
    format!(
        "\n## Features, seen side by side\n\n\
         What OpenTofu, the Go bridge and isthmus do with one provider (`tests/provider`, or the sandbox where it has to misbehave), by the\n\
         same steps: made by a test that runs all three ({versions}). “Yes”, “partly” and “no” are about the feature as Terraform means it; what\n\
         follows was seen: decisions of previews, the places that they show, errors, and what the provider was asked.\n"
    )
}

/// Which programs are compared.
pub(crate) fn versions() -> String {
    let said = |program: PathBuf, argument: &str| {
        let mut command = Command::new(program);
        // Settings of whoever runs the test are not of interest.
        command.arg(argument).env_clear().env("CHECKPOINT_DISABLE", "1").env("HOME", std::env::temp_dir());
        let output = command.output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
    };
    let tofu = said(tool("tofu"), "-version");
    let go_bridge = said(tool("go-bridge"), "-version");
    format!("{}, the Go bridge {go_bridge}, isthmus as it is here", tofu.trim_end_matches("-dev"))
}

/// Compares the table with the one in the page, or puts it there.
fn compare(table: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/differences.md");
    let page = std::fs::read_to_string(&file).expect("the page can be read");
    let (before, rest) = page.split_once(BEGIN).unwrap_or((&page, END));
    let (kept, after) = rest.split_once(END).unwrap_or((rest, ""));
    if std::env::var_os(UPDATE).is_some() {
        let new = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(&file, new).expect("the page can be written");
        return;
    }
    let differing: Vec<String> = kept
        .lines()
        .zip(table.lines())
        .filter(|(kept, seen)| kept != seen)
        .map(|(kept, seen)| format!("page: {kept}\nseen: {seen}"))
        .collect();
    assert!(
        kept == table,
        "docs/differences.md has another table of features; run `{UPDATE}=1 cargo test --test tofu features`:\n{}",
        differing.join("\n\n")
    );
}
