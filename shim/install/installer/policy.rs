//! What is demanded of signatures.

use std::ffi::OsStr;

use crate::Verification;

/// What is demanded of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// Everything must be signed, at the default host too.
    pub enforce_validation: bool,
    /// Keys must not have expired.
    pub enforce_expiration: bool,
}

impl SignaturePolicy {
    /// OpenTofu's variable that demands signatures.
    pub const VALIDATION: &str = "OPENTOFU_ENFORCE_GPG_VALIDATION";
    /// OpenTofu's variable that demands keys that have not expired.
    pub const EXPIRATION: &str = "OPENTOFU_ENFORCE_GPG_EXPIRATION";

    /// What OpenTofu's variables say.
    pub fn from_environment() -> Self {
        let is_enforced = |name| Self::is_enforced(std::env::var_os(name).as_deref());
        Self {
            enforce_validation: is_enforced(Self::VALIDATION),
            enforce_expiration: is_enforced(Self::EXPIRATION),
        }
    }

    /// Whether a variable's value demands more. OpenTofu understands nothing but `true`; here everything does that is no
    /// spelling of false, since whoever writes `1` or `yes` wants to be protected.
    pub fn is_enforced(value: Option<&OsStr>) -> bool {
        let is_off = |value: &OsStr| {
            let text = value.to_str().map(str::trim);
            text.is_some_and(|text| {
                ["false", "no", "off", "0"].iter().any(|off| text.eq_ignore_ascii_case(off))
            })
        };
        value.is_some_and(|value| !value.is_empty() && !is_off(value))
    }

    /// Whether a record is enough to start a provider without a word.
    pub(super) fn is_verified(&self, verification: &Verification) -> bool {
        match verification {
            Verification::Signed { .. } | Verification::Mirrored { .. } => true,
            Verification::Unsigned => !self.enforce_validation,
            Verification::Unverified { .. } => false,
        }
    }
}
