//! Files next to a version's directory that belong to it.

use std::path::{Path, PathBuf};

/// The file next to a package with the package's name and `ending`.
pub(super) fn beside(package: &Path, ending: &str) -> PathBuf {
    let mut name = package.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    package.with_file_name(name)
}
