//! What an installer is doing, in lines for people who wait for it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_install::InstallEvent;

/// How often it is told how far a download is.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Tells it. How far a download is, it tells now and then.
#[derive(Debug, Default)]
pub(crate) struct ProgressReporter {
    /// What is being downloaded, and when something was told of it.
    downloading: Mutex<Option<(String, Instant)>>,
}

impl ProgressReporter {
    /// The line about an event, if there is one.
    pub(crate) fn line(&self, event: &InstallEvent) -> Option<String> {
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
                let (what, told) = downloading.as_mut().filter(|(_, told)| told.elapsed() >= TOLD_EVERY)?;
                *told = Instant::now();
                Some(format!("downloading {what}: {progress}"))
            }
            InstallEvent::Installed { address, version, verification } => {
                *downloading = None;
                Some(format!("installed {} {version}, {verification}", address.for_display()))
            }
        }
    }
}
