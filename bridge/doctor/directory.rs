//! Whether a directory can be written to, or created where it is missing, without a write.

use std::path::{Path, PathBuf};

use isthmus_platform::files::require_writable_directory;

/// What can be done with a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Usability {
    Usable,
    /// It is missing, and can be created in this one.
    Creatable(PathBuf),
    /// Something else has its name, or that of a directory above it.
    NotDirectory(PathBuf),
    /// This one is not writable, for this reason.
    NotWritable(PathBuf, String),
}

/// Looks at a directory. Blocks on the file system.
pub(super) fn usability(directory: &Path) -> Usability {
    let existing = existing(directory);
    if !existing.is_dir() {
        return Usability::NotDirectory(existing);
    }
    if let Err(error) = require_writable_directory(&existing) {
        return Usability::NotWritable(existing, error.to_string());
    }
    if existing == directory { Usability::Usable } else { Usability::Creatable(existing) }
}

/// The directory itself, or what exists of its path. Blocks on the file system.
pub(super) fn existing(directory: &Path) -> PathBuf {
    let there = directory.ancestors().find(|path| path.symlink_metadata().is_ok());
    there.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

impl Usability {
    /// Why it cannot be used, if it cannot.
    pub(super) fn fault(&self, purpose: &str, directory: &Path) -> Option<String> {
        let directory = directory.display();
        match self {
            Self::Usable | Self::Creatable(_) => None,
            Self::NotDirectory(path) => {
                Some(format!("{purpose} {directory} cannot be used: {} is not a directory", path.display()))
            }
            Self::NotWritable(path, reason) => {
                Some(format!("{purpose} {directory} cannot be written to: {}: {reason}", path.display()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_judged_by_the_one_that_it_would_be_created_in() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert_eq!(usability(root.path()), Usability::Usable);
        assert_eq!(usability(&root.path().join("a/b")), Usability::Creatable(root.path().to_owned()));
        let found = usability(&file.join("b"));
        assert_eq!(found, Usability::NotDirectory(file.clone()));
        let text = found.fault("the cache", &file.join("b")).expect("it is a fault");
        assert!(text.ends_with("file is not a directory"), "{text}");
    }
}
