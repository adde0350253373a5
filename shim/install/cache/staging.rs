//! The staging directory of an installation or removal, next to the version's.
//!
//! It is removed on drop. That of a killed process is removed later, by another process with the
//! version's lock, and only if it has our marker: a cache may be shared with other programs. Those
//! of versions without markers must be removed by hand.

use std::io;
use std::path::Path;

use isthmus_common::marker::{Purpose, is_marked, mark};
use isthmus_common::permissions::{PRIVATE_DIRECTORY, temporary};
use isthmus_common::{Platform, mounts};
use isthmus_platform::directory::Directory;
use tempfile::TempDir;

/// A staging directory; removed on drop.
#[derive(Debug)]
pub(crate) struct Staging {
    directory: TempDir,
}

/// Infix of staging directories' names, after a full stop and the platform.
pub(super) const UNFINISHED: &str = ".unfinished-";

impl Staging {
    /// Creates one for a version and a platform, next to the version's directory.
    pub(crate) fn create_in(version: &Path, platform: Platform) -> io::Result<Self> {
        let directory = temporary(PRIVATE_DIRECTORY).prefix(&prefix(platform)).tempdir_in(version)?;
        let name = directory.path().file_name().unwrap_or_default();
        mark(&Directory::open(directory.path())?, name, Purpose::Staging)?;
        Ok(Self { directory })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes it, and returns errors that drop would ignore.
    pub(crate) fn close(self) -> io::Result<()> {
        self.directory.close()
    }
}

/// Prefix of names of staging directories for a platform.
pub(super) fn prefix(platform: Platform) -> String {
    format!(".{platform}{UNFINISHED}")
}

/// Whether this is a staging directory. If the version's lock is held, its process was killed.
pub(super) fn is_staging(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let is_ours = || -> io::Result<bool> {
        let Some(directory) = Directory::open_own(path)? else { return Ok(false) };
        is_marked(&directory, name, Purpose::Staging)
    };
    is_ours().unwrap_or(false)
}

/// Removes abandoned staging directories of a version and a platform. The caller has the version's
/// lock.
pub(crate) fn remove_abandoned(version: &Path, platform: Platform) {
    let prefix = prefix(platform);
    for entry in std::fs::read_dir(version).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) && is_staging(&entry.path()) {
            // A failure is harmless.
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a staging directory, unless something is mounted there.
pub(super) fn remove(staging: &Path) -> io::Result<()> {
    mounts::require_none_in(staging)?;
    std::fs::remove_dir_all(staging)
}

#[cfg(test)]
mod tests {
    use isthmus_platform::files::symlink;

    use super::*;

    const PLATFORM: Platform = Platform::CURRENT;

    impl Staging {
        /// Leaves it behind, as a killed process does.
        pub(crate) fn abandon(self) -> std::path::PathBuf {
            self.directory.keep()
        }
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_that_only_has_such_a_name() {
        let version = tempfile::tempdir().expect("a directory");
        let elsewhere = tempfile::tempdir().expect("a directory");
        let abandoned = Staging::create_in(version.path(), PLATFORM).expect("a directory").abandon();
        std::fs::create_dir(abandoned.join("package")).expect("a directory");
        std::fs::write(abandoned.join("package/terraform-provider-b"), "half of it").expect("a file");
        let other = Staging::create_in(elsewhere.path(), PLATFORM).expect("a directory").abandon();
        let name = |end: &str| version.path().join(prefix(PLATFORM) + end);
        std::fs::create_dir(name("unmarked")).expect("a directory");
        std::fs::write(name("unmarked").join("notes.txt"), "of a user").expect("a file");
        std::fs::create_dir(name("copied")).expect("a directory");
        let marker = isthmus_common::marker::MARKER;
        std::fs::copy(other.join(marker), name("copied").join(marker)).expect("a copy");
        std::fs::write(name("file"), "of a user").expect("a file");
        symlink(&other, name("link")).expect("a link");
        let unfinished = Platform::parse("plan9_386").expect("a platform");
        let unfinished = Staging::create_in(version.path(), unfinished).expect("a directory");

        remove_abandoned(version.path(), PLATFORM);
        assert!(!abandoned.exists());
        for path in ["unmarked/notes.txt", "copied", "file", "link"].map(name) {
            assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
        }
        assert!(other.join(marker).exists(), "what a link leads to");
        assert!(unfinished.path().exists(), "of another platform, which has a lock of its own");
    }
}
