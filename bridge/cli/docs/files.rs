//! The pages as files.
//!
//! The directory is new, or empty, or one that this command has created before, which its marker proves. Of the last one, the
//! files of the reference are replaced one by one, and others stay.

use isthmus_platform::files::DirBuilderExt as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::marker::{Purpose, is_marked, mark};
use isthmus_common::scratch::ScratchDirectory;
use isthmus_platform::directory::Directory;

use super::DocsError;
use isthmus_reference::Site;

/// Modes of what others may read, before the umask.
const DIRECTORY: u32 = 0o755;
const FILE: u32 = 0o644;

/// Writes all files, and returns their number.
pub(super) fn write(site: &Site, directory: &Path) -> Result<usize, DocsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |error| DocsError::Write { path, error }
    };
    let directory = &claim(directory)?;
    let scratch = ScratchDirectory::beside(&directory.join("index.html")).map_err(failed(directory))?;
    let paths = site.paths();
    for path in &paths {
        let to = directory.join(path);
        let Some(file) = site.file(path) else { continue };
        if let Some(parent) = to.parent() {
            require_directory(parent).map_err(failed(parent))?;
        }
        let mut whole = scratch.file(FILE).map_err(failed(&to))?;
        io::Write::write_all(&mut whole, file.content.as_bytes()).map_err(failed(&to))?;
        whole.persist(&to).map_err(|error| error.error).map_err(failed(&to))?;
    }
    Ok(paths.len())
}

/// Creates the directory with its marker, or finds that it is ours. Returns where links to it lead.
fn claim(directory: &Path) -> Result<PathBuf, DocsError> {
    let failed = |error| DocsError::Write { path: directory.to_owned(), error };
    let foreign = || DocsError::Foreign(directory.to_owned());
    if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        DirBuilder::new().mode(DIRECTORY).recursive(true).create(parent).map_err(failed)?;
    }
    match new_directory(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    // The name that the marker has, whichever way leads there.
    let whole = directory.canonicalize().map_err(failed)?;
    let name = whole.file_name().ok_or_else(foreign)?;
    let open = Directory::open_own(&whole).map_err(failed)?.ok_or_else(foreign)?;
    if is_marked(&open, name, Purpose::Reference).map_err(failed)? {
        return Ok(whole);
    }
    if fs::read_dir(&whole).map_err(failed)?.next().is_some() {
        return Err(foreign());
    }
    mark(&open, name, Purpose::Reference).map_err(failed)?;
    Ok(whole)
}

/// A directory in ours: a new one, or one that is there; no link to elsewhere.
fn require_directory(path: &Path) -> io::Result<()> {
    match new_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if path.symlink_metadata()?.is_dir() { Ok(()) } else { Err(io::Error::other("it is not a directory")) }
}

fn new_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).create(path)
}
