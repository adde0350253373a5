//! What providers offer, remembered on disk from one process to the next.
//!
//! An engine starts a plugin several times in one run, and most of those starts want a package's schema and nothing else.
//! With the provider's answer to GetProviderSchema on disk, such a start need not start the provider at all.
//!
//! An answer is found by an index entry for the provider's executable (the digest of the file, and its name: one file may be
//! several programs), the environment that it sees, and its working directory, because the schemas of some providers depend
//! on variables or on files of a project. Answers themselves are stored once, by their fingerprints, however many entries
//! refer to them. An executable that is a script is never remembered: what it runs may change while it stays as it is.
//!
//! An executable that answers differently where the entries say that it should not, or in another directory, depends on
//! more than an entry can tell. It is marked as *variable*, on disk and for good, and never remembered again.
//!
//! Nothing here is needed: a file that is missing, damaged or of another format is as if there were none, and what
//! cannot be written is not written. Any number of processes may use one directory.
//!
//! - `files` is the directory: whole files only, checked when they are read, and only ours ever replaced or removed.
//! - `names` says what each file is.
//! - `sweep` makes room.
//! - `binary` tells one program from another.
//! - `environment` tells one environment from another, `context` adds the working directory.

mod binary;
mod context;
mod entry;
mod environment;
mod files;
mod names;
mod sweep;

use std::path::PathBuf;
use std::sync::Arc;

pub use binary::Program;
pub use context::LaunchContext;
pub use environment::EnvironmentPrint;

use crate::KnownSchema;
use crate::schema::SchemaAnswer;
use binary::{ExecutableDigest, Sighting};
use entry::Entry;
use files::Files;
use sweep::Limits;

/// How much the directory holds. What was used longest ago is removed first.
const LIMITS: Limits = Limits { bytes: 1 << 30, files: 10_000 };

/// Something could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the schema cache {}", directory.display())]
pub struct KeepError {
    /// The cache's directory.
    pub directory: PathBuf,
    /// Why not.
    #[source]
    pub source: std::io::Error,
}

/// A directory of schemas. Its methods block on the file system.
#[derive(Clone, Debug)]
pub struct SchemaCache {
    files: Files,
    limits: Limits,
}

impl SchemaCache {
    /// The cache in a directory, which need not be there yet.
    pub fn new(directory: PathBuf) -> Self {
        Self::with_limits(directory, LIMITS)
    }

    fn with_limits(directory: PathBuf, limits: Limits) -> Self {
        // A larger file would push out everything else.
        Self { files: Files::new(directory, limits.bytes / 2), limits }
    }

    /// What is known of a program in a context.
    pub fn find(&self, program: &Program, context: &LaunchContext) -> Option<KnownSchema> {
        let print = match self.recall(program) {
            Some(print) => print,
            // Seen for the first time. It is worth reading only where it may be a copy, or a touched one, of a known one.
            None if self.files.names(names::entries_of_size(program)).next().is_some() => {
                self.hash(program).ok()?
            }
            None => return None,
        };
        if self.files.contains(&names::mark(&print)) {
            return None;
        }
        let Entry { protocol, fingerprint, .. } =
            Entry::from_bytes(&self.files.read(&names::entry(program, &print, context))?)?;
        let bytes = self.files.read(&names::answer(&fingerprint))?;
        let contents = SchemaAnswer { protocol, bytes }.decode().ok()?;
        // Neither is ever written, but a file may come from anywhere.
        let usable = contents.catalogue.provider().is_ok() && contents.diagnostics.is_empty();
        usable.then(|| KnownSchema { catalogue: Arc::new(contents.catalogue), fingerprint })
    }

    /// Keeps what a program answered in a context, unless the program is variable. Nothing is kept if the program's file has
    /// changed since `program` was looked at, because then nobody knows which of the two answered.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn keep(
        &self,
        program: &Program,
        context: &LaunchContext,
        answer: &SchemaAnswer,
    ) -> Result<(), KeepError> {
        let keep = || {
            let print = self.print(program)?;
            if !program.is_unchanged() || self.files.contains(&names::mark(&print)) {
                return Ok(());
            }
            let entry = Entry::new(answer, &print);
            // Whether it is the same program with the same answer, in this directory or another.
            let mut others = self.files.names(names::entries(program, &print, context));
            if others.any(|other| self.entry(&other).is_some_and(|other| other != entry)) {
                return self.mark(&print);
            }
            let name = names::answer(&entry.fingerprint);
            if self.files.read(&name).is_none() && !self.files.write(&name, &answer.bytes)? {
                return Ok(());
            }
            self.files.write(&names::entry(program, &print, context), &entry.to_bytes())?;
            sweep::sweep_if_needed(&self.files, self.limits);
            Ok(())
        };
        keep().map_err(|source| self.error(source))
    }

    /// Marks a program as variable: it has answered otherwise than was known, so nothing is kept of it any more, in any context.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn mark_variable(&self, program: &Program) -> Result<(), KeepError> {
        let mark = || {
            let print = self.print(program)?;
            // Another program may have answered than the one that was known.
            if program.is_unchanged() { self.mark(&print) } else { Ok(()) }
        };
        mark().map_err(|source| self.error(source))
    }

    /// Forgets what was known of a program in a context.
    pub fn forget(&self, program: &Program, context: &LaunchContext) {
        if let Ok(print) = self.print(program) {
            self.files.remove(&names::entry(program, &print, context));
        }
    }

    fn mark(&self, print: &ExecutableDigest) -> std::io::Result<()> {
        self.files.write(&names::mark(print), b"")?;
        // Its entries are of no use any more, and perhaps the answers that they refer to are not either.
        sweep::sweep(&self.files, self.limits);
        Ok(())
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        Entry::from_bytes(&self.files.peek(name)?)
    }

    fn print(&self, program: &Program) -> std::io::Result<ExecutableDigest> {
        self.recall(program).map_or_else(|| self.hash(program), Ok)
    }

    /// The print of a program that was hashed before and has not changed since.
    fn recall(&self, program: &Program) -> Option<ExecutableDigest> {
        Sighting::from_bytes(&self.files.read(&names::sighting(program))?)?.print_of(program)
    }

    /// Hashes a program, and remembers that.
    fn hash(&self, program: &Program) -> std::io::Result<ExecutableDigest> {
        let print = program.hash()?;
        if program.is_settled() && program.is_unchanged() {
            self.files.write(&names::sighting(program), &Sighting::of(program, &print).to_bytes())?;
        }
        Ok(print)
    }

    fn error(&self, source: std::io::Error) -> KeepError {
        KeepError { directory: self.files.directory().to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
