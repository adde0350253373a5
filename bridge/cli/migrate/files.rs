//! The output directory of a migration.

use isthmus_platform::files::DirBuilderExt as _;
use std::io;
use std::path::{Path, PathBuf};

use super::error::MigrateError;
use isthmus_common::permissions::{DIRECTORY, FILE, PRIVATE_DIRECTORY, PRIVATE_FILE};

use isthmus_context::new_file::write_file;

/// A file to write.
#[derive(Debug)]
pub(super) struct OutputFile {
    /// Its path within the directory.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// Whether it contains secrets: only its owner can read it then.
    pub is_private: bool,
}

impl OutputFile {
    pub(super) fn shared(path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: text.into(), is_private: false }
    }

    pub(super) fn private(path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: text.into(), is_private: true }
    }
}

/// Writes all files, or none if one exists and is not to be overwritten.
pub(super) fn write(directory: &Path, files: &[OutputFile], overwrite: bool) -> Result<(), MigrateError> {
    if !overwrite {
        let exists = |file: &&OutputFile| directory.join(&file.path).symlink_metadata().is_ok();
        if let Some(file) = files.iter().find(exists) {
            return Err(MigrateError::Exists(directory.join(&file.path)));
        }
    }
    for parent in files.iter().flat_map(|file| file.path.ancestors().skip(1)) {
        let parent = directory.join(parent);
        if parent != directory.join("") && parent.is_symlink() {
            return Err(MigrateError::Link(parent));
        }
    }
    for file in files {
        let path = directory.join(&file.path);
        write_one(file, &path, overwrite).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                MigrateError::Exists(path.clone())
            } else {
                MigrateError::Write { file: path.clone(), error }
            }
        })?;
    }
    Ok(())
}

fn write_one(file: &OutputFile, path: &Path, overwrite: bool) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let is_new = !parent.exists();
    let is_private = file.is_private && is_new && file.path.components().count() > 1;
    let mode = if is_private { PRIVATE_DIRECTORY } else { DIRECTORY };
    std::fs::DirBuilder::new().recursive(true).mode(mode).create(parent)?;
    write_file(path, &file.bytes, if file.is_private { PRIVATE_FILE } else { FILE }, overwrite)
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Whether a file can be read by others than its owner.
    fn is_shared(path: &Path) -> bool {
        isthmus_platform::files::mode(&std::fs::metadata(path).expect("a file")) & 0o077 != 0
    }

    #[test]
    fn nothing_is_written_if_a_file_exists() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = [OutputFile::shared("a", "new"), OutputFile::private("in/b", "secret")];
        std::fs::create_dir(directory.path().join("in")).expect("a directory");
        std::fs::write(directory.path().join("in/b"), "old").expect("a file");
        let error = write(directory.path(), &files, false).expect_err("a file exists").to_string();
        assert!(error.contains("in/b exists\nhelp: "), "{error}");
        assert!(!directory.path().join("a").exists());
        write(directory.path(), &files, true).expect("overwritten");
        assert_eq!(std::fs::read(directory.path().join("in/b")).expect("a file"), b"secret");
        assert!(!is_shared(&directory.path().join("in/b")));
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let elsewhere = tempfile::tempdir().expect("a directory");
        isthmus_platform::files::symlink(elsewhere.path(), directory.path().join("secrets")).expect("a link");
        let files = [OutputFile::shared("a", "text"), OutputFile::private("secrets/b", "secret")];
        for overwrite in [false, true] {
            let error = write(directory.path(), &files, overwrite).expect_err("a link").to_string();
            assert!(error.contains("secrets is a symbolic link"), "{error}");
        }
        assert!(!directory.path().join("a").exists() && !elsewhere.path().join("b").exists());
        // The directory itself may be reached through one.
        let link = elsewhere.path().join("link");
        std::fs::remove_file(directory.path().join("secrets")).expect("a link");
        isthmus_platform::files::symlink(directory.path(), &link).expect("a link");
        write(&link, &files, false).expect("written");
    }

    #[test]
    fn a_new_directory_of_secrets_is_its_owners() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = [OutputFile::private("secrets/b", "secret"), OutputFile::shared("a", "text")];
        write(&directory.path().join("out"), &files, false).expect("written");
        let out = directory.path().join("out");
        assert!(!is_shared(&out.join("secrets")) && !is_shared(&out.join("secrets/b")));
        assert_eq!(std::fs::read(out.join("a")).expect("a file"), b"text");
    }
}
