//! Linux: mounts by the attribute of a directory.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, StatVfsMountFlags, StatxAttributes, StatxFlags, statvfs, statx};

/// Whether a file system is mounted at a directory.
///
/// # Errors
/// When the directory cannot be opened.
pub fn is_mount_point(directory: &Path) -> io::Result<bool> {
    // By the attribute: bind mounts of the same file system have the same device number.
    let found = statx(File::open(directory)?, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether no file of a file system can be started.
pub(super) fn forbids_execution(path: &Path) -> io::Result<bool> {
    Ok(statvfs(path)?.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
