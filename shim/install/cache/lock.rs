//! The lock of a version's directory.
//!
//! The lock is on the file `OS_ARCH.lock` next to the directory, and of the kind that OpenTofu and
//! the Go bridge use (`fcntl`), so that it works with both. Such a lock belongs to a process and
//! not to a thread, and is lost as soon as the process closes the file anywhere; hence there is
//! also a lock within this process. A killed process loses the lock. The file is empty and remains.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use isthmus_common::permissions::FILE;
use isthmus_common::{blocking, open_lock_file};
use isthmus_platform::files::try_lock_for_process;
use tokio::sync::OwnedMutexGuard;

use super::beside;

/// Maximum delay between attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The locks within this process, by file.
static HERE: LazyLock<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    // The file's lock is released first.
    _file: File,
    _here: OwnedMutexGuard<()>,
}

impl DirectoryLock {
    /// The lock file of a version's directory.
    pub(crate) fn path_of(package: &Path) -> PathBuf {
        beside(package, ".lock")
    }

    /// Tries to lock; `None` if it is locked.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let Ok(here) = lock_here(path).try_lock_owned() else { return Ok(None) };
        let file = open(path)?;
        Ok(try_lock_for_process(&file)?.then_some(Self { _file: file, _here: here }))
    }

    /// Locks after waiting, which is reported once to `waiting`.
    pub(crate) async fn take(path: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        let here = lock_here(path);
        let mut waiting = Some(waiting);
        let here = match Arc::clone(&here).try_lock_owned() {
            Ok(here) => here,
            Err(_) => {
                if let Some(tell) = waiting.take() {
                    tell();
                }
                here.lock_owned().await
            }
        };
        let opened = path.to_owned();
        let file = blocking(move || open(&opened)).await?;
        let mut pause = Duration::from_millis(5);
        while !try_lock_for_process(&file)? {
            if let Some(tell) = waiting.take() {
                tell();
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(Self { _file: file, _here: here })
    }
}

/// The lock within this process for a file.
fn lock_here(path: &Path) -> Arc<tokio::sync::Mutex<()>> {
    let mut all = HERE.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, lock| Arc::strong_count(lock) > 1);
    Arc::clone(all.entry(path.to_owned()).or_default())
}

fn open(path: &Path) -> io::Result<File> {
    open_lock_file(path, FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_by_the_name_of_a_lock_is_neither_emptied_nor_reached_by_a_link() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, link) =
            (directory.path().join("linux_amd64.lock"), directory.path().join("plan9_386.lock"));
        std::fs::write(&path, "of a user").expect("a file");
        drop(DirectoryLock::try_take(&path).expect("no error").expect("a lock"));
        assert_eq!(std::fs::read(&path).expect("the file"), b"of a user");
        isthmus_platform::files::symlink(directory.path().join("elsewhere"), &link).expect("a link");
        DirectoryLock::try_take(&link).expect_err("it is a link");
        assert!(!directory.path().join("elsewhere").exists());
        let pipe = directory.path().join("darwin_arm64.lock");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a FIFO");
        let error = DirectoryLock::try_take(&pipe).expect_err("it is a FIFO");
        assert_eq!(error.to_string(), "it is a FIFO, not a regular file");
    }

    #[tokio::test]
    async fn one_at_a_time_has_a_lock() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("linux_amd64.lock");
        let first = DirectoryLock::take(&path, || panic!("nobody has it")).await.expect("a lock");
        let (told, waits) = tokio::sync::oneshot::channel();
        let other = path.clone();
        let second = tokio::spawn(async move {
            DirectoryLock::take(&other, || told.send(()).expect("somebody listens")).await.expect("a lock")
        });
        waits.await.expect("it is told to wait");
        assert!(!second.is_finished());
        assert!(DirectoryLock::try_take(&path).expect("no error").is_none());
        drop(first);
        drop(second.await.expect("no panic"));
        assert!(DirectoryLock::try_take(&path).expect("no error").is_some());
    }
}
