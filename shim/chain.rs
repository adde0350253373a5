//! The whole of an error in one line.

use std::error::Error;

/// An error's text and those of its causes, joined by colons. The texts of errors in this project never contain that of
/// their cause, so nothing is said twice.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
