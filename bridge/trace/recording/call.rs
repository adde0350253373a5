//! A call of an engine while it is made, and the calls of the provider that belong to it.
//!
//! A provider's observer does not know which call of an engine it serves, so the task that makes the call does; a task that
//! it starts inherits it ([`continued`]). Calls of a provider outside of any, such as the end of a lease, are not recorded.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use isthmus_common::BoxFuture;
use isthmus_provider::{CallMessages, CallObserver};

tokio::task_local! {
    static CURRENT: Arc<OpenCall>;
}

/// A call of an engine that has not ended.
#[derive(Debug)]
pub struct OpenCall {
    pub sequence: u64,
    /// The method, as the service has it: `CheckConfig`.
    pub method: String,
    pub request: Bytes,
    pub begun: Instant,
    provider: Mutex<Vec<Captured>>,
}

/// A call of the provider.
#[derive(Debug)]
pub struct Captured {
    pub path: &'static str,
    pub request: Bytes,
    /// The response, or the status's code and text.
    pub response: Result<Bytes, (tonic::Code, String)>,
    pub elapsed: Duration,
}

impl OpenCall {
    /// A call that begins now. The method is in the form of Rust: `check_config`.
    pub fn begin(sequence: u64, method: &str, request: Bytes) -> Arc<Self> {
        let method = method.split('_').map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_uppercase() + rest
        });
        let method = method.collect();
        Arc::new(Self { sequence, method, request, begun: Instant::now(), provider: Mutex::default() })
    }

    /// Makes the call: those of the provider belong to it.
    pub async fn observe<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        CURRENT.scope(Arc::clone(self), call).await
    }

    /// The calls of the provider so far.
    pub fn take(&self) -> Vec<Captured> {
        std::mem::take(&mut *self.provider.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, messages: CallMessages<'_>) {
        let captured = Captured {
            path: messages.path,
            request: Bytes::copy_from_slice(messages.request),
            response: match messages.response {
                Ok(response) => Ok(Bytes::copy_from_slice(response)),
                Err(status) => Err((status.code(), status.message().to_owned())),
            },
            elapsed: messages.elapsed,
        };
        self.provider.lock().unwrap_or_else(PoisonError::into_inner).push(captured);
    }
}

/// Work of a task that belongs to the same call as the task that starts it.
pub fn continued<T>(work: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    match CURRENT.try_with(Arc::clone) {
        Ok(call) => Box::pin(CURRENT.scope(call, work)),
        Err(_) => Box::pin(work),
    }
}

/// Also passes a provider's messages to the call of an engine that it is called for.
pub fn observer(others: impl Fn(CallMessages<'_>) + Send + Sync + 'static) -> CallObserver {
    CallObserver::default().with_messages(move |messages| {
        others(messages);
        // Outside of any call there is none.
        CURRENT.try_with(|call| call.add(messages)).ok();
    })
}
