//! Lines about the progress of an installation.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_install::InstallEvent;

/// Interval between lines about one download.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct ProgressReporter {
    /// The current download, and when its last line was emitted.
    downloading: Mutex<Option<(String, Instant)>>,
}

impl ProgressReporter {
    /// The line about an event, if it has one.
    pub fn line(&self, event: &InstallEvent) -> Option<String> {
        let mut downloading = self.downloading.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            InstallEvent::Waiting { address, version } => {
                Some(format!("waiting for another process that installs {} {version}", address.for_display()))
            }
            InstallEvent::Downloading { address, version, server } => {
                let what = format!("{} {version}", address.for_display());
                let line = format!("downloading {what} from {server}");
                *downloading = Some((what, Instant::now()));
                Some(line)
            }
            InstallEvent::Progress(progress) => {
                let (what, reported) =
                    downloading.as_mut().filter(|(_, reported)| reported.elapsed() >= INTERVAL)?;
                *reported = Instant::now();
                Some(format!("downloading {what}: {progress}"))
            }
            InstallEvent::Installed { address, version, verification } => {
                *downloading = None;
                Some(format!("installed {} {version}, {verification}", address.for_display()))
            }
        }
    }
}
