//! The directory of the journal files: reading all of them, and compacting those of processes that ended.

use isthmus_platform::files::{is_removed, sync_directory, try_lock, try_lock_shared, unlock};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isthmus_common::permissions::PRIVATE_FILE;
use isthmus_common::planted::{Bug, is_planted};
use isthmus_common::scratch::remove_abandoned;
use isthmus_common::{Links, NotRegular, counted, fail_point, open_lock_file, open_regular};
use prost::Message as _;

use super::entry::Entry;
use super::frame;
use super::keys::JournalKeys;
use super::own_file::{EXTENSION, HEAD, MAGIC, OwnFile, path_of, place};
use super::replay::{Others, Replay};
use crate::journal::intent::FileId;

/// Whoever holds this file locked may replace files by others: a directory that is listed meanwhile may show
/// neither, and a reader of a new file that is not whole yet would find its operations in the old one alone,
/// which nobody holds. Readers share the lock.
pub(super) const LOCK: &str = "lock";

/// How long a reader waits for the lock. A process that was suspended while it compacts must not stop all
/// others; what they miss then, the next reader sees.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How often a reader tries.
const PAUSE: Duration = Duration::from_millis(5);

/// How often the directory is read again because a file was removed meanwhile.
const ATTEMPTS: usize = 100;

/// How many files one compaction replaces. It holds each of them open.
pub(super) const MOST_AT_ONCE: usize = 500;

/// The files of a directory, and what is in them.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) replay: Replay,
    pub(super) files: Vec<ScannedFile>,
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub(super) id: FileId,
    /// Whether a process holds it.
    pub(super) is_locked: bool,
    /// What cannot be read of it.
    pub(super) fault: Option<Fault>,
    /// Whether it begins as our files do.
    is_ours: bool,
    entries: usize,
}

/// What cannot be read of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// All of it, for this reason.
    File(String),
    /// Some of its entries.
    Entries { damaged: usize, of_other_keys: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(reason) => formatter.write_str(reason),
            Self::Entries { damaged: 0, of_other_keys } => {
                write!(formatter, "encrypted with another key: {}", counted(*of_other_keys, "entry"))
            }
            Self::Entries { damaged, .. } => {
                write!(formatter, "it is damaged in {}", counted(*damaged, "place"))
            }
        }
    }
}

/// The right to read files, or to replace them, until it is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock(#[expect(dead_code, reason = "it is locked while it is open")] File);

impl DirectoryLock {
    /// The right to replace files; `None` while others read or replace.
    pub(super) fn to_replace(directory: &Path) -> io::Result<Option<Self>> {
        let file = open_lock(directory)?;
        Ok(try_lock(&file)?.then_some(Self(file)))
    }

    /// The right to list files. Blocks; `None` if there is none for [`LONGEST_WAIT`], or where the lock cannot
    /// be opened, and no process can remove files.
    fn to_list(directory: &Path) -> Option<Self> {
        let since = Instant::now();
        let file = open_lock(directory).ok()?;
        while !matches!(try_lock_shared(&file), Ok(true)) {
            if since.elapsed() > LONGEST_WAIT {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
        Some(Self(file))
    }
}

/// Keeps files from being removed until it is dropped, if that can be had. Blocks.
pub(crate) fn listing_lock(directory: &Path) -> Option<DirectoryLock> {
    DirectoryLock::to_list(directory)
}

/// Whether nothing is lost if another directory takes the place of this one: there is none, or nothing but
/// the lock is in it. A link is not replaced.
pub(crate) fn journal_holds_nothing(directory: &Path) -> io::Result<bool> {
    match directory.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.is_dir() => return Ok(false),
        Ok(_) => {}
    }
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != LOCK || !is_empty_file(&entry.metadata()?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the lock of a directory that has nothing else, so that another one can take its place.
pub(crate) fn clear_journal(directory: &Path) -> io::Result<()> {
    let path = directory.join(LOCK);
    if !path.symlink_metadata().is_ok_and(|metadata| is_empty_file(&metadata)) {
        return Ok(());
    }
    match DirectoryLock::to_replace(directory)? {
        Some(_lock) => std::fs::remove_file(path),
        None => Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is using it")),
    }
}

fn is_empty_file(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() == 0
}

/// Whether a file of this name in the directory is part of the journal: entries, or their keys.
pub(crate) fn is_journal_file(name: &str) -> bool {
    let path = Path::new(name);
    let is_in_directory = path.file_name().is_some_and(|last| last == name);
    is_in_directory && (name == super::keys::FILE || file_id(path).is_some())
}

fn open_lock(directory: &Path) -> io::Result<File> {
    open_lock_file(&directory.join(LOCK), PRIVATE_FILE)
}

/// Reads all files. Blocks.
pub(super) fn scan(directory: &Path, keys: &JournalKeys) -> io::Result<Scan> {
    let _lock = DirectoryLock::to_list(directory);
    for _ in 0..ATTEMPTS {
        match scan_once(directory, keys) {
            // Compacted meanwhile: its operations are in a file that may not have been listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => {}
            scanned => return scanned,
        }
    }
    Err(io::Error::other("its files are being replaced all the time"))
}

/// Reads all files of a directory once. Blocks.
pub(super) fn scan_once(directory: &Path, keys: &JournalKeys) -> io::Result<Scan> {
    let mut scan = Scan::default();
    for (id, path) in files(directory)? {
        match opened(&path)? {
            Ok(mut file) => {
                // Before it is read: what an ended process has written is complete.
                let is_locked = is_locked(&file)?;
                scan.add(id, &bytes_of(&mut file)?, is_locked, keys);
            }
            Err(fault) => scan.add_unread(id, fault),
        }
    }
    Ok(scan)
}

/// Opens a file, or says why this one cannot be opened, which must not hide the others. The directory may
/// be a link; its files have no reason to be one.
fn opened(path: &Path) -> io::Result<Result<File, String>> {
    match open_regular(path, Links::Refuse) {
        Ok(file) => Ok(Ok(file)),
        Err(error) if NotRegular::of(&error).is_some() => Ok(Err(format!("{error}; move it away"))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Reads a file; one that was removed since it was opened is not found, because its operations are in
/// another one by now.
fn bytes_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if is_removed(file)? { Err(io::ErrorKind::NotFound.into()) } else { Ok(bytes) }
}

impl Scan {
    fn add(&mut self, id: FileId, bytes: &[u8], is_locked: bool, keys: &JournalKeys) {
        let contents = read(id, bytes, keys);
        // One without a whole head is of a process that was killed at once, or that is about to begin.
        let is_beginning = [MAGIC, &id].concat().starts_with(bytes);
        let fault = contents.fault.filter(|_| !is_beginning);
        let (is_ours, entries) = (contents.is_ours || is_beginning, contents.entries.len());
        for entry in contents.entries {
            self.replay.add(id, entry);
        }
        self.files.push(ScannedFile { id, is_locked, fault, is_ours, entries });
    }

    /// Adds what is in the place of a file, or a file of another user: it stays as it is.
    fn add_unread(&mut self, id: FileId, fault: String) {
        let fault = Some(Fault::File(fault));
        self.files.push(ScannedFile { id, is_locked: false, fault, is_ours: false, entries: 0 });
    }
}

/// The contents of a file.
#[derive(Debug)]
struct Contents {
    entries: Vec<Entry>,
    fault: Option<Fault>,
    is_ours: bool,
}

/// Reads the bytes of a file.
fn read(id: FileId, bytes: &[u8], keys: &JournalKeys) -> Contents {
    let is_ours = bytes.strip_prefix(MAGIC).is_some_and(|rest| rest.starts_with(&id));
    if !is_ours {
        let fault = Some(Fault::File("it does not begin as a journal file of this name does".to_owned()));
        return Contents { entries: Vec::new(), fault, is_ours };
    }
    let (entries, fault) = entries(id, bytes, HEAD, 0, keys);
    Contents { entries, fault, is_ours }
}

/// Reads the entries of a part of a file: `bytes` from `start` on, of which the first byte is at `offset` in
/// the file. Also returns what cannot be read.
pub(super) fn entries(
    id: FileId,
    bytes: &[u8],
    start: usize,
    offset: u64,
    keys: &JournalKeys,
) -> (Vec<Entry>, Option<Fault>) {
    let frames = frame::read(bytes, start);
    let (mut damaged, mut of_other_keys) = (frames.damaged, 0);
    let mut entries = Vec::new();
    for (at, sealed) in frames.whole {
        let Some(cipher) = keys.of_sealed(sealed) else {
            of_other_keys += 1;
            continue;
        };
        let plain = cipher.unseal_at(&place(id, offset + at), sealed).ok();
        match plain.and_then(|plain| Entry::decode(&plain[..]).ok()) {
            Some(entry) => entries.push(entry),
            None => damaged += 1,
        }
    }
    let is_whole = (damaged, of_other_keys) == (0, 0);
    let fault = (!is_whole).then_some(Fault::Entries { damaged, of_other_keys });
    (entries, fault)
}

/// The journal files of a directory.
pub(super) fn files(directory: &Path) -> io::Result<Vec<(FileId, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if let Some(id) = file_id(&path) {
            files.push((id, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The id in the name of a journal file.
fn file_id(path: &Path) -> Option<FileId> {
    path.extension().filter(|extension| *extension == EXTENSION)?;
    let mut id = FileId::default();
    hex::decode_to_slice(path.file_stem()?.to_str()?, &mut id).ok()?;
    Some(id)
}

/// Whether a process holds the file.
fn is_locked(file: &File) -> io::Result<bool> {
    let is_free = try_lock_shared(file)?;
    if is_free {
        unlock(file)?;
    }
    Ok(!is_free)
}

/// Replaces the files of processes that have ended by one with what is still open, or by none. Does
/// nothing while another process does so. Blocks.
pub(super) fn compact(directory: &Path, keys: &JournalKeys) -> io::Result<()> {
    let Some(_lock) = DirectoryLock::to_replace(directory)? else { return Ok(()) };
    fail_point("compaction-locked");
    // A rotation that was killed has left keys.
    remove_abandoned(directory);
    let mut scan = Scan::default();
    let mut held = Vec::new();
    for (id, path) in files(directory)? {
        let mut file = match opened(&path) {
            // A process of an earlier release has replaced its own file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(Err(fault)) => {
                scan.add_unread(id, fault);
                continue;
            }
            Ok(Ok(file)) => file,
            Err(error) => return Err(error),
        };
        let is_free = (held.len() < MOST_AT_ONCE && matches!(try_lock(&file), Ok(true)))
            || is_planted(Bug::LocksIgnored);
        let bytes = match bytes_of(&mut file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes?,
        };
        scan.add(id, &bytes, !is_free, keys);
        held.extend(is_free.then_some(file));
    }
    let replaced: Vec<&ScannedFile> = scan.files.iter().filter(|file| scan.is_replaceable(file)).collect();
    let batch: BTreeSet<FileId> = replaced.iter().map(|file| file.id).collect();
    let others = scan.others(&batch);
    let mut entries = scan.replay.entries(&batch, &others);
    if is_planted(Bug::CompactionForgets) {
        entries.clear();
    }
    let is_worthwhile = match &replaced[..] {
        [] => false,
        [only] => only.fault.is_some() || only.entries == 0 || entries.len() < only.entries,
        _ => true,
    };
    if !is_worthwhile {
        return Ok(());
    }
    let mut new = None;
    if !entries.is_empty() {
        let mut file = OwnFile::create(directory, keys.writing.clone())?;
        file.add(entries)?;
        file.write()?;
        fail_point("compaction-written");
        // Before the others are removed, which were on the disk.
        file.file.sync_all()?;
        sync_directory(directory)?;
        new = Some(file);
    }
    // With the last of them, what was only needed because of them.
    let is_superfluous = scan.replay.lasting_entries(&batch, &others).is_empty();
    let new = new.filter(|_| is_superfluous).map(|file| file.id);
    for id in batch.into_iter().chain(new) {
        match std::fs::remove_file(path_of(directory, id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fail_point("compaction-removed-one");
    }
    fail_point("compaction-ended");
    Ok(())
}

impl Scan {
    /// The files that stay when those of the batch are replaced.
    pub(super) fn others(&self, batch: &BTreeSet<FileId>) -> Others {
        let others = || self.files.iter().filter(|file| !batch.contains(&file.id));
        let are_read = others().all(|file| file.fault.is_none() || self.replay.is_dismissed(file.id));
        Others { files: others().map(|file| file.id).collect(), are_read }
    }

    /// Whether a file has entries that other keys have encrypted.
    pub(super) fn has_other_keys(&self) -> bool {
        self.files.iter().any(|file| matches!(file.fault, Some(Fault::Entries { of_other_keys: 1.., .. })))
    }

    /// Whether all that a file contains is known, or is not wanted any more.
    fn is_replaceable(&self, file: &ScannedFile) -> bool {
        let is_whole = file.fault.is_none() || self.replay.is_dismissed(file.id);
        !file.is_locked && file.is_ours && is_whole
    }
}
