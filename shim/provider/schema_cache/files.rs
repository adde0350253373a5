//! A directory of files that may be lost at any time.
//!
//! A file has three parts:
//!
//! | part | content |
//! |---|---|
//! | header | a magic number, the format version, the lengths of the other parts, the SHA-256 of the file's name and the head |
//! | body | what is too large to be read at once; empty in most files |
//! | head | the content of a file without a body, else spans of the body with their hashes |
//!
//! The header and the head are validated when a file is opened, each span of the body when it is read.
//! A body is read by `pread`, never mapped: another process may truncate the file. An open file stays
//! readable after it was removed or replaced.
//!
//! A file is written to a temporary file and renamed, so that readers see all of it or nothing, and
//! the last writer wins. There is no lock: a name always refers to the same content, or the newest.
//! Writes do not wait for the disk; incomplete files are detected by their hashes.
//!
//! When the directory is full, the least recently used files are removed. A file stays that has no name of the cache, or does not
//! begin with its magic number.

use isthmus_platform::files::{DirBuilderExt as _, FileExt as _};
use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use isthmus_common::{Links, open_regular};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::names::{UNFINISHED, is_ours};
use crate::schema::{ResponseBytes, Span};

/// The magic number.
const MAGIC: &[u8; 8] = b"isthmus\0";
/// Version of the format of the files, their contents and names. Files of another version are
/// ignored, and removed like others that are not used.
const FORMAT: u32 = 6;
/// Magic number, format version, length of the head, length of the body, and hash of the name and the head.
const HEADER: usize = 8 + 4 + 8 + 8 + 32;
/// Granularity of the time of last use, to save writes.
const USED: Duration = Duration::from_secs(3600);

/// A directory with limits.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) directory: PathBuf,
    pub(super) limits: Limits,
}

/// Size limits of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of all files together.
    pub(super) bytes: u64,
    /// Index entries are small, but there may be many.
    pub(super) files: usize,
}

/// The body of an open file.
#[derive(Debug)]
pub(super) struct Body {
    path: PathBuf,
    file: File,
    length: u64,
}

/// A file that is being written; removed unless it is finished.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    name: String,
    file: NamedTempFile,
    /// Of the body.
    length: u64,
}

/// A span of a file is not what was written.
#[derive(Debug, thiserror::Error)]
#[error("{} is damaged, and was removed\nhelp: run this again", path.display())]
struct DamagedError {
    path: PathBuf,
}

impl Files {
    /// The content of a file without a body. `None` if it is missing, unreadable or invalid.
    pub(super) fn read(&self, name: &str) -> Option<Bytes> {
        self.open(name).map(|(head, _)| head)
    }

    /// The head and the body of a file. `None` if it is missing, unreadable or invalid.
    pub(super) fn open(&self, name: &str) -> Option<(Bytes, Body)> {
        let path = self.directory.join(name);
        let mut file = open_regular(&path, Links::Refuse).ok()?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        let (head_length, length) = lengths(&header);
        let size = file.metadata().ok()?.len();
        if size.checked_sub(HEADER as u64)?.checked_sub(head_length)? != length {
            return None;
        }
        let mut head = vec![0; usize::try_from(head_length).ok()?];
        file.read_exact_at(&mut head, HEADER as u64 + length).ok()?;
        (header == self::header(name, &head, length)).then(|| (head.into(), Body { path, file, length }))
    }

    /// Notes that a file is in use. Returns whether it exists, valid or not.
    pub(super) fn touch(&self, name: &str) -> bool {
        let Ok(file) = open_regular(&self.directory.join(name), Links::Refuse) else { return false };
        let (now, used) = (SystemTime::now(), file.metadata().and_then(|metadata| metadata.modified()));
        if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|ago| ago > USED)) {
            // Then it is only removed earlier.
            let _ = file.set_modified(now);
        }
        true
    }

    /// The names with this prefix.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// Writes or replaces a file without a body.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin(name)?.finish(content).map(drop)
    }

    /// Begins to write or replace a file, whose body is written first.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(&self, name: &str) -> io::Result<Unfinished> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        // `tempfile` makes it readable by its owner alone.
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.directory)?;
        // Valid when it is finished; until then it shows that the file is of the cache.
        file.write_all(&header("", b"", 0))?;
        Ok(Unfinished { path: self.directory.join(name), name: name.to_owned(), file, length: 0 })
    }

    pub(super) fn remove(&self, name: &str) {
        remove(&self.directory.join(name));
    }

    /// Removes abandoned files, and the least recently used ones if a limit is exceeded.
    ///
    /// Any number of processes may do so, read and write at once. At worst an entry has no response,
    /// and is ignored.
    pub(super) fn sweep(&self) {
        let now = SystemTime::now();
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let removable = entries.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let used = metadata.modified().ok()?;
            let name = entry.file_name().into_string().ok()?;
            // A younger one may be in the midst of being written.
            let is_old = || now.duration_since(used).is_ok_and(|age| age > USED);
            if name.starts_with(UNFINISHED) && is_old() && has_magic(&entry.path()) {
                remove(&entry.path());
            }
            is_ours(&name).then(|| (used, metadata.len(), entry.path()))
        });
        let mut files: Vec<(SystemTime, u64, PathBuf)> = removable.collect();
        let (mut bytes, mut count) = (files.iter().map(|(_, size, _)| size).sum::<u64>(), files.len());
        if bytes <= self.limits.bytes && count <= self.limits.files {
            return;
        }
        // Somewhat below the limits, or each write would remove something.
        let least = Limits {
            bytes: self.limits.bytes - self.limits.bytes / 8,
            files: self.limits.files - self.limits.files / 8,
        };
        files.sort_unstable();
        for (_, size, path) in files {
            if bytes <= least.bytes && count <= least.files {
                return;
            }
            if !has_magic(&path) {
                continue;
            }
            remove(&path);
            bytes -= size;
            count -= 1;
        }
    }
}

/// Whether a file begins as a file of the cache, of any version, does.
fn has_magic(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    open_regular(path, Links::Refuse).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == MAGIC[..]
}

/// Removes a file, unless another process has.
fn remove(path: &Path) {
    // Then it is removed another time.
    let _ = std::fs::remove_file(path);
}

impl Unfinished {
    /// Gives the file its head and its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn finish(mut self, head: &[u8]) -> io::Result<Body> {
        let Self { path, name, length, .. } = self;
        self.file.write_all(head)?;
        self.file.as_file().write_all_at(&header(&name, head, length), 0)?;
        let file = self.file.persist(&path).map_err(|error| error.error)?;
        Ok(Body { path, file, length })
    }
}

impl Write for Unfinished {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.file.write_all(content)?;
        self.length += content.len() as u64;
        Ok(content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Body {
    /// In bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads a span into a buffer, in the place of what is there. A damaged file is removed, so that it
    /// is written anew.
    pub(super) fn read_into(&self, span: Span, buffer: &mut BytesMut) -> io::Result<()> {
        // A length that only the file announces allocates nothing.
        let is_inside = span.offset.checked_add(span.length).is_some_and(|end| end <= self.length);
        buffer.resize(usize::try_from(if is_inside { span.length } else { 0 }).map_err(io::Error::other)?, 0);
        match self.file.read_exact_at(buffer, HEADER as u64 + span.offset) {
            Ok(()) if *Sha256::digest(&*buffer) == span.hash => Ok(()),
            // It was truncated, or was written to.
            Ok(()) | Err(_) => {
                remove(&self.path);
                Err(io::Error::new(io::ErrorKind::InvalidData, DamagedError { path: self.path.clone() }))
            }
        }
    }
}

impl ResponseBytes for Body {
    fn read(&self, span: Span) -> io::Result<Bytes> {
        let mut buffer = BytesMut::new();
        self.read_into(span, &mut buffer).map(|()| buffer.freeze())
    }
}

/// The header of a file with this name, this head and a body of this length. A file under another file's name is invalid.
fn header(name: &str, head: &[u8], body: u64) -> [u8; HEADER] {
    // No name contains a zero.
    let hash = Sha256::new().chain_update(name).chain_update([0]).chain_update(head).finalize();
    let parts =
        [&MAGIC[..], &FORMAT.to_le_bytes(), &(head.len() as u64).to_le_bytes(), &body.to_le_bytes(), &hash];
    parts.concat().try_into().expect("the parts of a header have its length")
}

/// The lengths of the head and of the body, from a header of any validity.
fn lengths(header: &[u8; HEADER]) -> (u64, u64) {
    let number = |at: usize| {
        let bytes = header[at..].first_chunk().expect("the header is longer");
        u64::from_le_bytes(*bytes)
    };
    (number(12), number(20))
}

#[cfg(test)]
mod tests {

    use super::*;

    const NAME: &str = "program-0123456789abcdef0123456789abcdef";

    fn files() -> (Files, tempfile::TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        let limits = Limits { bytes: 1 << 20, files: 100 };
        (Files { directory: directory.path().join("cache"), limits }, directory)
    }

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let (files, _directory) = files();
        assert_eq!(files.read(NAME), None);
        assert!(!files.touch(NAME));
        files.write(NAME, b"first").expect("the directory can be made");
        files.write(NAME, b"second").expect("the file can be replaced");
        assert_eq!(files.read(NAME).as_deref(), Some(&b"second"[..]));
        assert!(files.touch(NAME));
        let mode = |path: &Path| {
            isthmus_platform::files::mode(&std::fs::metadata(path).expect("it is there")) & 0o777
        };
        assert_eq!(mode(&files.directory.join(NAME)), 0o600);
        assert_eq!(mode(&files.directory), 0o700);
    }

    #[test]
    fn a_file_under_the_name_of_another_is_not_read() {
        let (files, _directory) = files();
        files.write("one", b"one").expect("a file");
        std::fs::copy(files.directory.join("one"), files.directory.join("other")).expect("a file");
        assert_eq!(files.read("one").as_deref(), Some(&b"one"[..]));
        assert_eq!(files.read("other"), None);
    }

    #[test]
    fn every_damage_is_noticed_and_mended_by_writing_again() {
        let (files, _directory) = files();
        files.write("one", b"content").expect("a file");
        let path = files.directory.join("one");
        let whole = std::fs::read(&path).expect("a file");
        // The format version is among the bytes.
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            for damaged in [&damaged[..], &whole[..index], &[&whole[..index], b"x", &whole[index..]].concat()]
            {
                std::fs::write(&path, damaged).expect("a file");
                assert_eq!(files.read("one"), None, "damaged at {index}: {damaged:?}");
            }
        }
        files.write("one", b"content").expect("a file");
        assert_eq!(files.read("one").as_deref(), Some(&b"content"[..]));
    }

    #[test]
    fn what_was_used_longest_ago_makes_room_and_files_of_others_stay() {
        let (mut files, _directory) = files();
        let name = |number: usize| format!("program-{number:032}");
        let age = |name: &str, hours: u64| {
            let file = File::options().write(true).open(files.directory.join(name)).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).expect("a file of ours");
        };
        let unfinished = header("", b"", 0);
        for number in 0..8 {
            files.write(&name(number), b"content").expect("a file");
            age(&name(number), 10 - number as u64);
        }
        let of_others = format!("program-{:032}", 9);
        for other in ["notes.txt", ".unfinished-novel", "schema-of-my-house", &of_others] {
            std::fs::write(files.directory.join(other), "text").expect("a file");
            age(other, 1000);
        }
        for (abandoned, hours) in [(".unfinished-Ab12xy", 2), (".unfinished-Cd34zw", 0)] {
            std::fs::write(files.directory.join(abandoned), unfinished).expect("a file");
            age(abandoned, hours);
        }
        files.touch(&name(0));
        files.sweep();
        assert_eq!(files.names("").len(), 13, "all but the abandoned one");
        std::fs::remove_file(files.directory.join(".unfinished-Cd34zw")).expect("it is being written");

        files.limits.files = 8;
        files.sweep();
        let mut left = files.names("");
        left.sort();
        let ours = [0, 3, 4, 5, 6, 7].map(name);
        assert_eq!(left[2..8], ours, "{left:?}");
        assert_eq!([&left[0], &left[1], &left[9]], [".unfinished-novel", "notes.txt", "schema-of-my-house"]);
        assert_eq!(left[8], of_others, "it has a name of the cache, and the content of others");

        files.limits.bytes = 4 * 67;
        files.sweep();
        assert_eq!(files.names("program-").len(), 3 + 1, "{left:?}");
        assert!(files.read(&name(0)).is_some(), "it was used last");
    }
}
