//! Calls in a form for people and scripts: the messages to and from a provider, decoded by its schema, and the property bags of
//! an engine. Secrets are masked, by the schema, by the marks of the engine, and by the known secrets of the session.

mod bags;
mod masks;
mod shown;

pub(crate) use bags::mark_configuration;
pub use bags::{mark_what_may_be_secret, shown_bag};
pub use masks::Masks;
pub use shown::{Shown, Side};

use crate::walk::{CapturedCalls, MessageWalk, Schemas, Subject};

/// A call of a provider, decoded and masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCall {
    /// The method's name in the protocol in use.
    pub method: String,
    pub request: Shown,
    /// The response, or why there is none.
    pub response: Result<Shown, String>,
}

impl ProviderCall {
    /// Takes the calls that were captured.
    pub fn take(calls: &CapturedCalls, schemas: Schemas<'_>, masks: &Masks) -> Vec<Self> {
        let walk = MessageWalk {
            subject: Subject::Unknown,
            paths: &masks.paths,
            is_unmarked: false,
            are_states_marked: true,
        };
        let shown = calls.take().into_iter().map(|call| {
            let (request, response) = call.traced(Some(schemas), walk);
            Self {
                method: call.method.to_owned(),
                request: masks.traced(&request),
                response: match response {
                    Ok(response) => Ok(masks.traced(&response)),
                    Err((code, text)) => Err(masks.redacted(&format!("{code:?}: {text}"))),
                },
            }
        });
        shown.collect()
    }
}
