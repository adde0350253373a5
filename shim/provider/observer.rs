//! Observation of a provider's calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tonic::Code;

use crate::Rpc;

/// A finished call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// The method.
    pub rpc: Rpc,
    /// The method's name in the protocol in use.
    pub operation: &'static str,
    /// Duration of the call.
    pub elapsed: Duration,
    /// The status of the call: OK if there was a response, whatever its contents.
    pub code: Code,
}

/// Messages of a call. `Debug` omits their contents, which include secrets.
#[derive(Clone, Copy)]
pub struct CallMessages<'a> {
    /// The full method name of gRPC: `/tfplugin6.Provider/ReadResource`.
    pub path: &'static str,
    /// The encoded request.
    pub request: &'a [u8],
    /// Duration of the call; of a chunk of a streamed response, since the call began.
    pub elapsed: Duration,
    /// The encoded response, or the failure.
    pub response: Result<&'a [u8], &'a tonic::Status>,
}

/// Receives a report of each finished call. Cheap to clone; must not block for long.
#[derive(Clone, Default)]
pub struct CallObserver {
    reports: Option<Arc<dyn Fn(CallReport) + Send + Sync>>,
    messages: Option<MessageObserver>,
}

type MessageObserver = Arc<dyn Fn(CallMessages<'_>) + Send + Sync>;

impl CallObserver {
    /// Reports every call to `observe`, on any thread.
    pub fn with_reports(self, observe: impl Fn(CallReport) + Send + Sync + 'static) -> Self {
        Self { reports: Some(Arc::new(observe)), ..self }
    }

    /// Also passes the messages of every call to `observe`, on any thread.
    pub fn with_messages(self, observe: impl Fn(CallMessages<'_>) + Send + Sync + 'static) -> Self {
        Self { messages: Some(Arc::new(observe)), ..self }
    }

    pub(super) fn report(&self, report: CallReport) {
        if let Some(observe) = &self.reports {
            observe(report);
        }
    }

    pub(super) fn wants_messages(&self) -> bool {
        self.messages.is_some()
    }

    pub(super) fn show(&self, messages: CallMessages<'_>) {
        if let Some(observe) = &self.messages {
            observe(messages);
        }
    }
}

impl fmt::Debug for CallObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let observed = (self.reports.is_some(), self.messages.is_some());
        formatter.debug_tuple("CallObserver").field(&observed).finish()
    }
}

impl fmt::Debug for CallMessages<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallMessages").field("path", &self.path).finish_non_exhaustive()
    }
}
