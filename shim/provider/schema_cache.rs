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
//! What was rendered from a response (package schemas, mappings) is stored beside it, under a key of
//! everything that it depends on.
//!
//! The cache is optional: files that are missing, damaged or of another format are ignored, and so
//! are failures to write. Any number of processes may use one directory.
//!
//! - `files` is the directory, with validated files, of which only ours are replaced or removed.
//! - `document` is a rendered document.
//! - `names` are the names of files by kind.
//! - `sweep` removes files when the cache is full.
//! - `binary` identifies an executable.
//! - `environment` identifies an environment, `context` adds the working directory.

mod binary;
mod context;
mod document;
mod entry;
mod environment;
mod files;
mod names;
mod sweep;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

pub use binary::Program;
pub use context::LaunchContext;
pub use document::Document;
pub use environment::EnvironmentPrint;

use crate::schema::{Catalogue, Contents, Fingerprint, SchemaAnswer, SchemaIndex};
use binary::{ExecutableDigest, Sighting};
use document::DocumentWriter;
use entry::Entry;
use files::{Body, Files};
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
    pub source: io::Error,
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
        Self::with(directory, LIMITS)
    }

    fn with(directory: PathBuf, limits: Limits) -> Self {
        // A larger file would displace all others.
        let files = Files::new(directory, limits.bytes / 2);
        Self { files, limits }
    }

    /// Which response is known of an executable in a context, and when a process was called for it.
    pub fn fingerprint(
        &self,
        program: &Program,
        context: &LaunchContext,
    ) -> Option<(Fingerprint, SystemTime)> {
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
        let entry = Entry::from_bytes(&self.files.read(&names::entry(program, &print, context))?)?;
        Some((entry.fingerprint, entry.asked()))
    }

    /// The schemas of a known response. They are read from the cache when they are used, even if it was removed by then.
    pub fn catalogue(&self, fingerprint: Fingerprint) -> Option<Catalogue> {
        let (index, body) = self.answer(fingerprint)?;
        let Contents { catalogue, diagnostics } = Catalogue::contents(index, body);
        // These are never written, but a file may be from elsewhere.
        let usable = catalogue.provider().is_ok() && diagnostics.is_empty();
        usable.then_some(catalogue)
    }

    /// Lets a catalogue read its schemas from the cache instead of memory, if they are there.
    pub fn serve(&self, catalogue: &Catalogue) {
        if let Some((index, body)) = self.answer(catalogue.fingerprint()) {
            catalogue.read_from(index.schemas(body));
        }
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
            let index = answer.index().map_err(io::Error::other)?;
            let entry = Entry::new(index.fingerprint, &print);
            // Whether it is the same executable with the same response, in this directory or
            // another.
            let mut others = self.files.names(names::entries(program, &print, context));
            if others.any(|other| self.entry(&other).is_some_and(|other| !other.agrees_with(entry))) {
                return self.mark(&print);
            }
            if self.answer(entry.fingerprint).is_none() {
                let mut file = self.files.begin()?;
                file.write_all(&answer.bytes)?;
                file.finish(&names::answer(&entry.fingerprint), &index.to_bytes())?;
            }
            self.files.write(&names::entry(program, &print, context), &entry.to_bytes())?;
            sweep::sweep_if_needed(&self.files, self.limits);
            Ok(())
        };
        self.unless_too_large(keep()).map(drop)
    }

    /// Stores that an executable has just given the known response again in a context.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn confirm(
        &self,
        program: &Program,
        context: &LaunchContext,
        known: Fingerprint,
    ) -> Result<(), KeepError> {
        self.rewrite(program, context, |print| Entry::new(known, print))
    }

    /// Stores that an executable is to be called again for its response in a context.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn doubt(
        &self,
        program: &Program,
        context: &LaunchContext,
        known: Fingerprint,
    ) -> Result<(), KeepError> {
        self.rewrite(program, context, |print| Entry::doubted(known, print))
    }

    fn rewrite(
        &self,
        program: &Program,
        context: &LaunchContext,
        entry: impl FnOnce(&ExecutableDigest) -> Entry,
    ) -> Result<(), KeepError> {
        let write = || {
            let print = self.print(program)?;
            if !program.is_unchanged() || self.files.contains(&names::mark(&print)) {
                return Ok(());
            }
            self.files.write(&names::entry(program, &print, context), &entry(&print).to_bytes())
        };
        write().map_err(|source| self.error(source))
    }

    /// The document with this key, which is everything that it depends on.
    pub fn document(&self, key: &[&[u8]]) -> Option<Document> {
        let (head, body) = self.files.open(&names::document(key))?;
        Document::new(head, body)
    }

    /// Stores a document, which `write` writes, and the notes on it. `None` if it is too large.
    ///
    /// # Errors
    /// When the directory cannot be written, or `write` fails.
    pub fn keep_document(
        &self,
        key: &[&[u8]],
        notes: Vec<String>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Option<Document>, KeepError> {
        let name = names::document(key);
        let keep = || {
            let mut text = DocumentWriter::new(self.files.begin()?);
            write(&mut text)?;
            let document = text.finish(&name, notes)?;
            sweep::sweep_if_needed(&self.files, self.limits);
            Ok(document)
        };
        self.unless_too_large(keep())
    }

    fn unless_too_large<T>(&self, written: io::Result<T>) -> Result<Option<T>, KeepError> {
        match written {
            Ok(written) => Ok(Some(written)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(None),
            Err(error) => Err(self.error(error)),
        }
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

    fn mark(&self, print: &ExecutableDigest) -> io::Result<()> {
        self.files.write(&names::mark(print), b"")?;
        // Its entries are obsolete, and perhaps their responses too.
        sweep::sweep(&self.files, self.limits);
        Ok(())
    }

    fn answer(&self, fingerprint: Fingerprint) -> Option<(SchemaIndex, Body)> {
        let (head, body) = self.files.open(&names::answer(&fingerprint))?;
        Some((SchemaIndex::from_bytes(head, fingerprint)?, body))
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        Entry::from_bytes(&self.files.peek(name)?)
    }

    fn print(&self, program: &Program) -> io::Result<ExecutableDigest> {
        self.recall(program).map_or_else(|| self.hash(program), Ok)
    }

    /// The stored digest of an executable that has not changed since.
    fn recall(&self, program: &Program) -> Option<ExecutableDigest> {
        Sighting::from_bytes(&self.files.read(&names::sighting(program))?)?.print_of(program)
    }

    /// Hashes an executable, and stores its digest if it can.
    fn hash(&self, program: &Program) -> io::Result<ExecutableDigest> {
        let print = program.hash()?;
        if program.is_settled() && program.is_unchanged() {
            // Then it is hashed again next time.
            let _ = self.files.write(&names::sighting(program), &Sighting::of(program, &print).to_bytes());
        }
        Ok(print)
    }

    fn error(&self, source: io::Error) -> KeepError {
        KeepError { directory: self.files.directory().to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
