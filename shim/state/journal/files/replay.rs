//! What the entries of all files amount to.
//!
//! Files are read in no particular order, and an operation may be in two of them after a compaction that
//! was killed. So entries are collected in sets: nothing depends on their order, and a copy changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::entry::{Begun, Entry, Left, Made, Marked, Reference, References, Step, Unknown};
use crate::journal::intent::{FileId, Mark, Marks, OperationId};

/// The entries that were read.
#[derive(Debug, Default)]
pub(super) struct Replay {
    pub(super) operations: BTreeMap<OperationId, Steps>,
    /// What failed deletions have left, oldest first.
    pub(super) left: BTreeMap<OperationId, (Left, BTreeSet<FileId>)>,
    pub(super) settled: HashSet<OperationId>,
}

/// The entries about one operation.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) begun: Option<Begun>,
    pub(super) made: Option<Made>,
    pub(super) unknown: Option<Unknown>,
    /// The marks, each with the name of its entry.
    marked: BTreeSet<(u32, u64)>,
    /// The files that its beginning is in.
    pub(super) files: BTreeSet<FileId>,
}

/// The files that stay when others are replaced.
#[derive(Debug)]
pub(super) struct Others {
    pub(super) files: HashSet<FileId>,
    /// Whether all that is in them was read. Otherwise any operation may have been begun in them.
    pub(super) are_read: bool,
}

impl Replay {
    /// Adds an entry of the file `file`. Entries of newer versions are passed over.
    pub(super) fn add(&mut self, file: FileId, entry: Entry) {
        match entry.step {
            Some(Step::Begun(begun)) => {
                let Some(id) = begun.operation.as_ref().and_then(|operation| operation.operation()) else {
                    return;
                };
                let steps = self.operations.entry(id).or_default();
                steps.begun = Some(begun);
                steps.files.insert(file);
            }
            Some(Step::Made(made)) => {
                if let Some(id) = made.operation.as_ref().and_then(|operation| operation.operation()) {
                    self.operations.entry(id).or_default().made = Some(made);
                }
            }
            Some(Step::Unknown(unknown)) => {
                if let Some(id) = unknown.operation.as_ref().and_then(|operation| operation.operation()) {
                    self.operations.entry(id).or_default().unknown = Some(unknown);
                }
            }
            Some(Step::Left(left)) => {
                if let Some(id) = left.operation.as_ref().and_then(|operation| operation.operation()) {
                    let (kept, files) = self.left.entry(id).or_default();
                    *kept = left;
                    files.insert(file);
                }
            }
            Some(Step::Settled(References { operations })) => {
                self.settled.extend(operations.iter().filter_map(|settled| settled.operation()));
            }
            Some(Step::Marked(Marked { operations, mark, nonce })) => {
                for id in operations.iter().filter_map(|marked| marked.operation()) {
                    self.operations.entry(id).or_default().marked.insert((mark, nonce));
                }
            }
            None => {}
        }
    }

    /// The operations that were begun and are not settled.
    pub(super) fn open(&self) -> impl Iterator<Item = (OperationId, &Begun, &Steps)> {
        let operations = self.operations.iter().filter(|(id, _)| !self.settled.contains(*id));
        operations.filter_map(|(id, steps)| Some((*id, steps.begun.as_ref()?, steps)))
    }

    /// What failed deletions have left and nothing has superseded.
    pub(super) fn kept(&self) -> impl Iterator<Item = (OperationId, &Left)> {
        let left = self.left.iter().filter(|(id, _)| !self.settled.contains(*id));
        left.map(|(id, (left, _))| (*id, left))
    }

    /// Whether the user has dismissed what cannot be read of a file.
    pub(super) fn is_dismissed(&self, file: FileId) -> bool {
        self.settled.contains(&OperationId::of_file(file))
    }

    /// What was noted of a file itself.
    pub(super) fn marks_of_file(&self, file: FileId) -> Marks {
        self.operations.get(&OperationId::of_file(file)).map(Steps::marks).unwrap_or_default()
    }

    /// The entries that replace the files of `batch`, while the `others` stay.
    ///
    /// That an operation is settled is kept for as long as its beginning is in any file that was read,
    /// those of the batch included: they may outlive this process, if it is killed while it removes them.
    pub(super) fn entries(&self, batch: &BTreeSet<FileId>, others: &Others) -> Vec<Entry> {
        let mut entries = self.lasting_entries(batch, others);
        let is_in_batch = |id: &OperationId| {
            self.files_of(id).is_some_and(|files| files.iter().all(|file| batch.contains(file)))
        };
        let settled = References::to(self.settled.iter().copied().filter(is_in_batch));
        if !settled.operations.is_empty() {
            entries.push(Step::Settled(settled).into());
        }
        entries
    }

    /// The same without what is needed only until the batch is removed.
    pub(super) fn lasting_entries(&self, batch: &BTreeSet<FileId>, others: &Others) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (id, begun, steps) in self.open() {
            if !steps.files.is_disjoint(batch) {
                entries.push(Step::Begun(begun.clone()).into());
                entries.extend(steps.made.clone().map(|made| Step::Made(made).into()));
                entries.extend(steps.unknown.clone().map(|unknown| Step::Unknown(unknown).into()));
            }
            entries.extend(steps.marked_entries(id));
        }
        let may_be_begun_in_others = |id: &OperationId| match id {
            OperationId::InFile { file, number: 0 } => others.files.contains(file),
            id => match self.files_of(id) {
                Some(files) => files.iter().any(|file| !batch.contains(file)),
                None => !others.are_read || id.file().is_some_and(|file| others.files.contains(&file)),
            },
        };
        for (id, steps) in &self.operations {
            if steps.begun.is_none() && !self.settled.contains(id) && may_be_begun_in_others(id) {
                entries.extend(steps.marked_entries(*id));
            }
        }
        for (id, (left, files)) in &self.left {
            if !self.settled.contains(id) && !files.is_disjoint(batch) {
                entries.push(Step::Left(left.clone()).into());
            }
        }
        let settled = References::to(self.settled.iter().copied().filter(may_be_begun_in_others));
        if !settled.operations.is_empty() {
            entries.push(Step::Settled(settled).into());
        }
        entries
    }
}

impl Replay {
    /// The files that the beginning of an operation, or what a failed deletion has left, is in.
    fn files_of(&self, id: &OperationId) -> Option<&BTreeSet<FileId>> {
        let operation = self.operations.get(id).filter(|steps| steps.begun.is_some());
        operation.map(|steps| &steps.files).or_else(|| self.left.get(id).map(|(_, files)| files))
    }
}

impl Steps {
    pub(super) fn marks(&self) -> Marks {
        let mut marks = Marks::default();
        self.marked.iter().for_each(|(mark, _)| marks.add(Mark(*mark)));
        marks
    }

    /// The entries that were made about the operation `id` later, by any process.
    fn marked_entries(&self, id: OperationId) -> impl Iterator<Item = Entry> {
        self.marked.iter().map(move |(mark, nonce)| {
            let operations = Reference::to(id).into_iter().collect();
            Step::Marked(Marked { operations, mark: *mark, nonce: *nonce }).into()
        })
    }
}
