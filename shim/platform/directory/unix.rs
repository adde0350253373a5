//! Linux and macOS: descriptors of directories, and calls relative to them.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::{Entry, Kind};
use crate::files::FileIdentity;
use crate::process::User;

/// An open directory.
#[derive(Debug)]
pub struct Directory(File);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Directory {
    /// Opens a directory.
    ///
    /// # Errors
    /// When it cannot be opened, or is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, DIRECTORY, Mode::empty())?.into()))
    }

    /// Opens a directory of the current user, not through a symbolic link. `None`: it is something
    /// else.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own(path: &Path) -> io::Result<Option<Self>> {
        own(openat(CWD, path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
    }

    /// The same of an entry of this one.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own_entry(&self, name: &OsStr) -> io::Result<Option<Self>> {
        own(openat(&self.0, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
    }

    /// Opens a directory of any user in this one, not through a symbolic link.
    ///
    /// # Errors
    /// When it cannot be opened, or is none.
    pub fn open_entry(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?.into()))
    }

    /// Which directory it is.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity(&fstat(&self.0)?))
    }

    /// What is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entries(&self) -> io::Result<Entries<'_>> {
        Ok(Entries { directory: self, names: Dir::read_from(&self.0)? })
    }

    /// Creates a file that only its owner may read and write.
    ///
    /// # Errors
    /// When it cannot be created, or something is there.
    pub fn create_private_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Opens a regular file of the current user; `None` if there is none. Does not wait for the other end of a FIFO.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own_file(&self, name: &str, is_writable: bool) -> io::Result<Option<File>> {
        let access = if is_writable { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::MLINK | Errno::ISDIR | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&file)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok((is_file && is_own(&stat)).then(|| file.into()))
    }

    /// Removes a file, a socket or a link in it. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        unless_gone(unlinkat(&self.0, name, AtFlags::empty()))
    }

    /// Removes an empty directory in it. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        unless_gone(unlinkat(&self.0, name, AtFlags::REMOVEDIR))
    }

    /// Removes an empty directory in this one if it is still `open`. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_directory_if(&self, name: &OsStr, open: &Self) -> io::Result<()> {
        let named = identity(&statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?);
        if named == open.identity()? { self.remove_directory(name) } else { Ok(()) }
    }

    /// Locks the directory itself until this is dropped; `false` if it is locked elsewhere.
    ///
    /// # Errors
    /// When the file system has no locks.
    pub fn try_lock(&self) -> io::Result<bool> {
        crate::files::try_lock(&self.0)
    }
}

/// What is in a directory.
#[derive(Debug)]
pub struct Entries<'directory> {
    directory: &'directory Directory,
    names: Dir,
}

impl Iterator for Entries<'_> {
    type Item = io::Result<Entry>;

    /// The next entry. One that goes meanwhile is left out.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.names.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = match statat(&self.directory.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Some(Err(error.into())),
            };
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Socket => Kind::Socket,
                _ => Kind::Other,
            };
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            return Some(Ok(Entry { name, kind, is_own: is_own(&stat) }));
        }
    }
}

fn own(opened: rustix::io::Result<OwnedFd>) -> io::Result<Option<Directory>> {
    match opened {
        Ok(directory) => Ok(is_own(&fstat(&directory)?).then(|| Directory(directory.into()))),
        // Errors for a symbolic link or a file; the first is system-dependent.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_own(stat: &Stat) -> bool {
    User::from_id(stat.st_uid) == User::current()
}

fn identity(stat: &Stat) -> FileIdentity {
    // Its type differs by system.
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "a number of 32 bits on macOS")]
    FileIdentity { device: stat.st_dev as u64, inode: stat.st_ino }
}

fn unless_gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}
