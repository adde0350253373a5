//! Opening of regular files, and of nothing else.
//!
//! Opening a FIFO waits for a process at its other end, a device may do something when it is opened, and
//! reading either may never end. So what is at a path is looked at before it is opened, is opened without
//! waiting, and is looked at again before anything is read: it may have been replaced meanwhile.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use isthmus_platform::files::{FileTypeExt as _, OpenFlags, OpenOptionsExt as _, is_null_device};

use crate::permissions::without_others;

/// Something else than a regular file is in the place of one. It is the cause within an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is {kind}, not a regular file")]
pub struct NotRegular {
    /// What it is, such as "a FIFO".
    pub kind: &'static str,
}

impl NotRegular {
    /// The reason of an error, if it is this.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// Whether a symbolic link may lead to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Files that users put there, who may keep them elsewhere.
    Follow,
    /// The same, and `/dev/null` is an empty file, which users name to have none.
    FollowOrNull,
    /// Files that only isthmus puts there.
    Refuse,
}

/// Opens a regular file to be read.
///
/// # Errors
/// When it cannot be opened, or is something else ([`NotRegular`]).
pub fn open_regular(path: &Path, links: Links) -> io::Result<File> {
    open(OpenOptions::new().read(true), path, links)
}

/// Reads a regular file.
///
/// # Errors
/// As of [`open_regular`], or when it cannot be read.
pub fn read_regular(path: &Path, links: Links) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path, links)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file that is only there to be locked, not through a symbolic link, and creates it if it is
/// missing. What is in it stays.
///
/// # Errors
/// When it cannot be opened or created, or is something else ([`NotRegular`]).
pub fn open_lock_file(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(without_others(mode));
    open(&mut options, path, Links::Refuse)
}

/// Refuses what is no regular file.
///
/// # Errors
/// When it is something else ([`NotRegular`]).
pub fn require_regular(metadata: &Metadata) -> io::Result<()> {
    match kind(metadata.file_type()) {
        None => Ok(()),
        Some(kind) => Err(io::Error::new(io::ErrorKind::InvalidInput, NotRegular { kind })),
    }
}

fn require(metadata: &Metadata, links: Links) -> io::Result<()> {
    if links == Links::FollowOrNull && is_null_device(metadata) { Ok(()) } else { require_regular(metadata) }
}

fn open(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    let (looked, no_follow) = match links {
        Links::Follow | Links::FollowOrNull => (path.metadata(), false),
        Links::Refuse => (path.symlink_metadata(), true),
    };
    // If it cannot be looked at, opening it has the reason.
    if let Ok(metadata) = looked {
        require(&metadata, links)?;
    }
    let file = options.flags(OpenFlags { no_follow, no_waiting: true }).open(path)?;
    require(&file.metadata()?, links)?;
    Ok(file)
}

/// What something is; `None` for a regular file.
fn kind(file_type: FileType) -> Option<&'static str> {
    match file_type {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_symlink() => Some("a symbolic link"),
        kind if kind.is_fifo() => Some("a FIFO"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    use isthmus_platform::files::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// Something of each kind, by its name.
    fn place() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().to_owned();
        let path = move |name: &str| if name == "device" { "/dev/zero".into() } else { root.join(name) };
        std::fs::write(path("file"), "text").expect("a file");
        std::fs::create_dir(path("directory")).expect("a directory");
        mkfifoat(CWD, path("fifo"), Mode::RUSR | Mode::WUSR).expect("a FIFO");
        drop(UnixListener::bind(path("socket")).expect("a socket"));
        for (name, target) in [("link", "file"), ("dangling", "nowhere"), ("to-fifo", "fifo")] {
            symlink(path(target), path(name)).expect("a link");
        }
        (directory, path)
    }

    fn refused(opened: io::Result<impl std::fmt::Debug>) -> &'static str {
        let error = opened.expect_err("it is not a regular file");
        NotRegular::of(&error).unwrap_or_else(|| panic!("{error}")).kind
    }

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let (_directory, path) = place();
        let kinds = [
            ("directory", "a directory"),
            ("fifo", "a FIFO"),
            ("socket", "a socket"),
            ("device", "a device"),
        ];
        for (name, kind) in kinds {
            for links in [Links::Follow, Links::Refuse] {
                assert_eq!(refused(open_regular(&path(name), links)), kind, "{name}");
                assert_eq!(refused(read_regular(&path(name), links)), kind, "{name}");
            }
            assert_eq!(refused(open_lock_file(&path(name), 0o600)), kind, "{name}");
        }
        let error = open_regular(&path("fifo"), Links::Refuse).expect_err("a FIFO");
        assert_eq!(error.to_string(), "it is a FIFO, not a regular file");
    }

    #[test]
    fn a_link_leads_to_a_file_only_where_it_may() {
        let (_directory, path) = place();
        assert_eq!(read_regular(&path("link"), Links::Follow).expect("a file"), b"text");
        assert_eq!(refused(read_regular(&path("to-fifo"), Links::Follow)), "a FIFO");
        for name in ["link", "dangling", "to-fifo"] {
            assert_eq!(refused(read_regular(&path(name), Links::Refuse)), "a symbolic link", "{name}");
            assert_eq!(refused(open_lock_file(&path(name), 0o600)), "a symbolic link", "{name}");
        }
        assert!(!path("nowhere").exists(), "nothing is created through a link");
        let null = Path::new("/dev/null");
        assert_eq!(read_regular(null, Links::FollowOrNull).expect("as good as a file"), b"");
        assert_eq!(refused(read_regular(&path("device"), Links::FollowOrNull)), "a device");
        for links in [Links::Follow, Links::Refuse] {
            assert_eq!(refused(read_regular(null, links)), "a device");
        }
        for name in ["dangling", "missing"] {
            let error = read_regular(&path(name), Links::Follow).expect_err("nothing is there");
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}");
        }
    }

    #[test]
    fn a_lock_file_is_created_and_never_emptied() {
        let (_directory, path) = place();
        open_lock_file(&path("file"), 0o666).expect("a file");
        assert_eq!(std::fs::read(path("file")).expect("the file"), b"text");
        open_lock_file(&path("new"), 0o666).expect("a new file");
        let mode = isthmus_platform::files::mode(&path("new").metadata().expect("a file"));
        assert_eq!(mode & 0o022, 0, "{mode:o}");
    }
}
