//! Where a version goes, and how it gets there: at each moment the place is empty, or as it was, or complete.

use std::io;
use std::path::{Path, PathBuf};

use super::super::cache::record::{Record, UNFINISHED as UNFINISHED_RECORD};
use super::super::executable::find_in_folder;
use super::super::unpack::{UnpackLimits, unpack};
use super::super::{FileSum, PackageForm, Verification};
use super::InstallError;
use super::memory::UNFINISHED as UNFINISHED_LISTING;

/// The most files and folders that are copied from a mirror's unpacked package, as with archives.
const MOST_ENTRIES: usize = 100_000;

/// Where a version goes.
#[derive(Debug)]
pub(super) struct Place {
    /// What the program's name begins with.
    pub(super) program: String,
    pub(super) record: PathBuf,
    pub(super) package: PathBuf,
    /// The program that is there already.
    pub(super) before: Option<PathBuf>,
}

impl Place {
    /// Unpacks or copies the package, and puts it there.
    pub(super) fn fill(
        &self,
        staging: &tempfile::TempDir,
        package: &PackageForm,
        verification: Verification,
    ) -> Result<PathBuf, Box<InstallError>> {
        let write = |source| Box::new(InstallError::Write { path: self.package.clone(), source });
        let fresh = staging.path().join("package");
        std::fs::create_dir(&fresh).map_err(write)?;
        let sum = match package {
            PackageForm::Archive(archive) => {
                unpack(archive, &fresh, &UnpackLimits::default())
                    .map_err(|error| Box::new(InstallError::Unpack(error)))?;
                Some(FileSum::of_file(archive).map_err(write)?)
            }
            PackageForm::Folder(folder) => {
                copy(folder, &fresh)
                    .map_err(|source| Box::new(InstallError::Copy { folder: folder.clone(), source }))?;
                None
            }
        };
        let program = find_in_folder(&fresh, &self.program).map_err(write)?;
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
            // It was the right one all along, and may be running.
            let record = Record::of(before, sum, record.verification).map_err(write)?;
            record.write(&self.record).map_err(write)?;
            return Ok(before.clone());
        }
        if self.package.symlink_metadata().is_ok() {
            match std::fs::remove_file(&self.record) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(write(error)),
                _ => {}
            }
            std::fs::rename(&self.package, staging.path().join("before")).map_err(write)?;
        }
        record.write(&self.record).map_err(write)?;
        std::fs::rename(&fresh, &self.package).map_err(write)?;
        let name = program.file_name().unwrap_or_default();
        Ok(self.package.join(name))
    }
}

/// Copies a folder's files; links as what they lead to, so that the copy needs nothing else.
fn copy(folder: &Path, into: &Path) -> io::Result<()> {
    let mut left = vec![(folder.to_owned(), into.to_owned())];
    let mut entries = 0;
    while let Some((folder, into)) = left.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            entries += 1;
            if entries > MOST_ENTRIES {
                return Err(io::Error::other(format!("there are more than {MOST_ENTRIES} files in it")));
            }
            let (from, to) = (entry.path(), into.join(entry.file_name()));
            let metadata = from.metadata()?;
            if metadata.is_dir() {
                std::fs::create_dir(&to)?;
                left.push((from, to));
            } else if metadata.is_file() {
                std::fs::copy(&from, &to)?;
            } else {
                // Devices and pipes never end.
                return Err(io::Error::other(format!("{} is not a file", from.display())));
            }
        }
    }
    Ok(())
}

/// Removes what those have left who were killed. Only who has the lock may do so; whoever else is writing a record or a list of
/// versions at the moment loses it, and does without.
pub(super) fn remove_unfinished(folder: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let begins = |prefix: &str| name.as_encoded_bytes().starts_with(prefix.as_bytes());
        // What cannot be removed is in nobody's way.
        if begins(prefix) {
            let _ = std::fs::remove_dir_all(entry.path());
        } else if begins(UNFINISHED_RECORD) || begins(UNFINISHED_LISTING) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
