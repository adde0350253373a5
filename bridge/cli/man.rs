//! `isthmus man`: prints the manual page of a command.

use std::process::ExitCode;

use clap::Args;

use super::output::{self, USAGE_ERROR, fail};
use isthmus_package::names::tokens::nearest;

const EXAMPLES: &str = "\
Examples:
  isthmus man | man -l -
  isthmus man providers list > isthmus-providers-list.1

The page of a command with subcommands names them; each has a page of its own.";

/// Print the manual page of a command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Man {
    /// Command, such as `providers list` (default: isthmus itself).
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints the page of a subcommand of `root`, in the format of troff.
pub(super) fn run(man: &Man, mut root: clap::Command) -> ExitCode {
    // Gives subcommands their full names.
    root.build();
    let mut command = &root;
    for name in &man.command {
        let names = || command.get_subcommands().map(clap::Command::get_name);
        match command.find_subcommand(name) {
            Some(found) => command = found,
            None => {
                let meant = nearest(name, names()).map(|nearest| format!("; did you mean {nearest:?}?"));
                let text = format!("unknown command {name:?}{}", meant.unwrap_or_default());
                fail(&text);
                return ExitCode::from(USAGE_ERROR);
            }
        }
    }
    match page(command) {
        Ok(page) => {
            output::write(&page);
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("failed to write the page: {error}")),
    }
}

fn page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The notes have a form of their own.
    let man = clap_mangen::Man::new(command.clone().after_help(None::<&str>).after_long_help(None::<&str>));
    let man = man.title(name).source(concat!("isthmus ", env!("CARGO_PKG_VERSION"))).manual("Isthmus");
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend(sections(&notes).into_bytes());
    Ok(page)
}

/// The notes below a help text: examples, which are not filled, and paragraphs.
fn sections(notes: &str) -> String {
    let mut text = String::new();
    let (examples, notes) = match notes.strip_prefix("Examples:\n") {
        Some(rest) => rest.split_once("\n\n").unwrap_or((rest, "")),
        None => ("", notes),
    };
    if !examples.is_empty() {
        text.push_str(".SH EXAMPLES\n.nf\n");
        examples.lines().for_each(|line| text.push_str(&format!("{}\n", escaped(line.trim()))));
        text.push_str(".fi\n");
    }
    if !notes.trim().is_empty() {
        text.push_str(".SH NOTES\n");
        for line in notes.trim().lines() {
            // A line with a margin, such as one of a file, stays a line.
            let line = escaped(line);
            text.push_str(&if line.is_empty() { ".PP\n".to_owned() } else { format!("{line}\n") });
        }
    }
    text
}

/// A line of text, in which nothing is a command of troff.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_examples_and_paragraphs_without_commands_of_troff() {
        let notes = "Examples:\n  isthmus ps --json\n\n.terraform is\na directory.\n\nNext \\ one.";
        let expected = ".SH EXAMPLES\n.nf\nisthmus ps \\-\\-json\n.fi\n.SH NOTES\n\\&.terraform is\na directory.\n.PP\nNext \\e one.\n";
        assert_eq!(sections(notes), expected);
    }
}
