//! A provider process that only one session uses. In a shared daemon it takes a place among the others all the same.

use std::sync::{Arc, Mutex, PoisonError};

use isthmus_provider::Provider;
use tokio::sync::OwnedSemaphorePermit;

#[derive(Debug)]
pub struct OwnProcess {
    provider: Provider,
    /// Until it has ended.
    room: Mutex<Option<OwnedSemaphorePermit>>,
}

impl OwnProcess {
    /// In a shared daemon with its place, if it was started by the daemon.
    pub(super) fn placed(provider: Provider, room: Option<OwnedSemaphorePermit>) -> Arc<Self> {
        Arc::new(Self { provider, room: Mutex::new(room) })
    }

    /// Outside of a shared daemon.
    pub fn new(provider: Provider) -> Arc<Self> {
        Self::placed(provider, None)
    }

    pub(super) fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Ends it, which makes room for another one.
    pub(super) async fn end(&self) {
        self.provider.shutdown().await;
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
