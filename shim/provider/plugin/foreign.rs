//! A process that is not our child: the owner of a provider that we reattached to, or our parent.
//!
//! It cannot be waited for, and its id may pass to a stranger at any time. Linux has handles for that (pidfd), which
//! go on meaning the same process and tell when it ends. Where there are none, the process is looked at now and then,
//! and never killed, because nothing would say whom that hits.

#[cfg(not(target_os = "linux"))]
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::fd::OwnedFd;
use rustix::process::Pid;
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;

/// A process on this machine, whoever started it.
#[derive(Debug)]
pub struct ForeignProcess {
    #[cfg(target_os = "linux")]
    handle: AsyncFd<OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    id: Pid,
}

impl ForeignProcess {
    /// The process of this id; to be called in a runtime. None if it is not there, or not to be seen from here (another container).
    pub fn find(id: u32) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(id).ok()?)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            let handle = pidfd_open(id, PidfdFlags::NONBLOCK).ok()?;
            #[expect(
                deprecated,
                reason = "only unsound for types that change their descriptor, which an OwnedFd does not; its \
                          successor is unsafe"
            )]
            AsyncFd::new(handle).ok().map(|handle| Self { handle })
        }
        #[cfg(not(target_os = "linux"))]
        {
            rustix::process::test_kill_process(id).ok().map(|()| Self { id })
        }
    }

    /// Waits until it has ended.
    pub async fn ended(&self) {
        #[cfg(target_os = "linux")]
        if self.handle.readable().await.is_err() {
            // Only when the runtime goes down, and this task with it.
            std::future::pending::<()>().await;
        }
        #[cfg(not(target_os = "linux"))]
        while rustix::process::test_kill_process(self.id).is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Kills it, where it is certain whom that hits.
    pub(super) fn kill(&self) {
        #[cfg(target_os = "linux")]
        {
            // The only failures are a process that is gone, and one that is not ours to kill.
            let _ = rustix::process::pidfd_send_signal(&self.handle, rustix::process::Signal::KILL);
        }
    }
}
