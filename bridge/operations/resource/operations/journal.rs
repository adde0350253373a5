//! The journal of an engine that stores objects itself: in files, or in a store that replicas share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use isthmus_context::home::{StateDirectoryError, home};
use isthmus_context::settings::Settings;
use isthmus_state::{
    EncryptedStoreError, Intent, IntentGuard, Journal, JournalFiles, JournalFilesError, KeySource,
    LazyEncryptedStore, LeftState, Mark, OpenIntents, OperationId, RecordNumber, Sent, StoreAddress,
    StoreKey, database_in,
};

use super::mark;

/// How long the outcome of an operation is written again and again to a store that cannot be reached, and the pause between.
const RETRYING: Duration = Duration::from_secs(3600);
const PAUSE: Duration = Duration::from_secs(1);

/// Limit of states that failed deletions have left, per resource; the oldest are removed first. There are
/// several only if resources share an id.
const MOST_LEFT: usize = 8;

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Its files cannot be used.
    #[error(transparent)]
    Files(#[from] JournalFilesError),
    /// The state store, which has the journal, cannot be used.
    #[error(transparent)]
    Store(#[from] EncryptedStoreError),
}

/// The journal of operations. `docs/decisions/journal.md` has the protocol.
#[derive(Debug)]
pub struct OperationJournal {
    backend: JournalBackend,
    left: tokio::sync::Mutex<Option<Left>>,
}

#[derive(Debug)]
enum JournalBackend {
    Files(JournalFiles),
    Store {
        store: Arc<LazyEncryptedStore>,
        /// The operations of this process, whose leases are renewed.
        running: Mutex<HashMap<OperationId, IntentGuard>>,
        /// What the store does not have yet, because it could not be written.
        outcomes: Outcomes,
        unwritten: Mutex<Unwritten>,
    },
}

/// What is known of operations, and not in the store.
#[derive(Debug, Default)]
struct Unwritten {
    settled: HashSet<RecordNumber>,
    marks: Vec<(RecordNumber, Mark)>,
}

/// What came of an operation.
#[derive(Debug)]
enum Outcome {
    Made { id: String, object: Bytes },
    Changed,
    Unknown { known: String },
    Nothing,
}

impl Outcome {
    async fn write(&self, guard: &mut IntentGuard) -> Result<(), EncryptedStoreError> {
        match self {
            Self::Made { id, object } => guard.made(id, object.clone()).await,
            Self::Changed => guard.changed().await,
            Self::Unknown { known } => guard.leave_open(known).await,
            Self::Nothing => guard.end().await,
        }
    }
}

/// What came of operations whose server could not be reached then. This process keeps their leases, and writes them when it can.
/// Each stays here until it is written: a call that writes them may be cancelled.
#[derive(Clone, Debug, Default)]
struct Outcomes(Arc<tokio::sync::Mutex<Vec<(Outcome, IntentGuard)>>>);

impl Outcomes {
    /// Writes what came of an operation, or keeps it.
    async fn note(&self, outcome: Outcome, mut guard: IntentGuard) -> Result<OperationId, JournalError> {
        let Err(error) = outcome.write(&mut guard).await else {
            return Ok(OperationId::InStore(guard.number()));
        };
        if error.is_unreachable() {
            tokio::spawn(tokio::time::timeout(RETRYING, self.clone().keep(outcome, guard)));
        }
        Err(error.into())
    }

    async fn keep(self, outcome: Outcome, guard: IntentGuard) {
        self.0.lock().await.push((outcome, guard));
        loop {
            tokio::time::sleep(PAUSE).await;
            if self.write().await.is_ok() {
                return;
            }
        }
    }

    /// Writes those that are kept.
    async fn write(&self) -> Result<(), EncryptedStoreError> {
        let mut all = self.0.lock().await;
        while let Some((outcome, guard)) = all.last_mut() {
            if let Err(error) = outcome.write(guard).await
                && error.is_unreachable()
            {
                return Err(error);
            }
            all.pop();
        }
        Ok(())
    }
}

/// What failed deletions have left, by resource, oldest first.
type Left = HashMap<StoreKey, Vec<(OperationId, Sent, Bytes)>>;

/// What failed deletions have left, which the engine does not store.
///
/// When a deletion fails halfway, the provider returns the remaining state and new private data. Terraform
/// stores both; an engine's protocol has no field for them in the response of a failed deletion, so it
/// continues with its old state. They are kept here for the next call, which is identified by a digest of
/// its properties: they are the same as in the failed deletion. The state is opaque here.
#[derive(Debug)]
pub struct LeftStates<'a>(&'a OperationJournal);

impl OperationJournal {
    /// The configured journal: files in the home directory, or the store that replicas share. It is not
    /// opened yet.
    ///
    /// # Errors
    /// If there is no directory for it, or another user may write to it.
    pub fn configured(
        settings: &Settings,
        store: &Result<Arc<LazyEncryptedStore>, StateDirectoryError>,
    ) -> Result<Self, StateDirectoryError> {
        let file = match &settings.store {
            Some(StoreAddress::Server(_)) => {
                return Ok(Self::new(JournalBackend::Store {
                    store: store.clone()?,
                    running: Mutex::default(),
                    outcomes: Outcomes::default(),
                    unwritten: Mutex::default(),
                }));
            }
            Some(StoreAddress::File(file)) => Some(file.clone()),
            _ => None,
        };
        let home = home(settings)?;
        let key = settings.key.clone().unwrap_or_else(|| KeySource::Directory(home.clone()));
        let file = file.unwrap_or_else(|| database_in(&home));
        Ok(Self::in_files(JournalFiles::new(&home, key, Some(file), settings.durability)))
    }

    /// A journal in files.
    pub(super) fn in_files(files: JournalFiles) -> Self {
        Self::new(JournalBackend::Files(files))
    }

    fn new(backend: JournalBackend) -> Self {
        Self { backend, left: tokio::sync::Mutex::default() }
    }

    /// Whether replicas share it.
    pub fn is_shared(&self) -> bool {
        matches!(self.backend, JournalBackend::Store { .. })
    }

    /// Whether an operation of this process is still its own. `false`: this process was not heard of for so long that another
    /// one has reported or settled it, so it must not be carried out; the journal says so.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn is_held(&self, id: OperationId) -> Result<bool, JournalError> {
        let JournalBackend::Store { running, outcomes, .. } = &self.backend else { return Ok(true) };
        let Some(guard) = lock(running).remove(&id) else { return Ok(true) };
        match guard.is_held().await {
            Ok(true) => {
                lock(running).insert(id, guard);
                return Ok(true);
            }
            Ok(false) => {}
            Err(error) => {
                // The provider is not called.
                outcomes.note(Outcome::Nothing, guard).await.ok();
                return Err(error.into());
            }
        }
        let known =
            "the provider was not called, because another process had taken the operation over".to_owned();
        outcomes.note(Outcome::Unknown { known }, guard).await?;
        Ok(false)
    }

    /// Its location, for messages.
    pub fn location(&self) -> String {
        match &self.backend {
            JournalBackend::Files(files) => files.directory().display().to_string(),
            JournalBackend::Store { store, .. } => store.location(),
        }
    }

    /// Journals that an operation begins. Only when this has returned may the provider be called.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn begin(&self, intent: Intent) -> Result<OperationId, JournalError> {
        match &self.backend {
            JournalBackend::Files(files) => Ok(files.begin(&intent).await?),
            JournalBackend::Store { store, running, unwritten, .. } => {
                let journal = store.open().await?.journal();
                // Only a creation shows that the engine may not know an earlier object, so this process's end may not lose that.
                write_marks(journal, unwritten).await?;
                let guard = journal.begin(intent, None).await?;
                let id = OperationId::InStore(guard.number());
                lock(running).insert(id, guard);
                Ok(id)
            }
        }
    }

    /// Journals that an object was made. Only when this has returned may the engine be answered.
    /// `object` is opaque; a large one may be left out. Returns the id that the operation has from now on.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn made(
        &self,
        id: OperationId,
        made: &str,
        object: Bytes,
    ) -> Result<OperationId, JournalError> {
        match &self.backend {
            JournalBackend::Files(files) => files.made(id, made, object).await?,
            JournalBackend::Store { running, outcomes, .. } => {
                let guard = lock(running).remove(&id);
                if let Some(guard) = guard {
                    return outcomes.note(Outcome::Made { id: made.to_owned(), object }, guard).await;
                }
            }
        }
        Ok(id)
    }

    /// Settles an update or a deletion of this process that has succeeded.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn changed(&self, id: OperationId) -> Result<(), JournalError> {
        if let JournalBackend::Store { running, outcomes, .. } = &self.backend {
            let guard = lock(running).remove(&id);
            if let Some(guard) = guard {
                outcomes.note(Outcome::Changed, guard).await?;
                return Ok(());
            }
        }
        self.settle(&[id]).await
    }

    /// Journals that the outcome is unknown, with what is known. Returns the id that the operation has from now on.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn unknown(&self, id: OperationId, known: &str) -> Result<OperationId, JournalError> {
        match &self.backend {
            JournalBackend::Files(files) => files.unknown(id, known).await?,
            JournalBackend::Store { running, outcomes, .. } => {
                let guard = lock(running).remove(&id);
                if let Some(guard) = guard {
                    return outcomes.note(Outcome::Unknown { known: known.to_owned() }, guard).await;
                }
            }
        }
        Ok(id)
    }

    /// Settles operations: nothing of them is left to be told. That may be lost if this process is killed;
    /// then there will be evidence again. What a store could not take is written with what is settled next, or by [`Self::write`]:
    /// this process does not look for evidence of it again, and an object that is deleted meanwhile leaves none.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn settle(&self, ids: &[OperationId]) -> Result<(), JournalError> {
        if ids.is_empty() {
            return Ok(());
        }
        match &self.backend {
            JournalBackend::Files(files) => Ok(files.settle(ids).await?),
            JournalBackend::Store { running, outcomes, unwritten, .. } => {
                for id in ids {
                    let guard = lock(running).remove(id);
                    match (guard, id) {
                        (Some(guard), _) => drop(outcomes.note(Outcome::Nothing, guard).await?),
                        (None, OperationId::InStore(number)) => drop(lock(unwritten).settled.insert(*number)),
                        (None, OperationId::InFile { .. }) => {}
                    }
                }
                self.write().await
            }
        }
    }

    /// Marks operations. A mark other than [`mark::SHOWN`] may be lost if this process is killed. What a store could not take is
    /// written as that of [`Self::settle`], but for [`mark::PASSED`].
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn mark(&self, ids: &[OperationId], mark: Mark) -> Result<(), JournalError> {
        match &self.backend {
            _ if ids.is_empty() => Ok(()),
            JournalBackend::Files(files) => {
                files.mark(ids, mark).await?;
                if mark == mark::SHOWN { Ok(files.write().await?) } else { Ok(()) }
            }
            // A run that passed is one of several: without it, a report comes a run later.
            JournalBackend::Store { store, .. } if mark == mark::PASSED => {
                Ok(store.open().await?.journal().mark(&in_store(ids), mark).await?)
            }
            JournalBackend::Store { unwritten, .. } => {
                lock(unwritten).marks.extend(in_store(ids).into_iter().map(|number| (number, mark)));
                self.write().await
            }
        }
    }

    /// Writes what came of operations, and what [`Self::settle`] and [`Self::mark`] have added, as far as it is not written yet.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn write(&self) -> Result<(), JournalError> {
        match &self.backend {
            JournalBackend::Files(files) => Ok(files.write().await?),
            JournalBackend::Store { store, outcomes, unwritten, .. } => {
                outcomes.write().await?;
                let settled = {
                    let unwritten = lock(unwritten);
                    if unwritten.settled.is_empty() && unwritten.marks.is_empty() {
                        return Ok(());
                    }
                    unwritten.settled.iter().copied().collect::<Vec<_>>()
                };
                let journal = store.open().await?.journal();
                if !settled.is_empty() {
                    journal.settle(&settled).await?;
                    lock(unwritten).settled.retain(|number| !settled.contains(number));
                }
                write_marks(journal, unwritten).await
            }
        }
    }

    /// All operations that are not settled, of whatever process, and what cannot be read.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_intents(&self) -> Result<OpenIntents, JournalError> {
        match &self.backend {
            JournalBackend::Files(files) => Ok(files.open_intents().await?),
            JournalBackend::Store { store, unwritten, .. } => {
                let Some(store) = store.existing().await? else { return Ok(OpenIntents::default()) };
                let mut open = store.journal().open_intents().await?;
                let unwritten = lock(unwritten);
                let is_open = |number| !unwritten.settled.contains(&number);
                open.intents.retain(|open| open.id.in_store().is_none_or(is_open));
                Ok(open)
            }
        }
    }

    /// What failed deletions have left.
    pub fn left_states(&self) -> LeftStates<'_> {
        LeftStates(self)
    }

    /// Reads again what failed deletions have left: other processes may have written.
    pub async fn forget_cached(&self) {
        *self.left.lock().await = None;
    }
}

impl LeftStates<'_> {
    /// Whether there may be a state of a resource.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn may_have(&self, key: &StoreKey) -> Result<bool, JournalError> {
        match &self.0.backend {
            JournalBackend::Files(files) => {
                let mut left = self.0.left.lock().await;
                Ok(read(&mut left, files).await?.contains_key(key))
            }
            JournalBackend::Store { store, .. } => Ok(store.existing().await?.is_some()),
        }
    }

    /// The state for a call with the same properties.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn find(&self, key: &StoreKey, sent: &Sent) -> Result<Option<Bytes>, JournalError> {
        match &self.0.backend {
            JournalBackend::Files(files) => {
                let mut left = self.0.left.lock().await;
                let left = read(&mut left, files).await?;
                let states = left.get(key).into_iter().flatten();
                Ok(states.rev().find(|(_, kept, _)| kept == sent).map(|(_, _, state)| state.clone()))
            }
            JournalBackend::Store { store, .. } => match store.existing().await? {
                Some(store) => Ok(store.failed_delete_states().find(key, sent).await?),
                None => Ok(None),
            },
        }
    }

    /// Keeps a state, replacing that for the same properties.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn keep(&self, key: &StoreKey, sent: &Sent, state: Bytes) -> Result<(), JournalError> {
        match &self.0.backend {
            JournalBackend::Files(files) => {
                let mut left = self.0.left.lock().await;
                let left = read(&mut left, files).await?;
                let id = files.keep(key, sent, state.clone()).await?;
                let states = left.entry(key.clone()).or_default();
                let others = states.iter().filter(|(_, kept, _)| kept != sent).count();
                let mut too_many = (others + 1).saturating_sub(MOST_LEFT);
                let replaced = states.extract_if(.., |(_, kept, _)| {
                    let is_replaced = kept == sent || too_many > 0;
                    too_many = too_many.saturating_sub(usize::from(kept != sent && is_replaced));
                    is_replaced
                });
                let replaced: Vec<OperationId> = replaced.map(|(id, ..)| id).collect();
                states.push((id, *sent, state));
                Ok(files.settle(&replaced).await?)
            }
            JournalBackend::Store { store, .. } => {
                Ok(store.open().await?.failed_delete_states().keep(key, sent, state).await?)
            }
        }
    }

    /// Removes the state for a call with these properties, if any.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn forget(&self, key: &StoreKey, sent: &Sent) -> Result<(), JournalError> {
        match &self.0.backend {
            JournalBackend::Files(files) => {
                let mut left = self.0.left.lock().await;
                let left = read(&mut left, files).await?;
                let Some(states) = left.get_mut(key) else { return Ok(()) };
                let forgotten = states.extract_if(.., |(_, kept, _)| kept == sent);
                let forgotten: Vec<OperationId> = forgotten.map(|(id, ..)| id).collect();
                if forgotten.is_empty() { Ok(()) } else { Ok(files.settle(&forgotten).await?) }
            }
            JournalBackend::Store { store, .. } => match store.existing().await? {
                Some(store) => Ok(store.failed_delete_states().forget(key, sent).await?),
                None => Ok(()),
            },
        }
    }
}

/// What failed deletions have left, read at the first use.
async fn read<'a>(left: &'a mut Option<Left>, files: &JournalFiles) -> Result<&'a mut Left, JournalError> {
    if left.is_none() {
        let mut found = Left::new();
        for LeftState { id, key, sent, left } in files.left().await? {
            found.entry(key).or_default().push((id, sent, left));
        }
        *left = Some(found);
    }
    Ok(left.get_or_insert_default())
}

/// Writes the marks that a store could not take.
async fn write_marks(journal: &Journal, unwritten: &Mutex<Unwritten>) -> Result<(), JournalError> {
    let marks = lock(unwritten).marks.clone();
    for mark in marks {
        journal.mark(&[mark.0], mark.1).await?;
        let mut unwritten = lock(unwritten);
        if let Some(place) = unwritten.marks.iter().position(|other| *other == mark) {
            unwritten.marks.remove(place);
        }
    }
    Ok(())
}

fn in_store(ids: &[OperationId]) -> Vec<RecordNumber> {
    ids.iter().filter_map(|id| id.in_store()).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use isthmus_state::{JournalDurability, OperationKind};
    use tempfile::TempDir;

    use super::*;

    fn journal_in(home: &TempDir) -> OperationJournal {
        let key = KeySource::Directory(home.path().to_owned());
        OperationJournal::in_files(JournalFiles::new(home.path(), key, None, JournalDurability::Process))
    }

    #[tokio::test]
    async fn what_failed_deletions_left_is_found_by_what_was_sent_in_the_next_process_too() {
        let home = tempfile::tempdir().expect("a directory");
        let key = |id: &str| StoreKey {
            package: "random".to_owned(),
            type_name: "random_pet".to_owned(),
            id: id.to_owned(),
        };
        let left = Bytes::from_static;
        let ours = journal_in(&home);
        ours.left_states().keep(&key("a"), &[1; 32], left(b"one")).await.expect("kept");
        ours.left_states().keep(&key("a"), &[2; 32], left(b"two")).await.expect("kept");
        ours.left_states().keep(&key("a"), &[1; 32], left(b"uno")).await.expect("kept");
        drop(ours);
        let next = journal_in(&home);
        let find = async |key: &StoreKey, sent: u8| {
            next.left_states().find(key, &[sent; 32]).await.expect("an answer")
        };
        assert_eq!(find(&key("a"), 1).await, Some(left(b"uno")));
        assert_eq!(find(&key("a"), 2).await, Some(left(b"two")));
        assert_eq!((find(&key("a"), 3).await, find(&key("b"), 1).await), (None, None));
        next.left_states().forget(&key("a"), &[1; 32]).await.expect("forgotten");
        next.left_states().forget(&key("a"), &[1; 32]).await.expect("forgotten already");
        assert_eq!(find(&key("a"), 1).await, None);
        next.write().await.expect("written");
        drop(next);
        let last = journal_in(&home);
        assert_eq!(last.left_states().find(&key("a"), &[1; 32]).await.expect("an answer"), None);
        assert_eq!(
            last.left_states().find(&key("a"), &[2; 32]).await.expect("an answer"),
            Some(left(b"two"))
        );
        for sent in 10..20 {
            last.left_states().keep(&key("a"), &[sent; 32], left(b"more")).await.expect("kept");
        }
        let found =
            async |sent: u8| last.left_states().find(&key("a"), &[sent; 32]).await.expect("an answer");
        assert_eq!((found(2).await, found(11).await), (None, None), "the oldest are removed");
        assert!(found(12).await.is_some());
    }

    #[tokio::test]
    async fn what_a_database_could_not_take_is_written_before_an_operation_begins() {
        let home = tempfile::tempdir().expect("a directory");
        let process = || {
            let address = StoreAddress::File(database_in(home.path()));
            let store = LazyEncryptedStore::new(address, KeySource::Directory(home.path().to_owned()));
            OperationJournal::new(JournalBackend::Store {
                store: Arc::new(store),
                running: Mutex::default(),
                outcomes: Outcomes::default(),
                unwritten: Mutex::default(),
            })
        };
        let creation = || Intent {
            intention: OperationKind::Create,
            key: StoreKey {
                package: "random".to_owned(),
                type_name: "random_pet".to_owned(),
                id: String::new(),
            },
            subject: "urn:pulumi:dev::p::random:index/pet:Pet::a".to_owned(),
            prior: None,
            companion: Bytes::new(),
        };
        let ours = process();
        let first = ours.begin(creation()).await.expect("written");
        let first = ours.made(first, "a", Bytes::new()).await.expect("written");
        let JournalBackend::Store { unwritten, .. } = &ours.backend else { panic!("it is in a store") };
        lock(unwritten).marks.push((first.in_store().expect("it is in a store"), mark::DOUBTED));
        ours.begin(creation()).await.expect("written");
        assert!(lock(unwritten).marks.is_empty());

        let open = process().open_intents().await.expect("read").intents;
        let marked: Vec<_> =
            open.iter().map(|open| (open.id == first, open.marks.has(mark::DOUBTED))).collect();
        assert_eq!(marked, [(true, true), (false, false)]);
    }
}
