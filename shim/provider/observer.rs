//! Watching the calls of a provider, without taking part in them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One finished call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// The method, as the protocol that was spoken calls it.
    pub operation: &'static str,
    /// How long the provider took, the way there and back included.
    pub elapsed: Duration,
    /// Whether an answer came. What the answer says is not looked at.
    pub answered: bool,
}

/// What was said in one call. `Debug` shows that there is something, and not what: there are secrets in it.
#[derive(Clone, Copy)]
pub struct CallMessages<'a> {
    /// The method with its service, as gRPC has it: `/tfplugin6.Provider/ReadResource`.
    pub path: &'static str,
    /// The request, encoded.
    pub request: &'a [u8],
    /// The answer, encoded, as far as this program reads it; or why there is none.
    pub response: Result<&'a [u8], &'a tonic::Status>,
}

/// Is told of each call when it is over. Cheap to clone; must not block for long.
#[derive(Clone, Default)]
pub struct CallObserver {
    reports: Option<Arc<dyn Fn(CallReport) + Send + Sync>>,
    messages: Option<MessageObserver>,
}

type MessageObserver = Arc<dyn Fn(CallMessages<'_>) + Send + Sync>;

impl CallObserver {
    /// Tells `observe` of every call, from any thread.
    pub fn with_reports(self, observe: impl Fn(CallReport) + Send + Sync + 'static) -> Self {
        Self { reports: Some(Arc::new(observe)), ..self }
    }

    /// Tells `observe` also what was said in every call, from any thread. Messages are encoded once more for it.
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
