//! What the entries of all files amount to.
//!
//! Files are read in no particular order, and an operation may be in two of them after a compaction that
//! was killed. So entries are collected in sets: nothing depends on their order, and a copy changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::entry::{Begun, Entry, Left, Made, Passed, References, Step, Unknown};
use crate::journal::intent::{FileId, OperationId};

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
    pub(super) is_shown: bool,
    pub(super) is_ended: bool,
    pub(super) is_doubted: bool,
    /// The runs that have passed without mentioning it.
    pub(super) passed: BTreeSet<Vec<u8>>,
    /// The files that its beginning is in.
    pub(super) files: BTreeSet<FileId>,
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
            Some(Step::Shown(marked)) => self.mark(&marked, |steps| steps.is_shown = true),
            Some(Step::Ended(marked)) => self.mark(&marked, |steps| steps.is_ended = true),
            Some(Step::Doubted(marked)) => self.mark(&marked, |steps| steps.is_doubted = true),
            Some(Step::Passed(Passed { operations, run })) => {
                for id in operations.iter().filter_map(|passed| passed.operation()) {
                    self.operations.entry(id).or_default().passed.insert(run.clone());
                }
            }
            None => {}
        }
    }

    fn mark(&mut self, marked: &References, mark: impl Fn(&mut Steps)) {
        for id in marked.operations.iter().filter_map(|marked| marked.operation()) {
            mark(self.operations.entry(id).or_default());
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

    /// Whether a report about a file itself was shown.
    pub(super) fn is_fault_shown(&self, file: FileId) -> bool {
        let id = OperationId::of_file(file);
        self.operations.get(&id).is_some_and(|steps| steps.is_shown)
    }

    /// The entries that replace the files of `batch`, while the `others` stay.
    ///
    /// That an operation is settled is kept for as long as its beginning is in any file that was read,
    /// those of the batch included: they may outlive this process, if it is killed while it removes them.
    pub(super) fn entries(&self, batch: &BTreeSet<FileId>, others: &HashSet<FileId>) -> Vec<Entry> {
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
    pub(super) fn lasting_entries(&self, batch: &BTreeSet<FileId>, others: &HashSet<FileId>) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (id, begun, steps) in self.open() {
            if !steps.files.is_disjoint(batch) {
                entries.push(Step::Begun(begun.clone()).into());
                entries.extend(steps.made.clone().map(|made| Step::Made(made).into()));
                entries.extend(steps.unknown.clone().map(|unknown| Step::Unknown(unknown).into()));
            }
            entries.extend(steps.marks(id));
        }
        for (id, (left, files)) in &self.left {
            if !self.settled.contains(id) && !files.is_disjoint(batch) {
                entries.push(Step::Left(left.clone()).into());
            }
        }
        for file in others {
            let id = OperationId::of_file(*file);
            entries.extend(self.operations.get(&id).into_iter().flat_map(|steps| steps.marks(id)));
        }
        let is_in_others = |id: &OperationId| match id {
            OperationId::InFile { file, number: 0 } => others.contains(file),
            id => match self.files_of(id) {
                Some(files) => files.iter().any(|file| !batch.contains(file)),
                // Its beginning is in a file that cannot be read now.
                None => id.file().is_some_and(|file| others.contains(&file)),
            },
        };
        let settled = References::to(self.settled.iter().copied().filter(is_in_others));
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
    /// The entries that were made about the operation `id` later, by any process.
    fn marks(&self, id: OperationId) -> Vec<Entry> {
        let marks = [
            self.is_shown.then(|| Step::Shown(References::to([id])).into()),
            self.is_ended.then(|| Step::Ended(References::to([id])).into()),
            self.is_doubted.then(|| Step::Doubted(References::to([id])).into()),
        ];
        let passed = self.passed.iter().map(|run| {
            let operations = References::to([id]).operations;
            Step::Passed(Passed { operations, run: run.clone() }).into()
        });
        marks.into_iter().flatten().chain(passed).collect()
    }
}
