//! What the files amount to: appends, torn tails, compaction, rotation, and readers beside them.
//!
//! A file is a list of entries, and it may be torn: a part of an entry is behind them. Each system call is
//! a step, so that anything can happen between two. What the processes have written is also noted as the
//! truth, with which the files are compared.

mod promises;
mod steps;
mod tests;

use std::collections::BTreeSet;

use crate::explorer::{Model, Property};

/// What the protocol says where variants of it are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) compaction: CompactionRule,
    pub(crate) order: OrderRule,
    pub(crate) victims: VictimRule,
    pub(crate) creation: CreationRule,
    pub(crate) reader: ReaderRule,
    pub(crate) listing: Listing,
    pub(crate) failed_append: FailedAppendRule,
    pub(crate) rotation: RotationRule,
}

/// What a compaction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionRule {
    /// Open operations.
    Open,
    /// And that operations are settled whose beginning is in a file that stays.
    OpenAndSettledElsewhere,
    /// And that operations are settled whose beginning is in any file that was read.
    OpenAndSettled,
}

/// In which order a compaction writes and removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderRule {
    WritesFirst,
    RemovesFirst,
}

/// Which files a compaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VictimRule {
    Unlocked,
    All,
}

/// What a process does that has created and locked its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreationRule {
    /// It checks that the file is still there, since it was not locked at first.
    ChecksLink,
    Trusts,
}

/// What a reader does that finds a file gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaderRule {
    ReadsAgain,
    Ignores,
}

/// How names are read from the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// At once, as of a small directory that one system call reads.
    AtOnce,
    /// One by one, as POSIX allows: names that are added or removed meanwhile may be missed.
    OneByOne,
    /// One by one, while the reader holds the lock of the directory shared; compaction and rotation hold
    /// it exclusively.
    OneByOneLocked,
}

/// What a process does after an append that has failed halfway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedAppendRule {
    /// The next append overwrites the part.
    Overwrites,
    /// The next append follows the part.
    Follows,
}

/// What happens to what a process appends while its file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RotationRule {
    /// It is copied before the new file is used.
    CopiesAll,
    /// It stays in the old file, which is removed.
    CopiesAtFirst,
}

impl Rules {
    /// The protocol as `docs/decisions/journal.md` had it first, read to the letter.
    pub(crate) const FIRST: Self = Self {
        compaction: CompactionRule::Open,
        order: OrderRule::WritesFirst,
        victims: VictimRule::Unlocked,
        creation: CreationRule::ChecksLink,
        reader: ReaderRule::ReadsAgain,
        listing: Listing::OneByOne,
        failed_append: FailedAppendRule::Overwrites,
        rotation: RotationRule::CopiesAll,
    };

    /// The protocol with the changes that the model asks for.
    pub(crate) const PROPOSED: Self =
        Self { compaction: CompactionRule::OpenAndSettled, listing: Listing::OneByOneLocked, ..Self::FIRST };
}

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Processes that start.
    pub(crate) processes: u8,
    /// Operations that are begun.
    pub(crate) operations: u8,
    pub(crate) settled: u8,
    pub(crate) kills: u8,
    pub(crate) failed_appends: u8,
    pub(crate) compactions: u8,
    pub(crate) rotations: u8,
    pub(crate) reads: u8,
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    pub(crate) rules: Rules,
    pub(crate) budget: Budget,
}

/// Number of an operation.
pub(crate) type Number = u8;
/// Number of a file, in the order of creation.
pub(crate) type FileNumber = usize;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) files: Vec<File>,
    pub(crate) processes: Vec<Process>,
    pub(crate) reader: Option<Reader>,
    /// The process that compacts.
    pub(crate) directory_lock: Option<usize>,
    /// Operations whose beginning was written.
    pub(crate) begun: BTreeSet<Number>,
    /// Those of them that were settled.
    pub(crate) settled: BTreeSet<Number>,
    /// What has gone wrong in a step that no state shows.
    pub(crate) fault: Option<Fault>,
    pub(crate) sights: BTreeSet<Sight>,
    pub(crate) budget: Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    LiveFileRemoved,
    ReaderMissed,
    ReaderInvented,
}

/// What happened once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Sight {
    TornTailCompacted,
    OperationTwice,
    CompactionKilled,
    RotationKilled,
    ReaderStartedAgain,
    CreationLost,
    SettledElsewhere,
}

/// A file. It is listed in the directory while `is_linked`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct File {
    pub(crate) is_linked: bool,
    pub(crate) lock: Option<usize>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) is_torn: bool,
    /// Whether whole entries follow a part of one. They cannot be told from damage.
    pub(crate) is_damaged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Entry {
    Begun(Number),
    Settled(Number),
}

/// A process: at most one thing at a time, but it appends while it rotates or compacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) is_alive: bool,
    /// The file that it has created and not yet locked or checked.
    pub(crate) creating: Option<FileNumber>,
    pub(crate) own: Option<FileNumber>,
    pub(crate) work: Work,
}

/// What a process does beside appending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    #[default]
    None,
    /// It holds the lock of the directory, and has locked these.
    Compacting { victims: Vec<FileNumber> },
    /// It has created its new file.
    Copying { victims: Vec<FileNumber>, target: FileNumber, pending: Vec<Entry> },
    /// The copies are written.
    Removing { victims: Vec<FileNumber> },
    /// It has created its next own file.
    Rotating { target: FileNumber, copied: usize },
    /// The next own file is in use.
    Rotated { old: FileNumber },
}

/// A process that only reads, such as `isthmus recover`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    /// Those that were open when it began.
    pub(crate) open_at_start: BTreeSet<Number>,
    pub(crate) settled_at_start: BTreeSet<Number>,
    pub(crate) phase: Phase,
    /// Files to read.
    pub(crate) names: Vec<FileNumber>,
    pub(crate) entries: BTreeSet<Entry>,
}

/// What a reader is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It opens the directory, and waits for its lock if it takes it.
    Opening,
    /// It has read the names down to this one.
    Listing { position: usize },
    /// It reads the files.
    Reading,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the fields are for traces")]
pub(crate) enum Step {
    ProcessStarts { process: usize },
    FileCreated { process: usize, file: FileNumber },
    FileLocked { process: usize, file: FileNumber, is_linked: bool },
    BegunWritten { process: usize, operation: Number },
    SettledWritten { process: usize, operation: Number },
    AppendFailed { process: usize },
    Killed { process: usize, is_torn: bool },
    CompactionStarts { process: usize, victims: usize },
    TargetCreated { process: usize, file: FileNumber },
    CopyWritten { process: usize, entry: Entry },
    CopiesComplete { process: usize },
    FileRemoved { process: usize, file: FileNumber },
    CompactionEnds { process: usize },
    RotationStarts { process: usize, file: FileNumber },
    Rotated { process: usize, file: FileNumber },
    ReaderStarts,
    DirectoryOpened,
    NameRead { position: usize },
    NamesRead { files: usize },
    FileRead { file: FileNumber },
    FileGone { file: FileNumber },
    ReaderEnds,
}

impl Model for Files {
    type State = World;
    type Step = Step;

    fn initial(&self) -> World {
        World {
            files: Vec::new(),
            processes: Vec::new(),
            reader: None,
            directory_lock: None,
            begun: BTreeSet::new(),
            settled: BTreeSet::new(),
            fault: None,
            sights: BTreeSet::new(),
            budget: self.budget,
        }
    }

    fn next(&self, world: &World) -> Vec<(Step, World)> {
        let mut next = Vec::new();
        self.process_steps(world, &mut next);
        self.reader_steps(world, &mut next);
        next
    }

    fn promises(&self) -> Vec<Property<World>> {
        promises::promises()
    }

    fn sightings(&self) -> Vec<Property<World>> {
        promises::sightings()
    }
}

impl World {
    /// The operations that were begun and not settled, in truth.
    pub(crate) fn open(&self) -> BTreeSet<Number> {
        self.begun.difference(&self.settled).copied().collect()
    }

    /// The files of the directory.
    pub(crate) fn linked(&self) -> impl Iterator<Item = (FileNumber, &File)> {
        self.files.iter().enumerate().filter(|(_, file)| file.is_linked)
    }
}

impl File {
    /// What a reader makes of the file.
    pub(crate) fn readable(&self) -> &[Entry] {
        if self.is_damaged { &[] } else { &self.entries }
    }
}

/// The operations that are open according to the entries.
pub(crate) fn open_of(entries: &BTreeSet<Entry>) -> BTreeSet<Number> {
    let open = entries.iter().filter_map(|entry| match *entry {
        Entry::Begun(number) if !entries.contains(&Entry::Settled(number)) => Some(number),
        Entry::Begun(_) | Entry::Settled(_) => None,
    });
    open.collect()
}
