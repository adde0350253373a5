//! The list of checksums that a publisher signs: `terraform-provider-TYPE_VERSION_SHA256SUMS`.
//!
//! Lines are `CHECKSUM  FILE`, as of `sha256sum`. Other lines are ignored, as by OpenTofu; a file
//! with two checksums is an error.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io;
use std::path::Path;

use isthmus_common::{Links, open_regular};

use crate::hashes;

/// The SHA-256 of a file, displayed in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileSum(pub [u8; 32]);

/// A text is no SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a SHA-256, which has 64 hexadecimal digits")]
pub struct FileSumError(pub String);

/// The checksums of a release's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksums(BTreeMap<String, FileSum>);

/// A list with two checksums of one file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the list of checksums has two for {file:?}: {first} and {second}")]
pub struct ChecksumsError {
    pub file: String,
    pub first: FileSum,
    pub second: FileSum,
}

impl FileSum {
    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the text is invalid.
    pub fn parse(text: &str) -> Result<Self, FileSumError> {
        let mut sum = [0; 32];
        hex::decode_to_slice(text, &mut sum).map_err(|_| FileSumError(text.chars().take(100).collect()))?;
        Ok(Self(sum))
    }

    /// The checksum of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        hashes::sum_of(open_regular(path, Links::Follow)?, &mut u64::MAX.clone()).map(Self)
    }
}

impl fmt::Display for FileSum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for FileSum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FileSum({self})")
    }
}

impl Checksums {
    /// Parses a list.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ChecksumsError> {
        let mut sums = BTreeMap::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((sum, file)) = std::str::from_utf8(line).ok().and_then(parse_line) else { continue };
            match sums.entry(file.to_owned()) {
                Entry::Vacant(entry) => {
                    entry.insert(sum);
                }
                Entry::Occupied(entry) if *entry.get() == sum => {}
                Entry::Occupied(entry) => {
                    let (file, first) = entry.remove_entry();
                    return Err(ChecksumsError { file, first, second: sum });
                }
            }
        }
        Ok(Self(sums))
    }

    /// The checksum of a file.
    pub(crate) fn of(&self, file: &str) -> Option<FileSum> {
        self.0.get(file).copied()
    }

    /// All files and their checksums.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, FileSum)> {
        self.0.iter().map(|(file, sum)| (file.as_str(), *sum))
    }
}

fn parse_line(line: &str) -> Option<(FileSum, &str)> {
    let (sum, file) = line.trim().split_once(char::is_whitespace)?;
    let file = file.trim_start();
    // The star means binary mode, which makes no difference.
    let file = file.strip_prefix('*').unwrap_or(file);
    let sum = FileSum::parse(sum).ok()?;
    (!file.is_empty()).then_some((sum, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_the_sum_of_its_line() {
        let (one, two) = (FileSum([1; 32]), FileSum([0xab; 32]));
        let text = format!(
            "{one}  a.zip\r\n\nnonsense\n{}\t*b.zip\n{one}  a.zip\n00  c.zip\n{one}  ",
            two.to_string().to_uppercase()
        );
        let sums = Checksums::parse(text.as_bytes()).expect("no contradiction");
        assert_eq!(sums.iter().collect::<Vec<_>>(), [("a.zip", one), ("b.zip", two)]);
        assert_eq!((sums.of("b.zip"), sums.of("c.zip")), (Some(two), None));
        assert_eq!(Checksums::parse(b"\xff\xfe  a\n").map(|sums| sums.iter().count()), Ok(0));
    }

    #[test]
    fn a_file_with_two_sums_is_refused() {
        let (one, two) = (FileSum([1; 32]), FileSum([2; 32]));
        let error = Checksums::parse(format!("{one}  a\n{two}  a\n").as_bytes()).expect_err("which one?");
        assert_eq!(error.to_string(), format!("the list of checksums has two for \"a\": {one} and {two}"));
    }

    #[test]
    fn a_file_is_summed_up_as_others_do() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        std::fs::write(&path, "abc").expect("a file");
        assert_eq!(
            FileSum::of_file(&path).expect("it can be read").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
