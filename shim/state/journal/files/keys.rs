//! The keys that encrypt the entries of journal files.
//!
//! They are random, and in a file of the journal's directory, encrypted with the user's key as those of
//! the store are (`keyring`). A rotation adds a new key for new files, and encrypts the older ones for the
//! user's new key; processes that run keep the key that they have.

use isthmus_platform::files::sync_directory;
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isthmus_common::permissions::{PRIVATE_FILE, require_trusted_file};
use isthmus_common::scratch::ScratchDirectory;
use isthmus_common::{Links, NotRegular, fail_point, read_regular};
use prost::Message as _;

use super::create_private;
use super::error::JournalFilesError;
use super::frame;
use crate::encryption::{CipherKey, KeyId, key_of};
use crate::key::{KdfParams, KeySource, MasterKey};
use crate::key_error::KeyError;

/// Name of the file in the directory.
pub(super) const FILE: &str = "key";
/// Its beginning.
const MAGIC: &[u8] = b"isthmus journal key 1\n";
/// Systems write names to the disk by themselves within seconds.
const SYNCHRONISED_AFTER: Duration = Duration::from_secs(60);
/// What the keys are bound to.
const PLACE: &[u8] = b"journal key";

#[derive(Clone, PartialEq, prost::Message)]
struct Rows {
    #[prost(message, repeated, tag = "1")]
    rows: Vec<Row>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Row {
    /// The key, encrypted with the user's key.
    #[prost(bytes = "vec", tag = "1")]
    sealed: Vec<u8>,
    /// Parameters of the user's key, if derived from a passphrase.
    #[prost(message, optional, tag = "2")]
    recipe: Option<KdfParams>,
}

/// The keys of a journal.
#[derive(Debug)]
pub(super) struct JournalKeys {
    pub(super) writing: Arc<CipherKey>,
    /// A rotation of another process adds some.
    all: Mutex<HashMap<KeyId, Arc<CipherKey>>>,
}

impl JournalKeys {
    /// Loads the keys of a directory, and creates the first one. `store`: a state store that exists, whose
    /// user's key is not to be created again. Blocks.
    pub(super) fn load(
        directory: &Path,
        source: &KeySource,
        store: Option<&str>,
    ) -> Result<Self, JournalFilesError> {
        loop {
            let Some(rows) = read(directory)? else {
                let master = source.load(&KdfParams::new(), store)?;
                let rows = Rows { rows: vec![row(&CipherKey::random(), &master)] };
                // Of several processes that do so at once, one succeeds and all use its key.
                match write(directory, &rows, false) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(failed(directory, error));
                    }
                    Ok(()) | Err(_) => continue,
                }
            };
            // The process that created it may have died before it synchronised the name. A loss of power would then take the key, and
            // all that is written from now on.
            if is_new(&file(directory)) {
                sync_directory(directory).ok();
                directory.parent().map(sync_directory).transpose().ok();
            }
            let location = file(directory).display().to_string();
            let mut recipes: Vec<Option<KdfParams>> =
                rows.rows.iter().map(|row| row.recipe.clone()).collect();
            recipes.dedup();
            let mut origin = None;
            for recipe in recipes.into_iter().rev() {
                let master = source.load(&recipe.unwrap_or_else(KdfParams::new), Some(&location))?;
                if let Some(keys) = Self::of(&rows, &master) {
                    return Ok(keys);
                }
                origin = Some(master.origin);
            }
            let origin = origin.unwrap_or_default();
            return Err(KeyError::WrongKey { origin, store: location }.into());
        }
    }

    /// Keys that nothing is encrypted with, for a directory that has none.
    pub(super) fn none() -> Self {
        Self { writing: Arc::new(CipherKey::random()), all: Mutex::default() }
    }

    /// Whether a directory has keys. Blocks.
    pub(super) fn exist_in(directory: &Path) -> io::Result<bool> {
        match file(directory).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            metadata => metadata.map(|_| true),
        }
    }

    /// The keys that a user's key decrypts; `None` if there are none.
    fn of(rows: &Rows, master: &MasterKey) -> Option<Self> {
        let ours = rows.rows.iter().filter(|row| key_of(&row.sealed) == Ok(master.cipher.id()));
        let keys: Vec<Arc<CipherKey>> = ours
            .filter_map(|row| <[u8; 32]>::try_from(master.cipher.unseal_at(PLACE, &row.sealed).ok()?).ok())
            .map(|bytes| Arc::new(CipherKey::new(bytes)))
            .collect();
        let writing = Arc::clone(keys.last()?);
        let all = keys.into_iter().map(|key| (key.id(), key)).collect();
        Some(Self { writing, all: Mutex::new(all) })
    }

    /// Adds those that a rotation has added since they were loaded; says whether there are any. New files are encrypted with the
    /// same key as before. Blocks.
    pub(super) fn reload(
        &self,
        directory: &Path,
        source: &KeySource,
        store: Option<&str>,
    ) -> Result<bool, JournalFilesError> {
        let loaded = Self::load(directory, source, store)?;
        let (loaded, mut all) = (std::mem::take(&mut *loaded.all()), self.all());
        let before = all.len();
        all.extend(loaded);
        Ok(all.len() > before)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<KeyId, Arc<CipherKey>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key that something is encrypted with, if it is one of these.
    pub(super) fn of_sealed(&self, sealed: &[u8]) -> Option<Arc<CipherKey>> {
        self.all().get(&key_of(sealed).ok()?).cloned()
    }
}

/// Before the user's new key is in place: adds a key for new files, and makes all keys readable with
/// either of the user's keys. A directory without keys gets one: a process that runs could create it with the old key later on.
/// Blocks.
pub(crate) fn begin_rotation(
    directory: &Path,
    old: &MasterKey,
    new: &MasterKey,
) -> Result<(), JournalFilesError> {
    create_private(directory).map_err(|error| failed(directory, error))?;
    loop {
        let found = read(directory)?;
        let mut all = Vec::new();
        if let Some(rows) = &found {
            let Some(keys) = JournalKeys::of(rows, old).or_else(|| JournalKeys::of(rows, new)) else {
                return Err(wrong(directory, old));
            };
            all.extend(keys.all().values().cloned());
        }
        all.push(Arc::new(CipherKey::random()));
        let rows = all.iter().flat_map(|key| [row(key, old), row(key, new)]).collect();
        match write(directory, &Rows { rows }, found.is_some()) {
            Err(error) if found.is_none() && error.kind() == io::ErrorKind::AlreadyExists => {}
            written => return written.map_err(|error| failed(directory, error)),
        }
    }
}

/// After the user's new key is in place: removes what the old one decrypts. Blocks.
///
/// # Errors
/// When the new one decrypts nothing, or the file cannot be written.
pub(crate) fn end_rotation(directory: &Path, new: &MasterKey) -> Result<(), JournalFilesError> {
    let Some(Rows { mut rows }) = read(directory)? else { return Ok(()) };
    rows.retain(|row| key_of(&row.sealed) == Ok(new.cipher.id()));
    if rows.is_empty() {
        return Err(wrong(directory, new));
    }
    write(directory, &Rows { rows }, true).map_err(|error| failed(directory, error))
}

fn wrong(directory: &Path, master: &MasterKey) -> JournalFilesError {
    let (origin, store) = (master.origin.clone(), file(directory).display().to_string());
    KeyError::WrongKey { origin, store }.into()
}

/// Whether a file was written within the time after which a system has written names to the disk by itself.
fn is_new(file: &Path) -> bool {
    let modified = file.symlink_metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| !modified.elapsed().is_ok_and(|age| age >= SYNCHRONISED_AFTER))
}

fn file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

fn row(key: &CipherKey, master: &MasterKey) -> Row {
    Row { sealed: master.cipher.seal_at(PLACE, key.bytes()), recipe: master.recipe.clone() }
}

/// `None` if there is no file.
fn read(directory: &Path) -> Result<Option<Rows>, JournalFilesError> {
    let path = file(directory);
    let read = read_regular(&path, Links::Refuse);
    if let Err(error) = &read
        && let Some(error) = NotRegular::of(error)
    {
        return Err(JournalFilesError::NotRegular { path, error });
    }
    require_trusted_file(&path).map_err(|error| KeyError::Untrusted { error })?;
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(directory, error)),
    };
    let rows = bytes.strip_prefix(MAGIC).and_then(|bytes| {
        let frames = frame::read(bytes, 0);
        let [(_, contents)] = frames.whole[..] else { return None };
        Rows::decode(contents).ok()
    });
    rows.map(Some).ok_or(JournalFilesError::DamagedKey { path })
}

/// Writes the file; an existing one only if it is to be replaced.
fn write(directory: &Path, rows: &Rows, replace: bool) -> io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    frame::add(&mut bytes, &rows.encode_to_vec());
    let path = file(directory);
    let scratch = ScratchDirectory::beside(&path)?;
    let mut temporary = scratch.file(PRIVATE_FILE)?;
    temporary.write_all(&bytes)?;
    temporary.as_file().sync_all()?;
    fail_point("journal-key-written");
    if replace {
        temporary.persist(path).map_err(|error| error.error)?;
    } else {
        temporary.persist_noclobber(path).map_err(|error| error.error)?;
    }
    fail_point("journal-key-published");
    sync_directory(directory)
}

fn failed(directory: &Path, error: io::Error) -> JournalFilesError {
    JournalFilesError::Directory { path: directory.to_owned(), error }
}
