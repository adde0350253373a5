//! The record of an installed provider: its binary, and how it was verified.
//!
//! It is next to the version's directory, in `OS_ARCH.verified.json`, and is written before the
//! directory; so a directory without a record was not installed by isthmus, but by the Go bridge,
//! for instance. The binary is identified by its SHA-256, and is read again only if its
//! [`FileStamp`] has changed.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use isthmus_common::permissions::PRIVATE_FILE;
use isthmus_common::scratch::ScratchDirectory;
use isthmus_common::{FileStamp, Links, open_regular, read_regular};
use isthmus_platform::files::{OpenOptionsExt as _, set_mode_of_new};
use serde::{Deserialize, Serialize};

use super::beside;
use crate::FileSum;

/// Version of the format; records of others are ignored.
const FORMAT: u32 = 2;
/// Beginning of every record, without white space.
const BEGINNING: &[u8] = b"{\"format\":";
/// Suffix of records' names, after the directory's.
const RECORD: &str = ".verified.json";
/// Size limit of a record.
const LARGEST: u64 = 1 << 20;

/// How a provider was verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// By its publisher's signature: the archive is in a signed list of checksums, by a key that
    /// the registry lists.
    Signed {
        /// The key's fingerprint, in hexadecimal digits.
        key: String,
    },
    /// By its registry's checksum, without a signature.
    Unsigned,
    /// By this mirror, which the user has configured: a directory, or the address of a server.
    Mirrored {
        /// The mirror.
        mirror: String,
    },
    /// Not at all: isthmus did not install it, and its origin returned nothing to compare it with.
    Unverified {
        /// The last attempt, in seconds of Unix time.
        since: u64,
        /// Why it could not be verified.
        reason: UnverifiedReason,
    },
}

impl Verification {
    /// Whether isthmus installed the provider, or found it identical to what it would have
    /// installed.
    pub fn is_installed(&self) -> bool {
        match self {
            Self::Signed { .. } | Self::Unsigned | Self::Mirrored { .. } => true,
            Self::Unverified { .. } => false,
        }
    }
}

/// Why a provider could not be verified, but may be started. All other reasons are refusals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnverifiedReason {
    /// No origin could be reached, with the reason.
    Unreachable(String),
    /// No origin has the version, with the reason.
    Absent(String),
}

impl fmt::Display for UnverifiedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(detail) => write!(formatter, "its origin could not be reached: {detail}"),
            Self::Absent(detail) => write!(formatter, "its origin does not have it: {detail}"),
        }
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed { key } => write!(formatter, "signed by {key}"),
            Self::Unsigned => formatter.write_str("unsigned"),
            Self::Mirrored { mirror } => write!(formatter, "from the mirror {mirror}"),
            Self::Unverified { .. } => formatter.write_str("unverified"),
        }
    }
}

/// The record of an installed provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    format: u32,
    pub(crate) program: String,
    /// The binary's checksum, in hexadecimal digits.
    sha256: String,
    /// The archive's checksum, if there was one.
    pub(crate) archive_sha256: Option<String>,
    pub(crate) verification: Verification,
    stamp: [i64; FileStamp::NUMBERS],
}

/// The binary is not the one that was installed.
#[derive(Debug, thiserror::Error)]
pub enum AlteredError {
    /// Its content has changed.
    #[error(
        "the program {} was altered after it was installed: its SHA-256 is {found}, and was {expected}. Remove the directory {} \
         to have it downloaded again", program.display(), directory.display()
    )]
    Content {
        /// The binary.
        program: PathBuf,
        /// The directory of the version.
        directory: PathBuf,
        /// The recorded checksum.
        expected: FileSum,
        /// The actual checksum.
        found: FileSum,
    },
    /// Another file has precedence over it.
    #[error(
        "the program {} is not the one that was installed, which is called {expected}. Remove the directory {} to have it \
         downloaded again", program.display(), directory.display()
    )]
    Name {
        /// The binary.
        program: PathBuf,
        /// The directory of the version.
        directory: PathBuf,
        /// Name of the installed binary.
        expected: String,
    },
    /// It cannot be read.
    #[error("the program {} cannot be read", program.display())]
    Read {
        /// The binary.
        program: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Record {
    /// The path of the record of a version's directory.
    pub(crate) fn path_of(package: &Path) -> PathBuf {
        beside(package, RECORD)
    }

    /// The record of a new binary.
    pub(crate) fn of(
        program: &Path,
        archive: Option<FileSum>,
        verification: Verification,
    ) -> io::Result<Self> {
        let stamp = FileStamp::of(program, &program.metadata()?)?.into();
        Ok(Self {
            format: FORMAT,
            program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: FileSum::of_file(program)?.to_string(),
            archive_sha256: archive.map(|sum| sum.to_string()),
            verification,
            stamp,
        })
    }

    /// The binary's checksum.
    pub(crate) fn sum(&self) -> Option<FileSum> {
        FileSum::parse(&self.sha256).ok()
    }

    /// The archive's checksum, if any.
    pub(crate) fn archive_sum(&self) -> Option<FileSum> {
        FileSum::parse(self.archive_sha256.as_deref()?).ok()
    }

    /// Reads a record; `None` if there is no valid one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        if path.metadata().ok()?.len() > LARGEST {
            return None;
        }
        let record: Self = serde_json::from_slice(&read_regular(path, Links::Follow).ok()?).ok()?;
        (record.format == FORMAT && record.sum().is_some()).then_some(record)
    }

    /// Writes the record, unless the existing file is not ours.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        write_own(path, &serde_json::to_vec_pretty(self)?)
    }

    /// Whether a binary matches the record: by its content if its stamp has changed, which is then
    /// updated.
    pub(crate) fn check(&mut self, program: &Path, path: &Path) -> Result<(), AlteredError> {
        self.check_content(program, path, false)
    }

    /// The same, always by content.
    pub(crate) fn check_whole(&mut self, program: &Path, path: &Path) -> Result<(), AlteredError> {
        self.check_content(program, path, true)
    }

    fn check_content(&mut self, program: &Path, path: &Path, always: bool) -> Result<(), AlteredError> {
        let directory = || program.parent().unwrap_or(program).to_owned();
        let read = |source| AlteredError::Read { program: program.to_owned(), source };
        if program.file_name().is_none_or(|name| name.to_string_lossy() != self.program.as_str()) {
            let (program, expected) = (program.to_owned(), self.program.clone());
            return Err(AlteredError::Name { directory: directory(), program, expected });
        }
        let stamp =
            program.metadata().and_then(|metadata| FileStamp::of(program, &metadata)).map_err(read)?.into();
        let is_unchanged = stamp == self.stamp;
        if is_unchanged && !always {
            return Ok(());
        }
        let found = FileSum::of_file(program).map_err(read)?;
        if let Some(expected) = self.sum().filter(|expected| *expected != found) {
            return Err(AlteredError::Content {
                directory: directory(),
                program: program.to_owned(),
                expected,
                found,
            });
        }
        if !is_unchanged {
            self.stamp = stamp;
            // If it cannot be written, the binary is read again next time.
            let _ = self.write(path);
        }
        Ok(())
    }
}

/// Writes a record or a list of versions, unless the existing file is not ours.
///
/// An existing file is replaced atomically. A new one is written in its place, because a scratch
/// directory disappears again, and the Go bridge takes a cache for empty if a name disappears while it
/// scans the whole directory. A reader ignores a file that is not whole yet.
pub(crate) fn write_own(path: &Path, content: &[u8]) -> io::Result<()> {
    let is_new = !path.try_exists()?;
    require_own(path)?;
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path) {
        Ok(mut file) => {
            set_mode_of_new(path, PRIVATE_FILE)?;
            file.write_all(content)?;
            file.sync_all()
        }
        // Another process has just written what is as new.
        Err(error) if is_new && error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let scratch = ScratchDirectory::beside(path)?;
            let mut file = scratch.file(PRIVATE_FILE)?;
            file.write_all(content)?;
            file.as_file().sync_all()?;
            file.persist(path).map(|_| ()).map_err(|error| error.error)
        }
        Err(error) => Err(error),
    }
}

/// Refuses an existing file that does not begin like a record or list of versions of ours. Empty
/// and missing ones are accepted.
pub(crate) fn require_own(path: &Path) -> io::Result<()> {
    let not_ours = || {
        let text = format!("{} was not written by isthmus; move it away", path.display());
        io::Error::new(io::ErrorKind::AlreadyExists, text)
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.is_file() => return Err(not_ours()),
        Ok(_) => {}
    }
    let mut beginning = Vec::new();
    io::Read::take(open_regular(path, Links::Refuse)?, 64).read_to_end(&mut beginning)?;
    beginning.retain(|byte| !byte.is_ascii_whitespace());
    let is_ours = beginning.is_empty() || beginning.starts_with(BEGINNING);
    if is_ours { Ok(()) } else { Err(not_ours()) }
}

/// Removes a record or a list of versions, if it is ours.
pub(crate) fn remove_own(path: &Path) -> io::Result<()> {
    require_own(path)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Refuses an altered binary, and returns its verification; `None` without a record: it is in no
/// cache, or isthmus did not install it. Reads files, mostly small ones.
///
/// # Errors
/// When it was altered, or cannot be read.
pub fn check_program(program: &Path) -> Result<Option<Verification>, AlteredError> {
    // By its path, and by the path that links lead to.
    for program in [Ok(program.to_owned()), program.canonicalize()].into_iter().flatten() {
        let Some(directory) = program.parent() else { continue };
        let path = Record::path_of(directory);
        if let Some(mut record) = Record::read(&path) {
            record.check(&program, &path)?;
            return Ok(Some(record.verification));
        }
    }
    Ok(None)
}

/// Seconds of Unix time.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().join("terraform-provider-x");
        std::fs::write(&program, "program").expect("a file");
        let path = directory.path().join("record.json");
        let record = Record::of(&program, None, Verification::Unsigned).expect("it can be read");
        record.write(&path).expect("it can be written");
        (directory, program, path)
    }

    #[test]
    fn a_program_that_is_as_it_was_is_not_read() {
        let (_directory, program, path) = installed();
        let mut record = Record::read(&path).expect("a record");
        // Only the stamp is compared, so the checksum does not matter.
        record.sha256 = "0".repeat(64);
        record.check(&program, &path).expect("as it was");
    }

    #[test]
    fn a_copy_of_the_program_is_read_once() {
        let (directory, program, path) = installed();
        let other = directory.path().join("other");
        std::fs::copy(&program, &other).expect("a copy");
        std::fs::rename(&other, &program).expect("in its place");
        let before = std::fs::read(&path).expect("a record");
        Record::read(&path).expect("a record").check(&program, &path).expect("the same content");
        assert_ne!(std::fs::read(&path).expect("a record"), before, "its stamp is remembered");
    }

    #[test]
    fn an_altered_program_is_refused_with_what_to_do() {
        let (directory, program, path) = installed();
        std::fs::write(&program, "Program").expect("a file");
        let error =
            Record::read(&path).expect("a record").check(&program, &path).expect_err("altered").to_string();
        let text = format!("Remove the directory {} to have it downloaded again", directory.path().display());
        assert!(
            error.contains("was altered after it was installed: its SHA-256 is ") && error.ends_with(&text),
            "{error}"
        );
        let other = directory.path().join("terraform-provider-x_2");
        std::fs::write(&other, "program").expect("a file");
        Record::read(&path).expect("a record").check(&other, &path).expect_err("another name");
    }

    #[test]
    fn a_program_is_refused_by_the_record_beside_its_directory() {
        let cache = tempfile::tempdir().expect("a directory");
        let package = cache.path().join("linux_amd64");
        std::fs::create_dir(&package).expect("a directory");
        let program = package.join("terraform-provider-x");
        std::fs::write(&program, "program").expect("a file");
        assert_eq!(check_program(&program).expect("nobody has recorded it"), None);
        let record = Record::of(&program, None, Verification::Unsigned).expect("it can be read");
        record.write(&cache.path().join("linux_amd64.verified.json")).expect("it can be written");
        let link = cache.path().join("link");
        isthmus_platform::files::symlink(&program, &link).expect("a link");
        for way in [&program, &link] {
            assert_eq!(check_program(way).expect("it is as it was"), Some(Verification::Unsigned));
        }
        std::fs::write(&program, "Program").expect("a file");
        for way in [&program, &link] {
            assert!(matches!(check_program(way), Err(AlteredError::Content { .. })), "{}", way.display());
        }
    }

    #[test]
    fn a_file_of_others_in_the_place_of_a_record_stays() {
        let (directory, program, path) = installed();
        let record = Record::read(&path).expect("a record");
        let elsewhere = directory.path().join("elsewhere");
        std::fs::write(&elsewhere, "of a user").expect("a file");
        type Put = fn(&Path, &Path);
        let cases: [(&str, Put); 4] = [
            ("a file", |_, path| std::fs::write(path, "of a user").expect("a file")),
            ("a directory", |_, path| std::fs::create_dir(path).expect("a directory")),
            ("a link", |elsewhere, path| isthmus_platform::files::symlink(elsewhere, path).expect("a link")),
            ("a FIFO", |_, path| {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
            }),
        ];
        for (what, put) in cases {
            let path = directory.path().join(what);
            put(&elsewhere, &path);
            assert!(Record::read(&path).is_none(), "{what}");
            for error in [record.write(&path).expect_err(what), remove_own(&path).expect_err(what)] {
                assert!(error.to_string().ends_with("was not written by isthmus; move it away"), "{error}");
            }
            assert!(path.symlink_metadata().is_ok(), "{what}");
        }
        assert_eq!(std::fs::read(&elsewhere).expect("a file"), b"of a user");
        // Ours, though damaged, and one that a crash has emptied.
        for text in ["{\n  \"format\": 9, half of it", ""] {
            std::fs::write(&path, text).expect("a file");
            record.write(&path).expect("it is ours");
        }
        assert!(program.is_file());
    }

    #[test]
    fn a_new_record_is_the_only_name_that_a_scan_of_the_cache_sees() {
        use rustix::fs::inotify;
        let (directory, program, _) = installed();
        let record = Record::of(&program, None, Verification::Unsigned).expect("it can be read");
        let events = inotify::init(inotify::CreateFlags::NONBLOCK).expect("a queue of events");
        inotify::add_watch(
            &events,
            directory.path(),
            inotify::WatchFlags::CREATE | inotify::WatchFlags::DELETE,
        )
        .expect("a directory");
        record.write(&directory.path().join("new.json")).expect("it can be written");
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&events, &mut buffer);
        let names = std::iter::from_fn(|| {
            let event = reader.next().ok()?;
            Some(event.file_name().expect("a file in the directory").to_str().expect("UTF-8").to_owned())
        });
        assert_eq!(names.collect::<Vec<_>>(), ["new.json"]);
    }

    #[test]
    fn what_is_no_record_is_none() {
        let (directory, _, path) = installed();
        let whole = std::fs::read(&path).expect("a record");
        for damaged in [&whole[..whole.len() - 2], b"", b"{}", &vec![b' '; 2 << 20]] {
            std::fs::write(&path, damaged).expect("a file");
            assert_eq!(Record::read(&path), None);
        }
        let other = String::from_utf8(whole).expect("text").replace("\"format\": 2", "\"format\": 1");
        std::fs::write(&path, other).expect("a file");
        assert_eq!(Record::read(&path), None);
        assert_eq!(Record::read(&directory.path().join("nowhere")), None);
    }
}
