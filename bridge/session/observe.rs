//! What a shared daemon counts and remembers of its work, for its operators: `docs/observability.md`.
//!
//! A plugin in its own process has no [`Observation`], and pays nothing for it. In a daemon, a session has an
//! [`ObservedSession`], and its provider an [`ObservedProvider`], which hold the counters that their calls add to: a call
//! looks up no label and allocates nothing.
//!
//! Nothing here holds a value of a resource or of a configuration. The labels of metrics are bounded: methods are those of
//! the contracts, and providers are those that were started, as far as [`MOST_PROVIDERS`](observation::MOST_PROVIDERS).

mod audit;
mod metrics;
mod observation;
mod provider;
mod recent;
mod rpc;
mod session;
mod traces;

pub use audit::{AuditError, AuditLog};
pub use metrics::{Figures, outcome};
pub use observation::Observation;
pub use provider::{ObservedProvider, ProviderName};
pub use recent::{Failure, Line, LogTap};
pub use session::{AuditedCall, ObservedCall, ObservedSession, Subject};
pub use traces::Traces;
