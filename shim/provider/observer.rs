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

/// Is told of each call when it is over. Cheap to clone; must not block.
#[derive(Clone, Default)]
pub struct CallObserver(Option<Arc<dyn Fn(CallReport) + Send + Sync>>);

impl CallObserver {
    /// Tells `observe` of every call, from any thread.
    pub fn new(observe: impl Fn(CallReport) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(super) fn report(&self, report: CallReport) {
        if let Some(observe) = &self.0 {
            observe(report);
        }
    }
}

impl fmt::Debug for CallObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CallObserver").field(&self.0.is_some()).finish()
    }
}
