//! macOS: mounts by the number of the file system, since it has no bind mounts.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::statfs;

/// Whether a file system is mounted at a directory.
///
/// # Errors
/// When the directory cannot be opened.
pub fn is_mount_point(directory: &Path) -> io::Result<bool> {
    let parent = directory.parent().unwrap_or(directory).metadata()?.dev();
    Ok(File::open(directory)?.metadata()?.dev() != parent)
}

/// Whether no file of a file system can be started.
pub(super) fn forbids_execution(path: &Path) -> io::Result<bool> {
    let no_execution = libc::MNT_NOEXEC.cast_unsigned();
    Ok(statfs(path)?.f_flags & no_execution != 0)
}
