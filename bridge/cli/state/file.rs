//! Files that the commands read.

use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use super::error::StateError;

/// Reads a file, or standard input if it is `-`: up to `largest` bytes, and a byte more is an error.
pub(super) fn read(file: &Path, largest: Option<u64>) -> Result<Vec<u8>, StateError> {
    let read = || {
        let largest = largest.unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let limit = largest.saturating_add(1);
        if file == Path::new("-") {
            std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
        } else {
            std::fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
        }
        if u64::try_from(bytes.len()).is_ok_and(|length| length > largest) {
            return Err(Error::new(
                ErrorKind::FileTooLarge,
                format!("it is larger than {} MiB", largest >> 20),
            ));
        }
        Ok(bytes)
    };
    read().map_err(|error| StateError::read(file, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        std::fs::write(&file, vec![7; 1 << 20]).expect("written");
        assert_eq!(read(&file, Some(1 << 20)).expect("a file").len(), 1 << 20);
        assert_eq!(read(&file, None).expect("a file").len(), 1 << 20);
        std::fs::write(&file, vec![7; (1 << 20) + 1]).expect("written");
        let error = isthmus_common::error_chain(&read(&file, Some(1 << 20)).expect_err("too large"));
        assert!(error.contains("cannot be read") && error.contains("larger than 1 MiB"), "{error}");
    }
}
