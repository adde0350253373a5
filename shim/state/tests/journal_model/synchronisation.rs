//! `ISTHMUS_DURABILITY=disk`: a call goes on when its entry is on the disk, once for all calls that wait.
//!
//! Calls append, then take turns: one synchronises what is written by then, and the next one finds its
//! entry done. Meanwhile the file may be replaced by one with the same entries. The power may be lost at
//! any moment: what was not synchronised is gone, be it bytes of a file or the name of a new one.

mod tests;

use crate::explorer::{Model, Property};

/// Calls that append at once.
const CALLS: usize = 3;

pub(crate) const RELEASED_IS_ON_DISK: &str = "an entry whose call went on survives a loss of power";

/// What the protocol says where variants of it are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) measure: MeasureRule,
    pub(crate) name: NameRule,
    pub(crate) replacement: ReplacementRule,
}

/// When the length is taken that counts as synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasureRule {
    BeforeSynchronising,
    AfterSynchronising,
}

/// Whether the directory is synchronised before the first entry of a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    Synchronised,
    NotSynchronised,
}

/// What is synchronised when a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplacementRule {
    /// The directory before the new file is used, and the new file before the old one is removed.
    Synchronised,
    /// The new file and the directory before the old one is removed.
    OnceInUse,
    Nothing,
}

impl Rules {
    /// The protocol as `docs/decisions/journal.md` had it first, read to the letter.
    pub(crate) const FIRST: Self = Self {
        measure: MeasureRule::BeforeSynchronising,
        name: NameRule::NotSynchronised,
        replacement: ReplacementRule::Nothing,
    };

    /// The protocol with the changes that the model asks for.
    pub(crate) const PROPOSED: Self =
        Self { name: NameRule::Synchronised, replacement: ReplacementRule::Synchronised, ..Self::FIRST };
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synchronisation {
    pub(crate) rules: Rules,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    calls: [Call; CALLS],
    /// The own file, and the one that replaces it.
    files: [File; 2],
    /// Which of them is in use.
    own: usize,
    /// The call that synchronises, with the file and the entries that count when it is done.
    synchronising: Option<(usize, usize, u8)>,
    /// The file and the entries that count as synchronised.
    counted: (usize, u8),
    replacement: Replacement,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Call {
    #[default]
    Started,
    Appended,
    Released,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct File {
    is_linked: bool,
    /// Bits of the calls whose entries are in the file, and of those that are on the disk.
    written: u8,
    on_disk: u8,
    is_name_on_disk: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Replacement {
    NotBegun,
    Copied,
    Named,
    InUse,
    Synchronised,
    Done,
}

/// What happens; numbers are those of calls.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the fields are for traces")]
pub(crate) enum Step {
    Appended(usize),
    FoundDone(usize),
    SynchronisationStarts(usize),
    SynchronisationEnds(usize),
    ReplacementCopied,
    ReplacementNamed,
    ReplacementSynchronised,
    ReplacementUsed,
    ReplacedRemoved,
    RemovalReachesDisk,
}

impl Model for Synchronisation {
    type State = World;
    type Step = Step;

    fn initial(&self) -> World {
        let is_name_on_disk = self.rules.name == NameRule::Synchronised;
        let own = File { is_linked: true, is_name_on_disk, ..File::default() };
        World {
            calls: Default::default(),
            files: [own, File::default()],
            own: 0,
            synchronising: None,
            counted: (0, 0),
            replacement: Replacement::NotBegun,
        }
    }

    fn next(&self, world: &World) -> Vec<(Step, World)> {
        let mut next = Vec::new();
        for call in 0..CALLS {
            self.call_steps(world, call, &mut next);
        }
        self.replacement_steps(world, &mut next);
        next
    }

    /// In every state, since the power may be lost in every state.
    fn promises(&self) -> Vec<Property<World>> {
        vec![(RELEASED_IS_ON_DISK, |world| {
            let surviving = |file: &File| if file.is_name_on_disk { file.on_disk } else { 0 };
            let survive = world.files.iter().map(surviving).fold(0, |all, file| all | file);
            let released = |call: &usize| world.calls[*call] == Call::Released;
            (0..CALLS).filter(released).all(|call| survive & 1 << call != 0)
        })]
    }

    fn sightings(&self) -> Vec<Property<World>> {
        vec![
            ("all calls went on", |world| world.calls.iter().all(|call| *call == Call::Released)),
            ("a call appends while another one synchronises", |world| {
                world
                    .synchronising
                    .is_some_and(|(_, file, counting)| world.files[file].written & !counting != 0)
            }),
            ("the file is replaced while a call synchronises", |world| {
                world.synchronising.is_some_and(|(_, file, _)| file != world.own)
            }),
        ]
    }
}

impl Synchronisation {
    fn call_steps(&self, world: &World, call: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        match (world.calls[call], world.synchronising) {
            (Call::Started, _) => {
                after.calls[call] = Call::Appended;
                after.files[world.own].written |= 1 << call;
                next.push((Step::Appended(call), after));
            }
            (Call::Appended, None) => {
                let (file, counted) = world.counted;
                if file == world.own && counted & 1 << call != 0 {
                    after.calls[call] = Call::Released;
                    next.push((Step::FoundDone(call), after));
                } else {
                    after.synchronising = Some((call, world.own, world.files[world.own].written));
                    next.push((Step::SynchronisationStarts(call), after));
                }
            }
            (Call::Appended, Some((synchronising, file, at_start))) if synchronising == call => {
                // What was written before it began is on the disk, and nothing later for certain.
                after.files[file].on_disk |= at_start;
                after.counted = match self.rules.measure {
                    MeasureRule::BeforeSynchronising => (file, at_start),
                    MeasureRule::AfterSynchronising => (file, world.files[file].written),
                };
                after.synchronising = None;
                after.calls[call] = Call::Released;
                next.push((Step::SynchronisationEnds(call), after));
            }
            (Call::Appended, Some(_)) | (Call::Released, _) => {}
        }
    }

    /// The new file takes over while nothing is appended; what was appended since is copied with that.
    fn replacement_steps(&self, world: &World, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let step = match world.replacement {
            Replacement::NotBegun => {
                after.files[1] = File { is_linked: true, written: world.files[0].written, ..File::default() };
                after.replacement = Replacement::Copied;
                Step::ReplacementCopied
            }
            Replacement::Copied => {
                after.files[1].is_name_on_disk = self.rules.replacement == ReplacementRule::Synchronised;
                after.replacement = Replacement::Named;
                Step::ReplacementNamed
            }
            Replacement::Named => {
                after.files[1].written |= world.files[0].written;
                after.own = 1;
                after.replacement = Replacement::InUse;
                Step::ReplacementUsed
            }
            Replacement::InUse => {
                if self.rules.replacement != ReplacementRule::Nothing {
                    after.files[1].on_disk |= world.files[1].written;
                    after.files[1].is_name_on_disk = true;
                }
                after.replacement = Replacement::Synchronised;
                Step::ReplacementSynchronised
            }
            Replacement::Synchronised if world.files[0].is_linked => {
                after.files[0].is_linked = false;
                Step::ReplacedRemoved
            }
            Replacement::Synchronised => {
                after.files[0].is_name_on_disk = false;
                after.replacement = Replacement::Done;
                Step::RemovalReachesDisk
            }
            Replacement::Done => return,
        };
        next.push((step, after));
    }
}
