//! Connections that cannot be accepted, because the process or the system has no file descriptor
//! left.
//!
//! The connection stays in the queue, so that accepting it fails again at once. Each failure is
//! followed by a pause; queued connections are accepted when descriptors are closed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct AcceptPacer<Warn> {
    warn: Warn,
    is_failing: AtomicBool,
}

impl<Warn: Fn(String)> AcceptPacer<Warn> {
    pub(super) fn new(warn: Warn) -> Self {
        Self { warn, is_failing: AtomicBool::new(false) }
    }

    /// Waits after a failure that the next attempt would meet as well.
    pub(super) async fn pace<Stream>(&self, accepted: io::Result<Stream>) -> io::Result<Stream> {
        match &accepted {
            Ok(_) => self.is_failing.store(false, Ordering::Relaxed),
            Err(error) if is_exhaustion(error) => {
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    (self.warn)(format!(
                        "failed to accept a connection: {error}; trying again until descriptors are closed\nhelp: raise the \
                         limit of open files, for example by `ulimit -n 1024`"
                    ));
                }
                tokio::time::sleep(PAUSE).await;
            }
            // Concerns only this connection, whose peer has closed it.
            Err(_) => {}
        }
        accepted
    }
}

fn is_exhaustion(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    exhausted.into_iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn an_exhausted_process_waits_and_warns_once_until_it_has_recovered() {
        let warnings = Mutex::new(Vec::new());
        let pacer = AcceptPacer::new(|warning| warnings.lock().expect("a lock").push(warning));
        let exhausted = || Err::<(), _>(io::Error::from_raw_os_error(Errno::MFILE.raw_os_error()));
        let began = Instant::now();
        for _ in 0..3 {
            pacer.pace(exhausted()).await.expect_err("it is passed on");
        }
        assert!(began.elapsed() >= 3 * PAUSE, "{:?}", began.elapsed());
        assert_eq!(warnings.lock().expect("a lock").len(), 1);
        pacer.pace(Ok(())).await.expect("it is passed on");
        pacer.pace(exhausted()).await.expect_err("it is passed on");
        let warnings = warnings.into_inner().expect("a lock");
        assert_eq!(warnings.len(), 2);
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
