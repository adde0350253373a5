//! Files that are read again when they change, so that a certificate, a token or a rule is replaced without a restart.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::FileStamp;

/// What was read from some files, and their metadata by then.
#[derive(Debug)]
pub(super) struct Reread<Files, Content, Error> {
    paths: Vec<PathBuf>,
    files: Files,
    read: fn(&Files) -> Result<Content, Error>,
    last: Mutex<Last<Content>>,
}

#[derive(Debug)]
struct Last<Content> {
    /// `None` where a change might not show: a file is missing, or was written to just now.
    stamps: Option<Vec<FileStamp>>,
    /// `None` if it could not be read.
    content: Option<Arc<Content>>,
}

/// The files have changed, and cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable<Error> {
    /// `None` if the fault was returned before.
    pub(super) error: Option<Error>,
}

impl<Files, Content, Error> Reread<Files, Content, Error> {
    /// Reads the files for the first time: `files`, which are at these paths. Blocks on the file system, as every method.
    pub(super) fn read(
        paths: Vec<PathBuf>,
        files: Files,
        read: fn(&Files) -> Result<Content, Error>,
    ) -> Result<Self, Error> {
        let stamps = stamps(&paths);
        let content = Some(Arc::new(read(&files)?));
        Ok(Self { paths, files, read, last: Mutex::new(Last { stamps, content }) })
    }

    /// What is in the files now.
    pub(super) fn current(&self) -> Result<Arc<Content>, Unreadable<Error>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.paths);
        if stamps.is_some() && stamps == last.stamps {
            return last.content.clone().ok_or(Unreadable { error: None });
        }
        let was_readable = last.content.is_some();
        match (self.read)(&self.files) {
            Ok(content) => {
                let content = Arc::new(content);
                *last = Last { stamps, content: Some(Arc::clone(&content)) };
                Ok(content)
            }
            Err(error) => {
                *last = Last { stamps, content: None };
                Err(Unreadable { error: Some(error).filter(|_| was_readable) })
            }
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Option<Vec<FileStamp>> {
    let stamp = |path: &PathBuf| {
        let stamp = FileStamp::of(&path.metadata().ok()?);
        stamp.is_settled().then_some(stamp)
    };
    paths.iter().map(stamp).collect()
}
