//! Rules of the protocol for creations, with the variants that are explored.
//!
//! [`Rules::PROPOSED`] keeps all promises. Each other variant violates one, which the tests require: so a
//! rule that the protocol can do without is noticed.

/// What the protocol says where variants of it are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) cancel: CancelRule,
    pub(crate) evidence: EvidenceRule,
    pub(crate) reports: ReportRule,
    pub(crate) passed: PassedRule,
    pub(crate) begun: BegunRule,
    pub(crate) made: MadeRule,
    pub(crate) create: CreateRule,
    pub(crate) failed: FailedRule,
}

/// What Cancel does to creations that its connection has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelRule {
    /// It settles them while no call is in progress.
    SettlesWhenIdle,
    /// It settles them while a call is in progress.
    SettlesWhenBusy,
    /// It settles nothing. While no call is in progress, they are marked as ended: the engine presumably
    /// has them, so passed runs do not count.
    MarksEnded,
}

/// Which call of the engine settles a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvidenceRule {
    /// One with its URN and its id.
    UrnAndId,
    /// One with its URN and any id.
    Urn,
}

/// How a report is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportRule {
    /// `shown` is written after the report was delivered.
    ShownAfterDelivery,
    /// Before, a process claims the report in its own file, under the lock of the directory. The claim
    /// ends with the process, and with the connection if that is closed before the report is delivered.
    ClaimedBefore,
    /// As before, but the claim ends with the process only.
    ClaimedForLife,
    /// It is not recorded.
    NotRecorded,
}

/// Which runs have passed without mentioning an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassedRule {
    /// Each process counts its connection.
    EachConnection,
    /// All processes of a run count it once, and not the run that the operation was begun in.
    EachLaterRun,
}

/// When `begun` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BegunRule {
    BeforeRequest,
    AfterEffect,
}

/// When `made` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeRule {
    BeforeAnswer,
    AfterAnswer,
}

/// What happens at a Create of a URN that has an open creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreateRule {
    /// The open one is reported meanwhile.
    Reports,
    /// As before; one that is marked as ended is not reported, but named in the `begun` of a
    /// later run, and reported when a run after that is configured and it is still open.
    NamesEnded,
    /// Nothing.
    Ignores,
}

/// What happens when a provider dies with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedRule {
    /// The outcome is unknown.
    Unknown,
    /// The creation is settled as by an error that says that nothing was made.
    Settles,
}

impl Rules {
    /// The protocol as `docs/decisions/journal.md` had it first.
    pub(crate) const FIRST: Self = Self {
        cancel: CancelRule::SettlesWhenIdle,
        evidence: EvidenceRule::UrnAndId,
        reports: ReportRule::ShownAfterDelivery,
        passed: PassedRule::EachConnection,
        begun: BegunRule::BeforeRequest,
        made: MadeRule::BeforeAnswer,
        create: CreateRule::Reports,
        failed: FailedRule::Unknown,
    };

    /// The protocol with the changes that the model asks for.
    pub(crate) const PROPOSED: Self = Self {
        cancel: CancelRule::MarksEnded,
        reports: ReportRule::ClaimedBefore,
        passed: PassedRule::EachLaterRun,
        create: CreateRule::NamesEnded,
        ..Self::FIRST
    };
}
