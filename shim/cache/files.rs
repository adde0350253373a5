//! A folder of whole files that can be lost at any time.
//!
//! A file begins with what it takes to know that it is whole and ours: a mark, the format's version, the length and
//! the SHA-256 of what follows. It is written under another name and then renamed, so that a reader sees all of it or
//! nothing, and the last of several writers wins. There is no lock: a name always means the same content, or the newest.
//! Nothing waits for the disk either; what a crash leaves half-written is found out by its hash.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// What every file begins with.
const MARK: &[u8; 8] = b"isthmus\0";
/// The version of the format of the files, of what is in them, and of their names. A file of another one is as if it were
/// not there.
const FORMAT: u32 = 1;
/// The mark, the format, the length, and the hash.
const HEADER: usize = 8 + 4 + 8 + 32;
/// What the names of files begin with that are being written.
const UNFINISHED: &str = ".unfinished-";
/// How old such a file must be to be one that was given up.
const GIVEN_UP: Duration = Duration::from_secs(3600);
/// How exactly it is remembered when a file was last used. Writing that down each time would cost more than it brings.
const USED: Duration = Duration::from_secs(3600);

/// A folder, and how much may be in it.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
    largest_total: u64,
}

impl Files {
    /// The folder is made when something is first written.
    pub(super) fn new(folder: PathBuf, largest_total: u64) -> Self {
        Self { folder, largest_total }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a file holds. None if it is not there, cannot be read, or is not as it was written.
    pub(super) fn read(&self, name: &str) -> Option<Bytes> {
        let mut file = File::open(self.folder.join(name)).ok()?;
        let metadata = file.metadata().ok()?;
        let size = metadata.is_file().then_some(metadata.len())?;
        if size > self.largest_total {
            return None;
        }
        let mut content = Vec::with_capacity(usize::try_from(size).ok()?);
        file.read_to_end(&mut content).ok()?;
        let content = checked(content.into())?;
        let now = SystemTime::now();
        if metadata.modified().is_ok_and(|used| now.duration_since(used).is_ok_and(|ago| ago > USED)) {
            // Then it is only forgotten earlier.
            let _ = file.set_modified(now);
        }
        Some(content)
    }

    /// Whether there is a file whose name begins so.
    pub(super) fn any(&self, prefix: &str) -> bool {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return false };
        entries.flatten().any(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()))
    }

    /// Writes a file, in the place of the one of that name, and removes what does not fit any longer.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if length > self.largest_total / 2 {
            // It would push out everything else.
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Readable by its owner alone, which is what the library makes.
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(&header(content, length))?;
        file.write_all(content)?;
        file.persist(self.folder.join(name)).map_err(|error| error.error)?;
        self.make_room();
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) {
        // What is not there need not be removed.
        let _ = std::fs::remove_file(self.folder.join(name));
    }

    /// Removes what was used longest ago until the rest fits, and what others have given up writing.
    fn make_room(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if !entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                kept.push((used, metadata.len(), entry.path()));
            } else if now.duration_since(used).is_ok_and(|age| age > GIVEN_UP) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in kept {
            if total <= self.largest_total {
                return;
            }
            // Another process may have been faster.
            let _ = std::fs::remove_file(path);
            total -= size;
        }
    }
}

fn header(content: &[u8], length: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let hash = Sha256::digest(content);
    let parts = [&MARK[..], &FORMAT.to_le_bytes(), &length.to_le_bytes(), &hash];
    for (place, byte) in header.iter_mut().zip(parts.into_iter().flatten()) {
        *place = *byte;
    }
    header
}

/// What follows the header, if it is what the header says.
fn checked(mut file: Bytes) -> Option<Bytes> {
    if file.len() < HEADER {
        return None;
    }
    let content = file.split_off(HEADER);
    let length = u64::try_from(content.len()).ok()?;
    (*file == header(&content, length)).then_some(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn files(largest_total: u64) -> (Files, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        (Files::new(folder.path().join("cache"), largest_total), folder)
    }

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let (files, _folder) = files(1 << 20);
        assert_eq!(files.read("one"), None);
        files.write("one", b"first").expect("the folder can be made");
        files.write("one", b"second").expect("the file can be replaced");
        files.write("empty", b"").expect("nothing can be written");
        assert_eq!(files.read("one").as_deref(), Some(&b"second"[..]));
        assert_eq!(files.read("empty").as_deref(), Some(&b""[..]));
        let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&files.folder().join("one")), 0o600);
        assert_eq!(mode(files.folder()), 0o700);
    }

    #[test]
    fn every_damage_is_noticed_and_mended_by_writing_again() {
        let (files, _folder) = files(1 << 20);
        files.write("one", b"content").expect("a file");
        let path = files.folder().join("one");
        let whole = std::fs::read(&path).expect("a file");
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            std::fs::write(&path, damaged).expect("a file");
            assert_eq!(files.read("one"), None, "byte {index} was changed");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("a file");
            assert_eq!(files.read("one"), None, "cut to {length} bytes");
        }
        std::fs::write(&path, [&*whole, b"x"].concat()).expect("a file");
        assert_eq!(files.read("one"), None, "a byte too many");
        files.write("one", b"content").expect("a file");
        assert_eq!(files.read("one").as_deref(), Some(&b"content"[..]));
    }

    #[test]
    fn a_file_of_another_format_is_as_if_it_were_not_there() {
        let (files, _folder) = files(1 << 20);
        files.write("one", b"content").expect("a file");
        let path = files.folder().join("one");
        let mut other = std::fs::read(&path).expect("a file");
        other[8..12].copy_from_slice(&(FORMAT + 1).to_le_bytes());
        std::fs::write(&path, other).expect("a file");
        assert_eq!(files.read("one"), None);
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        // Room for four files with their headers.
        let (files, _folder) = files(1100);
        let hours_ago = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 3600);
        for (name, hours) in [("old", 9), ("older", 10), ("oldest", 11)] {
            files.write(name, &[0; 200]).expect("a file");
            let file = File::options().write(true).open(files.folder().join(name)).expect("a file");
            file.set_modified(hours_ago(hours)).expect("a file of ours");
        }
        assert!(files.read("oldest").is_some(), "reading is using");
        for name in ["new", "newest"] {
            files.write(name, &[0; 200]).expect("a file");
        }
        let left = ["oldest", "older", "old", "new", "newest"].map(|name| files.read(name).is_some());
        assert_eq!(left, [true, false, true, true, true]);
    }

    #[test]
    fn what_would_push_out_everything_else_is_not_kept() {
        let (files, _folder) = files(1000);
        files.write("small", b"content").expect("a file");
        files.write("large", &[0; 501]).expect("it is no error");
        assert_eq!(files.read("large"), None);
        assert!(files.read("small").is_some());
    }

    #[test]
    fn what_somebody_gave_up_writing_is_removed() {
        let (files, _folder) = files(1000);
        files.write("one", b"content").expect("a file");
        let [given_up, under_way] = ["a", "b"].map(|name| files.folder().join(format!("{UNFINISHED}{name}")));
        for path in [&given_up, &under_way] {
            std::fs::write(path, b"half").expect("a file");
        }
        let file = File::options().write(true).open(&given_up).expect("a file");
        file.set_modified(SystemTime::now() - 2 * GIVEN_UP).expect("a file of ours");
        files.write("other", b"content").expect("a file");
        assert!(!given_up.exists() && under_way.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_no_harm() {
        let folder = tempfile::tempdir().expect("a folder");
        let in_the_way = folder.path().join("file");
        std::fs::write(&in_the_way, "").expect("a file");
        let files = Files::new(in_the_way.join("cache"), 1000);
        files.write("one", b"content").expect_err("a file is no folder");
        assert_eq!(files.read("one"), None);
        assert!(!files.any("one"));
    }

    #[test]
    fn many_writers_at_once_leave_a_whole_file() {
        let (files, _folder) = files(1 << 20);
        std::thread::scope(|scope| {
            for number in 0..8_u8 {
                let files = &files;
                scope.spawn(move || {
                    for _ in 0..50 {
                        files.write("one", &[number; 4096]).expect("a file");
                        let read = files.read("one").expect("there is always a whole file");
                        assert_eq!(read.len(), 4096);
                        assert!(read.iter().all(|byte| *byte == read[0]), "a mixture of two files");
                    }
                });
            }
        });
        let left = std::fs::read_dir(files.folder()).expect("the folder").count();
        assert_eq!(left, 1, "nothing unfinished is left");
    }
}
