//! The schema cache on disk.
//!
//! An engine starts a plugin several times in one run, mostly for a package's schema only. With a
//! cached response to GetProviderSchema, such a start does not start the provider.
//!
//! The key of a response is an index entry for the provider's executable (the digest of the file,
//! and its name: one file may be several programs), its environment, and its working directory,
//! because some schemas depend on variables or on files of a project. Responses are stored once, by
//! their fingerprints. Scripts are never cached: the programs that they run may change.
//!
//! If an executable's response contradicts its entries, or differs in another directory, it depends
//! on more than an entry contains. It is marked as *variable* permanently, and never cached again.
//!
//! The cache is optional: files that are missing, damaged or of another format are ignored, and so
//! are failures to write. Any number of processes may use one directory.
//!
//! - `files` is the directory, with validated files, of which only ours are replaced or removed.
//! - `names` are the names of files by kind.
//! - `sweep` removes files when the cache is full.
//! - `binary` identifies an executable.
//! - `environment` identifies an environment, `context` adds the working directory.

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

/// Size limits. The least recently used files are removed first.
const LIMITS: Limits = Limits { bytes: 1 << 30, files: 10_000 };

/// Writing to the cache failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the schema cache {}", directory.display())]
pub struct KeepError {
    /// The cache's directory.
    pub directory: PathBuf,
    /// The cause.
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
    /// The cache in a directory, which may not exist yet.
    pub fn new(directory: PathBuf) -> Self {
        Self::with_limits(directory, LIMITS)
    }

    fn with_limits(directory: PathBuf, limits: Limits) -> Self {
        // A larger file would displace all others.
        Self { files: Files::new(directory, limits.bytes / 2), limits }
    }

    /// The known schema of an executable in a context.
    pub fn find(&self, program: &Program, context: &LaunchContext) -> Option<KnownSchema> {
        let print = match self.recall(program) {
            Some(print) => print,
            // Not seen before. It is only hashed if it may be a copy, or a touched one, of a known
            // executable.
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
        // These are never written, but a file may be from elsewhere.
        let usable = contents.catalogue.provider().is_ok() && contents.diagnostics.is_empty();
        usable.then(|| KnownSchema { catalogue: Arc::new(contents.catalogue), fingerprint })
    }

    /// Stores an executable's response in a context, unless the executable is variable, or has
    /// changed since `program` was read: then it is unknown which of the two responded.
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
            // Whether it is the same executable with the same response, in this directory or
            // another.
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

    /// Marks an executable as variable: its response differed from the known one, so nothing is
    /// stored for it any more, in any context.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn mark_variable(&self, program: &Program) -> Result<(), KeepError> {
        let mark = || {
            let print = self.print(program)?;
            // The response may be of another executable.
            if program.is_unchanged() { self.mark(&print) } else { Ok(()) }
        };
        mark().map_err(|source| self.error(source))
    }

    /// Removes the entry of an executable in a context.
    pub fn forget(&self, program: &Program, context: &LaunchContext) {
        if let Ok(print) = self.print(program) {
            self.files.remove(&names::entry(program, &print, context));
        }
    }

    fn mark(&self, print: &ExecutableDigest) -> std::io::Result<()> {
        self.files.write(&names::mark(print), b"")?;
        // Its entries are obsolete, and perhaps their responses too.
        sweep::sweep(&self.files, self.limits);
        Ok(())
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        Entry::from_bytes(&self.files.peek(name)?)
    }

    fn print(&self, program: &Program) -> std::io::Result<ExecutableDigest> {
        self.recall(program).map_or_else(|| self.hash(program), Ok)
    }

    /// The stored digest of an executable that has not changed since.
    fn recall(&self, program: &Program) -> Option<ExecutableDigest> {
        Sighting::from_bytes(&self.files.read(&names::sighting(program))?)?.print_of(program)
    }

    /// Hashes an executable, and stores its digest.
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
