//! Backups of a SQLite store and of the journal files beside it.
//!
//! A backup is one file: a snapshot of the database, the journal files, and a SHA-256 of all that. Its
//! contents are encrypted as they are in the store; the user's key is not in it. The snapshot is made by
//! SQLite (`VACUUM INTO`) in one read transaction, so processes may write meanwhile; what they append to a
//! journal file while it is copied is cut off at an entry, as after a kill.
//!
//! A restore first unpacks everything beside its destination, and reads all of a copy with the user's key:
//! AES-GCM authenticates each record, and SQLite's and our own indexes show whether any is missing. Only then
//! are the files moved to their places, which must be free: nothing is replaced, so no process can have
//! what is restored open.

use isthmus_platform::files::sync_directory;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE, file_options};
use isthmus_common::scratch::{ScratchDirectory, remove_abandoned};
use isthmus_common::{Links, NotRegular, blocking, fail_point, open_regular, read_regular, require_regular};
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::encrypted_store::EncryptedStore;
use super::error::EncryptedStoreError;
use super::journal::{
    JournalDurability, JournalFiles, JournalFilesError, clear_journal, is_journal_file,
    journal_holds_nothing, listing_lock,
};
use super::key::KeySource;
use super::location::{StoreAddress, database_in};
use super::store::{Kind, PAGE, RecordNumber};

/// The first bytes of a backup, with the version of its format.
const MAGIC: &[u8] = b"isthmus backup 1\n";

/// The database in a backup.
const DATABASE: &str = "state.sqlite";

/// Journal files in a backup, before their names.
const JOURNAL: &str = "journal/";

/// Limit of a file name in a backup: longer ones are damage.
const LONGEST_NAME: usize = 64;

/// Length of a SHA-256 in bytes.
const DIGEST: usize = 32;

/// What is backed up, or restored.
#[derive(Clone, Debug)]
pub struct BackupScope {
    /// The file of the state store, which may be missing.
    pub store: PathBuf,
    /// The home directory with the directory of journal files, which may be missing.
    pub home: PathBuf,
    /// The user's key.
    pub key: KeySource,
}

/// What a backup contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// Whether it has a state store.
    pub has_store: bool,
    /// Number of records in the state store, and of open operations in the journal files.
    pub records: u64,
    /// Number of files of the journal.
    pub journal_files: u64,
}

/// A backup that could not be made or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is nothing.
    #[error("there is neither a state store {store} nor a journal {journal}", store = .store.display(), journal = .journal.display())]
    Nothing {
        /// Where the state store would be.
        store: PathBuf,
        /// Where the journal would be.
        journal: PathBuf,
    },
    /// The backup exists.
    #[error("{path} exists\nhelp: choose another file: a backup is never overwritten", path = .0.display())]
    Exists(PathBuf),
    /// The destination of a restore is not free.
    #[error(
        "{path} exists, and a restore replaces nothing\nhelp: end all plugins and commands that use it, move the state store (with \
         its `-wal` and `-shm`) and the directory `journal` elsewhere, and repeat the command",
        path = .0.display()
    )]
    Occupied(PathBuf),
    /// What is to be backed up is damaged, or cannot be read.
    #[error("no backup was written, because it could not be restored: {reason}")]
    Unsound {
        /// What is wrong.
        reason: String,
    },
    /// The file is not a backup.
    #[error("{path} is not a backup of a state store", path = .0.display())]
    Foreign(PathBuf),
    /// The backup is damaged.
    #[error("backup {path} is damaged: {reason}\nhelp: restore another backup; nothing was changed", path = .path.display())]
    Damaged {
        /// The backup.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Its contents cannot be read.
    #[error(
        "the state store in backup {path} cannot be read\nhelp: set ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE to the key that \
         the store had, or put its `state.key` into ISTHMUS_HOME; nothing was changed",
        path = .path.display()
    )]
    Store {
        /// The backup.
        path: PathBuf,
        /// The cause.
        #[source]
        error: Box<EncryptedStoreError>,
    },
    /// Its journal cannot be read.
    #[error(
        "the journal in backup {path} cannot be read\nhelp: set ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE to the key that \
         the journal had, or put its `state.key` into ISTHMUS_HOME; nothing was changed",
        path = .path.display()
    )]
    Journal {
        /// The backup.
        path: PathBuf,
        /// The cause.
        #[source]
        error: Box<JournalFilesError>,
    },
    /// The database could not be copied.
    #[error("failed to copy the state store {path}", path = .path.display())]
    Snapshot {
        /// The database.
        path: PathBuf,
        /// The cause.
        #[source]
        error: rusqlite::Error,
    },
    /// A file could not be read or written.
    #[error("failed to {doing} {path}{help}", path = .path.display(), help = help(.error))]
    File {
        /// What was done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
}

fn help(error: &io::Error) -> &'static str {
    if NotRegular::of(error).is_some() { "\nhelp: move away what is there" } else { "" }
}

fn file_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |error| BackupError::File { doing, path, error }
}

impl BackupScope {
    fn journal(&self) -> PathBuf {
        JournalFiles::directory_in(&self.home)
    }

    /// Writes a backup to a new file, and reads it back. The state store and the journal may be in use.
    ///
    /// # Errors
    /// When there is nothing to back up, the file exists, or anything cannot be read with the key.
    pub async fn back_up(&self, file: &Path) -> Result<BackedUp, BackupError> {
        if file.symlink_metadata().is_ok() {
            return Err(BackupError::Exists(file.to_owned()));
        }
        let scratch = scratch_beside(file)?;
        let new = scratch.file(PRIVATE_FILE).map_err(file_error("write", file))?;
        let (scope, path) = (self.clone(), file.to_owned());
        let written = blocking(move || scope.write(new, &path)).await?;
        fail_point("backup-written");
        let unpacked = self.verified(written.path(), scratch.path()).await;
        let unpacked = unpacked.map_err(|error| self.unsound(error, &unpacked_in(scratch.path())))?;
        match written.persist_noclobber(file) {
            Ok(_) => Ok(unpacked),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BackupError::Exists(file.to_owned()))
            }
            Err(error) => Err(file_error("write", file)(error.error)),
        }
    }

    /// Restores a backup. Nothing that exists is changed.
    ///
    /// # Errors
    /// When there is a state store or a journal already, or the backup is damaged or cannot be read with
    /// the key.
    pub async fn restore(&self, file: &Path) -> Result<BackedUp, BackupError> {
        remove_abandoned(&self.journal());
        self.require_free()?;
        // Beside their destinations, so that they can be moved.
        let scratch = scratch_beside(&self.store)?;
        let journal_scratch = scratch_beside(&self.journal())?;
        let restored = self.verified(file, scratch.path()).await?;
        unpack(file, &scratch.path().join("restored"))?;
        unpack(file, &journal_scratch.path().join("restored"))?;
        self.require_free()?;
        if restored.journal_files > 0 {
            let unpacked = JournalFiles::directory_in(&journal_scratch.path().join("restored"));
            clear_journal(&self.journal()).map_err(file_error("restore", &self.journal()))?;
            // A directory with anything in it is not replaced.
            std::fs::rename(unpacked, self.journal()).map_err(file_error("restore", &self.journal()))?;
            sync_directory_of(&self.journal())?;
        }
        if restored.has_store {
            let unpacked = database_in(&scratch.path().join("restored"));
            // Fails if there is one by now.
            std::fs::hard_link(unpacked, &self.store).map_err(file_error("restore", &self.store))?;
            sync_directory_of(&self.store)?;
        }
        Ok(restored)
    }

    fn require_free(&self) -> Result<(), BackupError> {
        let log = |ending: &str| {
            let mut name = self.store.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        for path in [self.store.clone(), log("-wal"), log("-shm"), log("-journal")] {
            if path.symlink_metadata().is_ok() {
                return Err(BackupError::Occupied(path));
            }
        }
        let journal = self.journal();
        let holds_nothing = journal_holds_nothing(&journal).map_err(file_error("read", &journal))?;
        if holds_nothing { Ok(()) } else { Err(BackupError::Occupied(journal)) }
    }

    /// Writes the new file that will be `file`. Blocks.
    fn write(&self, new: NamedTempFile, file: &Path) -> Result<NamedTempFile, BackupError> {
        let failed = || file_error("write", file);
        // Removed before everything is read back, which takes as much room again.
        let scratch = scratch_beside(file)?;
        let file = new.as_file().try_clone().map_err(failed())?;
        let mut backup = Sum { inner: BufWriter::new(file), sum: Sha256::new() };
        backup.write_all(MAGIC).map_err(failed())?;
        let mut is_empty = true;
        if self.store.exists() {
            let snapshot = scratch.path().join("snapshot");
            let metadata = self.store.metadata().map_err(file_error("read", &self.store))?;
            require_regular(&metadata).map_err(file_error("read", &self.store))?;
            copy_database(&self.store, &snapshot)
                .map_err(|error| BackupError::Snapshot { path: self.store.clone(), error })?;
            let opened = File::open(&snapshot).map_err(file_error("read", &snapshot))?;
            append(&mut backup, DATABASE, opened).map_err(failed())?;
            is_empty = false;
        }
        let journal = self.journal();
        if journal.exists() {
            // No file is replaced by another one meanwhile.
            let _lock = listing_lock(&journal);
            let entries = std::fs::read_dir(&journal).map_err(file_error("read", &journal))?;
            for entry in entries {
                let path = entry.map_err(file_error("read", &journal))?.path();
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                if is_journal_file(name) {
                    // As long as it is now: it may grow.
                    let content = read_regular(&path, Links::Refuse).map_err(file_error("read", &path))?;
                    append(&mut backup, &format!("{JOURNAL}{name}"), &content[..]).map_err(failed())?;
                    is_empty = false;
                }
            }
        }
        if is_empty {
            return Err(BackupError::Nothing { store: self.store.clone(), journal });
        }
        backup.write_all(&[0]).map_err(failed())?;
        let Sum { mut inner, sum } = backup;
        inner.write_all(&sum.finalize()).and_then(|()| inner.flush()).map_err(failed())?;
        drop(inner);
        new.as_file().sync_all().map_err(failed())?;
        Ok(new)
    }

    /// What is wrong with a copy of the state, as of the state.
    fn unsound(&self, error: BackupError, copy: &Path) -> BackupError {
        let reason = match error {
            BackupError::Damaged { reason, .. } => reason,
            BackupError::Store { error, .. } => isthmus_common::error_chain(&*error),
            BackupError::Journal { error, .. } => isthmus_common::error_chain(&*error),
            error => return error,
        };
        let text = |path: &Path| path.display().to_string();
        let store = text(&copy.join(DATABASE));
        let reason = reason.replace(&store, &text(&self.store)).replace(&text(copy), &text(&self.home));
        BackupError::Unsound { reason }
    }

    /// Unpacks a backup into a directory and reads all of it with the key.
    async fn verified(&self, file: &Path, scratch: &Path) -> Result<BackedUp, BackupError> {
        let (path, directory) = (file.to_owned(), unpacked_in(scratch));
        let into = directory.clone();
        let mut unpacked = blocking(move || unpack(&path, &into)).await?;
        let damaged = |reason: String| BackupError::Damaged { path: file.to_owned(), reason };
        if unpacked.has_store {
            let failed = |error| BackupError::Store { path: file.to_owned(), error: Box::new(error) };
            let address = StoreAddress::in_directory(&directory);
            let store = EncryptedStore::connect(&address, &self.key).await.map_err(failed)?;
            for kind in Kind::ALL {
                let mut after = Some(RecordNumber(0));
                while let Some(from) = after {
                    let page = store
                        .sealed
                        .store
                        .page(kind, None, from, PAGE)
                        .await
                        .map_err(|error| failed(error.into()))?;
                    if let Some(fault) = page.fault {
                        return Err(damaged(fault));
                    }
                    if let Some((number, _)) = page.damaged.first() {
                        return Err(damaged(format!("record {} is damaged", number.0)));
                    }
                    // Keys were decrypted when the store was opened.
                    for record in page.records.iter().filter(|_| kind != Kind::Key) {
                        store.sealed.unseal(kind, record).await.map_err(failed)?;
                        unpacked.records += 1;
                    }
                    after = page.next;
                }
            }
        }
        if unpacked.journal_files > 0 {
            let files = JournalFiles::new(&directory, self.key.clone(), None, JournalDurability::Process);
            let opened = files.open_intents().await;
            let opened = opened
                .map_err(|error| BackupError::Journal { path: file.to_owned(), error: Box::new(error) })?;
            if let Some(fault) = opened.faults.first() {
                return Err(damaged(fault.reason.clone()));
            }
            unpacked.records += opened.intents.len() as u64;
        }
        Ok(unpacked)
    }
}

/// Where a backup is unpacked to be read.
fn unpacked_in(scratch: &Path) -> PathBuf {
    scratch.join("verified")
}

/// Copies a database by SQLite, as it is at one moment. Blocks.
fn copy_database(from: &Path, to: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]).map(drop)
}

/// Appends a file: the length of its name, its name, its length, and its contents.
fn append(backup: &mut impl Write, name: &str, mut content: impl Content) -> io::Result<()> {
    let length = u8::try_from(name.len()).map_err(io::Error::other)?;
    backup.write_all(&[length])?;
    backup.write_all(name.as_bytes())?;
    let length = content.length()?;
    backup.write_all(&length.to_le_bytes())?;
    let copied = io::copy(&mut content.take(length), backup)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// What has a length.
trait Content: Read + Sized {
    fn length(&mut self) -> io::Result<u64>;
}

impl Content for File {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Content for &[u8] {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// Unpacks a backup whose sum is right into a new directory. Blocks.
fn unpack(file: &Path, directory: &Path) -> Result<BackedUp, BackupError> {
    let opened = open_regular(file, Links::Follow).map_err(file_error("read", file))?;
    let length = opened.metadata().map_err(file_error("read", file))?.len();
    let mut backup = BufReader::new(opened);
    let damaged = |reason: &str| BackupError::Damaged { path: file.to_owned(), reason: reason.to_owned() };
    let mut magic = vec![0; MAGIC.len()];
    if backup.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(BackupError::Foreign(file.to_owned()));
    }
    let Some(content) = length.checked_sub(DIGEST as u64).filter(|content| *content > MAGIC.len() as u64)
    else {
        return Err(damaged("it is cut off"));
    };
    // Before anything of it is used.
    let mut sum = Sum { inner: io::sink(), sum: Sha256::new() };
    let mut expected = Vec::new();
    backup
        .seek(SeekFrom::Start(0))
        .and_then(|_| io::copy(&mut backup.by_ref().take(content), &mut sum))
        .and_then(|_| backup.read_to_end(&mut expected))
        .and_then(|_| backup.seek(SeekFrom::Start(MAGIC.len() as u64)))
        .map_err(file_error("read", file))?;
    if sum.sum.finalize()[..] != expected[..] {
        return Err(damaged("its SHA-256 differs"));
    }
    let failed = || file_error("unpack", directory);
    let create = |path: &Path| {
        use isthmus_platform::files::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path)
    };
    create(&JournalFiles::directory_in(directory)).map_err(failed())?;
    let mut unpacked = BackedUp::default();
    let mut has_journal_key = false;
    loop {
        let mut byte = [0; 1];
        backup.read_exact(&mut byte).map_err(|_| damaged("it is cut off"))?;
        let mut name = vec![0; usize::from(byte[0])];
        let mut size = [0; 8];
        if name.is_empty() {
            break;
        }
        backup
            .read_exact(&mut name)
            .and_then(|()| backup.read_exact(&mut size))
            .map_err(|_| damaged("it is cut off"))?;
        let name = String::from_utf8(name).ok().filter(|name| name.len() <= LONGEST_NAME);
        let destination = match name.as_deref().map(|name| (name, name.strip_prefix(JOURNAL))) {
            Some((DATABASE, _)) => {
                unpacked.has_store = true;
                database_in(directory)
            }
            Some((_, Some(name))) if is_journal_file(name) => {
                unpacked.journal_files += 1;
                has_journal_key |= name == "key";
                JournalFiles::directory_in(directory).join(name)
            }
            _ => return Err(damaged("it has a file of an unknown name")),
        };
        let size = u64::from_le_bytes(size);
        let copied = file_options(PRIVATE_FILE)
            .write(true)
            .create_new(true)
            .open(&destination)
            .and_then(|mut new| {
                let copied = io::copy(&mut backup.by_ref().take(size), &mut new)?;
                new.sync_all().map(|()| copied)
            })
            .map_err(failed())?;
        if copied != size {
            return Err(damaged("it is cut off"));
        }
    }
    if unpacked.journal_files > 0 && !has_journal_key {
        return Err(damaged("its journal has no key"));
    }
    Ok(unpacked)
}

/// A private directory beside a file, which is removed with all that is in it.
fn scratch_beside(path: &Path) -> Result<ScratchDirectory, BackupError> {
    let directory = parent(path);
    let create = || {
        use isthmus_platform::files::DirBuilderExt as _;
        if !directory.is_dir() {
            std::fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
        }
        ScratchDirectory::beside(path)
    };
    create().map_err(file_error("write beside", path))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_directory_of(path: &Path) -> Result<(), BackupError> {
    sync_directory(parent(path)).map_err(file_error("restore", path))
}

/// Computes the sum of what passes.
struct Sum<W> {
    inner: W,
    sum: Sha256,
}

impl<W: Write> Write for Sum<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
