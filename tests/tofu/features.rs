//! What each of OpenTofu, the Go bridge and the daemon does for every feature: the table in `docs/differences.md`.
//!
//! A feature is a scenario ([`Feature`]), which runs the same steps with each of the three and says what it saw: the cells
//! are made by code from the answers and from what the provider was asked, and nothing in them is typed in. The table is
//! compared with the page, and written into it anew by
//!
//!     UPDATE_EXPECT=1 cargo test --test tofu tables
//!
//! The same run makes the ledger of reports ([`crate::upstream`]), most of whose scenarios are those of features.
//! `ISTHMUS_SCENARIOS=words` runs only the scenarios whose names hold the words, and prints what it saw.

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

use crate::{providers, upstream};
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

/// What was seen of each scenario, by its name, with each side: how much of it there is, and the text.
pub(crate) type Seen = BTreeMap<(&'static str, Side), (Grade, String)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_of_features_and_reports_are_what_is_seen() {
    providers::build();
    let versions = versions();
    let wanted = std::env::var("ISTHMUS_SCENARIOS").ok();
    let features = features().map(|feature| (feature.what, feature.run));
    let scenarios = features.chain(upstream::scenarios());
    let chosen =
        scenarios.filter(|(name, _)| wanted.as_ref().is_none_or(|words| name.contains(words.as_str())));
    let seen = seen(chosen).await;
    if wanted.is_some() {
        for ((name, side), (_, text)) in &seen {
            println!("{name} {side:?}: {text}");
        }
        return;
    }
    upstream::compare(&seen, &versions);
    let mut table = String::new();
    let mut less = Vec::new();
    for (family, features) in FAMILIES {
        table += &format!(
            "\n### {family}\n\n| what | OpenTofu | Go bridge | isthmus | why it matters |\n|---|---|---|---|---|\n"
        );
        for feature in *features {
            let [tofu, go_bridge, isthmus] = Side::ALL.map(|side| &seen[&(feature.what, side)]);
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
        }
    }
    compare(&format!("{}{table}", head(&versions)));
    assert!(
        less.is_empty(),
        "the daemon does less than another, or has a reason that it needs no more:\n{}",
        less.join("\n")
    );
}

fn features() -> impl Iterator<Item = &'static Feature> {
    FAMILIES.iter().flat_map(|(_, features)| features.iter())
}

/// Whether a feature is called so.
pub(crate) fn has_feature(what: &str) -> bool {
    features().any(|feature| feature.what == what)
}

async fn seen(scenarios: impl Iterator<Item = (&'static str, Run)>) -> Seen {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let stage = Arc::new(Stage::new(directory.path().to_owned()).await);
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut running = JoinSet::new();
    for (index, (scenario, run)) in scenarios.enumerate() {
        for side in Side::ALL {
            let (stage, turns) = (Arc::clone(&stage), Arc::clone(&turns));
            running.spawn(async move {
                let _turn = turns.acquire().await.expect("it is never closed");
                let living = tokio::spawn(async move {
                    let name = format!("f{index:03}x");
                    let mut life = Life::new(side, name.clone(), stage);
                    let outcome = run(&mut life).await;
                    // Where a scenario stands in the table is not what is seen of it.
                    (outcome.grade, outcome.to_string().replace(&name, "NAME"))
                });
                (scenario, side, living.await)
            });
        }
    }
    let mut seen = BTreeMap::new();
    let mut broken = Vec::new();
    while let Some(run) = running.join_next().await {
        match run.expect("it only waits for another") {
            (scenario, side, Ok(outcome)) => drop(seen.insert((scenario, side), outcome)),
            (scenario, side, Err(_)) => broken.push((scenario, side)),
        }
    }
    assert!(broken.is_empty(), "what is asked here cannot be told of {broken:?}; see above");
    seen
}

#[test]
fn every_feature_has_a_name_of_its_own_and_a_reason() {
    let mut names = std::collections::BTreeSet::new();
    for feature in features() {
        assert!(names.insert(feature.what), "two features are called {}", feature.what);
        for cell in [feature.what, feature.why] {
            assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{cell:?}");
        }
    }
}

fn head(versions: &str) -> String {
    format!(
        "\n## Features, side by side\n\n\
         A test runs the same steps with OpenTofu, the Go bridge and isthmus, and one provider: `tests/provider`, or the sandbox if it has to\n\
         misbehave ({versions}). “Yes”, “partly” and “no” are about the feature as Terraform\n\
         means it. After them come the results: decisions of previews, the places that they show, errors, and the calls of the provider.\n"
    )
}

/// Which programs are compared.
fn versions() -> String {
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
        "docs/differences.md has another table of features; run `{UPDATE}=1 cargo test --test tofu tables`:\n{}",
        differing.join("\n\n")
    );
}
