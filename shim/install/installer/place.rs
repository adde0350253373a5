//! Atomic placement of a version in the cache.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{DIRECTORY, create_directory, temporary, without_writers};
use isthmus_platform::files::{mode, set_mode};

use super::InstallError;
use crate::cache::record::{Record, remove_own};
use crate::cache::staging::Staging;
use crate::executable::find_in_directory;
use crate::unpack::{UnpackError, UnpackLimits, unpack};
use crate::{FileSum, PackageForm, Verification};

/// Limit of files and directories in a mirror's unpacked package, as in archives.
const MOST_ENTRIES: usize = 100_000;

/// The place of a version.
#[derive(Debug)]
pub(super) struct Place {
    /// Prefix of the binary's name.
    pub(super) program: String,
    pub(super) record: PathBuf,
    pub(super) package: PathBuf,
    /// The existing binary.
    pub(super) before: Option<PathBuf>,
}

/// The result of a placement.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) executable: PathBuf,
    /// The backup of replaced contents.
    pub(super) kept: Option<PathBuf>,
}

impl Place {
    /// Unpacks or copies the package and moves it into place. Existing contents that differ are
    /// backed up, since users may have added files.
    pub(super) fn fill(
        &self,
        staging: &Staging,
        package: &PackageForm,
        verification: Verification,
    ) -> Result<Placed, Box<InstallError>> {
        let write = |source| Box::new(InstallError::Write { path: self.package.clone(), source });
        let fresh = staging.path().join("package");
        create_directory(&fresh).map_err(write)?;
        let sum = match package {
            PackageForm::Archive(archive) => {
                unpack(archive, &fresh, &UnpackLimits::default()).map_err(|error| match error {
                    UnpackError::Write { source, .. } => write(source),
                    error => Box::new(InstallError::Unpack(error)),
                })?;
                Some(FileSum::of_file(archive).map_err(write)?)
            }
            PackageForm::Directory(directory) => {
                copy(directory, &fresh).map_err(|source| match source.kind() {
                    // What is read has room; the directory that is written to is new.
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => write(source),
                    _ => Box::new(InstallError::Copy { directory: directory.clone(), source }),
                })?;
                None
            }
        };
        let program = find_in_directory(&fresh, &self.program).map_err(write)?;
        let program = program.ok_or_else(|| {
            Box::new(InstallError::NoProgram {
                archive_of: self.package.clone(),
                program: self.program.clone(),
            })
        })?;
        let record = Record::of(&program, sum, verification).map_err(write)?;
        if let Some(before) = &self.before
            && before.file_name() == program.file_name()
            && FileSum::of_file(before).is_ok_and(|sum| Some(sum) == record.sum())
        {
            // It was already identical, and may be running.
            let record = Record::of(before, sum, record.verification).map_err(write)?;
            record.write(&self.record).map_err(write)?;
            return Ok(Placed { executable: before.clone(), kept: None });
        }
        let mut kept = None;
        if self.package.symlink_metadata().is_ok() {
            remove_own(&self.record).map_err(write)?;
            kept = Some(keep_beside(&self.package).map_err(write)?);
        }
        record.write(&self.record).map_err(write)?;
        std::fs::rename(&fresh, &self.package).map_err(write)?;
        let name = program.file_name().unwrap_or_default();
        Ok(Placed { executable: self.package.join(name), kept })
    }
}

/// Moves existing contents into a new directory next to the place, and returns its path.
fn keep_beside(package: &Path) -> io::Result<PathBuf> {
    let name = package.file_name().unwrap_or_default();
    let kept = temporary(DIRECTORY)
        .prefix(&format!("{}.replaced-", name.to_string_lossy()))
        .tempdir_in(package.parent().unwrap_or(package))?;
    // An empty directory is removed.
    std::fs::rename(package, kept.path().join(name))?;
    Ok(kept.keep().join(name))
}

/// Copies a directory's files, with links followed, so that the copy is self-contained.
fn copy(directory: &Path, into: &Path) -> io::Result<()> {
    let mut left = vec![(directory.to_owned(), into.to_owned())];
    let mut entries = 0;
    while let Some((directory, into)) = left.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            entries += 1;
            if entries > MOST_ENTRIES {
                return Err(io::Error::other(format!("there are more than {MOST_ENTRIES} files in it")));
            }
            let (from, to) = (entry.path(), into.join(entry.file_name()));
            let metadata = from.metadata()?;
            if metadata.is_dir() {
                create_directory(&to)?;
                left.push((from, to));
            } else if metadata.is_file() {
                std::fs::copy(&from, &to)?;
                set_mode(&to, without_writers(mode(&metadata)))?;
            } else {
                // Reading devices and pipes may never end.
                return Err(io::Error::other(format!("{} is not a file", from.display())));
            }
        }
    }
    Ok(())
}
