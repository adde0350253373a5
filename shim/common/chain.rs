//! Formatting of an error with its causes in one line, and help lines below.

use std::error::Error;

/// Separator of a hint within the text of an error.
const HELP: &str = "\nhelp: ";

/// The texts of an error and its causes, joined by colons, followed by the hints of each. No
/// error's text in this project contains that of its cause, so nothing is repeated.
pub fn error_chain(error: &dyn Error) -> String {
    let (mut messages, mut help) = (String::new(), String::new());
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        let message = text.find(HELP).unwrap_or(text.len());
        if !messages.is_empty() {
            messages.push_str(": ");
        }
        messages.push_str(&text[..message]);
        help.push_str(&text[message..]);
        next = error.source();
    }
    messages + &help
}

/// An error's text, with each hint in its own line.
pub fn with_help(mut text: String, help: impl IntoIterator<Item = String>) -> String {
    for line in help {
        text.push_str(HELP);
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read a\nhelp: close it\nhelp: or wait")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn hints_stand_below_all_messages() {
        let cause = std::io::Error::other("it is locked\nhelp: unlock it");
        let text = "failed to read a: it is locked\nhelp: close it\nhelp: or wait\nhelp: unlock it";
        assert_eq!(error_chain(&Outer(cause)), text);
        assert_eq!(error_chain(&std::io::Error::other("no")), "no");
    }
}
