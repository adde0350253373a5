//! Making room in the cache.
//!
//! An answer is needed for as long as an index entry refers to it, so entries are what is judged by age: when there is too
//! much, those that were used longest ago go first, and an answer goes with its last entry. Entries of variable
//! executables and of the first format are of no use, and neither is an answer that nothing refers to, unless it is new: its
//! entry may be about to be written.
//!
//! Any number of processes may sweep, read and write at once. The worst that can come of it is an entry without an answer,
//! which is as if it were not there.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use super::entry::Entry;
use super::files::{Files, ListedFile};
use super::names::Kind;
use crate::schema::Fingerprint;

/// How much a cache may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of all files together.
    pub(super) bytes: u64,
    /// An index entry of a directory that will not be used again is small, but there may be many.
    pub(super) files: usize,
}

/// How old an unfinished file must be to be one that was given up, and an answer without an entry to be one that will get none.
pub(super) const GIVEN_UP: Duration = Duration::from_secs(3600);

/// Sweeps if there is more than the limits allow, or something of the first format.
pub(super) fn sweep_if_needed(files: &Files, limits: Limits) {
    let ours: Vec<(ListedFile, Kind)> = ours(files);
    let total: u64 = ours.iter().map(|(file, _)| file.size).sum();
    let has_former = ours.iter().any(|(_, kind)| *kind == Kind::FormerEntry);
    if total > limits.bytes || ours.len() > limits.files || has_former {
        sweep(files, limits);
    }
}

/// Removes what is of no use, and then what was used longest ago until the rest fits.
pub(super) fn sweep(files: &Files, limits: Limits) {
    let mut room = Room { files, bytes: 0, count: 0 };
    let now = SystemTime::now();
    let is_old = |file: &ListedFile| now.duration_since(file.used).is_ok_and(|age| age > GIVEN_UP);
    let ours = ours(files);
    let variable: HashSet<[u8; 32]> = ours.iter().filter_map(|(_, kind)| variable(kind)).collect();

    let mut answers = HashMap::new();
    let mut by_age: Vec<(ListedFile, Option<Fingerprint>)> = Vec::new();
    let mut references: HashMap<Fingerprint, usize> = HashMap::new();
    let mut released = HashSet::new();
    for (file, kind) in ours {
        room.bytes += file.size;
        room.count += 1;
        match kind {
            Kind::FormerEntry => room.remove(&file),
            Kind::Unfinished if is_old(&file) => room.remove(&file),
            Kind::Unfinished => {}
            Kind::Answer(fingerprint) => drop(answers.insert(fingerprint, file)),
            Kind::Sighting | Kind::Mark(_) => by_age.push((file, None)),
            Kind::Entry => match files.peek(&file.name).and_then(|content| Entry::from_bytes(&content)) {
                Some(entry) if !variable.contains(&entry.executable) => {
                    *references.entry(entry.fingerprint).or_default() += 1;
                    by_age.push((file, Some(entry.fingerprint)));
                }
                Some(entry) => {
                    released.insert(entry.fingerprint);
                    room.remove(&file);
                }
                None => room.remove(&file),
            },
        }
    }
    answers.retain(|fingerprint, file| {
        let is_referred_to = references.contains_key(fingerprint);
        if !is_referred_to && (released.contains(fingerprint) || is_old(file)) {
            room.remove(file);
            return false;
        }
        // As old as any other file, since no entry takes it along.
        if !is_referred_to {
            by_age.push((file.clone(), None));
        }
        true
    });

    by_age.sort_by(|(one, _), (other, _)| one.used.cmp(&other.used).then_with(|| one.name.cmp(&other.name)));
    // A few more than need be, or each write would have to sweep once there are many.
    let most_files = if room.count > limits.files { limits.files - limits.files / 8 } else { limits.files };
    for (file, fingerprint) in by_age {
        if room.bytes <= limits.bytes && room.count <= most_files {
            return;
        }
        room.remove(&file);
        let Some(fingerprint) = fingerprint else { continue };
        let left = references.entry(fingerprint).or_default();
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some(answer) = answers.remove(&fingerprint)
        {
            room.remove(&answer);
        }
    }
}

/// How much there is, while it becomes less.
struct Room<'a> {
    files: &'a Files,
    bytes: u64,
    count: usize,
}

impl Room<'_> {
    fn remove(&mut self, file: &ListedFile) {
        if self.files.remove(&file.name) {
            self.bytes = self.bytes.saturating_sub(file.size);
            self.count = self.count.saturating_sub(1);
        }
    }
}

/// The files that have a name of ours; whether we wrote them is seen when they are removed.
fn ours(files: &Files) -> Vec<(ListedFile, Kind)> {
    let kind = |file: ListedFile| Kind::of(&file.name).map(|kind| (file, kind));
    files.list().into_iter().filter_map(kind).collect()
}

fn variable(kind: &Kind) -> Option<[u8; 32]> {
    match kind {
        Kind::Mark(executable) => Some(*executable),
        Kind::Sighting | Kind::Entry | Kind::FormerEntry | Kind::Answer(_) | Kind::Unfinished => None,
    }
}
