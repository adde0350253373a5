//! `isthmus completions`: prints the completion script of a shell.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::output;

const EXAMPLES: &str = "\
Examples:
  isthmus completions bash > ~/.local/share/bash-completion/completions/isthmus
  isthmus completions zsh > ~/.zfunc/_isthmus
  isthmus completions fish > ~/.config/fish/completions/isthmus.fish
  isthmus completions powershell >> $PROFILE

For zsh, the directory must be in fpath before compinit.";

/// Print the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// Shell to complete commands in.
    shell: Shell,
}

/// Prints the script for a command.
pub(super) fn run(completions: &Completions, mut command: clap::Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command, "isthmus", &mut script);
    output::write(&script);
    ExitCode::SUCCESS
}
