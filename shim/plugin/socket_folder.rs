//! A folder of its own for each provider's socket, that only our user may enter.
//!
//! Its path has to be short: the address of a unix socket holds about a hundred bytes, and a provider fails at start
//! where the path is longer. A long `TMPDIR` (as macOS and CI systems have) is therefore passed over for `/tmp`.
//!
//! The folder takes away what providers leave behind, since they remove their socket only when they end well. A daemon
//! that is killed leaves the folder itself behind, so each daemon sweeps once: the owner of a folder holds a lock on
//! it, which the system releases with the process, and a folder that can be locked belongs to nobody.

use std::fs::{DirEntry, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

/// A private folder; removed when dropped.
#[derive(Debug)]
pub(super) struct SocketFolder {
    folder: TempDir,
    _lock: File,
}

/// No private folder for the provider's socket could be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "no private folder for the provider's socket can be made in {}; set TMPDIR to a folder that can be written to",
    parent.display()
)]
pub struct SocketFolderError {
    /// Where it was tried.
    pub parent: PathBuf,
    source: io::Error,
}

impl SocketFolder {
    /// Makes the folder below the first of the usual places that is short enough. Blocks on the file system.
    pub(super) fn create() -> Result<Self, SocketFolderError> {
        static SWEPT: Once = Once::new();
        let parent = short_parent(std::env::temp_dir());
        SWEPT.call_once(|| {
            let parent = parent.clone();
            // Beside the start, not before it: there may be hundreds of folders. Without a thread they wait for another daemon.
            let sweeper = std::thread::Builder::new().name("isthmus-sweeper".to_owned());
            drop(sweeper.spawn(move || sweep(&parent, UNTOUCHED_FOR)));
        });
        Self::create_in(&parent).map_err(|source| SocketFolderError { parent, source })
    }

    /// Its absolute path.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { folder, _lock: lock })
    }
}

const PREFIX: &str = "isthmus-";
/// `sun_path` is 108 bytes on Linux and 104 on macOS, one of which ends the string.
const LONGEST_SOCKET_PATH: usize = 103;
/// Our own part of the path, then go-plugin's with up to ten digits.
const LONGEST_TAIL: usize = "/isthmus-XXXXXX/plugin4294967295".len();
/// How old a folder must be to be swept: a younger one may be about to be locked.
const UNTOUCHED_FOR: Duration = Duration::from_secs(60);

fn short_parent(preferred: PathBuf) -> PathBuf {
    let length = preferred.as_os_str().as_encoded_bytes().len();
    if preferred.is_absolute() && length + LONGEST_TAIL <= LONGEST_SOCKET_PATH {
        preferred
    } else {
        PathBuf::from("/tmp")
    }
}

/// Removes the folders of daemons that are no more. What cannot be looked at or removed is left for another time.
fn sweep(parent: &Path, untouched_for: Duration) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|metadata| may_be_ours(&metadata, untouched_for))
            && let Ok(folder) = File::open(entry.path())
            && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            remove(&entry);
        }
    }
}

/// A folder (not a link to one) of our user, for nobody else, of some age.
fn may_be_ours(metadata: &Metadata, untouched_for: Duration) -> bool {
    let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
    metadata.is_dir()
        && metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & 0o777 == 0o700
        && age.is_some_and(|age| age >= untouched_for)
}

/// Sockets lie directly in the folder; anything deeper would not be ours, and stays.
fn remove(entry: &DirEntry) {
    for socket in std::fs::read_dir(entry.path()).into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(socket.path());
    }
    let _ = std::fs::remove_dir(entry.path());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_temporary_folder_is_passed_over() {
        let long = PathBuf::from(format!("/{}", "a".repeat(90)));
        assert_eq!(short_parent(long), Path::new("/tmp"));
        assert_eq!(short_parent("relative".into()), Path::new("/tmp"));
        assert_eq!(short_parent("/run/user/1000".into()), Path::new("/run/user/1000"));
    }

    #[test]
    fn the_folder_is_ours_alone_and_goes_away() {
        let folder = SocketFolder::create().expect("a folder for a test");
        let path = folder.path().to_owned();
        let mode = std::fs::metadata(&path).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(path.join("plugin4294967295").as_os_str().len() <= LONGEST_SOCKET_PATH);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_daemon_left_is_swept_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder for a test");
        let kept = SocketFolder::create_in(parent.path()).expect("a folder in use");
        let SocketFolder { folder, _lock } = SocketFolder::create_in(parent.path()).expect("a folder");
        let left = folder.keep();
        std::fs::write(left.join("plugin1"), "").expect("it is ours");
        let open = parent.path().join("isthmus-open-to-all");
        std::fs::create_dir(&open).expect("it is ours");
        std::fs::set_permissions(&open, Permissions::from_mode(0o755)).expect("it is ours");
        let other = parent.path().join("other");
        std::fs::create_dir(&other).expect("it is ours");

        drop(_lock);
        sweep(parent.path(), Duration::from_secs(60));
        assert!(left.exists(), "a young folder may be about to be locked");
        sweep(parent.path(), Duration::ZERO);
        assert!(!left.exists(), "what nobody holds is removed");
        assert!(kept.path().exists() && open.exists() && other.exists());
    }
}
