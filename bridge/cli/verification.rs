//! The verification of a provider, as text and as JSON.

use isthmus_install::Verification;
use serde_json::{Value, json};

/// A key is shown by its last digits.
const DIGITS: usize = 16;

/// As text; without a record it is unverified.
pub(super) fn shown(verification: Option<&Verification>) -> String {
    match verification {
        Some(Verification::Signed { key }) => {
            let start = key.len().saturating_sub(DIGITS);
            format!("signed by {}", key.get(start..).unwrap_or(key))
        }
        Some(Verification::Unsigned) => "unsigned".to_owned(),
        Some(Verification::Mirrored { mirror }) => format!("from {mirror}"),
        Some(Verification::Unverified { .. }) | None => "unverified".to_owned(),
    }
}

pub(super) fn as_json(verification: &Verification) -> Value {
    match verification {
        Verification::Signed { key } => json!({ "kind": "signed", "key": key }),
        Verification::Unsigned => json!({ "kind": "unsigned" }),
        Verification::Mirrored { mirror } => json!({ "kind": "mirrored", "mirror": mirror }),
        Verification::Unverified { since, reason } => {
            json!({ "kind": "unverified", "since": since, "reason": reason.to_string() })
        }
    }
}
