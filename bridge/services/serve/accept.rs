//! Connections that cannot be accepted, because the process or the system has no file descriptor
//! left.
//!
//! The connection stays in the queue, so that accepting it fails again at once. Each failure is
//! followed by a pause; queued connections are accepted when descriptors are closed.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_platform::local::is_exhaustion;

const PAUSE: Duration = Duration::from_millis(100);

/// How often it warns at most: a process that is short of descriptors gets one now and then.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct AcceptPacer<Warn> {
    warn: Warn,
    /// When it has warned.
    warned: Mutex<Option<Instant>>,
}

impl<Warn: Fn(String)> AcceptPacer<Warn> {
    pub(super) fn new(warn: Warn) -> Self {
        Self { warn, warned: Mutex::default() }
    }

    /// Waits after a failure that the next attempt would meet as well.
    pub(super) async fn pace<Stream>(&self, accepted: io::Result<Stream>) -> io::Result<Stream> {
        match &accepted {
            Err(error) if is_exhaustion(error) => {
                if self.is_to_warn() {
                    (self.warn)(format!(
                        "failed to accept a connection: {error}; trying again until descriptors are closed\nhelp: raise the \
                         limit of open files, for example by `ulimit -n 1024`"
                    ));
                }
                tokio::time::sleep(PAUSE).await;
            }
            // An error concerns only this connection, whose peer has closed it.
            Ok(_) | Err(_) => {}
        }
        accepted
    }

    /// Says that a connection is refused, because there are too many; none of them ends for it.
    pub(super) fn refuse<Place>(&self) -> Option<Place> {
        if self.is_to_warn() {
            (self.warn)(
                "a connection was refused: too many are open, for which descriptors are left\nhelp: raise the limit of open files"
                    .to_owned(),
            );
        }
        None
    }

    fn is_to_warn(&self) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = warned.is_none_or(|warned| warned.elapsed() >= BETWEEN_WARNINGS);
        if is_due {
            *warned = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use rustix::io::Errno;

    use super::*;

    #[tokio::test]
    async fn an_exhausted_process_waits_and_warns_once_a_minute() {
        let warnings = Mutex::new(Vec::new());
        let pacer = AcceptPacer::new(|warning| warnings.lock().expect("a lock").push(warning));
        let exhausted = || Err::<(), _>(io::Error::from_raw_os_error(Errno::MFILE.raw_os_error()));
        let began = Instant::now();
        for _ in 0..3 {
            pacer.pace(exhausted()).await.expect_err("it is passed on");
        }
        assert!(began.elapsed() >= 3 * PAUSE, "{:?}", began.elapsed());
        // It has got one that another connection has closed.
        pacer.pace(Ok(())).await.expect("it is passed on");
        pacer.pace(exhausted()).await.expect_err("it is passed on");
        let warnings = warnings.into_inner().expect("a lock");
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("Too many open files") && warnings[0].contains("ulimit -n"),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_peer_that_is_gone_holds_nothing_up() {
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        assert!(!is_exhaustion(&gone));
        assert!(is_exhaustion(&io::Error::from_raw_os_error(Errno::NFILE.raw_os_error())));
    }
}
