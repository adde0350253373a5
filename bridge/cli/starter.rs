//! The process that started this one. An engine that passes its address starts a plugin itself, so
//! the end of the parent process is the end of the engine, even if standard input is no pipe.
//!
//! Ids are reused, so a process handle is needed. It is opened for the parent and valid if the
//! parent is still the same afterwards: a process whose parent ends is reparented at once.

use isthmus_provider::plugin::ForeignProcess;
use rustix::process::{Pid, getppid};

/// The parent of this process when this was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starter(Option<Pid>);

impl Starter {
    /// Must be called first, while the parent is certainly the starter.
    pub(crate) fn note() -> Self {
        Self(getppid())
    }

    /// Waits for its end; never returns if that is not observable: in another container, or not on
    /// Linux.
    pub(crate) async fn ended(self) {
        // Elsewhere processes are watched by polling ids, which is too unreliable to end a daemon
        // for.
        if cfg!(target_os = "linux")
            && let Some(parent) = self.0
        {
            let process = ForeignProcess::find(parent.as_raw_nonzero().get().unsigned_abs());
            if getppid() != Some(parent) {
                return;
            }
            if let Some(process) = process {
                return process.ended().await;
            }
        }
        std::future::pending().await
    }
}
