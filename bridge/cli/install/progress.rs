//! Progress on standard error: a bar or a moving sign on a terminal, lines elsewhere, and nothing for a user who wants it quiet.
//!
//! Whatever may take over a second has it: downloads, reading of binaries, calls of other programs. In the end nothing of it is
//! left on a terminal.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use isthmus_install::{
    InstallError, InstallEvent, Installed, Installer, Progress, ProviderAddress, VersionConstraint,
};

use crate::cli::output::{is_quiet, write_to_stderr};
use crate::cli::table::bytes;
use isthmus_session::daemon::ProgressReporter;

/// What the narrowest terminals show.
const LINE: usize = 79;

/// Of a download whose size is known, and of one whose size is not.
const KNOWN: &str = "[{bar:24}] {percent:>3}% of {msg}";
const UNKNOWN: &str = "{spinner} {msg}";

/// The filled part of a bar, and the empty one.
const BAR: &str = "#.";

/// How often a sign moves while nothing else does.
const TICK: Duration = Duration::from_millis(120);

#[derive(Debug)]
pub(crate) struct Reporter {
    is_terminal: bool,
    is_quiet: bool,
    progress_lines: ProgressReporter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The current download.
    name: String,
    /// What is on the terminal, with the template that it has.
    bar: Option<(ProgressBar, &'static str)>,
}

impl Reporter {
    pub(crate) fn new() -> Self {
        Self {
            // One that cannot clear a line gets lines.
            is_terminal: io::stderr().is_terminal() && !is_dumb(),
            is_quiet: is_quiet(),
            progress_lines: ProgressReporter::default(),
            state: Mutex::default(),
        }
    }

    /// Installs a provider. Of the report nothing is left in the end.
    pub(crate) async fn install(
        &self,
        installer: &Installer,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
    ) -> Result<Installed, Box<InstallError>> {
        let installed = installer.install(address, constraint, &|event| self.report(event)).await;
        self.clear();
        installed
    }

    pub(crate) fn report(&self, event: InstallEvent) {
        if self.is_quiet {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &event {
            InstallEvent::Progress(progress) if self.is_terminal => return state.download(*progress),
            InstallEvent::Downloading { address, version, .. } => {
                state.name = format!("{} {version}", address.for_display());
            }
            // Reported by the caller.
            InstallEvent::Installed { .. } => return state.clear(),
            InstallEvent::Progress(_) | InstallEvent::Waiting { .. } => {}
        }
        if let Some(line) = self.progress_lines.line(&event) {
            state.clear();
            write_to_stderr(&format!("{line}\n"));
        }
    }

    /// Shows a step that may take long: on a terminal until the next one, elsewhere as a line.
    pub(crate) fn step(&self, text: &str) {
        if self.is_terminal {
            self.count(text);
        } else if !self.is_quiet {
            write_to_stderr(&format!("{text}\n"));
        }
    }

    /// Shows the progress of a step, on a terminal.
    pub(crate) fn count(&self, text: &str) {
        if self.is_terminal && !self.is_quiet {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.bar(UNKNOWN).set_message(shortened(text));
        }
    }

    /// Shows a step on a terminal while `work` is done.
    pub(crate) async fn during<T>(text: &str, work: impl Future<Output = T>) -> T {
        let reporter = Self::new();
        reporter.count(text);
        let done = work.await;
        reporter.clear();
        done
    }

    /// Removes the bar before other output.
    pub(crate) fn clear(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whether the user's terminal shows text only.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

impl Drop for State {
    fn drop(&mut self) {
        self.clear();
    }
}

impl State {
    fn download(&mut self, Progress { received, total }: Progress) {
        let name = self.name.clone();
        match total.filter(|total| *total > 0) {
            Some(total) => {
                let bar = self.bar(KNOWN);
                bar.set_length(total);
                bar.set_message(shortened(&format!("{}  {name}", bytes(total))));
                bar.set_position(received.min(total));
            }
            None => self.bar(UNKNOWN).set_message(shortened(&format!("{}  {name}", bytes(received)))),
        }
    }

    /// The bar with this template.
    fn bar(&mut self, template: &'static str) -> &ProgressBar {
        let is_it = |(_, known): &(ProgressBar, &'static str)| *known == template;
        if !self.bar.as_ref().is_some_and(is_it) {
            self.clear();
        }
        &self.bar.get_or_insert_with(|| (bar(template), template)).0
    }

    fn clear(&mut self) {
        if let Some((bar, _)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    // The templates are of this file.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars(BAR).tick_chars("-\\|/ "));
    }
    if template == UNKNOWN {
        bar.enable_steady_tick(TICK);
    }
    bar
}

fn shortened(text: &str) -> String {
    text.chars().take(LINE - 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_understood_and_a_line_is_no_longer_than_a_terminal() {
        for template in [KNOWN, UNKNOWN] {
            ProgressStyle::with_template(template).expect("a template");
        }
        assert_eq!(shortened(&"x".repeat(200)).len(), LINE - 2);
    }

    #[test]
    fn what_servers_announce_is_no_more_than_there_is() {
        let mut state = State::default();
        state.download(Progress { received: u64::MAX, total: Some(10) });
        let (bar, template) = state.bar.as_ref().expect("a bar");
        assert_eq!((bar.position(), bar.length(), *template), (10, Some(10), KNOWN));
        state.download(Progress { received: 1234, total: None });
        assert_eq!(state.bar.as_ref().expect("a bar").1, UNKNOWN);
    }
}
