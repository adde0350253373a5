//! The consent of the user to providers that only a file of others names ([`Chosen`](isthmus_session::daemon::Chosen)).

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use isthmus_common::listed;

use super::output::{warn, write_to_stderr};
use super::table::in_one_line;

/// The answer that is a consent.
const YES: &str = "yes";

// Without a documentation, which would be that of the command.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Consent {
    /// Download and start the providers that only the file names, without confirmation.
    #[arg(long)]
    pub(super) yes: bool,
}

/// Providers of a file are not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoConsent {
    /// Nobody can be asked.
    #[error(
        "only the file names these providers, which are programs that would run as this user: {0}\nhelp: with --yes they are \
         downloaded and started; do so if you trust the file"
    )]
    NoTerminal(String),
    #[error("nothing was downloaded or started: the providers of the file were not confirmed")]
    Refused,
}

impl Consent {
    /// Lists the providers and has them confirmed, unless there are none.
    ///
    /// # Errors
    /// If they are not confirmed, or cannot be, without a terminal.
    pub(super) fn to(&self, providers: &BTreeSet<String>) -> Result<(), NoConsent> {
        if self.yes || providers.is_empty() {
            return Ok(());
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(NoConsent::NoTerminal(listed(
                providers.iter().map(|provider| in_one_line(provider)),
            )));
        }
        warn("only the file names these providers, which are programs that would run as this user:");
        // Each is shown, however many there are.
        providers.iter().for_each(|provider| write_to_stderr(&format!("  {}\n", in_one_line(provider))));
        write_to_stderr(&format!("download and start them? ({YES}/no) "));
        let mut answer = String::new();
        match io::stdin().lock().read_line(&mut answer) {
            Ok(_) if answer.trim().eq_ignore_ascii_case(YES) => Ok(()),
            Ok(_) | Err(_) => Err(NoConsent::Refused),
        }
    }
}
