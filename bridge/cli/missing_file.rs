//! Errors about missing files, with the similar path that was probably meant.

use std::path::Path;

/// Adds a similar path to the error about a missing file.
pub(super) fn explain_missing(file: &Path, error: std::io::Error) -> std::io::Error {
    use std::io::{Error, ErrorKind};

    match isthmus_provider::plugin::similar_path(file).filter(|_| error.kind() == ErrorKind::NotFound) {
        Some(similar) => Error::new(error.kind(), format!("{error}; did you mean {}?", similar.display())),
        None => error,
    }
}
