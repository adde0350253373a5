//! Formatting of an error with its causes in one line, and help lines below.

use std::error::Error;

use crate::split_output;

/// Separator of a hint within the text of an error.
pub const HELP: &str = "\nhelp: ";

/// The texts of an error and its causes, joined by colons, followed by the hints of each, and by what
/// each quotes of a process's output. No error's text in this project contains that of its cause, so
/// nothing is repeated.
pub fn error_chain(error: &dyn Error) -> String {
    let (mut messages, mut help, mut output) = (String::new(), String::new(), String::new());
    let mut next = Some(error);
    while let Some(error) = next {
        let (text, blocks) = split_output(&error.to_string());
        output.push_str(&blocks);
        let message = text.find(HELP).unwrap_or(text.len());
        if !messages.is_empty() {
            messages.push_str(": ");
        }
        messages.push_str(&text[..message]);
        help.push_str(&text[message..]);
        next = error.source();
    }
    messages + &help + &output
}

/// An error's text, with each hint in its own line.
pub fn with_help(text: String, help: impl IntoIterator<Item = String>) -> String {
    let (mut text, output) = split_output(&text);
    for line in help {
        text.push_str(HELP);
        text.push_str(&line);
    }
    text + &output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OutputKind, output_block};

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

    #[derive(Debug, thiserror::Error)]
    #[error("it ended{}\nhelp: see there", output_block(OutputKind::LastLines, ["its last line"]))]
    struct Ended(#[source] std::io::Error);

    #[test]
    fn output_stands_below_all_messages_and_hints() {
        let text = error_chain(&Ended(std::io::Error::other("the connection broke")));
        let sentence = "it ended: the connection broke\nhelp: see there";
        let output = "\nlast output of the provider:\n    its last line\n";
        assert_eq!(text, format!("{sentence}{output}"));
        let with_help = with_help(text, ["try again".to_owned()]);
        assert_eq!(with_help, format!("{sentence}\nhelp: try again{output}"));
    }
}
