//! Removal of files when the cache is full.
//!
//! A response is needed as long as an index entry refers to it, so the age of entries counts: the
//! least recently used are removed first, and a response with its last entry. Entries of variable
//! executables and of the first format are removed, and so are responses without an entry, unless
//! they are new: the entry may be about to be written. A rendered document is removed by its own age:
//! it may be of a provider that has no entry, of another language, or of another build of isthmus.
//!
//! Any number of processes may sweep, read and write at once. At worst an entry has no response,
//! and is ignored.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use super::entry::Entry;
use super::files::{Files, ListedFile};
use super::names::Kind;
use crate::schema::Fingerprint;

/// Size limits of a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of all files together.
    pub(super) bytes: u64,
    /// Index entries are small, but there may be many.
    pub(super) files: usize,
}

/// Age of abandoned temporary files, and of responses that get no entry.
pub(super) const GIVEN_UP: Duration = Duration::from_secs(3600);

/// Sweeps if a limit is exceeded, or there is a file of the first format.
pub(super) fn sweep_if_needed(files: &Files, limits: Limits) {
    let ours: Vec<(ListedFile, Kind)> = ours(files);
    let total: u64 = ours.iter().map(|(file, _)| file.size).sum();
    let has_former = ours.iter().any(|(_, kind)| *kind == Kind::FormerEntry);
    if total > limits.bytes || ours.len() > limits.files || has_former {
        sweep(files, limits);
    }
}

/// Removes obsolete files, and then the least recently used until the rest fits.
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
            Kind::Sighting | Kind::Document | Kind::Mark(_) => by_age.push((file, None)),
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
        // As old as any other file, since no entry refers to it.
        if !is_referred_to {
            by_age.push((file.clone(), None));
        }
        true
    });

    by_age.sort_by(|(one, _), (other, _)| one.used.cmp(&other.used).then_with(|| one.name.cmp(&other.name)));
    // Somewhat below the limit, or each write would have to sweep.
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

/// The remaining size during a sweep.
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

/// Files with a name of ours; removing them checks that we wrote them.
fn ours(files: &Files) -> Vec<(ListedFile, Kind)> {
    let kind = |file: ListedFile| Kind::of(&file.name).map(|kind| (file, kind));
    files.list().into_iter().filter_map(kind).collect()
}

fn variable(kind: &Kind) -> Option<[u8; 32]> {
    match kind {
        Kind::Mark(executable) => Some(*executable),
        Kind::Sighting
        | Kind::Entry
        | Kind::FormerEntry
        | Kind::Answer(_)
        | Kind::Document
        | Kind::Unfinished => None,
    }
}
