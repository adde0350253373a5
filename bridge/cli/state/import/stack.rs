//! The records of a stack, except objects: they are stored as they came, before the objects.
//!
//! A store has the records of one stack. Others do not replace them unless the user decides so,
//! because a mixture of two states would be neither.

use std::collections::BTreeMap;
use std::path::Path;

use isthmus_common::listed;
use isthmus_state::stacks::differences;
use isthmus_state::{EncryptedStore, StoredStack};
use prost_types::Any;

use crate::cli::output::{print, warn};
use crate::cli::state::error::StateError;
use crate::cli::state::record::warn_of;
use crate::cli::table::in_one_line;
use isthmus_services::lumirpc::stored_resource::Conflicts;

/// What becomes of the stored records.
#[derive(Debug)]
enum Decision {
    /// They are the same.
    Same,
    /// These replace them. The keys are those of records that are replaced, removed or, with
    /// `--on-conflict both`, not imported.
    Store(BTreeMap<String, Any>, Vec<String>),
    /// Nothing is imported, because of these.
    Refuse(Vec<String>),
}

/// Stores the records of a state.
///
/// # Errors
/// If the store has others, and they are not to be replaced.
pub(super) async fn import_records(
    file: &Path,
    new: BTreeMap<String, Any>,
    conflicts: Conflicts,
    state_store: &EncryptedStore,
) -> Result<(), StateError> {
    if new.is_empty() {
        return Ok(());
    }
    let (all, mut added) = (new.len(), 0);
    let mut decision = Decision::Same;
    let replace = |stored: &StoredStack| {
        warn_of(&stored.faults);
        decision = decide(stored, new, conflicts);
        let Decision::Store(records, _) = &decision else { return None };
        added = records.len().saturating_sub(stored.records.len());
        Some(records.clone())
    };
    state_store.stack_records().replace(replace).await?;
    let (count, done, keys) = match decision {
        Decision::Refuse(keys) => {
            return Err(StateError::StackConflict { file: file.to_owned(), keys: listed(keys) });
        }
        Decision::Same => (all, "in the store already", Vec::new()),
        Decision::Store(_, keys) if conflicts == Conflicts::Replace && !keys.is_empty() => {
            (all, "replaced the stored ones", keys)
        }
        Decision::Store(_, keys) => (added, "added", keys),
    };
    print(&format!("other records of the stack: {count} {done}\n"));
    if !keys.is_empty() {
        let what = if conflicts == Conflicts::KeepBoth { "not imported" } else { "replaced or removed" };
        warn(&format!("{what}, because the state store has another record: {}", listed(keys)));
    }
    Ok(())
}

fn decide(stored: &StoredStack, new: BTreeMap<String, Any>, conflicts: Conflicts) -> Decision {
    let known = stored.contents();
    let damaged = stored.faults.iter().map(|fault| fault.reason.clone());
    let different = differences(&known, &new).into_iter();
    let keys: Vec<String> = different.map(str::to_owned).collect();
    let shown = |is_shown: &dyn Fn(&String) -> bool| {
        let shown = keys.iter().filter(|key| is_shown(key)).map(|key| in_one_line(key));
        shown.chain(damaged.clone()).collect()
    };
    let is_whole = stored.faults.is_empty();
    match conflicts {
        _ if is_whole && keys.is_empty() => Decision::Same,
        _ if is_whole && known.is_empty() => Decision::Store(new, Vec::new()),
        Conflicts::Replace => {
            let shown = shown(&|key| known.contains_key(key));
            Decision::Store(new, shown)
        }
        Conflicts::KeepBoth if is_whole => {
            let shown = shown(&|key| known.contains_key(key) && new.contains_key(key));
            Decision::Store(new.into_iter().chain(known).collect(), shown)
        }
        Conflicts::Refuse | Conflicts::KeepBoth => Decision::Refuse(shown(&|_| true)),
    }
}
