//! Archives of publishers, valid and invalid.

use std::io::{Cursor, Write as _};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// An archive under construction.
#[derive(Debug)]
pub struct Archive(ZipWriter<Cursor<Vec<u8>>>);

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file with this mode.
    File(u32),
    /// A symbolic link; the content is its target.
    Link,
    Directory,
}

impl Default for Archive {
    fn default() -> Self {
        Self(ZipWriter::new(Cursor::new(Vec::new())))
    }
}

impl Archive {
    /// An archive of these programs.
    pub fn of_programs(programs: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Self::default();
        for (name, content) in programs {
            archive = archive.with(name, Entry::File(0o755), content);
        }
        archive.with("LICENSE", Entry::File(0o644), b"Apache-2.0").finish()
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// When the archive's library cannot write it.
    #[must_use]
    pub fn with(mut self, name: &str, entry: Entry, content: &[u8]) -> Self {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        match entry {
            Entry::File(mode) => {
                self.0.start_file(name, options.unix_permissions(mode)).expect("a name");
                self.0.write_all(content).expect("memory");
            }
            Entry::Link => {
                let target = String::from_utf8_lossy(content).into_owned();
                self.0.add_symlink(name, target, options).expect("a name");
            }
            Entry::Directory => self.0.add_directory(name, options).expect("a name"),
        }
        self
    }

    /// Its bytes.
    ///
    /// # Panics
    /// When the archive's library cannot write it.
    pub fn finish(self) -> Vec<u8> {
        self.0.finish().expect("memory").into_inner()
    }
}
