//! Progress of an installation on standard error: a bar on a terminal, lines elsewhere.
//!
//! The bar is redrawn only when it changes, so that no clock is needed.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};

use isthmus_install::{
    InstallError, InstallEvent, Installed, Installer, Progress, ProviderAddress, VersionConstraint,
};

use crate::cli::output::write_to_stderr;
use crate::cli::table::bytes;
use crate::daemon::ProgressReporter;

/// Width of the bar, and of the whole line: what the narrowest terminals show.
const BAR: usize = 24;
const LINE: usize = 79;

#[derive(Debug)]
pub(crate) struct Reporter {
    is_terminal: bool,
    progress_lines: ProgressReporter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The current download.
    name: String,
    /// The terminal's last line.
    drawn: String,
}

impl Reporter {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_terminal, progress_lines: ProgressReporter::default(), state: Mutex::default() }
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &event {
            InstallEvent::Progress(progress) if self.is_terminal => {
                let line = line(&state.name, *progress);
                state.draw(line);
                return;
            }
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_terminal {
            state.draw(text.chars().take(LINE).collect());
        } else {
            write_to_stderr(&format!("{text}\n"));
        }
    }

    /// Shows the progress of a step, on a terminal.
    pub(crate) fn count(&self, text: &str) {
        if self.is_terminal {
            self.step(text);
        }
    }

    /// Removes the bar before other output.
    pub(crate) fn clear(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl State {
    fn draw(&mut self, line: String) {
        if line != self.drawn {
            write_to_stderr(&format!("\r{line}\x1b[K"));
            self.drawn = line;
        }
    }

    fn clear(&mut self) {
        if !self.drawn.is_empty() {
            write_to_stderr("\r\x1b[K");
            self.drawn.clear();
        }
    }
}

fn line(name: &str, Progress { received, total }: Progress) -> String {
    let text = match total.filter(|total| *total > 0) {
        Some(total) => {
            let part = u128::from(received.min(total));
            let of =
                |whole: usize| usize::try_from(part * whole as u128 / u128::from(total)).unwrap_or(whole);
            let (filled, percent) = (of(BAR), of(100));
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR - filled));
            format!("[{bar}] {percent:>3}% of {}  {name}", bytes(total))
        }
        None => format!("{}  {name}", bytes(received)),
    };
    text.chars().take(LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_what_is_there() {
        let at = |received, total| line("hashicorp/random 3.9.0", Progress { received, total });
        assert_eq!(
            at(0, Some(10_000_000)),
            "[........................]   0% of 10.0 MB  hashicorp/random 3.9.0"
        );
        assert_eq!(
            at(5_000_000, Some(10_000_000)),
            "[############............]  50% of 10.0 MB  hashicorp/random 3.9.0"
        );
        assert_eq!(
            at(10_000_000, Some(10_000_000)),
            "[########################] 100% of 10.0 MB  hashicorp/random 3.9.0"
        );
        assert_eq!(at(u64::MAX, Some(1)), at(1, Some(1)), "servers may say anything");
        assert_eq!(at(1234, None), "1.2 kB  hashicorp/random 3.9.0");
        assert_eq!(at(0, Some(0)), "0 B  hashicorp/random 3.9.0");
        assert_eq!(line(&"x".repeat(200), Progress { received: 0, total: None }).len(), LINE);
    }
}
