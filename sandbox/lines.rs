//! A file of records, a JSON line each, which several processes and threads of the sandbox append to.

use isthmus_platform::IS_WINDOWS;
use isthmus_platform::files::{OpenOptionsExt as _, lock, unlock};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

#[derive(Debug)]
pub(crate) struct Lines {
    file: File,
}

impl Lines {
    /// Opens the file for appending.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().create(true).append(true).mode(0o644).open(path)? })
    }

    /// Appends a record in one write, which the lines of others do not get into.
    pub(crate) fn append(&self, record: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        // Wine looks up the end of a file before it writes there.
        if IS_WINDOWS {
            lock(&self.file)?;
        }
        let result = (&self.file).write_all(&line);
        if IS_WINDOWS {
            unlock(&self.file)?;
        }
        result
    }
}
