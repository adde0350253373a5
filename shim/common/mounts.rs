//! Checks for mounts in directories that are about to be removed.
//!
//! A file system that a user has mounted in a directory of ours must not be emptied.

use std::fs;
use std::io;
use std::path::Path;

use isthmus_platform::files::is_mount_point;

/// Fails if something is mounted in a directory. Symbolic links are not followed.
///
/// # Errors
/// When something is mounted there, or a directory cannot be read.
pub fn require_none_in(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if is_mount_point(&entry.path())? {
                let path = entry.path();
                let text = format!("a file system is mounted at {}; unmount it", path.display());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
            }
            require_none_in(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_mounted_file_system_is_seen_and_a_directory_is_none() {
        assert!(is_mount_point(Path::new("/proc")).expect("it is there"));
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(directory.path().join("a/b")).expect("directories");
        isthmus_platform::files::symlink("/proc", directory.path().join("a/link")).expect("a link");
        require_none_in(directory.path()).expect("nothing is mounted there");
        assert!(require_none_in(Path::new("/")).is_err(), "/proc and others are mounted there");
    }
}
