//! A process that is not our child: of a reattached provider, or our parent.
//!
//! It cannot be waited for, and its id may be reused at any time. Linux has handles (pidfd) that
//! stay valid and signal its exit. Without them, the process is polled, and never killed, because
//! the id may be another process's.

#[cfg(not(target_os = "linux"))]
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::fd::OwnedFd;
use rustix::process::Pid;
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;

/// A process on this machine.
#[derive(Debug)]
pub struct ForeignProcess {
    #[cfg(target_os = "linux")]
    handle: AsyncFd<OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    id: Pid,
}

impl ForeignProcess {
    /// Finds a process by its id, within a runtime. `None` if it does not exist, or is not visible
    /// from here (another container).
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

    /// Waits for its exit.
    pub async fn ended(&self) {
        #[cfg(target_os = "linux")]
        if self.handle.readable().await.is_err() {
            // Only when the runtime shuts down, and this task with it.
            std::future::pending::<()>().await;
        }
        #[cfg(not(target_os = "linux"))]
        while rustix::process::test_kill_process(self.id).is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Kills it, if its identity is certain.
    pub(super) fn kill(&self) {
        #[cfg(target_os = "linux")]
        {
            // It fails only if the process has exited, or belongs to another user.
            let _ = rustix::process::pidfd_send_signal(&self.handle, rustix::process::Signal::KILL);
        }
    }
}
