//! Side by side with the Go bridge: both are asked the same, and whatever they answer differently must be a rule.
//!
//! The rules are the table of [`entries`], from which `docs/differences.md` is made. Nothing that either answers is kept in
//! the repository: both are asked anew, so that the comparison is with the program and not with a memory of it.

mod bridge;
mod call;
mod compare;
mod entries;
mod lifecycles;
mod packages;
mod page;
mod questions;
mod rows;
mod rules;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use questions::Questions;
use rules::{Finding, Shown, Verdict, fault, judge};
use tools::Cache;

/// How many inputs the tables must hold together.
const FEWEST_INPUTS: usize = 900;

/// How many pairs of bridges run at a time.
const AT_A_TIME: usize = 3;

/// How many differences are shown of each kind.
const SHOWN: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_bridges_answer_alike_but_for_the_rules() {
    tools::build();
    let cache = Arc::new(Cache::filled());
    let questions = Arc::new(Questions::default());
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut running = JoinSet::new();
    macro_rules! in_turn {
        (|$cache:ident, $questions:ident| $asking:expr) => {{
            let (cache, questions, turns) = (Arc::clone(&cache), Arc::clone(&questions), Arc::clone(&turns));
            running.spawn(async move {
                let _turn = turns.acquire().await.expect("it is never closed");
                let ($cache, $questions) = (&cache, &questions);
                $asking.await;
            });
        }};
    }
    in_turn!(|cache, questions| packages::unparameterized(cache, questions));
    for choice in packages::choices() {
        in_turn!(|cache, questions| packages::package(cache, choice, questions));
    }
    for sitting in rows::tables().into_iter().flat_map(rows::Table::sittings) {
        in_turn!(|cache, questions| sitting.ask(cache, questions));
    }
    while let Some(asked) = running.join_next().await {
        asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    }
    let asked = Arc::into_inner(questions).expect("all have ended").asked();
    let calls = asked.calls;
    let Verdict { unruled, idle } = judge(asked.findings, &entries::all());
    assert!(
        unruled.is_empty() && idle.is_empty(),
        "of {calls} calls, {} differences have no rule:\n{}\nrules that no difference needs: {idle:?}",
        unruled.len(),
        told(&unruled)
    );
}

#[test]
fn the_table_of_differences_is_sound() {
    let mut ids = std::collections::BTreeSet::new();
    for entry in entries::all() {
        let id = entry.id;
        assert!(ids.insert(id), "two entries are called {id}");
        match &entry.shown {
            Shown::InAnswers(rules) => {
                assert!(!rules.is_empty(), "{id} has no rule");
                for rule in *rules {
                    assert_eq!(fault(rule), None, "{id}");
                }
            }
            Shown::Elsewhere(tests) => assert!(!tests.is_empty(), "{id} names no test"),
        }
    }
}

#[test]
fn the_tables_hold_enough_inputs() {
    let total: usize = rows::tables().iter().map(rows::Table::len).sum();
    assert!(total >= FEWEST_INPUTS, "{total} inputs");
}

/// Differences for people, like ones together.
fn told(findings: &[Finding]) -> String {
    let mut groups = BTreeMap::<(&str, String), Vec<&Finding>>::new();
    for finding in findings {
        // Alike are those that end alike.
        let path = finding.difference.path.to_string();
        let end = path.rsplit('/').next().unwrap_or_default().to_owned();
        groups.entry((finding.call, end)).or_default().push(finding);
    }
    let mut text = String::new();
    for ((call, end), findings) in groups {
        text += &format!("== {call}, {end}: {} differences\n", findings.len());
        for Finding { question, difference, .. } in findings.iter().take(SHOWN) {
            let side = |value: &Option<serde_json::Value>| {
                value.as_ref().map_or_else(|| "nothing".to_owned(), |value| short(&value.to_string()))
            };
            text += &format!(
                "  {question}\n    {}\n      isthmus:   {}\n      Go bridge: {}\n",
                difference.path,
                side(&difference.ours),
                side(&difference.theirs)
            );
        }
    }
    text
}

fn short(text: &str) -> String {
    const LONGEST: usize = 700;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
