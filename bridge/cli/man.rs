//! `isthmus man`: prints the manual page of a command.

use std::process::ExitCode;

use clap::Args;

use super::output::{self, USAGE_ERROR, fail};
use crate::names::tokens::nearest;

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
                let text = format!("there is no command {name:?}{}", meant.unwrap_or_default());
                fail(&text);
                return ExitCode::from(USAGE_ERROR);
            }
        }
    }
    let mut page = Vec::new();
    match clap_mangen::Man::new(command.clone()).render(&mut page) {
        Ok(()) => {
            output::write(&page);
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("failed to write the page: {error}")),
    }
}
