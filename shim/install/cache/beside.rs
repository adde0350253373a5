//! Files beside a version's directory that belong to it.

use std::path::{Path, PathBuf};

/// The file beside a package whose name goes on with `ending` behind that of the package.
pub(super) fn beside(package: &Path, ending: &str) -> PathBuf {
    let mut name = package.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    package.with_file_name(name)
}
