//! The process that started this one. An engine that passes its address starts a plugin itself, so
//! the end of the parent process is the end of the engine, even if standard input is no pipe.
//!
//! Ids are reused, so a process handle is needed. It is opened for the parent and valid if the
//! parent is still the same afterwards: a process whose parent ends is reparented at once.

use super::family::parent;
use crate::supervise::ForeignProcess;

/// The parent of this process when this was created.
#[derive(Clone, Copy, Debug)]
pub struct Starter(Option<u32>);

impl Starter {
    /// Must be called first, while the parent is certainly the starter.
    pub fn note() -> Self {
        Self(parent())
    }

    /// Waits for its end; never returns if that is not observable: in another container.
    pub async fn ended(self) {
        if let Some(starter) = self.0 {
            let process = ForeignProcess::find(starter);
            if parent() != Some(starter) {
                return;
            }
            if let Some(process) = process {
                return process.ended().await;
            }
        }
        std::future::pending().await
    }
}
