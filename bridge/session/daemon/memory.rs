//! Free memory goes back to the system, and the heap does not fill with holes.
//!
//! glibc keeps what was freed for later allocations, so that after one flood of large messages a daemon would be several times
//! as large until its process ends: `docs/decisions/allocator.md`. A second after something that uses memory has ended, all
//! pages that nothing uses go back. An idle daemon does nothing.
//!
//! By default glibc gives each thread a heap of its own, and raises the size from which blocks are mapped by themselves with
//! each large block that is freed. Calls run in one thread, so a second heap gains no time, and each fills with holes of its
//! own; a large message among small blocks leaves a large hole.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use isthmus_platform::process::trim;
use tokio::sync::Notify;

/// How long after its end the memory of a call is given back. Calls that end within that time share the work.
const DELAY: Duration = Duration::from_secs(1);

/// The memory of calls, connections and background tasks.
#[derive(Clone, Debug, Default)]
pub struct MemoryReleaser(Arc<Notify>);

/// Something that uses memory until this is dropped.
#[derive(Debug)]
pub struct MemoryUse(Arc<Notify>);

impl MemoryReleaser {
    /// Notes that something uses memory.
    pub fn used(&self) -> MemoryUse {
        MemoryUse(Arc::clone(&self.0))
    }

    /// Gives memory back after it was used, for ever.
    pub async fn give_back(&self) -> Infallible {
        loop {
            self.0.notified().await;
            tokio::time::sleep(DELAY).await;
            trim();
        }
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
