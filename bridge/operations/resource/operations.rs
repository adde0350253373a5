//! The operations of today's engines that are not settled: the journal, and what is known of it in memory.
//!
//! `docs/decisions/journal.md` says when an operation is settled, and what is reported. Calls bring the
//! evidence: the URN and id of a resource that the engine has. Looking for it costs nothing while no
//! operation is open.

mod journal;
mod known;
pub mod mark;
mod origin;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use isthmus_common::planted::{Bug, is_planted};
use isthmus_provider::Diagnostic;
use isthmus_state::{Condition, Intent, JournalFault, OpenIntent, OpenIntents, OperationId, OperationKind};

use known::{KnownOperation, KnownOperations};

use super::warnings::CollectedWarnings;
use isthmus_context::home::StateDirectoryError;
use isthmus_package::urn::Urn;

use journal::LeftStates;
pub use journal::{JournalError, OperationJournal};
pub use origin::{Caller, Origin};

/// A creation is reported when so many runs of its stack have passed without mentioning it: the preview
/// and the update of one `pulumi up`, of which only the update deletes what the program does not have.
const RUNS: u32 = 2;

/// How the journal names a resource of today's engine.
#[derive(Clone, Copy, Debug)]
pub struct JournaledResource<'a> {
    pub urn: &'a str,
    /// The engine's id for it; empty before it is created.
    pub id: &'a str,
    pub caller: &'a Caller,
    pub operations: &'a Operations,
}

/// The journal, and the operations that are open in it.
#[derive(Debug)]
pub struct Operations {
    journal: Result<OperationJournal, StateDirectoryError>,
    open: Mutex<OpenOperations>,
    /// Reading the journal: how many were asked for, and, while it is held, how many of them the last one has served.
    asked: AtomicU64,
    learning: tokio::sync::Mutex<u64>,
    /// How often it was read, or could not be.
    attempts: AtomicU64,
    /// Whether the last attempt has failed.
    is_behind: AtomicBool,
    /// Hashes of the warnings that were shown: texts may be of any length.
    warned: Mutex<HashSet<u64>>,
    hashes: RandomState,
}

#[derive(Debug, Default)]
struct OpenOperations {
    known: KnownOperations,
    /// The connections that are open. A change may end after its connection.
    sessions: HashSet<u64>,
    /// The objects that a connection imports: what it says of these shows nothing, as its engine may not have saved them.
    imports: HashMap<u64, HashSet<String>>,
    /// What cannot be read, and was not reported.
    faults: Vec<JournalFault>,
    /// What was settled while the journal is being read.
    settled: Option<HashSet<OperationId>>,
}

/// What is to be reported to the engine of a stack.
#[derive(Debug, Default)]
pub struct Reports {
    pub intents: Vec<OpenIntent>,
    pub faults: Vec<JournalFault>,
}

#[derive(Debug, thiserror::Error)]
pub enum OperationsError {
    /// Its directory is missing or not trusted.
    #[error(transparent)]
    Directory(#[from] StateDirectoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Operations {
    /// The operations of a journal, or why there is none.
    pub fn new(journal: Result<OperationJournal, StateDirectoryError>) -> Self {
        let (open, warned, hashes) = (Mutex::default(), Mutex::default(), RandomState::new());
        let (asked, attempts, is_behind) =
            (AtomicU64::default(), AtomicU64::default(), AtomicBool::default());
        let learning = tokio::sync::Mutex::default();
        Self { journal, open, asked, learning, attempts, is_behind, warned, hashes }
    }

    fn journal(&self) -> Result<&OperationJournal, OperationsError> {
        Ok(self.journal.as_ref().map_err(StateDirectoryError::clone)?)
    }

    /// Whether replicas share the journal: then nothing may be changed without it.
    pub(super) fn are_shared(&self) -> bool {
        self.journal.as_ref().is_ok_and(OperationJournal::is_shared)
    }

    /// Whether an operation that was journalled is still this process's.
    pub(super) async fn is_held(&self, id: OperationId) -> Result<bool, OperationsError> {
        Ok(self.journal()?.is_held(id).await?)
    }

    /// Journals an intent.
    pub(super) async fn begin(&self, intent: Intent) -> Result<OperationId, OperationsError> {
        Ok(self.journal()?.begin(intent).await?)
    }

    /// Journals that an object was made, of which the engine of `session` is about to be told.
    pub(super) async fn made(
        &self,
        mut open: OpenIntent,
        caller: &Caller,
        object: Bytes,
    ) -> Result<(), OperationsError> {
        let made = self.journal()?.made(open.id, &open.intent.key.id, object).await;
        open.condition = Condition::Unconfirmed;
        open.id = made.as_ref().map_or(open.id, |id| *id);
        self.add(open, caller);
        made?;
        Ok(())
    }

    /// Journals that the outcome of an operation is unknown.
    pub(super) async fn unknown(
        &self,
        mut open: OpenIntent,
        caller: &Caller,
        known: &str,
    ) -> Result<(), OperationsError> {
        let noted = self.journal()?.unknown(open.id, known).await;
        open.condition = Condition::Ended { text: known.to_owned(), object: None };
        open.id = noted.as_ref().map_or(open.id, |id| *id);
        self.add(open, caller);
        noted?;
        Ok(())
    }

    /// Settles an update or a deletion that has succeeded.
    pub(super) async fn changed(&self, id: OperationId) -> Result<(), OperationsError> {
        let journal = self.journal()?;
        self.open().settled(&[id]);
        journal.changed(id).await?;
        journal.write().await?;
        Ok(())
    }

    /// Settles an operation. With `now`, that survives this process when it returns.
    pub(super) async fn settle(&self, ids: &[OperationId], now: bool) -> Result<(), OperationsError> {
        if ids.is_empty() {
            return Ok(());
        }
        let journal = self.journal()?;
        self.open().settled(ids);
        journal.settle(ids).await?;
        if now {
            journal.write().await?;
        }
        Ok(())
    }

    fn add(&self, open: OpenIntent, caller: &Caller) {
        let mut all = self.open();
        let session = Some(caller.number()).filter(|number| all.sessions.contains(number));
        all.known.insert(KnownOperation::own(open, session));
    }

    /// A connection has opened.
    pub fn session_began(&self, caller: &Caller) {
        self.open().sessions.insert(caller.number());
    }

    /// A connection has ended: whether its engine has what it was answered is as uncertain as with a process that has ended.
    pub fn session_ended(&self, caller: &Caller) {
        let mut all = self.open();
        all.sessions.remove(&caller.number());
        all.imports.remove(&caller.number());
        for known in all.known.iter_mut().filter(|known| known.session == Some(caller.number())) {
            known.session = None;
        }
    }

    /// Reads what other processes have left in the journal.
    pub async fn learn(&self) -> Result<(), OperationsError> {
        let Ok(journal) = &self.journal else { return Ok(()) };
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let mut served = self.learning.lock().await;
        if *served < asked { self.read(journal, &mut served).await } else { Ok(()) }
    }

    /// Reads what could not be read when the engine configured its provider, as the journal may be there again.
    pub(super) async fn catch_up(&self) {
        let Ok(journal) = &self.journal else { return };
        if !self.is_behind.load(Ordering::Relaxed) {
            return;
        }
        let attempts = self.attempts.load(Ordering::Relaxed);
        let mut served = self.learning.lock().await;
        // One attempt is for all that wait: a database that is gone takes its time to say so.
        if self.attempts.load(Ordering::Relaxed) == attempts {
            self.read(journal, &mut served).await.ok();
        }
    }

    /// Reads the journal, which serves all that wait for it by now.
    async fn read(&self, journal: &OperationJournal, served: &mut u64) -> Result<(), OperationsError> {
        let serves = self.asked.load(Ordering::Relaxed);
        let read = self.take_over(journal).await;
        self.is_behind.store(read.is_err(), Ordering::Relaxed);
        self.attempts.fetch_add(1, Ordering::Relaxed);
        read?;
        *served = serves;
        Ok(())
    }

    async fn take_over(&self, journal: &OperationJournal) -> Result<(), OperationsError> {
        journal.forget_cached().await;
        let own: HashSet<OperationId> = {
            let mut all = self.open();
            all.settled = Some(HashSet::new());
            all.known.iter().filter(|known| known.is_own).map(|known| known.open.id).collect()
        };
        let OpenIntents { intents, faults, .. } = journal.open_intents().await?;
        let mut all = self.open();
        let settled = all.settled.take().unwrap_or_default();
        let found: HashSet<OperationId> = intents.iter().map(|open| open.id).collect();
        let is_whole = faults.is_empty();
        // They may have been settled elsewhere: other processes have heard of what this one has made.
        all.known.remove_where(|known| {
            let id = known.open.id;
            !known.is_own || is_whole && own.contains(&id) && !found.contains(&id)
        });
        let own: HashSet<OperationId> = all.known.iter().map(|known| known.open.id).collect();
        for open in intents {
            if !own.contains(&open.id) && !settled.contains(&open.id) {
                all.known.insert(KnownOperation::of_others(open));
            }
        }
        all.faults = faults.into_iter().filter(|fault| !fault.marks.has(mark::SHOWN)).collect();
        Ok(())
    }

    /// A call of the engine imports an object. An import is previewed, compared and saved after it was read, and a run may end
    /// before it is saved, so only a later connection shows that the engine has the object.
    pub fn imported(&self, id: &str, caller: &Caller) {
        self.open().imports.entry(caller.number()).or_default().insert(id.to_owned());
    }

    /// A call of the engine mentions a resource of a package: the creation of it is settled.
    pub async fn mentioned(&self, urn: &str, id: &str, package: &str, caller: &Caller) {
        let settled = self.take(|all| {
            if is_imported(&all.imports, id, caller) {
                return Vec::new();
            }
            let of_object = all.known.of_object(id).filter(|known| known.is_known_by(urn, package, caller));
            of_object.map(|known| known.open.id).collect()
        });
        // If it cannot be written, the journal keeps it for the next time.
        self.settle(&settled, false).await.ok();
    }

    /// An update, a deletion or a refresh of a resource has succeeded: earlier ones of unknown outcome are
    /// settled.
    pub(super) async fn superseded(&self, urn: &str, id: &str) {
        let settled = self.take(|all| {
            let changes = all.known.of_urn(urn).filter(|known| is_change_of(&known.open, id));
            changes.map(|known| known.open.id).collect()
        });
        self.settle(&settled, false).await.ok();
    }

    /// An update or a deletion of a resource whose outcome is unknown.
    pub(super) fn interrupted_change(&self, urn: &str, id: &str) -> Option<OpenIntent> {
        let all = self.open();
        all.known.of_urn(urn).map(|known| &known.open).find(|open| is_change_of(open, id)).cloned()
    }

    /// Creations of this URN that this connection was not told of, and that were not reported. A creation
    /// that it asks for now shows that it does not know them.
    pub(super) fn lost_creations(&self, urn: &str, caller: &Caller) -> Vec<OpenIntent> {
        let all = self.open();
        let lost = all.known.of_urn(urn).filter(|known| {
            known.open.intent.intention == OperationKind::Create
                && !known.open.marks.has(mark::SHOWN)
                && !known.open.marks.has(mark::ENDED)
                && known.session != Some(caller.number())
                && known.may_be_of(caller)
        });
        lost.map(|known| known.open.clone()).collect()
    }

    /// The engine creates a resource whose earlier creation it presumably knew, without having mentioned it:
    /// perhaps it could not save its state then. Or it replaces the resource without comparing it, and mentions
    /// it yet, or has renamed it, and mentions it under its new URN.
    pub(super) async fn doubt(&self, urn: &str, caller: &Caller) {
        if is_planted(Bug::NoDoubt) {
            return;
        }
        let doubted: Vec<OperationId> = {
            let mut all = self.open();
            let doubted = all.known.of_urn(urn).filter(|known| {
                mark::is_presumably_known(&known.open)
                    && known.session != Some(caller.number())
                    && known.may_be_of(caller)
            });
            let doubted = doubted.map(|known| known.open.id).collect::<Vec<_>>();
            for id in &doubted {
                all.known.get_mut(*id).into_iter().for_each(|known| known.open.marks.add(mark::DOUBTED));
            }
            doubted
        };
        let Ok(journal) = &self.journal else { return };
        journal.mark(&doubted, mark::DOUBTED).await.ok();
    }

    /// The engine of a connection has ended in order: it presumably knows what it was answered. `stack`: the
    /// one that it has worked on, of which a run has passed.
    pub async fn run_ended(&self, caller: &Caller, stack: Option<&str>) {
        let mut ended = Vec::new();
        let mut passed = Vec::new();
        {
            let mut all = self.open();
            let OpenOperations { known, imports, .. } = &mut *all;
            let unconfirmed = |known: &&mut KnownOperation| {
                matches!(known.open.condition, Condition::Unconfirmed)
                    && !mark::is_presumably_known(&known.open)
                    && !is_imported(imports, &known.open.intent.key.id, caller)
            };
            for known in known.iter_mut().filter(unconfirmed) {
                let is_of_stack = known.may_be_of(caller) && Urn(&known.open.intent.subject).stack() == stack;
                let open = &mut known.open;
                if known.session == Some(caller.number()) {
                    open.marks.add(mark::ENDED);
                    ended.push(open.id);
                } else if stack.is_some() && is_of_stack && !known.is_held {
                    open.marks.add(mark::PASSED);
                    passed.push(open.id);
                }
            }
        }
        let Ok(journal) = &self.journal else { return };
        if is_planted(Bug::CancelSettles) {
            journal.settle(&ended).await.ok();
        }
        // What is not written is shown by later calls, or reported a run later.
        journal.mark(&ended, mark::ENDED).await.ok();
        journal.mark(&passed, mark::PASSED).await.ok();
        journal.write().await.ok();
    }

    /// How many operations have an outcome that is not known, or that no open connection can confirm any more.
    pub fn unconfirmed(&self) -> usize {
        let is_unconfirmed = |known: &&KnownOperation| match known.open.condition {
            Condition::Interrupted | Condition::Ended { .. } => true,
            Condition::Unconfirmed => {
                known.session.is_none() && !known.is_held && !mark::is_presumably_known(&known.open)
            }
            Condition::InProgress => false,
        };
        self.open().known.iter().filter(is_unconfirmed).count()
    }

    /// What the engine of a stack has to be told about a package.
    pub fn reports(&self, package: &str, stack: &str, caller: &Caller) -> Reports {
        let all = self.open();
        let is_due = |known: &&KnownOperation| {
            let open = &known.open;
            let is_due = match open.condition {
                Condition::Interrupted | Condition::Ended { .. } => true,
                Condition::Unconfirmed => {
                    open.marks.count(mark::PASSED) >= RUNS && !mark::is_presumably_known(open)
                }
                Condition::InProgress => false,
            };
            is_due
                && !open.marks.has(mark::SHOWN)
                && !known.is_held
                && known.session.is_none()
                && open.intent.intention == OperationKind::Create
                && open.intent.key.package == package
                && Urn(&open.intent.subject).stack() == Some(stack)
                && known.may_be_of(caller)
        };
        let mut intents: Vec<OpenIntent> =
            all.known.iter().filter(is_due).map(|known| known.open.clone()).collect();
        intents.sort_by_key(|open| open.since);
        Reports { intents, faults: all.faults.clone() }
    }

    /// Records that reports were delivered.
    pub async fn shown(&self, ids: &[OperationId]) {
        {
            let mut all = self.open();
            for id in ids {
                all.known.get_mut(*id).into_iter().for_each(|known| known.open.marks.add(mark::SHOWN));
            }
            all.faults.retain(|fault| fault.id.is_none_or(|id| !ids.contains(&id)));
        }
        let Ok(journal) = &self.journal else { return };
        // Otherwise they are reported once more.
        journal.mark(ids, mark::SHOWN).await.ok();
    }

    /// Writes what is settled and was not written yet, before this process ends.
    pub async fn write(&self) {
        let Ok(journal) = &self.journal else { return };
        journal.write().await.ok();
    }

    /// What failed deletions have left; `None` if there is no journal, of which writing warns.
    pub(super) fn left_states(&self) -> Option<LeftStates<'_>> {
        self.journal.as_ref().ok().map(OperationJournal::left_states)
    }

    /// The same, to be written to.
    pub(super) fn left_states_to_write(&self) -> Result<LeftStates<'_>, OperationsError> {
        Ok(self.journal()?.left_states())
    }

    /// Warns of a journal that cannot be used. Resources of a program usually share the reason,
    /// which is shown once.
    pub(super) fn warn(
        &self,
        summary: &str,
        error: &OperationsError,
        consequence: &str,
        warnings: &CollectedWarnings,
    ) {
        let reason = isthmus_common::error_chain(error);
        let hash = self.hashes.hash_one((summary, &reason));
        if self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(hash) {
            warnings.warn(Diagnostic::warning(summary, format!("{reason}. {consequence}")));
        }
    }

    /// Removes what `find` finds.
    fn take(&self, find: impl FnOnce(&OpenOperations) -> Vec<OperationId>) -> Vec<OperationId> {
        let mut all = self.open();
        let found = find(&all);
        all.settled(&found);
        found
    }

    fn open(&self) -> MutexGuard<'_, OpenOperations> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenOperations {
    /// They are settled, or about to be.
    fn settled(&mut self, ids: &[OperationId]) {
        ids.iter().for_each(|id| self.known.remove(*id));
        self.settled.iter_mut().for_each(|settled| settled.extend(ids));
    }
}

fn is_imported(imports: &HashMap<u64, HashSet<String>>, id: &str, caller: &Caller) -> bool {
    imports.get(&caller.number()).is_some_and(|imported| imported.contains(id))
}

/// Whether this is an update or a deletion of the object `id` whose outcome is unknown.
fn is_change_of(open: &OpenIntent, id: &str) -> bool {
    open.intent.intention != OperationKind::Create
        && open.intent.key.id == id
        && matches!(open.condition, Condition::Interrupted | Condition::Ended { .. })
}
