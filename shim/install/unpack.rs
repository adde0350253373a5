//! Unpacking of archives from untrusted publishers.
//!
//! A valid checksum does not make an archive harmless. So it may only create files in the given
//! directory, within limits. Nothing depends on how a file system compares names: two that differ
//! in case alone are refused everywhere. Modes are ignored except whether a file is executable.

use isthmus_platform::files::OpenOptionsExt as _;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{DIRECTORY, FILE, create_directories};
use isthmus_common::{Links, open_regular};
use zip::ZipArchive;
use zip::result::ZipError;

/// The file type in a mode, and the two types that may be unpacked.
const KIND: u32 = 0o170_000;
const FILE_KIND: u32 = 0o100_000;
const DIRECTORY_KIND: u32 = 0o040_000;
/// The executable bits of a mode.
const PROGRAM: u32 = 0o111;
/// Archives made on Windows have no modes, so a provider binary is recognised by its name too.
const PROGRAM_PREFIX: &str = "terraform-provider-";

/// Limits of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnpackLimits {
    /// Maximum files and directories.
    pub entries: usize,
    /// Maximum bytes of all files.
    pub bytes: u64,
    /// Maximum compression ratio.
    pub ratio: u64,
    /// Bytes that are allowed for any ratio.
    pub small: u64,
    /// Maximum length of a name in bytes.
    pub name: usize,
    pub depth: usize,
}

/// An archive was not unpacked completely; its files must be discarded.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the archive {} cannot be read", path.display())]
    Archive {
        path: PathBuf,
        #[source]
        source: ZipError,
    },
    #[error("the archive {} is refused: {fault}", path.display())]
    Refused { path: PathBuf, fault: UnpackFault },
    #[error("{} cannot be written", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Why an archive is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackFault {
    #[error("it has more than {0} entries")]
    Entries(usize),
    #[error("it unpacks to more than {0} bytes")]
    Bytes(u64),
    #[error("it unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("the name {0:?} in it does not lead into the directory that it is unpacked into")]
    Name(String),
    #[error("{0:?} in it is neither a file nor a directory")]
    Kind(String),
    #[error("{0:?} in it is encrypted")]
    Encrypted(String),
    /// A duplicate name, or a file in place of a directory.
    #[error("{0:?} is in it twice, or differs from another name only in case")]
    Twice(String),
    #[error("{0:?} in it is longer than it says")]
    Longer(String),
}

impl Default for UnpackLimits {
    /// More than twice of what the largest known provider needs.
    fn default() -> Self {
        Self { entries: 10_000, bytes: 4 << 30, ratio: 100, small: 64 << 20, name: 1024, depth: 32 }
    }
}

/// Unpacks an archive into an empty directory without other writers.
pub(crate) fn unpack(archive: &Path, directory: &Path, limits: &UnpackLimits) -> Result<(), UnpackError> {
    let unreadable = |source| UnpackError::Archive { path: archive.to_owned(), source };
    let refused = |fault| UnpackError::Refused { path: archive.to_owned(), fault };
    let file = open_regular(archive, Links::Follow).map_err(|error| unreadable(ZipError::Io(error)))?;
    let size = file.metadata().map_err(|error| unreadable(ZipError::Io(error)))?.len();
    let mut zip = ZipArchive::new(io::BufReader::new(file)).map_err(unreadable)?;
    if zip.len() > limits.entries {
        return Err(refused(UnpackFault::Entries(limits.entries)));
    }
    if zip.has_duplicate_names() {
        return Err(refused(UnpackFault::Twice("a name".to_owned())));
    }
    let by_ratio = size.saturating_mul(limits.ratio).max(limits.small);
    let mut left = limits.bytes.min(by_ratio);
    let mut names = Names::default();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(unreadable)?;
        let name = entry.name().map_err(unreadable)?.into_owned();
        let parts = parts(&name, limits).ok_or_else(|| refused(UnpackFault::Name(shown(&name))))?;
        if entry.encrypted() {
            return Err(refused(UnpackFault::Encrypted(shown(&name))));
        }
        let is_directory = name.ends_with('/');
        let mode = entry.unix_mode();
        let kind = mode.map_or(0, |mode| mode & KIND);
        let expected = if is_directory { DIRECTORY_KIND } else { FILE_KIND };
        if entry.is_symlink() || !(kind == 0 || kind == expected) {
            return Err(refused(UnpackFault::Kind(shown(&name))));
        }
        if !names.take(&parts, is_directory) {
            return Err(refused(UnpackFault::Twice(shown(&name))));
        }
        let path: PathBuf = directory.join(parts.iter().collect::<PathBuf>());
        let write = |source| UnpackError::Write { path: path.clone(), source };
        let parent = if is_directory { Some(path.as_path()) } else { path.parent() };
        if let Some(parent) = parent {
            create_directories(parent).map_err(write)?;
        }
        if is_directory {
            continue;
        }
        let last = parts.last().copied().unwrap_or_default();
        let program = mode.is_some_and(|mode| mode & PROGRAM != 0) || last.starts_with(PROGRAM_PREFIX);
        let mode = if program { DIRECTORY } else { FILE };
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).map_err(write)?;
        let announced = entry.size();
        let mut written = 0_u64;
        let mut buffer = vec![0; 1 << 17];
        loop {
            let count = match entry.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(ZipError::Io(error))),
            };
            let length = u64::try_from(count).unwrap_or(u64::MAX);
            written = written.saturating_add(length);
            if written > announced {
                return Err(refused(UnpackFault::Longer(shown(&name))));
            }
            left = left.checked_sub(length).ok_or_else(|| {
                refused(if by_ratio < limits.bytes {
                    UnpackFault::Ratio(limits.ratio)
                } else {
                    UnpackFault::Bytes(limits.bytes)
                })
            })?;
            file.write_all(&buffer[..count]).map_err(write)?;
        }
        // The content must be durable before the directory is renamed.
        file.sync_all().map_err(write)?;
    }
    Ok(())
}

/// The parts of a name that stays within the directory on any system.
fn parts<'a>(name: &'a str, limits: &UnpackLimits) -> Option<Vec<&'a str>> {
    const LONGEST_PART: usize = 255;
    let path = name.strip_suffix('/').unwrap_or(name);
    if name.len() > limits.name || name.contains(['\\', ':', '\0']) || name.contains(char::is_control) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').collect();
    let bad = |part: &&str| matches!(*part, "" | "." | "..") || part.len() > LONGEST_PART;
    (parts.len() <= limits.depth && !parts.iter().any(bad)).then_some(parts)
}

/// The names in the directory, without regard to case.
#[derive(Debug, Default)]
struct Names(HashMap<String, Taken>);

#[derive(Debug, PartialEq, Eq)]
struct Taken {
    exactly: String,
    is_directory: bool,
}

impl Names {
    /// Adds a name and its parent directories; `false` if one of them is in use.
    fn take(&mut self, parts: &[&str], is_directory: bool) -> bool {
        let mut path = String::new();
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                path.push('/');
            }
            path.push_str(part);
            let is_last = index + 1 == parts.len();
            let taken = Taken { exactly: path.clone(), is_directory: is_directory || !is_last };
            match self.0.get(&path.to_lowercase()) {
                Some(known) if *known != taken || !taken.is_directory => return false,
                Some(_) => {}
                None => {
                    self.0.insert(path.to_lowercase(), taken);
                }
            }
        }
        true
    }
}

fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
