//! Detection of changes of a file.
//!
//! Files are identified by their hash. Provider binaries have up to hundreds of megabytes, and
//! hashing one at every start would take longer than the start. So the hash is stored together with
//! the file's metadata, and recomputed only if that has changed. Whoever can change a file without
//! changing the metadata can change the stored hash too.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use isthmus_platform::files::stamp;

/// Minimum age of a file's times. File systems have a coarse clock: a file that is written twice
/// within a tick may have the same times.
const SETTLED: Duration = Duration::from_secs(2);

/// Metadata of a file. Any change of the file changes the time of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp([i64; Self::NUMBERS]);

impl FileStamp {
    /// Number of fields.
    pub const NUMBERS: usize = 8;

    /// Of a file with this path and this metadata.
    ///
    /// # Errors
    /// When the system does not tell the rest.
    pub fn of(path: &Path, metadata: &Metadata) -> io::Result<Self> {
        let [modified, modified_rest, changed, changed_rest, file, device, mode] = stamp(path, metadata)?;
        let size = metadata.len().cast_signed();
        Ok(Self([size, modified, modified_rest, changed, changed_rest, file, device, mode]))
    }

    /// The size of the file in bytes.
    pub fn size(self) -> i64 {
        self.0[0]
    }

    /// Whether the times are old enough to detect the next change.
    pub fn is_settled(self) -> bool {
        let [_, modified, _, changed, ..] = self.0;
        let last = u64::try_from(modified.max(changed)).unwrap_or(0);
        let last = SystemTime::UNIX_EPOCH + Duration::from_secs(last);
        SystemTime::now().duration_since(last).is_ok_and(|ago| ago > SETTLED)
    }
}

impl From<FileStamp> for [i64; FileStamp::NUMBERS] {
    fn from(stamp: FileStamp) -> Self {
        stamp.0
    }
}

impl From<[i64; Self::NUMBERS]> for FileStamp {
    fn from(numbers: [i64; Self::NUMBERS]) -> Self {
        Self(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_change_of_a_file_shows() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, other) = (directory.path().join("file"), directory.path().join("other"));
        let stamp =
            |path: &Path| FileStamp::of(path, &path.metadata().expect("it is there")).expect("it is there");
        fs::write(&path, "one").expect("a file");
        let before = stamp(&path);
        assert!(stamp(&path) == before && FileStamp::from(<[i64; 8]>::from(before)) == before);
        assert!(before.size() == 3 && !before.is_settled(), "it was written just now");
        let old = fs::File::open(&path).expect("the file");
        fs::copy(&path, &other).expect("a copy");
        fs::rename(&other, &path).expect("in its place");
        assert_ne!(stamp(&path), before, "another file of the same content");
        let before = stamp(&path);
        isthmus_platform::files::set_mode(&path, 0o700).expect("a file of ours");
        assert_ne!(stamp(&path), before);
        drop(old);
        let mut long_ago = <[i64; 8]>::from(before);
        (long_ago[1], long_ago[3]) = (1, 1);
        assert!(FileStamp::from(long_ago).is_settled());
    }
}
