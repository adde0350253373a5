//! Windows: paths, and the number of the directory that was opened, which is compared before anything is removed.
//!
//! Other users cannot replace names in the directories that are opened so: each user has temporary directories of their own.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_WRITE_DATA,
};

use super::{Entry, Kind};
use crate::files::{FileIdentity, identity, identity_of, protection, protection_of};
use crate::process::User;

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    handle: File,
    path: PathBuf,
    /// Held while the directory is locked.
    lock: std::sync::OnceLock<File>,
}

impl Directory {
    /// Opens a directory.
    ///
    /// # Errors
    /// When it cannot be opened, or is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let found = path.canonicalize()?;
        Self::open_itself(found)
    }

    fn open_itself(path: PathBuf) -> io::Result<Self> {
        let handle = OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
            .open(&path)?;
        let metadata = handle.metadata()?;
        if metadata.is_symlink() || !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { handle, path, lock: std::sync::OnceLock::new() })
    }

    /// Opens a directory of the current user, not through a symbolic link. `None`: it is something
    /// else.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own(path: &Path) -> io::Result<Option<Self>> {
        match Self::open_itself(std::path::absolute(path)?) {
            Ok(directory) => {
                let metadata = directory.handle.metadata()?;
                let owner = protection(&directory.path, &metadata)?.owner;
                Ok(is_ours(owner).then_some(directory))
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same of an entry of this one.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own_entry(&self, name: &OsStr) -> io::Result<Option<Self>> {
        Self::open_own(&self.path.join(name))
    }

    /// Opens a directory of any user in this one, not through a symbolic link.
    ///
    /// # Errors
    /// When it cannot be opened, or is none.
    pub fn open_entry(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_itself(self.path.join(name))
    }

    /// Which directory it is.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        identity_of(&self.handle)
    }

    /// What is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entries(&self) -> io::Result<Entries<'_>> {
        Ok(Entries { found: fs::read_dir(&self.path)?, _directory: self })
    }

    /// Creates a file that only its owner may read and write.
    ///
    /// # Errors
    /// When it cannot be created, or something is there.
    pub fn create_private_file(&self, name: &str) -> io::Result<File> {
        let path = self.path.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        crate::files::set_mode(&path, 0o600)?;
        Ok(file)
    }

    /// Opens a regular file of the current user; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_own_file(&self, name: &str, is_writable: bool) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(is_writable).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        let file = match options.open(self.path.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        let is_own = metadata.is_file() && is_ours(protection_of(&file, &metadata)?.owner);
        Ok(is_own.then_some(file))
    }

    /// Removes a file, a socket or a link in it. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.require_unchanged()?;
        let path = self.path.join(name);
        // A link to a directory is removed as a directory is.
        let is_directory_link = path
            .symlink_metadata()
            .is_ok_and(|found| std::os::windows::fs::FileTypeExt::is_symlink_dir(&found.file_type()));
        unless_gone(if is_directory_link { fs::remove_dir(path) } else { fs::remove_file(path) })
    }

    /// Removes an empty directory in it. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        self.require_unchanged()?;
        unless_gone(fs::remove_dir(self.path.join(name)))
    }

    /// Removes an empty directory in this one if it is still `open`. One that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_directory_if(&self, name: &OsStr, open: &Self) -> io::Result<()> {
        let path = self.path.join(name);
        let named = identity(&path, &path.symlink_metadata()?)?;
        if named == open.identity()? { self.remove_directory(name) } else { Ok(()) }
    }

    fn require_unchanged(&self) -> io::Result<()> {
        let found = identity(&self.path, &self.path.symlink_metadata()?)?;
        if found == self.identity()? { Ok(()) } else { Err(io::Error::other("the directory was replaced")) }
    }

    /// Locks the directory itself until this is dropped; `false` if it is locked elsewhere.
    ///
    /// By a second handle that shares no writing, which the ones of [`Self::open`] do not ask for.
    ///
    /// # Errors
    /// When the directory cannot be opened so.
    pub fn try_lock(&self) -> io::Result<bool> {
        let opened = OpenOptions::new()
            .access_mode(FILE_WRITE_DATA)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
            .open(&self.path);
        match opened {
            Ok(lock) => Ok(self.lock.set(lock).is_ok()),
            Err(error) if error.raw_os_error() == i32::try_from(ERROR_SHARING_VIOLATION).ok() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What is in a directory.
#[derive(Debug)]
pub struct Entries<'directory> {
    found: fs::ReadDir,
    _directory: &'directory Directory,
}

impl Iterator for Entries<'_> {
    type Item = io::Result<Entry>;

    /// The next entry. One that goes meanwhile is left out.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.found.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            let owned = entry.metadata().and_then(|metadata| {
                Ok((kind(&metadata), is_ours(protection(&entry.path(), &metadata)?.owner)))
            });
            match owned {
                Ok((kind, is_own)) => return Some(Ok(Entry { name: entry.file_name(), kind, is_own })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn kind(metadata: &Metadata) -> Kind {
    match metadata.file_type() {
        kind if kind.is_symlink() => Kind::Other,
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        _ => Kind::Other,
    }
}

/// What an administrator creates belongs to the group.
fn is_ours(owner: User) -> bool {
    owner == User::current() || owner.is_root() && User::current_is_administrator()
}

fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
