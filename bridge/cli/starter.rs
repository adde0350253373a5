//! The process that has started this one. An engine that passes its address starts a plugin itself, so the end of the engine is
//! the end of this process's parent, also where standard input is no pipe.
//!
//! A process handle is needed for that, because an id may pass to another process. It is opened for the parent, and is the
//! right one if the parent is still the same afterwards: a process whose parent ends gets another one at once.

use isthmus_provider::plugin::ForeignProcess;
use rustix::process::{Pid, getppid};

/// The parent of this process, as it was when this was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starter(Option<Pid>);

impl Starter {
    /// To be made first of all, as long as the parent can be trusted to be the starter.
    pub(crate) fn note() -> Self {
        Self(getppid())
    }

    /// Waits for its end. Never comes where it cannot be seen: it is in another container, or the system is not Linux.
    pub(crate) async fn ended(self) {
        // Elsewhere processes are watched by looking at ids now and then, which is too little to end a daemon for.
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
