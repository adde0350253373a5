//! Calls of a provider: captured as bytes while they are made, and walked afterwards, when all secrets of the call are known.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use isthmus_provider::{CallMessages, CallObserver};
use tonic::Code;

use super::{METHODS, MessageWalk, Schemas, Subject, Traced, decode, type_name};

/// The calls of a provider since they were taken last. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CapturedCalls(Arc<Mutex<Vec<CapturedCall>>>);

/// A call of a provider.
#[derive(Debug)]
pub(crate) struct CapturedCall {
    pub(crate) service: &'static str,
    pub(crate) method: &'static str,
    path: &'static str,
    request: Bytes,
    /// The response, or the status's code and text.
    pub(crate) response: Result<Bytes, (Code, String)>,
    pub(crate) elapsed: Duration,
}

impl CapturedCalls {
    /// Captures the calls that it observes.
    pub fn observer(&self) -> CallObserver {
        let calls = self.clone();
        CallObserver::default().with_messages(move |messages| calls.add(messages))
    }

    pub(crate) fn add(&self, messages: CallMessages<'_>) {
        let (service, method) = messages.path.trim_start_matches('/').split_once('/').unwrap_or_default();
        let call = CapturedCall {
            service,
            method,
            path: messages.path,
            request: Bytes::copy_from_slice(messages.request),
            response: match messages.response {
                Ok(response) => Ok(Bytes::copy_from_slice(response)),
                Err(status) => Err((status.code(), status.message().to_owned())),
            },
            elapsed: messages.elapsed,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// Takes the calls that were captured.
    pub(crate) fn take(&self) -> Vec<CapturedCall> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CapturedCall {
    /// The messages, as far as they can be decoded by these schemas. `walk` is completed by what the call is about.
    pub(crate) fn traced(
        &self,
        schemas: Option<Schemas<'_>>,
        walk: MessageWalk<'_>,
    ) -> (Traced, Result<Traced, &(Code, String)>) {
        let types = METHODS.get(self.path).zip(schemas);
        let request = types.and_then(|(types, _)| decode(&types.request, &self.request));
        let type_name = request.as_ref().and_then(type_name).unwrap_or_default();
        let subject = schemas.map_or(Subject::Unknown, |schemas| Subject::Provider {
            method: self.method,
            type_name: &type_name,
            schemas,
        });
        let walk = MessageWalk { subject, ..walk };
        let response = self.response.as_ref();
        (
            request.map_or(Traced::Withheld(self.request.len()), |request| walk.message(&request)),
            response.map(|bytes| walk.encoded(types.map(|(types, _)| &types.response), bytes)),
        )
    }
}
