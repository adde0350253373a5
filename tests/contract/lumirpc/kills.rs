//! The plugin is killed: at each fail point that a change reaches (`matrix`), and at random moments (`random`).
//!
//! What must hold after every run: each object that the provider has is in the store, or an intent is open that may have
//! made it; none is lost. And what exists twice, because the engine asked again for what it had not been told of, has been
//! reported to the user by its id, or as a creation with an unknown outcome.

mod matrix;
mod random;

use std::collections::BTreeSet;
use std::path::Path;

use isthmus_state::EncryptedStore;

use super::engine::Engine;
use super::kept;

/// The ids of the objects that the provider has.
fn existing(objects: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(objects).expect("the provider's directory");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    names
        .filter_map(|name| Some(name.strip_prefix("sandbox_note.")?.strip_suffix(".json")?.to_owned()))
        .collect()
}

/// Looks whether anything is lost, and counts the objects that the engine does not know.
async fn survey(engine: &Engine, objects: &Path, when: &str) -> usize {
    let existing = existing(objects);
    let stored: BTreeSet<String> = kept(engine.home()).await.into_iter().map(|(id, _)| id).collect();
    let state_store = EncryptedStore::open(engine.home(), None).await.expect("the store");
    let open = state_store.journal().open_intents().await.expect("the journal").intents;
    let creations = open.iter().filter(|open| open.intent.key.id.is_empty()).count();
    let missing: Vec<&String> = existing.difference(&stored).collect();
    assert!(missing.len() <= creations, "{when}: {missing:?} are lost; open intents: {open:#?}");
    let believed: BTreeSet<String> = engine.believes_in().into_iter().map(str::to_owned).collect();
    existing.difference(&believed).count()
}

/// Each object that the engine does not know has been reported.
async fn expect_reports(engine: &Engine, objects: &Path) {
    let reports: Vec<String> = engine.shown().into_iter().map(|line| line.message).collect();
    let stored: BTreeSet<String> = kept(engine.home()).await.into_iter().map(|(id, _)| id).collect();
    let believed: BTreeSet<String> = engine.believes_in().into_iter().map(str::to_owned).collect();
    let left: Vec<String> = existing(objects).difference(&believed).cloned().collect();
    let unreported: Vec<&String> = left
        .iter()
        .filter(|id| stored.contains(*id) && !reports.iter().any(|report| report.contains(*id)))
        .collect();
    assert!(unreported.is_empty(), "{unreported:?} of {left:?} were not reported:\n{}", reports.join("\n"));
    let unknown = left.iter().filter(|id| !stored.contains(*id)).count();
    // With an unknown outcome: they were interrupted, or their provider ended.
    let open = reports.iter().filter(|report| report.contains("the creation of "));
    assert!(open.count() >= unknown, "{unknown} unknown objects:\n{}", reports.join("\n"));
}
