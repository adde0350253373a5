//! The journal file of this process.

use isthmus_platform::files::{FileExt as _, OpenOptionsExt as _, is_removed, set_mode_of_new, try_lock};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::fail_point::{self, fail_point};
use isthmus_common::permissions::PRIVATE_FILE;
use isthmus_common::planted::{Bug, is_planted};
use prost::Message as _;

use super::entry::Entry;
use super::frame;
use crate::encryption::{CipherKey, random};
use crate::journal::intent::FileId;

/// Beginning of a file; the file's id follows.
pub(super) const MAGIC: &[u8] = b"isthmus journal 1\n";
/// Where entries begin.
pub(super) const HEAD: usize = MAGIC.len() + size_of::<FileId>();
/// Extension of the names.
pub(super) const EXTENSION: &str = "journal";

/// Entries that need not be written at once are, when they are longer than this.
const LONGEST_PENDING: usize = 64 * 1024;

/// A file that only this process writes to. It is locked until this is dropped.
#[derive(Debug)]
pub(super) struct OwnFile {
    pub(super) file: Arc<File>,
    pub(super) id: FileId,
    pub(super) path: PathBuf,
    cipher: Arc<CipherKey>,
    /// Number of the last operation.
    number: u32,
    /// Length of what was written.
    length: u64,
    /// Frames that are written with the next ones.
    pending: Vec<u8>,
    /// A part of a failed write may be behind that.
    is_torn: bool,
    /// Whether a synchronisation has failed. Systems then take what was lost for written, and say of the next one that it is done.
    pub(super) has_failed_to_synchronise: bool,
}

impl OwnFile {
    /// Creates a file and locks it. Blocks.
    pub(super) fn create(directory: &Path, cipher: Arc<CipherKey>) -> io::Result<Self> {
        loop {
            let id = random::<6>();
            let path = path_of(directory, id);
            let options =
                OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE_FILE).open(&path);
            let file = match options {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            match begin(&file, &path, id) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    // It was created here, and would stay for good.
                    std::fs::remove_file(&path).ok();
                    return Err(error);
                }
            }
            return Ok(Self {
                file: Arc::new(file),
                id,
                path,
                cipher,
                number: 0,
                length: HEAD as u64,
                pending: Vec::new(),
                is_torn: false,
                has_failed_to_synchronise: false,
            });
        }
    }

    /// The number of the next operation that is begun.
    pub(super) fn next_number(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// Length of the file when all entries are written.
    pub(super) fn length(&self) -> u64 {
        self.length + self.pending.len() as u64
    }

    /// The bytes of the file from `offset` on.
    pub(super) fn read_from(&self, offset: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.length.saturating_sub(offset)).unwrap_or_default();
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Adds entries that are written with the next ones.
    ///
    /// # Errors
    /// As of [`Self::write`], if there are many.
    pub(super) fn add(&mut self, entries: impl IntoIterator<Item = Entry>) -> io::Result<()> {
        for entry in entries {
            let offset = self.length();
            add_frame(&mut self.pending, &self.cipher, (self.id, offset), &entry);
        }
        if self.pending.len() > LONGEST_PENDING { self.write() } else { Ok(()) }
    }

    /// Adds an entry and writes it: it survives this process when this returns.
    ///
    /// # Errors
    /// When it cannot be written; it is not in the file then.
    pub(super) fn append(&mut self, entry: Entry) -> io::Result<()> {
        let before = self.pending.len();
        let added = self.add([entry]).and_then(|()| self.write());
        if added.is_err() {
            self.pending.truncate(before);
        }
        added
    }

    /// Writes what was added.
    ///
    /// # Errors
    /// When it cannot be written; it is kept for the next time.
    pub(super) fn write(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        fail_point("journal-appending");
        if fail_point::is_armed("journal-append-torn") {
            self.file.write_all_at(&self.pending[..self.pending.len() / 2], self.length).ok();
            fail_point::kill();
        }
        // A part of a failed write would be read as damage once less is written in its place.
        if self.is_torn {
            self.file.set_len(self.length)?;
        }
        self.is_torn = true;
        if let Err(error) = self.file.write_all_at(&self.pending, self.length) {
            self.is_torn = !is_planted(Bug::TornWrite) && self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.is_torn = false;
        fail_point("journal-appended");
        self.length += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

/// Locks a new file and writes its head. `false` if another process took it for one that was left, and removes it.
fn begin(file: &File, path: &Path, id: FileId) -> io::Result<bool> {
    set_mode_of_new(path, PRIVATE_FILE)?;
    fail_point("journal-file-created");
    if !try_lock(file)? || is_removed(file)? {
        return Ok(false);
    }
    fail_point("journal-file-locked");
    file.write_all_at(&[MAGIC, &id].concat(), 0)?;
    fail_point("journal-file-begun");
    Ok(true)
}

/// Adds the frame of an entry that is written at this place: a file, and an offset in it.
pub(super) fn add_frame(
    frames: &mut Vec<u8>,
    cipher: &CipherKey,
    (id, offset): (FileId, u64),
    entry: &Entry,
) {
    frame::add(frames, &cipher.seal_at(&place(id, offset), &entry.encode_to_vec()));
}

/// The path of a file.
pub(super) fn path_of(directory: &Path, id: FileId) -> PathBuf {
    directory.join(format!("{}.{EXTENSION}", hex::encode(id)))
}

/// What an entry is bound to: its file, and its place in it.
pub(super) fn place(id: FileId, offset: u64) -> Vec<u8> {
    [&b"journal entry"[..], &id, &offset.to_be_bytes()].concat()
}
