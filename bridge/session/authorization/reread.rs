//! Files that are read again when they change, so that a certificate or a token is replaced without a restart.
//!
//! A file that is being written may have the beginning of its content only.
//! So what was read before counts until nothing has been written for a moment.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_common::FileStamp;

/// How long a file must not have been written to.
const QUIET: Duration = Duration::from_secs(1);

/// How long what was read before counts at most: a file may be written to again and again, or have a time in the future.
const LONGEST: Duration = Duration::from_secs(3);

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
    /// Why not, as it was returned.
    fault: Option<String>,
    /// Since when there is something newer that is not read yet.
    waiting_since: Option<Instant>,
}

/// The files have changed, and cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable<Error> {
    /// `None` if it was returned before, and nothing else since.
    pub(super) error: Option<Error>,
}

impl<Files, Content, Error: std::error::Error> Reread<Files, Content, Error> {
    /// Reads the files for the first time: `files`, which are at these paths. Blocks on the file system, as every method.
    pub(super) fn read(
        paths: Vec<PathBuf>,
        files: Files,
        read: fn(&Files) -> Result<Content, Error>,
    ) -> Result<Self, Error> {
        let stamps = stamps(&paths);
        let content = Some(Arc::new(read(&files)?));
        Ok(Self {
            paths,
            files,
            read,
            last: Mutex::new(Last { stamps, content, fault: None, waiting_since: None }),
        })
    }

    /// What is in the files, as of when they were last written to as a whole.
    pub(super) fn current(&self) -> Result<Arc<Content>, Unreadable<Error>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.paths);
        if stamps.is_some() && stamps == last.stamps {
            return last.content.clone().ok_or(Unreadable { error: None });
        }
        if let Some(content) = last.content.clone().filter(|_| are_written_to(&self.paths)) {
            let since = *last.waiting_since.get_or_insert_with(Instant::now);
            if since.elapsed() < LONGEST {
                return Ok(content);
            }
        }
        match (self.read)(&self.files) {
            Ok(content) => {
                let content = Arc::new(content);
                *last =
                    Last { stamps, content: Some(Arc::clone(&content)), fault: None, waiting_since: None };
                Ok(content)
            }
            Err(error) => {
                let fault = Some(isthmus_common::error_chain(&error));
                let is_new = fault != last.fault;
                *last = Last { stamps, content: None, fault, waiting_since: None };
                Err(Unreadable { error: is_new.then_some(error) })
            }
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Option<Vec<FileStamp>> {
    let stamp = |path: &PathBuf| {
        let stamp = FileStamp::of(path, &path.metadata().ok()?).ok()?;
        stamp.is_settled().then_some(stamp)
    };
    paths.iter().map(stamp).collect()
}

/// Whether one of the files was written to just now.
fn are_written_to(paths: &[PathBuf]) -> bool {
    let written = paths.iter().filter_map(|path| path.metadata().ok()?.modified().ok());
    // A time in the future is no age.
    written.into_iter().any(|time| time.elapsed().map_or(true, |ago| ago < QUIET))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::io::{self, Write as _};
    use std::path::Path;
    use std::time::SystemTime;

    use super::*;

    fn reread(path: &Path) -> Reread<PathBuf, String, io::Error> {
        Reread::read(vec![path.to_owned()], path.to_owned(), |path| std::fs::read_to_string(path))
            .expect("it is there")
    }

    #[test]
    fn each_fault_is_returned_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "old").expect("a new file");
        let content = reread(&path);
        let fault = || content.current().expect_err("it cannot be read").error.map(|error| error.kind());
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!([fault(), fault()], [Some(io::ErrorKind::NotFound), None]);
        std::fs::create_dir(&path).expect("a new directory");
        assert_eq!([fault(), fault()], [Some(io::ErrorKind::IsADirectory), None]);
        std::fs::remove_dir(&path).expect("it is ours");
        assert_eq!([fault(), fault()], [Some(io::ErrorKind::NotFound), None]);
        std::fs::write(&path, "new").expect("a new file");
        was_written(&path, QUIET);
        assert_eq!(*content.current().expect("it can be read"), "new");
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!([fault(), fault()], [Some(io::ErrorKind::NotFound), None]);
    }

    fn was_written(path: &Path, ago: Duration) {
        let times = FileTimes::new().set_modified(SystemTime::now() - ago);
        File::options().append(true).open(path).expect("it is ours").set_times(times).expect("it is ours");
    }

    #[test]
    fn the_beginning_of_a_file_does_not_count_until_nothing_is_written_any_more() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "old").expect("a new file");
        let content = reread(&path);
        std::fs::write(&path, "ne").expect("it is ours");
        assert_eq!(*content.current().expect("it was read"), "old");
        File::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"w"))
            .expect("it is ours");
        assert_eq!(*content.current().expect("it was read"), "old");
        was_written(&path, QUIET);
        assert_eq!(*content.current().expect("it can be read"), "new");
    }

    #[test]
    fn a_file_that_is_replaced_by_one_that_was_written_before_counts_at_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, next) = (directory.path().join("file"), directory.path().join("next"));
        std::fs::write(&path, "old").expect("a new file");
        let content = reread(&path);
        std::fs::write(&next, "new").expect("a new file");
        was_written(&next, QUIET);
        std::fs::rename(&next, &path).expect("it is ours");
        assert_eq!(*content.current().expect("it can be read"), "new");
        std::fs::remove_file(&path).expect("it is ours");
        content.current().expect_err("it is gone");
    }
}
