//! Removal of versions from the cache, safe with concurrent processes.
//!
//! A version is removed under the lock of its directory; if it is locked, it stays. It disappears
//! atomically: its directory is renamed to a staging directory, like that of an interrupted
//! installation, and then its record and its files are removed. The lock file remains, because
//! other processes may be waiting for it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::mounts;
use isthmus_platform::process::executables;

use super::inventory::{CachedPackage, Unfinished};
use super::lock::DirectoryLock;
use super::record::{Record, remove_own, require_own};
use super::staging::{self, Staging, is_staging};

/// The binaries that are running on this machine, as far as this process can see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningPrograms(BTreeSet<PathBuf>);

/// The result of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was removed.
    Removed,
    /// It is locked by an installation or a removal.
    Busy,
}

impl RunningPrograms {
    /// The running binaries. There are none where the system does not tell, nor those of other users.
    pub fn now() -> Self {
        Self(executables().collect())
    }

    /// Whether one of them is in this directory.
    pub fn has_one_in(&self, directory: &Path) -> bool {
        // The system reports paths without links.
        let Ok(directory) = directory.canonicalize() else { return false };
        self.0.range(directory.clone()..).next().is_some_and(|program| program.starts_with(directory))
    }
}

impl CachedPackage {
    /// Removes a version. Its running processes are unaffected.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> io::Result<Removal> {
        let Some(_lock) = DirectoryLock::try_take(&DirectoryLock::path_of(&self.directory))? else {
            return Ok(Removal::Busy);
        };
        let record = Record::path_of(&self.directory);
        require_own(&record)?;
        if !self.directory.is_symlink() {
            mounts::require_none_in(&self.directory)?;
        }
        let version = self.directory.parent().unwrap_or(&self.directory);
        let leaving = Staging::create_in(version, self.platform)?;
        fs::rename(&self.directory, leaving.path().join("removed"))?;
        remove_own(&record)?;
        leaving.close()?;
        Ok(Removal::Removed)
    }
}

impl Unfinished {
    /// Removes an interrupted installation.
    pub fn remove(&self) -> io::Result<Removal> {
        let Some(_lock) = DirectoryLock::try_take(&DirectoryLock::path_of(&self.package))? else {
            return Ok(Removal::Busy);
        };
        if self.path.symlink_metadata().is_err() {
            // Another process has completed or removed it meanwhile.
            return Ok(Removal::Removed);
        }
        if !is_staging(&self.path) {
            return Err(io::Error::other("it was not created by isthmus"));
        }
        staging::remove(&self.path)?;
        Ok(Removal::Removed)
    }
}

#[cfg(test)]
mod tests {
    use isthmus_platform::files::symlink;

    use isthmus_common::Platform;

    use super::*;
    use crate::cache::inventory::Inventory;
    use crate::cache::inventory::tests::Fixture;

    const B: &str = "example.com/a/b";

    #[test]
    fn a_removed_version_leaves_nothing_but_its_lock() {
        let fixture = Fixture::new();
        fixture.install(B, "1.0.0");
        fixture.install(B, "1.1.0");
        let package = fixture.inventory().packages.remove(1);
        assert_eq!(package.remove().expect("it can be removed"), Removal::Removed);
        let left = fs::read_dir(fixture.path("example.com/a/b/1.0.0")).expect("a directory");
        let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(left, ["linux_amd64.lock"]);
        let after = fixture.inventory();
        assert_eq!(after.packages.len(), 1);
        assert_eq!(after, Inventory { packages: after.packages.clone(), ..Inventory::default() });
        assert!(package.remove().is_err(), "it is not there any more");
    }

    #[test]
    fn of_a_link_only_the_link_is_removed() {
        let fixture = Fixture::new();
        let elsewhere = fixture.file("elsewhere/terraform-provider-b", "x");
        fs::create_dir_all(fixture.path("example.com/a/b/1.0.0")).expect("a directory");
        let target = elsewhere.parent().expect("a directory");
        symlink(target, fixture.path("example.com/a/b/1.0.0/linux_amd64")).expect("a link");
        let package = fixture.inventory().packages.remove(0);
        assert_eq!(package.size, 1);
        assert_eq!(package.remove().expect("it can be removed"), Removal::Removed);
        assert!(elsewhere.is_file() && fixture.inventory().packages.is_empty());
    }

    #[tokio::test]
    async fn what_somebody_is_at_stays() {
        let fixture = Fixture::new();
        let directory = fixture.install(B, "1.0.0");
        let platform = Platform::parse("linux_amd64").expect("a platform");
        let left = Staging::create_in(&fixture.path("example.com/a/b/1.0.0"), platform).expect("a directory");
        let unfinished = left.abandon().join("archive.zip");
        fs::write(&unfinished, "123").expect("a file");
        // Files with similar names.
        let notes = fixture.file("example.com/a/b/1.0.0/.linux_amd64.unfinished-x/notes.txt", "of a user");
        let inventory = fixture.inventory();
        assert_eq!(inventory.unfinished.len(), 1);
        let reason = "it does not carry the marker of isthmus; remove it by hand if nothing in it is needed";
        assert_eq!(inventory.skipped[0].reason, reason);
        let lock = DirectoryLock::take(&DirectoryLock::path_of(&directory), || {}).await.expect("a lock");
        assert_eq!(inventory.packages[0].remove().expect("no error"), Removal::Busy);
        let busy = inventory.unfinished[0].remove().expect("no error");
        assert!(busy == Removal::Busy && unfinished.is_file());
        drop(lock);
        for left in &inventory.unfinished {
            assert_eq!(left.remove().expect("it can"), Removal::Removed);
            assert_eq!(left.remove().expect("it is gone"), Removal::Removed);
        }
        assert!(fixture.inventory().unfinished.is_empty());
        let mistaken = Unfinished {
            path: notes.parent().expect("a directory").to_owned(),
            ..inventory.unfinished[0].clone()
        };
        let error = mistaken.remove().expect_err("it is not ours");
        assert!(error.to_string().contains("not created by isthmus") && notes.is_file(), "{error}");
    }

    #[test]
    fn a_record_that_is_none_stays() {
        let fixture = Fixture::new();
        fixture.install(B, "1.0.0");
        let package = fixture.inventory().packages.remove(0);
        let record = Record::path_of(&package.directory);
        fs::write(&record, "of a user").expect("a file");
        let error = package.remove().expect_err("something is in the place of the record");
        assert!(error.to_string().contains("was not written by isthmus"), "{error}");
        assert_eq!(fs::read(&record).expect("a file"), b"of a user");
        assert!(package.executable.is_file(), "nothing was removed");
    }

    #[test]
    fn a_program_that_runs_is_known_by_its_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let directory = directory.path().canonicalize().expect("it is there");
        for name in ["b", "bc"] {
            fs::create_dir(directory.join(name)).expect("a directory");
        }
        let running = RunningPrograms([directory.join("bc/x")].into());
        assert!(running.has_one_in(&directory.join("bc")) && running.has_one_in(&directory));
        assert!(!running.has_one_in(&directory.join("b")) && !running.has_one_in(&directory.join("nowhere")));
        let here = std::env::current_exe().expect("this program");
        let now = RunningPrograms::now();
        assert!(now.has_one_in(here.parent().expect("a directory")), "{now:?}");
        assert!(!now.has_one_in(&directory));
    }
}
