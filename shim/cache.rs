//! What providers offer, remembered on disk from one process to the next.
//!
//! An engine starts a plugin several times in one run, and most of those starts want a package's schema and nothing else.
//! With the provider's answer to GetProviderSchema on disk, such a start need not start the provider at all.
//!
//! An answer is kept under the provider's program (a hash of the file, and its name: one file may be several programs) and
//! under the environment that the provider sees, because the schemas of some providers depend on variables. Two
//! environments with the same schema share one file. A program that is a script is never kept: what it runs may change
//! while it stays as it is.
//!
//! Nothing here is needed: a file that is missing, damaged or of another format is as if there were none, and what
//! cannot be written is not written. Any number of processes may use one folder.
//!
//! - `files` is the folder: whole files only, checked when they are read, of a bounded size together.
//! - `binary` tells one program from another.
//! - `environment` tells one environment from another.

mod binary;
mod environment;
mod files;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

pub use binary::Program;
pub use environment::{EnvironmentPrint, VOLATILE};

use crate::plugin::ProtocolVersion;
use crate::provider::KnownSchema;
use crate::schema::{Fingerprint, SchemaAnswer};
use binary::{ProgramPrint, Sighting};
use files::Files;

/// The most that the folder holds, in bytes. What was used longest ago is removed first.
pub const LARGEST_TOTAL: u64 = 1 << 30;

/// Something could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("nothing can be kept in {}", folder.display())]
pub struct KeepError {
    /// The cache's folder.
    pub folder: PathBuf,
    /// Why not.
    #[source]
    pub source: std::io::Error,
}

/// A folder of schemas. Its methods block on the file system.
#[derive(Clone, Debug)]
pub struct SchemaCache {
    files: Files,
}

impl SchemaCache {
    /// The cache in a folder, which need not be there yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { files: Files::new(folder, LARGEST_TOTAL) }
    }

    /// What is known of a program in an environment.
    pub fn find(&self, program: &Program, environment: &EnvironmentPrint) -> Option<KnownSchema> {
        let print = match self.recall(program) {
            Some(print) => print,
            // Seen for the first time. It is worth reading only where it may be a copy, or a touched one, of a known one.
            None if self.files.any(&entry_prefix(program)) => self.hash(program).ok()?,
            None => return None,
        };
        let entry = self.files.read(&entry_name(program, &print, environment))?;
        let (protocol, fingerprint) = entry_from(&entry)?;
        let bytes = self.files.read(&answer_name(&fingerprint))?;
        let contents = SchemaAnswer { protocol, bytes }.decode().ok()?;
        // Neither is ever written, but a file may come from anywhere.
        let usable = contents.catalogue.provider().is_ok() && contents.diagnostics.is_empty();
        usable.then(|| KnownSchema { catalogue: Arc::new(contents.catalogue), fingerprint })
    }

    /// Keeps what a program answered in an environment. Nothing is kept if the program's file has changed since
    /// `program` was looked at, because then nobody knows which of the two answered.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn keep(
        &self,
        program: &Program,
        environment: &EnvironmentPrint,
        answer: &SchemaAnswer,
    ) -> Result<(), KeepError> {
        let keep = || {
            let print = match self.recall(program) {
                Some(print) => print,
                None => self.hash(program)?,
            };
            if !program.is_unchanged() {
                return Ok(());
            }
            let fingerprint = answer.fingerprint();
            let name = answer_name(&fingerprint);
            if self.files.read(&name).is_none() {
                self.files.write(&name, &answer.bytes)?;
            }
            let entry = entry_bytes(answer.protocol, &fingerprint);
            self.files.write(&entry_name(program, &print, environment), &entry)
        };
        keep().map_err(|source| KeepError { folder: self.files.folder().to_owned(), source })
    }

    /// Forgets what was known of a program in an environment.
    pub fn forget(&self, program: &Program, environment: &EnvironmentPrint) {
        if let Some(print) = self.recall(program).or_else(|| self.hash(program).ok()) {
            self.files.remove(&entry_name(program, &print, environment));
        }
    }

    /// The print of a program that was hashed before and has not changed since.
    fn recall(&self, program: &Program) -> Option<ProgramPrint> {
        Sighting::from_bytes(&self.files.read(&sighting_name(program))?)?.print_of(program)
    }

    /// Hashes a program, and remembers that.
    fn hash(&self, program: &Program) -> std::io::Result<ProgramPrint> {
        let print = program.hash()?;
        if program.is_settled() && program.is_unchanged() {
            self.files.write(&sighting_name(program), &Sighting::of(program, &print).to_bytes())?;
        }
        Ok(print)
    }
}

/// Where it is remembered what was found at a path.
fn sighting_name(program: &Program) -> String {
    format!("program-{}", short(&[program.path().as_os_str().as_encoded_bytes()]))
}

/// The size stands in the name so that a program can be seen to be unknown without reading it.
fn entry_prefix(program: &Program) -> String {
    format!("schema-of-{:x}-", program.size())
}

fn entry_name(program: &Program, print: &ProgramPrint, environment: &EnvironmentPrint) -> String {
    let file_name = program.path().file_name().unwrap_or_default().as_encoded_bytes();
    entry_prefix(program) + &short(&[print.bytes(), file_name, environment.bytes()])
}

fn answer_name(fingerprint: &Fingerprint) -> String {
    format!("schema-{fingerprint}")
}

/// A name for several things together.
fn short(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..16])
}

fn entry_bytes(protocol: ProtocolVersion, fingerprint: &Fingerprint) -> Vec<u8> {
    [&protocol.number().to_le_bytes()[..], fingerprint.bytes()].concat()
}

fn entry_from(bytes: &Bytes) -> Option<(ProtocolVersion, Fingerprint)> {
    let (protocol, fingerprint) = bytes.split_first_chunk::<4>()?;
    let protocol = ProtocolVersion::from_number(u32::from_le_bytes(*protocol))?;
    Some((protocol, Fingerprint::from_bytes(fingerprint.try_into().ok()?)))
}

#[cfg(test)]
mod tests;
