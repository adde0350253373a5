//! Directories for what is not whole yet, and what killed processes have left of them.
//!
//! A file that must be whole or not there is written into such a directory beside its place, and gets its
//! name when it is finished. A killed process leaves the directory, with keys or objects in it perhaps. So
//! each one has a marker ([`crate::marker`]) that its process holds locked: the next one in the same place
//! removes those whose lock is free.
//!
//! Files without a name (`O_TMPFILE`) would leave nothing. But they cannot replace a file, SQLite cannot
//! write to one, and not every file system has them: this would be needed besides.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use isthmus_platform::IS_WINDOWS;
use isthmus_platform::directory::{Directory, Kind};
use isthmus_platform::files::{identity, set_mode_of_new};
use tempfile::NamedTempFile;

use crate::marker::{MARKER, Purpose, lock_abandoned, mark_locked};
use crate::mounts;
use crate::permissions::{PRIVATE_DIRECTORY, temporary};

/// Prefix of the names of directories beside a file's place.
const PREFIX: &str = ".isthmus-scratch-";
/// Number of random characters in a name.
const RANDOM: usize = 6;

/// A private directory; removed with its contents on drop.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    directory: Directory,
    /// Holds the lock.
    marker: Option<File>,
}

impl ScratchDirectory {
    /// Creates one in the directory of `path`, from where files can be renamed to it. Those that killed
    /// processes have left there are removed.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn beside(path: &Path) -> io::Result<Self> {
        Self::create_in(parent(path), PREFIX)
    }

    fn create_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        sweep(parent, prefix);
        // `tempfile` would remove the marker before other contents.
        let path = temporary(PRIVATE_DIRECTORY).prefix(prefix).rand_bytes(RANDOM).tempdir_in(parent)?.keep();
        let directory = Directory::open_own(&path)?
            .ok_or_else(|| io::Error::other("the new directory was replaced by something else"))?;
        let mut scratch = Self { path, directory, marker: None };
        let name = scratch.path.file_name().unwrap_or_default();
        scratch.marker = Some(mark_locked(&scratch.directory, name, Purpose::Scratch)?);
        Ok(scratch)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file in it, which is to get its name by `persist` or `persist_noclobber`. `mode`: its
    /// mode, before the umask.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn file(&self, mode: u32) -> io::Result<NamedTempFile> {
        let file = temporary(mode).tempfile_in(&self.path)?;
        set_mode_of_new(file.path(), mode)?;
        Ok(file)
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = remove(&self.path, &self.directory, self.marker.take());
    }
}

/// A new private directory among the system's temporary ones, removed with its contents on drop. Those of
/// this prefix that killed processes have left are removed.
///
/// # Errors
/// When it cannot be created.
pub fn temporary_directory(prefix: &str) -> io::Result<ScratchDirectory> {
    ScratchDirectory::create_in(&std::env::temp_dir(), prefix)
}

/// Removes what killed processes have left in a directory, where none is created now.
pub fn remove_abandoned(directory: &Path) {
    sweep(directory, PREFIX);
}

/// Removes directories of processes that have ended. What fails is left for the next one.
fn sweep(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if is_name(&name, prefix) {
            let _ = remove_if_abandoned(&entry.path(), &name);
        }
    }
}

fn is_name(name: &OsStr, prefix: &str) -> bool {
    let random = name.as_encoded_bytes().strip_prefix(prefix.as_bytes());
    random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
}

fn remove_if_abandoned(path: &Path, name: &OsStr) -> io::Result<()> {
    let Some(directory) = Directory::open_own(path)? else { return Ok(()) };
    // Locked until it is removed, so that only one process does so.
    let Some(marker) = lock_abandoned(&directory, name, Purpose::Scratch)? else { return Ok(()) };
    mounts::require_none_in(path)?;
    remove(path, &directory, Some(marker))
}

/// Removes a directory and its contents, the marker last: a process that is killed meanwhile leaves one
/// that still has it.
fn remove(path: &Path, directory: &Directory, marker: Option<File>) -> io::Result<()> {
    empty(directory, true)?;
    // On Windows, an open file may keep its name, and with it the directory.
    let _marker = marker.filter(|_| !IS_WINDOWS);
    directory.remove_file(OsStr::new(MARKER))?;
    // The name may refer to another directory by now; and only an empty one is removed.
    if directory.identity()? == identity(path, &path.symlink_metadata()?)? {
        std::fs::remove_dir(path)?;
    }
    Ok(())
}

/// Removes what is in an open directory. No link is followed. SQLite may remove files of its own meanwhile.
fn empty(directory: &Directory, keep_marker: bool) -> io::Result<()> {
    for entry in directory.entries()? {
        let entry = entry?;
        if keep_marker && entry.name == MARKER {
            continue;
        }
        if entry.kind == Kind::Directory {
            empty(&directory.open_entry(&entry.name)?, false)?;
            directory.remove_directory(&entry.name)?;
        } else {
            directory.remove_file(&entry.name)?;
        }
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use isthmus_platform::files::symlink;
    use isthmus_platform::process::kill_this;
    use rustix::fs::{CWD, Mode};

    use super::*;

    fn names(directory: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(directory).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    /// Leaves a directory as a killed process does, with something in it.
    fn abandoned(destination: &Path) -> PathBuf {
        let scratch = ScratchDirectory::beside(destination).expect("a directory");
        std::fs::create_dir_all(scratch.path().join("a/b")).expect("directories");
        std::fs::write(scratch.path().join("a/b/file"), "half of it").expect("a file");
        scratch.marker.as_ref().expect("a marker").unlock().expect("unlocked");
        let path = scratch.path().to_owned();
        std::mem::forget(scratch);
        path
    }

    #[test]
    fn a_file_gets_its_name_from_a_directory_that_goes_away() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let scratch = ScratchDirectory::beside(&path).expect("a directory");
        let mode = isthmus_platform::files::mode(&scratch.path().metadata().expect("a directory"));
        assert_eq!(mode & 0o777, 0o700);
        std::fs::create_dir_all(scratch.path().join("a/b")).expect("directories");
        std::fs::write(scratch.path().join("a/b/file"), "").expect("a file");
        symlink(directory.path(), scratch.path().join("a/link")).expect("a link");
        scratch.file(0o600).expect("a file").persist_noclobber(&path).expect("it gets its name");
        drop(scratch);
        assert_eq!(names(directory.path()), ["file".to_owned()].into());
    }

    #[test]
    fn what_a_process_left_is_removed_when_the_next_one_begins_or_looks() {
        // A process of its own, because a lock is held until the process ends.
        if let Some(path) = std::env::var_os("SCRATCH_BESIDE") {
            let scratch = ScratchDirectory::beside(Path::new(&path)).expect("a directory");
            std::fs::write(scratch.path().join("key"), "a secret").expect("a file");
            kill_this();
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        for next in ["creates", "looks"] {
            let this = std::env::current_exe().expect("this program");
            let name = "scratch::tests::what_a_process_left_is_removed_when_the_next_one_begins_or_looks";
            let killed = Command::new(this).args([name, "--exact"]).env("SCRATCH_BESIDE", &path).output();
            assert!(!killed.expect("it runs").status.success());
            let left = names(directory.path());
            assert!(left.len() == 1 && left.iter().all(|name| name.starts_with(PREFIX)), "{left:?}");
            if next == "creates" {
                drop(ScratchDirectory::beside(&path).expect("a directory"));
            } else {
                remove_abandoned(directory.path());
            }
            assert_eq!(names(directory.path()), [].into(), "{next}");
        }
    }

    #[test]
    fn what_is_in_use_stays_and_so_does_what_only_has_such_a_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let used = ScratchDirectory::beside(&path).expect("a directory");
        std::fs::write(used.path().join("file"), "half of it").expect("a file");
        let left = abandoned(&path);
        let name = |end: &str| directory.path().join(format!("{PREFIX}{end}"));
        std::fs::create_dir(name("empty1")).expect("a directory");
        std::fs::create_dir(name("copied")).expect("a directory");
        std::fs::copy(left.join(MARKER), name("copied").join(MARKER)).expect("a copy");
        std::fs::create_dir(name("piped1")).expect("a directory");
        let fifo = name("piped1").join(MARKER);
        rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
        std::fs::write(name("afile1"), "of a user").expect("a file");
        symlink(&left, name("linked")).expect("a link");
        std::fs::rename(&left, name("moved1")).expect("another name");

        remove_abandoned(directory.path());
        for end in ["empty1", "copied", "piped1", "afile1", "linked", "moved1"] {
            assert!(name(end).symlink_metadata().is_ok(), "{end} is gone");
        }
        assert!(name("moved1").join("a/b/file").exists(), "what is in a renamed one");
        assert!(used.path().join("file").exists(), "what is in use");
    }
}
