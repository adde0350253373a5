//! Identity of an executable.
//!
//! It is the SHA-256 of the file, which is stored by its path and its [`FileStamp`], so that the file
//! is not always read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use isthmus_common::FileStamp;
use sha2::{Digest as _, Sha256};

/// An executable's file and its state when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    state: FileStamp,
}

/// The hash of an executable's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExecutableDigest(pub(super) [u8; 32]);

impl Program {
    /// Reads the file's state. `None` if its content does not identify it: no readable file, or a
    /// script, which runs another program.
    pub fn look(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        let state = stamp(&path).ok()?;
        let mut beginning = [0; 2];
        File::open(&path).and_then(|mut file| file.read_exact(&mut beginning)).ok()?;
        (beginning != *b"#!").then_some(Self { path, state })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn size(&self) -> i64 {
        self.state.size()
    }

    pub(super) fn stamp_bytes(&self) -> Vec<u8> {
        <[i64; FileStamp::NUMBERS]>::from(self.state).into_iter().flat_map(i64::to_le_bytes).collect()
    }

    /// Whether the file is unchanged.
    pub fn is_unchanged(&self) -> bool {
        stamp(&self.path).is_ok_and(|now| now == self.state)
    }

    /// Whether the file's times are old enough to detect the next change.
    pub(super) fn is_settled(&self) -> bool {
        self.state.is_settled()
    }

    /// Hashes the whole file.
    pub(super) fn hash(&self) -> io::Result<ExecutableDigest> {
        let mut file = File::open(&self.path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(ExecutableDigest(hash.finalize().into())),
                Ok(count) => hash.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn stamp(path: &Path) -> io::Result<FileStamp> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_file() { FileStamp::of(path, &metadata) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(content: &[u8]) -> (Option<Program>, tempfile::TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("terraform-provider-x");
        std::fs::write(&path, content).expect("a file");
        (Program::look(&path), directory)
    }

    #[test]
    fn a_file_that_changes_is_seen_to_have_changed() {
        let (seen, directory) = program(b"\x7fELF one");
        let seen = seen.expect("a program");
        assert!(seen.is_unchanged());
        assert!(!seen.is_settled(), "it was written just now");
        let path = directory.path().join("terraform-provider-x");
        let print = seen.hash().expect("it can be read");

        let other = directory.path().join("other");
        std::fs::write(&other, b"\x7fELF two").expect("a file");
        std::fs::rename(&other, &path).expect("a file");
        assert!(!seen.is_unchanged());
        let now = Program::look(&path).expect("a program");
        assert_ne!(now.hash().expect("it can be read"), print);
    }

    #[test]
    fn what_cannot_be_told_by_its_content_is_not_looked_at() {
        assert_eq!(program(b"#!/bin/sh\nexec ./other").0, None);
        assert_eq!(program(b"").0, None);
        assert_eq!(Program::look(Path::new("/nowhere/at/all")), None);
        assert_eq!(Program::look(Path::new("/")), None);
    }
}
