//! What becomes of creations: an engine, its state file, the processes of its providers, and the journal.
//!
//! The journal is a set of entries per operation here, and an entry is in it or not: that files amount to
//! that, with torn tails, compaction and rotation, is what [`crate::files`] is about. Objects carry the
//! number of the operation that made them. Updates and deletions have no entries here, because the engine
//! repeats what it has no answer to; deletions take part as calls.
//!
//! Assumptions: the engine starts no run of a stack while another one lasts, and the user dismisses an
//! operation between runs, after he has removed the object unless the engine knows it.

mod daemon;
mod engine;
mod promises;
mod rules;
mod tests;

use crate::explorer::{Model, Property};
use rules::{
    BegunRule, CancelRule, CreateRule, EvidenceRule, FailedRule, MadeRule, PassedRule, ReportRule, Rules,
};

/// Resources at most.
const URNS: usize = 2;

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Runs of the stack.
    pub(crate) runs: u8,
    /// Kills of the engine or a process.
    pub(crate) kills: u8,
    /// Failures to save the state.
    pub(crate) save_failures: u8,
    /// Ctrl-C.
    pub(crate) interrupts: u8,
    /// Crashes of the provider.
    pub(crate) crashes: u8,
    /// Errors that say that nothing was made.
    pub(crate) refusals: u8,
    /// Replacements.
    pub(crate) replacements: u8,
    /// Replacements that the user asks for, so that the engine does not compare.
    pub(crate) forced_replacements: u8,
    /// Resources that a run leaves out, because it has targets.
    pub(crate) skips: u8,
    /// Dismissals.
    pub(crate) dismissals: u8,
}

impl Budget {
    pub(crate) const NONE: Self = Self {
        runs: 0,
        kills: 0,
        save_failures: 0,
        interrupts: 0,
        crashes: 0,
        refusals: 0,
        replacements: 0,
        forced_replacements: 0,
        skips: 0,
        dismissals: 0,
    };
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operations {
    pub(crate) rules: Rules,
    /// Resources.
    pub(crate) urns: usize,
    /// Processes that serve a run; resources are distributed among them.
    pub(crate) processes: usize,
    /// Whether processes outlive the run and engines attach to them.
    pub(crate) is_attached: bool,
    /// Whether the program always has all resources.
    pub(crate) is_fixed: bool,
    pub(crate) budget: Budget,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    /// What the state file says.
    pub(crate) saved: [Record; URNS],
    pub(crate) processes: Vec<Process>,
    pub(crate) operations: Vec<Operation>,
    /// Bits of the runs that have ended with Cancel.
    pub(crate) orderly: u8,
    /// The run in which a creation was last begun or ended, or a process killed.
    pub(crate) last_change: u8,
    pub(crate) budget: Budget,
}

/// A creation: its entries in the journal, and the truth about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub(crate) urn: usize,
    /// The process that holds the file locked.
    pub(crate) process: usize,
    // Entries.
    pub(crate) is_begun: bool,
    pub(crate) is_made: bool,
    pub(crate) is_unknown: bool,
    pub(crate) is_ended: bool,
    pub(crate) is_shown: bool,
    /// The run of a later creation that names this one.
    pub(crate) named: Option<u8>,
    pub(crate) claim: Option<usize>,
    pub(crate) passed: u8,
    pub(crate) settled: Option<Settled>,
    // The truth.
    pub(crate) object: Object,
    pub(crate) run: u8,
    /// Whether the engine asked for it as a replacement.
    pub(crate) is_replacement: bool,
    pub(crate) deliveries: u8,
    /// Processes that have died between delivering the report and recording it.
    pub(crate) deaths: u8,
    /// Whether it was reported for passed runs before two later ones had ended.
    pub(crate) is_early: bool,
    /// Whether it was reported although the state file had it.
    pub(crate) is_false_alarm: bool,
}

/// Why an operation was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Settled {
    NothingMade,
    Mentioned,
    Cancel,
    Dismissed,
}

/// What the provider has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    Never,
    Exists,
    Deleted,
}

/// What the engine knows of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) current: Option<u8>,
    /// The one that a replacement has left to be deleted.
    pub(crate) replaced: Option<u8>,
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Engine {
    pub(crate) is_running: bool,
    /// Number of the run.
    pub(crate) run: u8,
    /// Whether no further call is made.
    pub(crate) is_stopping: bool,
    /// Bits of the resources that the program has.
    pub(crate) program: u8,
    pub(crate) memory: [Record; URNS],
    pub(crate) tasks: [Task; URNS],
}

/// Where the engine is with a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    #[default]
    Done,
    Todo,
    /// A replacement was made, the old object is to be deleted.
    Cleanup,
    /// A call is in progress.
    Waiting,
    /// The answer to a Create was sent, and is not saved yet.
    Created(u8),
    /// The answer to a Delete was sent, and is not saved yet.
    Deleted(u8),
}

/// A process of isthmus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// Which resources it serves: those whose number leaves this.
    pub(crate) slot: usize,
    /// The run of its connection.
    pub(crate) run: u8,
    pub(crate) is_alive: bool,
    pub(crate) is_connected: bool,
    pub(crate) is_configured: bool,
    /// Whether a Cancel has not been handled.
    pub(crate) cancel: bool,
    /// Whether the engine closes the connection when Cancel is answered.
    pub(crate) is_ending: bool,
    pub(crate) calls: [Call; URNS],
    /// Bits of the creations that the connection has answered.
    pub(crate) answered: u16,
    /// Bits of the operations to report.
    pub(crate) reports: u16,
    /// The one that was delivered and is not recorded yet.
    pub(crate) delivered: Option<usize>,
}

/// A call in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    #[default]
    None,
    /// A Create has arrived.
    Received { is_replacement: bool },
    /// Open creations of the same URN were looked for.
    Looked { is_replacement: bool },
    /// `begun` is written, and the provider has the request.
    Begun(u8),
    /// The provider has made the object.
    Applied(u8),
    /// `made` is written.
    Made(u8),
    /// The engine is answered, and `made` is not written.
    AnsweredEarly(u8),
    /// The provider has the request to delete this object.
    Delete(u8),
}

/// What happens. Numbers are those of resources (`urn`), processes and operations.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the fields are for traces")]
pub(crate) enum Step {
    RunStarts { program: u8 },
    Configured { process: usize },
    Compared { urn: usize },
    Skipped { urn: usize },
    CreateSent { urn: usize, is_replacement: bool, is_compared: bool },
    DeleteSent { urn: usize, operation: u8 },
    Saved { urn: usize },
    SaveFailed { urn: usize },
    Interrupted,
    RunEnds,
    EngineKilled,
    ProcessKilled { process: usize, answers_are_lost: bool },
    ProcessExits { process: usize },
    LookedForOpenCreations { process: usize, urn: usize },
    BegunWritten { process: usize, urn: usize },
    ObjectMade { urn: usize, operation: u8 },
    Refused { urn: usize, operation: u8 },
    ProviderCrashed { urn: usize },
    MadeWritten { operation: u8 },
    CreateAnswered { process: usize, operation: u8 },
    DeleteAnswered { process: usize, urn: usize },
    CancelHandled { process: usize, is_idle: bool },
    ReportDelivered { process: usize, operation: usize },
    ShownWritten { process: usize, operation: usize },
    Dismissed { operation: usize },
}

impl Model for Operations {
    type State = World;
    type Step = Step;

    fn initial(&self) -> World {
        World {
            engine: Engine::default(),
            saved: Default::default(),
            processes: Vec::new(),
            operations: Vec::new(),
            orderly: 0,
            last_change: 0,
            budget: self.budget,
        }
    }

    fn next(&self, world: &World) -> Vec<(Step, World)> {
        let mut next = Vec::new();
        self.engine_steps(world, &mut next);
        self.daemon_steps(world, &mut next);
        Self::user_steps(world, &mut next);
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
    /// Whether the state file has the object.
    pub(crate) fn is_saved(&self, operation: usize) -> bool {
        let (record, id) = (&self.saved[self.operations[operation].urn], u8::try_from(operation).ok());
        record.current == id || record.replaced == id
    }

    /// Whether anything is going on.
    pub(crate) fn is_quiescent(&self) -> bool {
        !self.engine.is_running && self.processes.iter().all(|process| !process.is_alive)
    }

    /// Whether a live process has a call in progress that belongs to the operation.
    pub(crate) fn is_in_progress(&self, operation: usize) -> bool {
        let of = |call: &Call| match *call {
            Call::Begun(number)
            | Call::Applied(number)
            | Call::Made(number)
            | Call::AnsweredEarly(number) => usize::from(number) == operation,
            Call::None | Call::Received { .. } | Call::Looked { .. } | Call::Delete(_) => false,
        };
        self.processes.iter().any(|process| process.is_alive && process.calls.iter().any(of))
    }
}

impl Operation {
    pub(crate) fn is_open(&self) -> bool {
        self.is_begun && self.settled.is_none()
    }
}

impl Process {
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.iter().all(|call| *call == Call::None)
    }
}
