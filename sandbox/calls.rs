//! The record of calls, for tests that assert what a client asks and in what order.
//!
//! One JSON line a call, appended in one write, so that several processes of the sandbox may share
//! a file. It contains no values, but what identifies a call in a sequence: whether the prior state
//! and the planned state were null, whether the configuration was wholly known.

use isthmus_cty::Value;
use serde::Serialize;

use crate::resource::Change;

/// A line of the record.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct CallRecord {
    /// Name of the call in its protocol version.
    pub call: String,
    /// Process id of the provider.
    pub process: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Whether the prior (or current) state was null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_null: Option<bool>,
    /// Whether the proposed (in a plan) or planned (when applying) state was null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_null: Option<bool>,
    /// Whether nothing in the configuration was unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_known: Option<bool>,
    /// Private data in the request, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<String>,
    /// Whether the client allows a deferral.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferral_allowed: Option<bool>,
    /// `provider_meta` in the request, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_meta: Option<String>,
    /// Schema version of the state in an upgrade or a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Provider address and type of the source of a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl CallRecord {
    pub(crate) fn of(call: &str) -> Self {
        Self { call: call.to_owned(), process: std::process::id(), ..Self::default() }
    }

    /// A call that plans or applies a change.
    pub(crate) fn of_change(call: &str, type_name: &str, change: &Change) -> Self {
        Self {
            type_name: Some(type_name.to_owned()),
            prior_null: Some(matches!(change.prior, Value::Null)),
            planned_null: Some(matches!(change.planned, Value::Null)),
            config_known: Some(change.config.is_wholly_known()),
            private: Some(String::from_utf8_lossy(&change.private).into_owned()),
            ..Self::of(call)
        }
    }
}
