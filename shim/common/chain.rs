//! The whole of an error in one line, and what to do about it in lines below.

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

/// An error's text, and each hint in a line of its own.
pub fn with_help(mut text: String, help: impl IntoIterator<Item = String>) -> String {
    for line in help {
        text.push_str("\nhelp: ");
        text.push_str(&line);
    }
    text
}
