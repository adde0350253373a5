//! The private directory of a provider's socket.
//!
//! It is in `$XDG_RUNTIME_DIR/isthmus` if the system has that, else in the temporary directory. Its
//! path must be short: the address of a Unix socket is limited to about a hundred bytes, and a
//! provider fails to start with a longer path. If a parent is too long (macOS and CI systems have
//! such a `TMPDIR`), `/tmp` is used.
//!
//! Providers remove their socket only on a clean exit, and a killed daemon leaves the directory. A
//! directory is removed only if it has our marker ([`isthmus_common::marker`]), is not locked (the
//! system releases the lock with the process), and contains nothing but sockets and the marker.
//! Each daemon sweeps once; directories of versions without markers remain.
//!
//! Checks and removals are relative to open directories and follow no link, so that replacing a
//! name does not redirect them.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use isthmus_common::marker::{MARKER, Purpose, is_marked, mark};
use isthmus_common::permissions::{PRIVATE_DIRECTORY, temporary};
use isthmus_platform::directory::{Directory, Kind};
use isthmus_platform::files::{DirBuilderExt as _, Protection, protection};
use isthmus_platform::process::User;

use super::log_level::Level;
use super::logs::Logs;

/// A private directory; removed on drop, unless the provider left a file in it.
#[derive(Debug)]
pub(super) struct SocketDirectory {
    path: PathBuf,
    parent: Directory,
    /// Holds the lock.
    directory: Directory,
    logs: Logs,
}

/// Creating the directory failed.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to create a private directory for the provider's socket in {}; set TMPDIR to a writable directory",
    parent.display()
)]
pub struct SocketDirectoryError {
    /// The parent directory.
    pub parent: PathBuf,
    source: io::Error,
}

impl SocketDirectory {
    /// Creates the directory in the first suitable parent. Blocks on the file system.
    pub(super) fn create(logs: &Logs) -> Result<Self, SocketDirectoryError> {
        static SWEPT: Once = Once::new();
        let temporary = short_parent(std::env::temp_dir());
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").and_then(|path| runtime_parent(Path::new(&path)));
        SWEPT.call_once(|| {
            let (logs, places) = (logs.clone(), [Some(temporary.clone()), runtime.clone()]);
            // In parallel with the start: there may be hundreds of directories. If the thread
            // fails, another daemon sweeps.
            let sweeper = std::thread::Builder::new().name("isthmus-sweeper".to_owned());
            drop(sweeper.spawn(move || {
                for place in places.into_iter().flatten() {
                    sweep(&place, &logs);
                }
            }));
        });
        if let Some(Ok(directory)) = runtime.map(|runtime| Self::create_in(&runtime, logs)) {
            return Ok(directory);
        }
        Self::create_in(&temporary, logs).map_err(|source| SocketDirectoryError { parent: temporary, source })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn create_in(parent: &Path, logs: &Logs) -> io::Result<Self> {
        let opened = Directory::open(parent)?;
        // `tempfile` would remove it with all contents.
        let path = temporary(PRIVATE_DIRECTORY).prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(parent)?.keep();
        let name = path.file_name().unwrap_or_default().to_owned();
        let directory = opened
            .open_own_entry(&name)?
            .ok_or_else(|| io::Error::other("the new directory was replaced by something else"))?;
        let directory = Self { path, parent: opened, directory, logs: logs.clone() };
        if !directory.directory.try_lock()? {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        // After the lock: a marker without a lock is from a killed daemon.
        mark(&directory.directory, &name, Purpose::Sockets)?;
        Ok(directory)
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let name = self.path.file_name().unwrap_or_default();
        match remove(&self.parent, name, &self.directory) {
            Ok(Removal::Done) => {}
            Ok(Removal::Occupied(entry)) => self.logs.note(Level::Warn, occupied(&self.path, &entry)),
            Err(error) => {
                let text = format!("failed to remove the socket directory {}: {error}", self.path.display());
                self.logs.note(Level::Debug, text);
            }
        }
    }
}

const PREFIX: &str = "isthmus-sockets-";
/// Number of random characters.
const RANDOM: usize = 6;
/// `sun_path` is 108 bytes on Linux and 104 on macOS, with a terminating NUL.
const LONGEST_SOCKET_PATH: usize = 103;
/// Our part of the path, then go-plugin's with up to ten digits.
const LONGEST_TAIL: usize = "/isthmus-sockets-XXXXXX/plugin4294967295".len();

fn short_parent(preferred: PathBuf) -> PathBuf {
    if is_usable(&preferred) { preferred } else { PathBuf::from("/tmp") }
}

fn is_usable(parent: &Path) -> bool {
    let is_short = parent.as_os_str().len() + LONGEST_TAIL <= LONGEST_SOCKET_PATH;
    parent.is_absolute() && is_short && fits_handshake(parent)
}

/// Whether the handshake line, whose fields are separated by `|`, can contain the path.
fn fits_handshake(path: &Path) -> bool {
    path.to_str().is_some_and(|text| !text.contains(['\n', '\r', '|']))
}

/// Our directory in the runtime directory of the user's session, created if it is missing.
fn runtime_parent(runtime: &Path) -> Option<PathBuf> {
    let parent = runtime.join("isthmus");
    if !is_usable(&parent) || !is_private(runtime) {
        return None;
    }
    // An existing one is checked next.
    let _ = DirBuilder::new().mode(PRIVATE_DIRECTORY).create(&parent);
    is_private(&parent).then_some(parent)
}

/// A directory (no link) of our user that no other user may enter.
fn is_private(path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    let is_private = |found: Protection| found.owner == User::current() && found.mode & 0o077 == 0;
    metadata.is_dir() && protection(path, &metadata).is_ok_and(is_private)
}

/// Removes directories of exited daemons. Failures are left for the next sweep.
fn sweep(place: &Path, logs: &Logs) {
    let Ok(parent) = Directory::open(place) else { return };
    let Ok(names) = std::fs::read_dir(place) else { return };
    for name in names.flatten().map(|entry| entry.file_name()) {
        let name = name.as_os_str();
        if !is_our_name(name) {
            continue;
        }
        match remove_abandoned(&parent, name) {
            Ok(None | Some(Removal::Done)) => {}
            Ok(Some(Removal::Occupied(entry))) => {
                logs.note(Level::Debug, occupied(&place.join(name), &entry));
            }
            Err(error) => {
                let path = place.join(name);
                let text = format!("failed to remove the abandoned directory {}: {error}", path.display());
                logs.note(Level::Debug, text);
            }
        }
    }
}

fn is_our_name(name: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes());
    rest.is_some_and(|rest| rest.len() == RANDOM && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// Result of a removal.
#[derive(Debug, PartialEq, Eq)]
enum Removal {
    Done,
    /// Nothing was removed, because of this entry.
    Occupied(OsString),
}

fn occupied(path: &Path, entry: &OsStr) -> String {
    format!(
        "socket directory {} not removed: it contains {}, which is not a socket",
        path.display(),
        entry.to_string_lossy()
    )
}

/// Removes the directory of a killed daemon. `None`: it is none, or in use.
fn remove_abandoned(parent: &Directory, name: &OsStr) -> io::Result<Option<Removal>> {
    let Some(directory) = parent.open_own_entry(name)? else { return Ok(None) };
    // Before the lock is tried: a directory is locked before its marker appears.
    if !is_marked(&directory, name, Purpose::Sockets)? || !directory.try_lock().is_ok_and(|locked| locked) {
        return Ok(None);
    }
    remove(parent, name, &directory).map(Some)
}

/// Removes our directory if it contains nothing but sockets and the marker.
fn remove(parent: &Directory, name: &OsStr, directory: &Directory) -> io::Result<Removal> {
    let mut sockets = Vec::new();
    for entry in directory.entries()? {
        let entry = entry?;
        match entry.kind {
            Kind::Socket if entry.is_own => sockets.push(entry.name),
            Kind::File if entry.is_own && entry.name == MARKER => {}
            _ => return Ok(Removal::Occupied(entry.name)),
        }
    }
    for socket in &sockets {
        directory.remove_file(socket)?;
    }
    directory.remove_file(OsStr::new(MARKER))?;
    // The name may refer to another directory by now; and only an empty one is removed.
    parent.remove_directory_if(name, directory)?;
    Ok(Removal::Done)
}

#[cfg(test)]
mod tests;
