//! A call of an engine while it is made, and the calls of the provider that belong to it.
//!
//! A provider's observer does not know which call of an engine it serves, so the task that makes the call does; a task that
//! it starts inherits it ([`continued`]). Calls of a provider outside of any, such as the end of a lease, are not recorded.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use isthmus_common::BoxFuture;
use isthmus_provider::CallMessages;

use crate::walk::{CapturedCalls, rpc_name};

tokio::task_local! {
    static CURRENT: Arc<OpenCall>;
}

/// A call of an engine that has not ended.
#[derive(Debug)]
pub struct OpenCall {
    pub(super) sequence: u64,
    /// The method, as the service has it: `CheckConfig`.
    pub(super) method: String,
    pub(super) request: Bytes,
    pub(super) begun: Instant,
    /// The calls of the provider.
    pub(super) provider: CapturedCalls,
}

impl OpenCall {
    /// A call that begins now. The method is in the form of Rust: `check_config`.
    pub(super) fn begin(sequence: u64, method: &str, request: Bytes) -> Arc<Self> {
        let (method, begun) = (rpc_name(method), Instant::now());
        Arc::new(Self { sequence, method, request, begun, provider: CapturedCalls::default() })
    }

    /// Makes the call: those of the provider belong to it.
    pub async fn observe<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        CURRENT.scope(Arc::clone(self), call).await
    }
}

/// Work of a task that belongs to the same call as the task that starts it.
pub fn continued<T>(work: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    match CURRENT.try_with(Arc::clone) {
        Ok(call) => Box::pin(CURRENT.scope(call, work)),
        Err(_) => Box::pin(work),
    }
}

/// Captures a provider's call for the call of an engine that it is made for; outside of any, there is none.
pub fn capture(messages: CallMessages<'_>) {
    CURRENT.try_with(|call| call.provider.add(messages)).ok();
}
