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
//! - `files` is the directory, with validated files and size limits.
//! - `document` is a rendered document.
//! - `names` are the names of files by kind.
//! - `binary` identifies an executable, `context` what it is started with.

mod binary;
mod context;
mod document;
mod files;
mod names;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

pub use binary::Program;
pub use context::{EnvironmentPrint, LaunchContext};
pub use document::Document;

use crate::schema::{Catalogue, Contents, Fingerprint, SchemaAnswer, SchemaIndex};
use binary::ExecutableDigest;
use document::DocumentWriter;
use files::{Body, Files, Limits};

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
}

/// An index entry: the response of an executable in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    fingerprint: Fingerprint,
    /// When a process was called for the response, in seconds since 1970.
    asked: u64,
}

impl SchemaCache {
    /// The cache in a directory, which may not exist yet.
    pub fn new(directory: PathBuf) -> Self {
        Self { files: Files { directory, limits: LIMITS } }
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
            None if self.files.names(&names::entries_of_size(program)).is_empty() => return None,
            None => self.hash(program).ok()?,
        };
        if self.files.touch(&names::mark(&print)) {
            return None;
        }
        let name = names::entry(program, &print, context);
        let entry = self.entry(&name)?;
        // The caller may have the response in memory, but others need it for as long as its entries are used.
        for used in [names::sighting(program), name, names::answer(&entry.fingerprint)] {
            self.files.touch(&used);
        }
        let asked = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(entry.asked));
        Some((entry.fingerprint, asked.unwrap_or(SystemTime::UNIX_EPOCH)))
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
        self.write_unless_variable(program, |print| {
            let index = answer.index().map_err(io::Error::other)?;
            let fingerprint = index.fingerprint;
            // Whether it has the same response in this directory and in others.
            let others = self.files.names(&names::entries(program, print, context));
            let mut others = others.iter().filter_map(|name| self.entry(name));
            if others.any(|other| other.fingerprint != fingerprint) {
                return self.mark(program, print);
            }
            if self.answer(fingerprint).is_none() {
                let mut file = self.files.begin(&names::answer(&fingerprint))?;
                file.write_all(&answer.bytes)?;
                file.finish(&index.to_bytes())?;
            }
            self.write_entry(program, print, context, Entry { fingerprint, asked: now() })?;
            self.files.sweep();
            Ok(())
        })
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
        let entry = Entry { fingerprint: known, asked: now() };
        self.write_unless_variable(program, |print| self.write_entry(program, print, context, entry))
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
        let entry = Entry { fingerprint: known, asked: 0 };
        self.write_unless_variable(program, |print| self.write_entry(program, print, context, entry))
    }

    /// Marks an executable as variable: its response differed from the known one, so nothing is
    /// stored for it any more, in any context.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn mark_variable(&self, program: &Program) -> Result<(), KeepError> {
        self.write_unless_variable(program, |print| self.mark(program, print))
    }

    /// Removes the entry of an executable in a context.
    pub fn forget(&self, program: &Program, context: &LaunchContext) {
        if let Ok(print) = self.print(program) {
            self.files.remove(&names::entry(program, &print, context));
        }
    }

    /// The document with this key, which is everything that it depends on.
    pub fn document(&self, key: &[&[u8]]) -> Option<Document> {
        let name = names::document(key);
        self.files.touch(&name);
        let (head, body) = self.files.open(&name)?;
        Document::new(head, body)
    }

    /// Stores a document, which `write` writes, and the notes on it.
    ///
    /// # Errors
    /// When the directory cannot be written, or `write` fails.
    pub fn keep_document(
        &self,
        key: &[&[u8]],
        notes: Vec<String>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Document, KeepError> {
        let keep = || {
            let mut text = DocumentWriter::new(self.files.begin(&names::document(key))?);
            write(&mut text)?;
            let document = text.finish(notes)?;
            self.files.sweep();
            Ok(document)
        };
        keep().map_err(|source| self.error(source))
    }

    /// Writes something of an executable, unless it is variable, or has changed since `program` was read.
    fn write_unless_variable(
        &self,
        program: &Program,
        write: impl FnOnce(&ExecutableDigest) -> io::Result<()>,
    ) -> Result<(), KeepError> {
        let written = self.print(program).and_then(|print| {
            let is_useful = program.is_unchanged() && !self.files.touch(&names::mark(&print));
            if is_useful { write(&print) } else { Ok(()) }
        });
        written.map_err(|source| self.error(source))
    }

    fn write_entry(
        &self,
        program: &Program,
        print: &ExecutableDigest,
        context: &LaunchContext,
        Entry { fingerprint, asked }: Entry,
    ) -> io::Result<()> {
        let content = [&fingerprint.bytes()[..], &asked.to_be_bytes()].concat();
        self.files.write(&names::entry(program, print, context), &content)
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        let content = self.files.read(name)?;
        let (fingerprint, asked) = content.split_first_chunk()?;
        let asked = u64::from_be_bytes(asked.try_into().ok()?);
        Some(Entry { fingerprint: Fingerprint::from_bytes(*fingerprint), asked })
    }

    /// Marks an executable, and removes its entries with their responses.
    fn mark(&self, program: &Program, print: &ExecutableDigest) -> io::Result<()> {
        self.files.write(&names::mark(print), b"")?;
        for name in self.files.names(&names::entries_of_executable(program, print)) {
            if let Some(entry) = self.entry(&name) {
                // If another executable has the same one, its next process stores it again.
                self.files.remove(&names::answer(&entry.fingerprint));
            }
            self.files.remove(&name);
        }
        Ok(())
    }

    fn answer(&self, fingerprint: Fingerprint) -> Option<(SchemaIndex, Body)> {
        let (head, body) = self.files.open(&names::answer(&fingerprint))?;
        Some((SchemaIndex::from_bytes(head, fingerprint)?, body))
    }

    fn print(&self, program: &Program) -> io::Result<ExecutableDigest> {
        self.recall(program).map_or_else(|| self.hash(program), Ok)
    }

    /// The stored digest of an executable that has not changed since.
    fn recall(&self, program: &Program) -> Option<ExecutableDigest> {
        let digest = self.files.read(&names::sighting(program))?;
        Some(ExecutableDigest(digest.as_ref().try_into().ok()?))
    }

    /// Hashes an executable, and stores its digest if it can.
    fn hash(&self, program: &Program) -> io::Result<ExecutableDigest> {
        let print = program.hash()?;
        if program.is_settled() && program.is_unchanged() {
            // Then it is hashed again next time.
            let _ = self.files.write(&names::sighting(program), &print.0);
        }
        Ok(print)
    }

    fn error(&self, source: io::Error) -> KeepError {
        KeepError { directory: self.files.directory.clone(), source }
    }
}

/// In seconds since 1970.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
