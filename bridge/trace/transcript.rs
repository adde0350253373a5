//! Calls in a form for people and scripts: the messages to and from a provider, decoded by its schema, and the property bags of
//! an engine. Secrets are masked, by the schema, by the marks of the engine, and by the known secrets of the session.
//!
//! The log of calls withholds all values instead, because it is written where no schema is at hand.

mod marks;
pub mod masks;
pub mod methods;
mod properties;
mod provider_call;
mod shown;
pub mod values;

pub use marks::{mark_configuration, mark_what_may_be_secret};
pub use masks::Masks;
pub use properties::shown_bag;
pub use provider_call::{CapturedCalls, ProviderCall, Schemas, bytes_of, key_text, type_name};
pub use shown::{Shown, Side};
