//! The marker file of a directory that isthmus created, and may therefore remove.
//!
//! A name proves nothing: users call directories `isthmus-…` too. The marker contains the purpose
//! of the directory, its name and its inode number, so that a copy of the marker, or of the whole
//! directory, is not accepted. If a file system changes inode numbers, abandoned directories
//! remain, which costs a few bytes.
//!
//! All operations are relative to an open directory and follow no symbolic link, so that a
//! concurrent replacement is not accessed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat};

/// File name of the marker.
pub const MARKER: &str = ".isthmus-directory";

/// Purpose of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The sockets of one provider process.
    Sockets,
    /// A download or an installation in progress.
    Staging,
    /// Files that are not whole yet, or that only one process needs.
    Scratch,
    /// Reference pages of a provider, for users to keep.
    Reference,
}

impl Purpose {
    fn text(self) -> &'static str {
        match self {
            Self::Sockets => "the sockets of a provider process",
            Self::Staging => "an installation in progress",
            Self::Scratch => "files in progress",
            Self::Reference => "reference pages of a provider",
        }
    }

    /// What isthmus does with it later.
    fn later(self) -> &'static str {
        match self {
            Self::Sockets | Self::Staging | Self::Scratch => "removes it",
            Self::Reference => "replaces its own files in it",
        }
    }
}

/// Size limit of a marker.
const LARGEST: u64 = 4096;

/// Opens a directory of the current user, not through a symbolic link. `None`: it is something
/// else.
pub fn open_own_directory(parent: impl AsFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        Ok(directory) => Ok(is_own(&fstat(&directory)?).then_some(directory)),
        // Errors for a symbolic link or a file; the first is system-dependent.
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP | rustix::io::Errno::MLINK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes the marker into a directory that this process has just created as `name`.
pub fn mark(directory: impl AsFd, name: &OsStr, purpose: Purpose) -> io::Result<()> {
    let directory = directory.as_fd();
    let content = content(name, &fstat(directory)?, purpose);
    create(directory)?.write_all(&content)
}

/// The same, and locks the marker: by that, [`lock_abandoned`] knows that the directory is in use until
/// what is returned is dropped. On a file system without locks the marker stays empty, so that the
/// directory is never taken for an abandoned one.
pub fn mark_locked(directory: impl AsFd, name: &OsStr, purpose: Purpose) -> io::Result<File> {
    let directory = directory.as_fd();
    let content = content(name, &fstat(directory)?, purpose);
    let mut file = create(directory)?;
    // Before the content: a marker without a lock is of a process that has ended.
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        file.write_all(&content)?;
    }
    Ok(file)
}

/// Whether isthmus created this directory with this name, for this purpose.
pub fn is_marked(directory: impl AsFd, name: &OsStr, purpose: Purpose) -> io::Result<bool> {
    Ok(marker(directory.as_fd(), name, purpose, OFlags::RDONLY)?.is_some())
}

/// Locks the marker of a directory whose process, which had it locked, has ended. `None`: isthmus did
/// not create the directory with this name, for this purpose; or it is in use.
pub fn lock_abandoned(directory: impl AsFd, name: &OsStr, purpose: Purpose) -> io::Result<Option<File>> {
    // Network file systems only lock what is open for writing.
    let Some(file) = marker(directory.as_fd(), name, purpose, OFlags::RDWR)? else { return Ok(None) };
    Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file))
}

fn create(directory: BorrowedFd<'_>) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, MARKER, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The marker of a directory; `None` if there is none of this name and purpose.
fn marker(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    purpose: Purpose,
    access: OFlags,
) -> io::Result<Option<File>> {
    let expected = content(name, &fstat(directory)?, purpose);
    // Does not block on a pipe.
    let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match openat(directory, MARKER, flags, Mode::empty()) {
        Ok(file) => file,
        Err(
            rustix::io::Errno::NOENT
            | rustix::io::Errno::LOOP
            | rustix::io::Errno::MLINK
            | rustix::io::Errno::ISDIR
            | rustix::io::Errno::NXIO,
        ) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_own(&stat) {
        return Ok(None);
    }
    let (file, mut found) = (File::from(file), Vec::new());
    (&file).take(LARGEST).read_to_end(&mut found)?;
    Ok((found == expected).then_some(file))
}

/// Whether the current user owns a file.
pub fn is_own(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}

fn content(name: &OsStr, directory: &Stat, purpose: Purpose) -> Vec<u8> {
    let mut content =
        format!("isthmus created this directory for {}, and {}.\nname: ", purpose.text(), purpose.later())
            .into_bytes();
    content.extend_from_slice(name.as_encoded_bytes());
    content.extend_from_slice(format!("\ninode: {}\n", directory.st_ino).as_bytes());
    content
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn is_ours(parent: &Path, name: &str) -> bool {
        let parent = File::open(parent).expect("a directory");
        let directory = open_own_directory(&parent, OsStr::new(name)).expect("it can be looked at");
        directory.is_some_and(|directory| {
            is_marked(&directory, OsStr::new(name), Purpose::Sockets).expect("it can be read")
        })
    }

    fn marked(parent: &Path, name: &str) {
        std::fs::create_dir(parent.join(name)).expect("a directory");
        let directory = File::open(parent.join(name)).expect("a directory");
        mark(&directory, OsStr::new(name), Purpose::Sockets).expect("it is marked");
    }

    #[test]
    fn only_the_directory_that_was_marked_is_recognised() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = |name: &str| parent.path().join(name);
        marked(parent.path(), "one");
        assert!(is_ours(parent.path(), "one"));
        for name in ["copy", "unmarked", "linked", "piped"] {
            std::fs::create_dir(path(name)).expect("a directory");
        }
        std::fs::copy(path("one").join(MARKER), path("copy").join(MARKER)).expect("a copy");
        symlink(path("one").join(MARKER), path("linked").join(MARKER)).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(path("piped").join(MARKER)).status();
        assert!(made.is_ok_and(|status| status.success()), "a pipe in a new directory");
        symlink(path("one"), path("link")).expect("a link");
        std::fs::write(path("file"), "").expect("a file");
        for name in ["copy", "unmarked", "linked", "piped", "link", "file"] {
            assert!(!is_ours(parent.path(), name), "{name}");
        }
        std::fs::rename(path("one"), path("renamed")).expect("a new name");
        assert!(!is_ours(parent.path(), "renamed"));
    }

    #[test]
    fn a_marker_of_another_purpose_or_with_more_in_it_is_none() {
        let parent = tempfile::tempdir().expect("a directory");
        marked(parent.path(), "one");
        let directory = File::open(parent.path().join("one")).expect("a directory");
        let is = |purpose| is_marked(&directory, OsStr::new("one"), purpose).expect("it can be read");
        assert!(is(Purpose::Sockets) && !is(Purpose::Staging));
        let marker = parent.path().join("one").join(MARKER);
        let mut text = std::fs::read(&marker).expect("the marker");
        text.push(b'x');
        std::fs::write(&marker, text).expect("the marker");
        assert!(!is(Purpose::Sockets));
    }

    #[test]
    fn a_marker_does_not_replace_a_file() {
        let parent = tempfile::tempdir().expect("a directory");
        let marker = parent.path().join(MARKER);
        std::fs::write(&marker, "text of a user").expect("a file");
        let directory = File::open(parent.path()).expect("a directory");
        mark(&directory, OsStr::new("x"), Purpose::Sockets).expect_err("something is in the way");
        assert_eq!(std::fs::read(&marker).expect("the file"), b"text of a user");
    }
}
