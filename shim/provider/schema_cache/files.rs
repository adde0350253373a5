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
//! Only files with the magic number, or empty ones, are ever replaced or removed: others are not
//! ours.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use isthmus_common::{Links, open_regular};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::names::UNFINISHED;
use crate::schema::{ResponseBytes, Span};

/// The magic number.
const MARK: &[u8; 8] = b"isthmus\0";
/// Version of the format of the files, their contents and names. Files of another version are
/// ignored. The first one had no directory in the names of index entries, the second no bodies, the third no
/// hashes of names, the fourth no times in index entries.
const FORMAT: u32 = 5;
/// Magic number, format version, length of the head, length of the body, and hash of the name and the head.
const HEADER: usize = 8 + 4 + 8 + 8 + 32;
/// Granularity of the time of last use, to save writes.
const USED: Duration = Duration::from_secs(3600);

/// A directory, and the maximum size of its files.
#[derive(Clone, Debug)]
pub(super) struct Files {
    directory: PathBuf,
    largest: u64,
}

/// A file in the directory's listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub(super) name: String,
    /// In bytes.
    pub(super) size: u64,
    /// Time of last use, to the hour.
    pub(super) used: SystemTime,
}

/// The body of an open file.
#[derive(Debug)]
pub(super) struct Body {
    files: Files,
    name: String,
    file: File,
    length: u64,
}

/// A file that is being written; removed unless it is finished.
#[derive(Debug)]
pub(super) struct Unfinished {
    files: Files,
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

/// What exists at a file's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupant {
    Nothing,
    /// A file of ours, or an empty one.
    Ours,
    Foreign,
}

impl Files {
    /// The directory is created with the first write. Files larger than `largest` bytes are neither
    /// read nor written.
    pub(super) fn new(directory: PathBuf, largest: u64) -> Self {
        Self { directory, largest }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The content of a file without a body. `None` if it is missing, unreadable or invalid.
    pub(super) fn read(&self, name: &str) -> Option<Bytes> {
        let (head, body) = self.open(name)?;
        (body.length == 0).then_some(head)
    }

    /// The content of a file without a body, without counting as a use.
    pub(super) fn peek(&self, name: &str) -> Option<Bytes> {
        let (head, body) = self.content(name)?;
        (body.length == 0).then_some(head)
    }

    /// The head and the body of a file. `None` if it is missing, unreadable or invalid.
    pub(super) fn open(&self, name: &str) -> Option<(Bytes, Body)> {
        let (head, body) = self.content(name)?;
        self.note_use(&body.file);
        Some((head, body))
    }

    /// Whether a file exists, valid or not.
    pub(super) fn contains(&self, name: &str) -> bool {
        let file = open_regular(&self.directory.join(name), Links::Refuse);
        file.inspect(|file| self.note_use(file)).is_ok()
    }

    fn content(&self, name: &str) -> Option<(Bytes, Body)> {
        let mut file = open_regular(&self.directory.join(name), Links::Refuse).ok()?;
        let size = file.metadata().ok()?.len();
        if size > self.largest.saturating_add(HEADER as u64) {
            return None;
        }
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        let (head_length, length) = lengths(&header);
        if size.checked_sub(HEADER as u64)?.checked_sub(head_length)? != length {
            return None;
        }
        let mut head = vec![0; usize::try_from(head_length).ok()?];
        file.read_exact_at(&mut head, HEADER as u64 + length).ok()?;
        (header == self::header(name, &head, length))
            .then(|| (head.into(), Body { files: self.clone(), name: name.to_owned(), file, length }))
    }

    fn note_use(&self, file: &File) {
        let (now, used) = (SystemTime::now(), file.metadata().and_then(|metadata| metadata.modified()));
        if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|ago| ago > USED)) {
            // Then it is only removed earlier.
            let _ = file.set_modified(now);
        }
    }

    /// All files. Names that are not UTF-8 are not ours.
    pub(super) fn list(&self) -> Vec<ListedFile> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return Vec::new() };
        let listed = |entry: std::fs::DirEntry| {
            let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(ListedFile { name: entry.file_name().into_string().ok()?, size: metadata.len(), used })
        };
        entries.flatten().filter_map(listed).collect()
    }

    /// The names with this prefix.
    pub(super) fn names(&self, prefix: String) -> impl Iterator<Item = String> + use<> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(move |name| name.starts_with(&prefix))
    }

    /// Writes or replaces a file without a body.
    ///
    /// # Errors
    /// When it cannot be written, or the existing one is not ours.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin()?.finish(name, content).map(drop)
    }

    /// Begins to write a file, whose body is written first.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(&self) -> io::Result<Unfinished> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        // `tempfile` makes it readable by its owner alone.
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.directory)?;
        // Valid when it is finished; until then it shows that the file is ours.
        file.write_all(&header("", b"", 0))?;
        Ok(Unfinished { files: self.clone(), file, length: 0 })
    }

    /// Removes a file, if it is ours. Returns whether it is gone.
    pub(super) fn remove(&self, name: &str) -> bool {
        let path = self.directory.join(name);
        match occupant(&path) {
            Ok(Occupant::Nothing) => true,
            // Another process may have removed it.
            Ok(Occupant::Ours) => std::fs::remove_file(path).is_ok(),
            Ok(Occupant::Foreign) | Err(_) => false,
        }
    }
}

fn occupant(path: &Path) -> io::Result<Occupant> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => Ok(Occupant::Foreign),
        Ok(metadata) if metadata.len() == 0 => Ok(Occupant::Ours),
        Ok(_) => {
            let mut beginning = [0; MARK.len()];
            let read = open_regular(path, Links::Refuse).and_then(|mut file| file.read_exact(&mut beginning));
            match read {
                Ok(()) if beginning == *MARK => Ok(Occupant::Ours),
                Ok(()) => Ok(Occupant::Foreign),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Occupant::Foreign),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Occupant::Nothing),
                Err(error) => Err(error),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Occupant::Nothing),
        Err(error) => Err(error),
    }
}

impl Unfinished {
    /// Gives the file its head and its name, in the place of a file of ours.
    ///
    /// # Errors
    /// When it cannot be written, or the existing file is not ours.
    pub(super) fn finish(mut self, name: &str, head: &[u8]) -> io::Result<Body> {
        let (files, length) = (self.files.clone(), self.length);
        self.add(head)?;
        self.file.as_file().write_all_at(&header(name, head, length), 0)?;
        let path = files.directory.join(name);
        if occupant(&path)? == Occupant::Foreign {
            let reason = format!("{} was not written by isthmus: move it away", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
        let file = self.file.persist(path).map_err(|error| error.error)?;
        Ok(Body { files, name: name.to_owned(), file, length })
    }

    fn add(&mut self, content: &[u8]) -> io::Result<()> {
        self.length = self.length.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
        if self.length > self.files.largest {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all(content)
    }
}

impl Write for Unfinished {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.add(content).map(|()| content.len())
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
        let is_within = span.offset.checked_add(span.length).is_some_and(|end| end <= self.length);
        let length = usize::try_from(span.length).ok().filter(|_| is_within);
        buffer.resize(length.unwrap_or_default(), 0);
        match self.file.read_exact_at(buffer, HEADER as u64 + span.offset) {
            Ok(()) if is_within && *Sha256::digest(&*buffer) == span.hash => Ok(()),
            // It was truncated, or was written to.
            Ok(()) | Err(_) => {
                self.files.remove(&self.name);
                let damaged = DamagedError { path: self.files.directory.join(&self.name) };
                Err(io::Error::new(io::ErrorKind::InvalidData, damaged))
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
    let mut header = [0; HEADER];
    // No name contains a zero.
    let hash = Sha256::new().chain_update(name).chain_update([0]).chain_update(head).finalize();
    let length = u64::try_from(head.len()).unwrap_or(u64::MAX);
    let parts = [&MARK[..], &FORMAT.to_le_bytes(), &length.to_le_bytes(), &body.to_le_bytes(), &hash];
    for (place, byte) in header.iter_mut().zip(parts.into_iter().flatten()) {
        *place = *byte;
    }
    header
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
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn files(largest: u64) -> (Files, tempfile::TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        (Files::new(directory.path().join("cache"), largest), directory)
    }

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let (files, _directory) = files(1 << 20);
        assert_eq!(files.read("one"), None);
        assert!(!files.contains("one"));
        files.write("one", b"first").expect("the directory can be made");
        files.write("one", b"second").expect("the file can be replaced");
        files.write("empty", b"").expect("nothing can be written");
        assert_eq!(files.read("one").as_deref(), Some(&b"second"[..]));
        assert_eq!(files.read("empty").as_deref(), Some(&b""[..]));
        assert!(files.contains("one"));
        let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&files.directory().join("one")), 0o600);
        assert_eq!(mode(files.directory()), 0o700);
    }

    #[test]
    fn a_file_under_the_name_of_another_is_not_read() {
        let (files, _directory) = files(1 << 20);
        for name in ["one", "other"] {
            files.write(name, name.as_bytes()).expect("a file");
        }
        let path = |name: &str| files.directory().join(name);
        std::fs::copy(path("one"), path("other")).expect("a file");
        assert_eq!(files.read("one").as_deref(), Some(&b"one"[..]));
        assert_eq!(files.read("other"), None);
        files.write("other", b"again").expect("it is ours");
        assert_eq!(files.read("other").as_deref(), Some(&b"again"[..]));
    }

    #[test]
    fn every_damage_is_noticed_and_mended_by_writing_again() {
        let (files, _directory) = files(1 << 20);
        files.write("one", b"content").expect("a file");
        let path = files.directory().join("one");
        let whole = std::fs::read(&path).expect("a file");
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            std::fs::write(&path, damaged).expect("a file");
            assert_eq!(files.read("one"), None, "byte {index} was changed");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("a file");
            assert_eq!(files.read("one"), None, "cut to {length} bytes");
        }
        for damaged in [&[&*whole, b"x"].concat()[..], &whole[..MARK.len()], b""] {
            std::fs::write(&path, damaged).expect("a file");
            assert_eq!(files.read("one"), None, "{damaged:?}");
            files.write("one", b"content").expect("a file");
            assert_eq!(files.read("one").as_deref(), Some(&b"content"[..]));
        }
    }

    #[test]
    fn a_file_of_another_format_is_as_if_it_were_not_there() {
        let (files, _directory) = files(1 << 20);
        files.write("one", b"content").expect("a file");
        let path = files.directory().join("one");
        let mut other = std::fs::read(&path).expect("a file");
        other[8..12].copy_from_slice(&(FORMAT - 1).to_le_bytes());
        std::fs::write(&path, other).expect("a file");
        assert_eq!(files.read("one"), None);
        files.write("one", b"content").expect("it is ours all the same");
        assert!(files.read("one").is_some());
    }

    #[test]
    fn what_others_have_put_there_is_neither_replaced_nor_removed() {
        let (files, directory) = files(1 << 20);
        files.write("one", b"content").expect("a file");
        let target = directory.path().join("target");
        std::fs::write(&target, b"isthmus\0 of a user").expect("a file");
        let place = |name: &str| files.directory().join(name);
        std::fs::write(place("foreign"), "of a user").expect("a file");
        std::fs::write(place("short"), "isthmus").expect("a file");
        std::fs::create_dir(place("directory")).expect("a directory");
        std::os::unix::fs::symlink(&target, place("link")).expect("a link");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, place("fifo"), mode).expect("a FIFO");
        for name in ["foreign", "short", "directory", "link", "fifo"] {
            assert_eq!((files.read(name), files.peek(name)), (None, None), "{name}");
            let error = files.write(name, b"content").expect_err(name);
            assert!(error.to_string().contains("was not written by isthmus"), "{error}");
            assert!(!files.remove(name), "{name}");
            assert!(place(name).symlink_metadata().is_ok(), "{name}");
        }
        assert!(!files.contains("fifo"), "it would be waited for");
        assert_eq!(std::fs::read(place("foreign")).expect("a file"), b"of a user");
        assert!(target.exists());
        assert!(files.remove("one") && !place("one").exists());
        assert!(files.remove("one"), "it is gone");
    }

    #[test]
    fn what_is_too_large_is_not_written() {
        let (files, _directory) = files(500);
        files.write("small", &[0; 500]).expect("a file");
        let error = files.write("large", &[0; 501]).expect_err("it would displace others");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(files.read("large"), None);
        assert!(files.read("small").is_some());
    }

    #[test]
    fn reading_is_using_and_looking_is_not() {
        let (files, _directory) = files(500);
        files.write("one", b"content").expect("a file");
        let file = File::options().write(true).open(files.directory().join("one")).expect("a file");
        let long_ago = SystemTime::now() - 3 * USED;
        file.set_modified(long_ago).expect("a file of ours");
        let used = || files.list()[0].used;
        assert!(files.peek("one").is_some() && used() == long_ago);
        assert!(files.read("one").is_some() && used() > long_ago + 2 * USED);
        file.set_modified(long_ago).expect("a file of ours");
        assert!(files.contains("one") && used() > long_ago + 2 * USED);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error_and_no_harm() {
        let directory = tempfile::tempdir().expect("a directory");
        let in_the_way = directory.path().join("file");
        std::fs::write(&in_the_way, "").expect("a file");
        let files = Files::new(in_the_way.join("cache"), 1000);
        files.write("one", b"content").expect_err("a file is no directory");
        assert_eq!(files.read("one"), None);
        assert_eq!(files.list(), []);
        assert_eq!(files.names("one".to_owned()).next(), None);
    }

    #[test]
    fn many_writers_at_once_leave_a_whole_file() {
        let (files, _directory) = files(1 << 20);
        std::thread::scope(|scope| {
            for number in 0..8_u8 {
                let files = &files;
                scope.spawn(move || {
                    for _ in 0..50 {
                        files.write("one", &[number; 4096]).expect("a file");
                        let read = files.read("one").expect("there is always a whole file");
                        assert_eq!(read.len(), 4096);
                        assert!(read.iter().all(|byte| *byte == read[0]), "a mixture of two files");
                    }
                });
            }
        });
        let left = std::fs::read_dir(files.directory()).expect("the directory").count();
        assert_eq!(left, 1, "nothing unfinished is left");
    }
}
