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

use isthmus_platform::directory::Directory;

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

/// Writes the marker into a directory that this process has just created as `name`.
pub fn mark(directory: &Directory, name: &OsStr, purpose: Purpose) -> io::Result<()> {
    let content = content(name, directory, purpose)?;
    directory.create_private_file(MARKER)?.write_all(&content)
}

/// The same, and locks the marker: by that, [`lock_abandoned`] knows that the directory is in use until
/// what is returned is dropped. On a file system without locks the marker stays empty, so that the
/// directory is never taken for an abandoned one.
pub fn mark_locked(directory: &Directory, name: &OsStr, purpose: Purpose) -> io::Result<File> {
    let content = content(name, directory, purpose)?;
    let mut file = directory.create_private_file(MARKER)?;
    // Before the content: a marker without a lock is of a process that has ended.
    if file.try_lock().is_ok() {
        file.write_all(&content)?;
    }
    Ok(file)
}

/// Whether isthmus created this directory with this name, for this purpose.
pub fn is_marked(directory: &Directory, name: &OsStr, purpose: Purpose) -> io::Result<bool> {
    Ok(marker(directory, name, purpose, false)?.is_some())
}

/// Locks the marker of a directory whose process, which had it locked, has ended. `None`: isthmus did
/// not create the directory with this name, for this purpose; or it is in use.
pub fn lock_abandoned(directory: &Directory, name: &OsStr, purpose: Purpose) -> io::Result<Option<File>> {
    // Network file systems only lock what is open for writing.
    let Some(file) = marker(directory, name, purpose, true)? else { return Ok(None) };
    Ok(file.try_lock().is_ok().then_some(file))
}

/// The marker of a directory; `None` if there is none of this name and purpose.
fn marker(
    directory: &Directory,
    name: &OsStr,
    purpose: Purpose,
    is_writable: bool,
) -> io::Result<Option<File>> {
    let expected = content(name, directory, purpose)?;
    let Some(file) = directory.open_own_file(MARKER, is_writable)? else { return Ok(None) };
    let mut found = Vec::new();
    (&file).take(LARGEST).read_to_end(&mut found)?;
    Ok((found == expected).then_some(file))
}

fn content(name: &OsStr, directory: &Directory, purpose: Purpose) -> io::Result<Vec<u8>> {
    let mut content =
        format!("isthmus created this directory for {}, and {}.\nname: ", purpose.text(), purpose.later())
            .into_bytes();
    content.extend_from_slice(name.as_encoded_bytes());
    content.extend_from_slice(format!("\ninode: {}\n", directory.identity()?.inode).as_bytes());
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use isthmus_platform::files::symlink;

    use super::*;

    fn is_ours(parent: &Path, name: &str) -> bool {
        let directory = Directory::open_own(&parent.join(name)).expect("it can be looked at");
        directory.is_some_and(|directory| {
            is_marked(&directory, OsStr::new(name), Purpose::Sockets).expect("it can be read")
        })
    }

    fn marked(parent: &Path, name: &str) {
        std::fs::create_dir(parent.join(name)).expect("a directory");
        let directory = Directory::open(&parent.join(name)).expect("a directory");
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
        let directory = Directory::open(&parent.path().join("one")).expect("a directory");
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
        let directory = Directory::open(parent.path()).expect("a directory");
        mark(&directory, OsStr::new("x"), Purpose::Sockets).expect_err("something is in the way");
        assert_eq!(std::fs::read(&marker).expect("the file"), b"text of a user");
    }
}
