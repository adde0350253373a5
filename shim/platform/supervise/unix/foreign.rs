//! A process that is not our child: of a reattached provider, or our parent.
//!
//! It cannot be waited for, and its id may be reused at any time. The system's handle of it signals its exit.

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;

use super::super::system::ExitHandle;

/// A process on this machine.
#[derive(Debug)]
pub struct ForeignProcess {
    handle: AsyncFd<ExitHandle>,
}

impl ForeignProcess {
    /// Finds a process by its id, within a runtime. `None` if it does not exist, or is not visible
    /// from here (another container).
    pub fn find(id: u32) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(id).ok()?)?;
        let handle = ExitHandle::open(id).ok()?;
        #[expect(
            deprecated,
            reason = "only unsound for types that change their descriptor, which an ExitHandle does not; its \
                      successor is unsafe"
        )]
        AsyncFd::new(handle).ok().map(|handle| Self { handle })
    }

    /// Waits for its exit.
    pub async fn ended(&self) {
        if self.handle.readable().await.is_err() {
            // Only when the runtime shuts down, and this task with it.
            std::future::pending::<()>().await;
        }
    }

    /// Kills it.
    pub fn kill(&self) {
        // It fails only if the process has exited, or belongs to another user.
        let _ = self.handle.get_ref().kill();
    }
}
