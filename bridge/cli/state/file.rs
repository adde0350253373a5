//! Files that the commands read, up to one limit for all of them.

use std::io::Read;
use std::path::Path;

use super::error::StateError;

/// Maximum size in bytes. Decoded records take many times as much memory.
const LARGEST: u64 = 128 << 20;

/// Reads a file, or standard input if it is `-`.
pub(in crate::cli) fn read(file: &Path) -> Result<Vec<u8>, StateError> {
    read_up_to(LARGEST, file)
}

fn read_up_to(largest: u64, file: &Path) -> Result<Vec<u8>, StateError> {
    let mut bytes = Vec::new();
    let limit = largest.saturating_add(1);
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| StateError::read(file, error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > largest) {
        return Err(StateError::TooLarge { file: file.to_owned(), largest: largest >> 20 });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        std::fs::write(&file, vec![7; 1 << 20]).expect("written");
        assert_eq!(read_up_to(1 << 20, &file).expect("a file").len(), 1 << 20);
        std::fs::write(&file, vec![7; (1 << 20) + 1]).expect("written");
        let error = read_up_to(1 << 20, &file).expect_err("too large").to_string();
        assert!(error.contains("larger than 1 MiB") && error.contains("\nhelp: "), "{error}");
        assert_eq!(read(&file).expect("a file").len(), (1 << 20) + 1);
    }
}
