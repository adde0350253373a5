//! The journal in files: for callers that store objects themselves.
//!
//! Each process appends to a file of its own, which it holds locked for its life; so a file that is not
//! locked has no owner. `docs/decisions/journal.md` has the protocol.
//!
//! An append is one `write(2)`. Everything else (creating and locking files, reading and compacting them,
//! `fsync`) happens on blocking threads.

#[cfg(feature = "counting")]
pub(crate) mod counting;
mod directory;
mod entry;
pub(crate) mod error;
mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod keys;
mod own_file;
mod replay;
#[cfg(test)]
mod tests;

use isthmus_platform::files::sync_directory;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use isthmus_common::permissions::{PRIVATE_DIRECTORY, create_directories};
use isthmus_common::planted::{Bug, is_planted};
use isthmus_common::{NotRegular, blocking, fail_point, spawn_blocking};
use tokio::sync::OnceCell;

use super::intent::{
    Condition, FileId, Intent, JournalFault, Mark, OpenIntent, OpenIntents, OperationId, OperationKind,
};
use crate::key::KeySource;
use crate::saved::Sent;
use crate::store::StoreKey;
use crate::tombstones::milliseconds;
use entry::{Begun, Entry, Left, Made, Marked, Reference, References, Step, Unknown};
use error::JournalFilesError;
use keys::JournalKeys;
use own_file::OwnFile;
use replay::Steps;

pub(crate) use directory::{clear_journal, is_journal_file, journal_holds_nothing, listing_lock};
pub(crate) use keys::{begin_rotation, end_rotation};

/// Name of the directory in ISTHMUS_HOME.
const DIRECTORY: &str = "journal";

/// Larger objects are not kept with an operation: the id suffices to find them, and they would make the
/// appends of each creation long.
pub const LARGEST_OBJECT: usize = 64 * 1024;

/// Length at which the own file is replaced by one with what is still open.
const LONG: u64 = 1024 * 1024;

/// When entries are written that need not be written at once.
const SOON: Duration = Duration::from_millis(100);

/// Whether an append survives a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JournalDurability {
    /// It survives the death of any process.
    #[default]
    Process,
    /// It is on the disk.
    Disk,
}

/// The journal files of a directory.
#[derive(Debug)]
pub struct JournalFiles {
    directory: PathBuf,
    key: KeySource,
    /// A state store whose user's key is the same; the key is not created again if it exists.
    store: Option<PathBuf>,
    durability: JournalDurability,
    keys: OnceCell<Arc<JournalKeys>>,
    own: OnceCell<Arc<Own>>,
    /// What was added while there was no own file, perhaps because none could be created. The evidence for it may not come again: an
    /// object that is deleted meanwhile leaves none.
    unwritten: Mutex<Vec<Step>>,
}

/// The state that a failed deletion has left, which the caller could not store.
#[derive(Clone, Debug)]
pub struct LeftState {
    /// Its id, for settling it.
    pub id: OperationId,
    /// The resource.
    pub key: StoreKey,
    /// What the caller sent with the deletion.
    pub sent: Sent,
    /// The state, in the caller's encoding.
    pub left: Bytes,
}

/// The own file.
#[derive(Debug)]
struct Own {
    file: Mutex<OwnFile>,
    /// Length at which it is replaced.
    longest: AtomicU64,
    is_replacing: AtomicBool,
    is_writing_soon: AtomicBool,
    synchronised: tokio::sync::Mutex<(FileId, u64)>,
}

impl JournalFiles {
    /// The journal in the home directory `home`; nothing is read or created yet. `store` is the file of
    /// the state store beside it, if it is one.
    pub fn new(home: &Path, key: KeySource, store: Option<PathBuf>, durability: JournalDurability) -> Self {
        let directory = home.join(DIRECTORY);
        let (keys, own, unwritten) = (OnceCell::new(), OnceCell::new(), Mutex::default());
        Self { directory, key, store, durability, keys, own, unwritten }
    }

    /// The directory of the journal in the home directory `home`.
    pub fn directory_in(home: &Path) -> PathBuf {
        home.join(DIRECTORY)
    }

    /// The directory, for messages.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Journals that an operation begins. The provider may be called when this has returned.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn begin(&self, intent: &Intent) -> Result<OperationId, JournalFilesError> {
        let own = self.own().await?;
        let Intent { intention, key, subject, companion, .. } = intent;
        let (id, written) = {
            let mut file = own.file();
            let id = OperationId::InFile { file: file.id, number: file.next_number() };
            if is_planted(Bug::NoIntent) {
                return Ok(id);
            }
            let written = file.append(Entry::from(Step::Begun(Begun {
                operation: Reference::to(id),
                kind: intention.number(),
                package: key.package.clone(),
                type_name: key.type_name.clone(),
                subject: subject.clone(),
                id: key.id.clone(),
                since: milliseconds(SystemTime::now()),
                process: std::process::id(),
                companion: companion.clone(),
            })));
            (id, written)
        };
        written.map_err(|error| self.failed(error))?;
        self.replace_if_long(own);
        if let Err(error) = self.synchronise(own).await {
            // It is in the file, and is not carried out as one that is.
            self.settle(&[id]).await.ok();
            return Err(error);
        }
        Ok(id)
    }

    /// Journals that an object was made. The caller may be answered when this has returned.
    /// `object` is opaque; a large one is left out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn made(&self, id: OperationId, made: &str, object: Bytes) -> Result<(), JournalFilesError> {
        if is_planted(Bug::NoOutcome) {
            return Ok(());
        }
        let object = if object.len() > LARGEST_OBJECT { Bytes::new() } else { object };
        let (operation, made) = (Reference::to(id), made.to_owned());
        self.append(Step::Made(Made { operation, id: made, object })).await
    }

    /// Journals that the outcome is unknown, with what is known.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn unknown(&self, id: OperationId, known: &str) -> Result<(), JournalFilesError> {
        self.append(Step::Unknown(Unknown { operation: Reference::to(id), known: known.to_owned() })).await
    }

    /// Settles operations. That is written with the next entry or by [`Self::write`]: if it is lost with this
    /// process, there will be evidence again.
    ///
    /// # Errors
    /// When there is no own file, or it cannot be written; it is kept for the next time.
    pub async fn settle(&self, ids: &[OperationId]) -> Result<(), JournalFilesError> {
        self.add(Step::Settled(References::to(ids.iter().copied()))).await
    }

    /// Marks operations. That is written as [`Self::settle`] is.
    ///
    /// # Errors
    /// As of [`Self::settle`].
    pub async fn mark(&self, ids: &[OperationId], mark: Mark) -> Result<(), JournalFilesError> {
        let operations = References::to(ids.iter().copied()).operations;
        let nonce = u64::from_le_bytes(crate::encryption::random::<8>());
        self.add(Step::Marked(Marked { operations, mark: mark.0, nonce })).await
    }

    /// Writes what was added and not written yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn write(&self) -> Result<(), JournalFilesError> {
        if self.own.get().is_none() && self.unwritten().is_empty() {
            return Ok(());
        }
        let own = self.own().await?;
        let written = own.file().write();
        written.map_err(|error| self.failed(error))
    }

    /// All operations that are not settled, of this process too, and what cannot be read. Files of
    /// processes that have ended are compacted.
    ///
    /// # Errors
    /// When the directory or its key cannot be read.
    pub async fn open_intents(&self) -> Result<OpenIntents, JournalFilesError> {
        let Some(scan) = self.scanned().await? else { return Ok(OpenIntents::default()) };
        let directory::Scan { replay, files } = scan;
        let locked: HashSet<FileId> =
            files.iter().filter(|file| file.is_locked).map(|file| file.id).collect();
        let intents =
            replay.open().map(|(id, begun, steps)| open_intent(id, begun, steps, &locked)).collect();
        let faults = files.iter().filter(|file| !replay.is_dismissed(file.id)).filter_map(|file| {
            let reason = file.fault.as_ref()?;
            let path = own_file::path_of(&self.directory, file.id);
            Some(JournalFault {
                id: Some(OperationId::of_file(file.id)),
                reason: format!("the journal file {} cannot be read whole: {reason}", path.display()),
                marks: replay.marks_of_file(file.id),
            })
        });
        Ok(OpenIntents { has_journal: true, faults: faults.collect(), intents })
    }

    /// What failed deletions have left, oldest first.
    ///
    /// # Errors
    /// As of [`Self::open_intents`].
    pub async fn left(&self) -> Result<Vec<LeftState>, JournalFilesError> {
        let Some(directory::Scan { replay, .. }) = self.scanned().await? else { return Ok(Vec::new()) };
        let left = replay.kept().filter_map(|(id, left)| {
            let Left { package, type_name, id: object, sent, left, .. } = left.clone();
            let key = StoreKey { package, type_name, id: object };
            Some(LeftState { id, key, sent: Sent::try_from(&sent[..]).ok()?, left })
        });
        Ok(left.collect())
    }

    /// Stores what a failed deletion has left. [`Self::settle`] removes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn keep(
        &self,
        key: &StoreKey,
        sent: &Sent,
        left: Bytes,
    ) -> Result<OperationId, JournalFilesError> {
        let own = self.own().await?;
        let id = {
            let mut file = own.file();
            OperationId::InFile { file: file.id, number: file.next_number() }
        };
        let StoreKey { package, type_name, id: object } = key.clone();
        let (operation, sent) = (Reference::to(id), sent.to_vec());
        self.append(Step::Left(Left { operation, package, type_name, id: object, sent, left })).await?;
        Ok(id)
    }

    async fn append(&self, step: Step) -> Result<(), JournalFilesError> {
        let own = self.own().await?;
        let written = own.file().append(step.into());
        written.map_err(|error| self.failed(error))?;
        self.synchronise(own).await
    }

    async fn add(&self, step: Step) -> Result<(), JournalFilesError> {
        self.unwritten().push(step);
        self.own().await?.write_soon();
        Ok(())
    }

    fn unwritten(&self) -> MutexGuard<'_, Vec<Step>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With `ISTHMUS_DURABILITY=disk`, returns when all that is written now is on the disk. Those who wait
    /// meanwhile are served by one synchronisation.
    async fn synchronise(&self, own: &Arc<Own>) -> Result<(), JournalFilesError> {
        if self.durability == JournalDurability::Process || is_planted(Bug::NoSync) {
            return Ok(());
        }
        let mine = own.written();
        let mut synchronised = own.synchronised.lock().await;
        if synchronised.0 == mine.0 && synchronised.1 >= mine.1 {
            return Ok(());
        }
        let (file, now, has_failed) = {
            let file = own.file();
            (Arc::clone(&file.file), (file.id, file.length()), file.has_failed_to_synchronise)
        };
        if has_failed && let Some(keys) = self.keys.get().cloned() {
            // All that is in it gets to the disk in another file.
            let (own, directory) = (Arc::clone(own), self.directory.clone());
            let replaced = blocking(move || own.replace(&directory, &keys)).await;
            return replaced.map(|_| ()).map_err(|error| self.failed(error));
        }
        if let Err(error) = blocking(move || file.sync_data()).await {
            own.has_failed_to_synchronise(now.0);
            return Err(self.failed(error));
        }
        *synchronised = now;
        Ok(())
    }

    /// Replaces the own file by one with what is still open, in the background.
    fn replace_if_long(&self, own: &Arc<Own>) {
        if own.written().1 < own.longest.load(Ordering::Relaxed)
            || own.is_replacing.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let (own, directory) = (Arc::clone(own), self.directory.clone());
        let Some(keys) = self.keys.get().cloned() else { return };
        spawn_blocking(move || {
            // If it fails, it is tried again a MiB later.
            let longest = match own.replace(&directory, &keys) {
                Ok(length) => LONG.max(length.saturating_mul(2)),
                Err(_) => own.written().1.saturating_add(LONG),
            };
            own.longest.store(longest, Ordering::Relaxed);
            own.is_replacing.store(false, Ordering::Relaxed);
        });
    }

    /// The own file, to which everything was added that had to wait for it.
    async fn own(&self) -> Result<&Arc<Own>, JournalFilesError> {
        let creating = async {
            let keys = Arc::clone(self.keys().await?);
            let (directory, durability) = (self.directory.clone(), self.durability);
            let file = blocking(move || {
                let file = OwnFile::create(&directory, Arc::clone(&keys.writing))?;
                if durability == JournalDurability::Disk {
                    // What is in a file is as durable as its name.
                    sync_directory(&directory)?;
                }
                Ok(file)
            });
            let file = file.await;
            let file = file.map_err(|error| self.failed(error))?;
            Ok::<_, JournalFilesError>(Arc::new(Own {
                synchronised: tokio::sync::Mutex::new((file.id, 0)),
                file: Mutex::new(file),
                longest: AtomicU64::new(LONG),
                is_replacing: AtomicBool::new(false),
                is_writing_soon: AtomicBool::new(false),
            }))
        };
        let own = self.own.get_or_try_init(|| creating).await?;
        let unwritten = std::mem::take(&mut *self.unwritten());
        let added = own.file().add(unwritten.into_iter().map(Entry::from));
        added.map_err(|error| self.failed(error))?;
        Ok(own)
    }

    async fn keys(&self) -> Result<&Arc<JournalKeys>, JournalFilesError> {
        let loading = async {
            let (directory, source, store) = (self.directory.clone(), self.key.clone(), self.store.clone());
            blocking(move || {
                create_private(&directory)
                    .map_err(|error| JournalFilesError::Directory { path: directory.clone(), error })?;
                JournalKeys::load(&directory, &source, existing(store).as_deref()).map(Arc::new)
            })
            .await
        };
        self.keys.get_or_try_init(|| loading).await
    }

    /// Compacts and reads all files; `None` if there are none.
    async fn scanned(&self) -> Result<Option<directory::Scan>, JournalFilesError> {
        let path = self.directory.clone();
        // Without an answer whether it is there, it is not taken for empty.
        let is_there = move || match std::fs::symlink_metadata(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            metadata => metadata.map(|_| true),
        };
        if self.keys.get().is_none() && !blocking(is_there).await.map_err(|error| self.failed(error))? {
            return Ok(None);
        }
        // A process has keys before it has a file, so that without any there is nothing to compact, and a reader creates nothing.
        let path = self.directory.clone();
        if self.keys.get().is_none() {
            let without_keys = move || match JournalKeys::exist_in(&path)? {
                true => Ok(None),
                false => {
                    let scan = directory::scan_once(&path, &JournalKeys::none())?;
                    // Another process may have created both meanwhile.
                    let is_whole = scan.files.is_empty() || !JournalKeys::exist_in(&path)?;
                    Ok(is_whole.then_some(scan))
                }
            };
            if let Some(scan) = blocking(without_keys).await.map_err(|error| self.failed(error))? {
                return Ok(Some(scan));
            }
        }
        // Otherwise what this process has added would be missing. On a full disk it is.
        self.write().await.ok();
        let (path, keys) = (self.directory.clone(), Arc::clone(self.keys().await?));
        let (source, store) = (self.key.clone(), self.store.clone());
        let scanned = blocking(move || {
            fail_point("journal-scanning");
            // On a full disk the files stay as they are, and can be read. What is in the place of the lock
            // would let them stay for ever.
            if let Err(error) = directory::compact(&path, &keys)
                && let Some(error) = NotRegular::of(&error)
            {
                let path = path.join(directory::LOCK);
                return Ok(Err(JournalFilesError::NotRegular { path, error }));
            }
            let scan = directory::scan(&path, &keys)?;
            // A rotation has added keys since these were loaded. Without the user's new key they cannot be had.
            if scan.has_other_keys()
                && let Ok(true) = keys.reload(&path, &source, existing(store).as_deref())
            {
                return directory::scan(&path, &keys).map(Ok);
            }
            Ok(Ok(scan))
        });
        scanned.await.map_err(|error| self.failed(error))?.map(Some)
    }

    fn failed(&self, error: io::Error) -> JournalFilesError {
        JournalFilesError::Directory { path: self.directory.clone(), error }
    }
}

impl Own {
    /// Writes what was added, so that others see it though nothing follows.
    fn write_soon(self: &Arc<Self>) {
        if self.is_writing_soon.swap(true, Ordering::Relaxed) {
            return;
        }
        let own = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(SOON).await;
            let Some(own) = own.upgrade() else { return };
            own.is_writing_soon.store(false, Ordering::Relaxed);
            // On failure it is written with the next entry.
            own.file().write().ok();
        });
    }

    fn file(&self) -> MutexGuard<'_, OwnFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, and its length.
    fn written(&self) -> (FileId, u64) {
        let file = self.file();
        (file.id, file.length())
    }

    /// Notes that what is in the file may not be on the disk.
    fn has_failed_to_synchronise(&self, id: FileId) {
        let mut file = self.file();
        file.has_failed_to_synchronise |= file.id == id;
    }

    /// Replaces the file by one with what is still open, and returns the length of that. Blocks.
    ///
    /// # Errors
    /// When it cannot be read whole or written, and while others read the directory.
    fn replace(&self, directory: &Path, keys: &JournalKeys) -> io::Result<u64> {
        let Some(_lock) = directory::DirectoryLock::to_replace(directory)? else {
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        // Most is read while this process can append.
        let (id, begun) = {
            let mut own = self.file();
            own.write()?;
            (own.id, own.length())
        };
        let scan = directory::scan_once(directory, keys)?;
        if !scan.files.iter().any(|file| file.id == id && file.fault.is_none()) {
            return Err(unreadable());
        }
        let next = OwnFile::create(directory, Arc::clone(&keys.writing))?;
        let next_path = next.path.clone();
        let (old, length) = self.replace_by(next, scan, begun, directory, keys).inspect_err(|_| {
            // It was created here, and nobody knows it.
            std::fs::remove_file(next_path).ok();
        })?;
        let (file, id) = {
            let own = self.file();
            (Arc::clone(&own.file), own.id)
        };
        if let Err(error) = file.sync_all() {
            self.has_failed_to_synchronise(id);
            return Err(error);
        }
        fail_point("replacement-used");
        std::fs::remove_file(&old.path)?;
        fail_point("replaced-removed");
        Ok(length)
    }

    /// Fills `next` with what is still open, and appends to it from now on. Returns the file from before, and the length of the
    /// new one.
    fn replace_by(
        &self,
        mut next: OwnFile,
        mut scan: directory::Scan,
        begun: u64,
        directory: &Path,
        keys: &JournalKeys,
    ) -> io::Result<(OwnFile, u64)> {
        // What is in a file is as durable as its name.
        sync_directory(directory)?;
        fail_point("replacement-created");
        let mut own = self.file();
        own.write()?;
        let (entries, None) = directory::entries(own.id, &own.read_from(begun)?, 0, begun, keys) else {
            return Err(unreadable());
        };
        for entry in entries {
            scan.replay.add(own.id, entry);
        }
        let batch = BTreeSet::from([own.id]);
        let mut others = scan.others(&batch);
        // This process may have read files that were created since, and have settled something of them.
        others.files.extend(directory::files(directory)?.into_iter().map(|(id, _)| id));
        others.files.remove(&own.id);
        next.add(scan.replay.entries(&batch, &others))?;
        next.write()?;
        fail_point("replacement-written");
        let length = next.length();
        Ok((std::mem::replace(&mut *own, next), length))
    }
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the own file cannot be read whole")
}

/// The place of a state store, if it exists.
fn existing(store: Option<PathBuf>) -> Option<String> {
    store.filter(|store| store.exists()).map(|store| store.display().to_string())
}

fn open_intent(id: OperationId, begun: &Begun, steps: &Steps, locked: &HashSet<FileId>) -> OpenIntent {
    let is_running = steps.files.iter().any(|file| locked.contains(file));
    let condition = match (&steps.made, &steps.unknown) {
        (Some(_), _) => Condition::Unconfirmed,
        (None, Some(unknown)) => Condition::Ended { text: unknown.known.clone(), object: None },
        (None, None) if is_running => Condition::InProgress,
        (None, None) => Condition::Interrupted,
    };
    let made = steps.made.as_ref();
    OpenIntent {
        id,
        intent: Intent {
            intention: OperationKind::of(begun.kind),
            key: StoreKey {
                package: begun.package.clone(),
                type_name: begun.type_name.clone(),
                id: made.map_or(&begun.id, |made| &made.id).clone(),
            },
            subject: begun.subject.clone(),
            prior: None,
            companion: begun.companion.clone(),
        },
        since: UNIX_EPOCH + Duration::from_millis(begun.since),
        holder: format!("process {}", begun.process),
        condition,
        marks: steps.marks(),
        object: made.map(|made| made.object.clone()).unwrap_or_default(),
    }
}

/// Creates a directory that only its user may read.
fn create_private(directory: &Path) -> io::Result<()> {
    use isthmus_platform::files::DirBuilderExt as _;
    if let Some(parent) = directory.parent() {
        create_directories(parent)?;
    }
    match std::fs::DirBuilder::new().mode(PRIVATE_DIRECTORY).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Ok(()) => directory.parent().map_or(Ok(()), sync_directory),
        Err(error) => Err(error),
    }
}
