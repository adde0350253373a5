//! Policy about signatures.

use std::ffi::OsStr;

use isthmus_common::Environment;

use crate::Verification;

/// Policy about signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// Signatures are required for the default host too.
    pub enforce_validation: bool,
    /// Expired keys are refused.
    pub enforce_expiration: bool,
}

impl SignaturePolicy {
    /// OpenTofu's variable that requires signatures.
    pub const VALIDATION: &str = "OPENTOFU_ENFORCE_GPG_VALIDATION";
    /// OpenTofu's variable that refuses expired keys.
    pub const EXPIRATION: &str = "OPENTOFU_ENFORCE_GPG_EXPIRATION";

    /// The policy in OpenTofu's variables.
    pub fn of(environment: &Environment) -> Self {
        let is_enforced = |name| Self::is_enforced(environment.value(name));
        Self {
            enforce_validation: is_enforced(Self::VALIDATION),
            enforce_expiration: is_enforced(Self::EXPIRATION),
        }
    }

    /// Whether a variable enables enforcement. OpenTofu accepts only `true`; here every value does
    /// that is no spelling of false, because `1` or `yes` is meant so.
    pub fn is_enforced(value: Option<&OsStr>) -> bool {
        let is_off = |value: &OsStr| {
            let text = value.to_str().map(str::trim);
            text.is_some_and(|text| {
                ["false", "no", "off", "0"].iter().any(|off| text.eq_ignore_ascii_case(off))
            })
        };
        value.is_some_and(|value| !value.is_empty() && !is_off(value))
    }

    /// Whether a recorded verification satisfies the policy.
    pub(super) fn is_verified(&self, verification: &Verification) -> bool {
        match verification {
            Verification::Signed { .. } | Verification::Mirrored { .. } => true,
            Verification::Unsigned => !self.enforce_validation,
            Verification::Unverified { .. } => false,
        }
    }
}
