//! Variables of other programs: parsing, and warnings of values that are ignored.
//!
//! Their owners mostly ignore invalid values; so does isthmus, with a warning. Where a variable
//! protects something, its owner's reading applies, or a stricter one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use isthmus_install::SignaturePolicy;
use isthmus_provider::plugin::{LOG_VARIABLES, LogLevel};

use super::values::boolean;

/// OpenTofu's variables that tighten signature checks.
const ENFORCING: [&str; 2] = [SignaturePolicy::VALIDATION, SignaturePolicy::EXPIRATION];

/// Numbers; OpenTofu ignores others.
const NUMBERS: [&str; 3] =
    ["TF_REGISTRY_CLIENT_TIMEOUT", "TF_REGISTRY_DISCOVERY_RETRY", "TF_PROVIDER_DOWNLOAD_RETRY"];

/// Set to anything (the second one: to anything but `0`), they weaken a protection, even by a value
/// like `false`.
const WEAKENING: [(&str, &str); 2] = [
    ("TF_DISABLE_PLUGIN_TLS", "turns TLS to providers off"),
    (
        "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE",
        "lets providers of the plugin cache be used that no lock file has",
    ),
];

/// Warnings of variables whose value is invalid or misleading.
pub(super) fn warnings(variables: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let set = |name: &'static str| {
        let value = variables.get(OsStr::new(name)).filter(|value| !value.is_empty())?;
        Some((name, value.as_os_str()))
    };
    let mut warnings = Vec::new();
    for (name, value) in LOG_VARIABLES.into_iter().filter_map(set) {
        if value.to_str().and_then(LogLevel::parse).is_none() {
            warnings.push(format!(
                "{name}={value:?} has no effect; expected trace, debug, info, warn, error, off or json"
            ));
        }
    }
    for (name, value) in ENFORCING.into_iter().filter_map(set) {
        if value != "true" && SignaturePolicy::is_enforced(Some(value)) {
            warnings.push(format!(
                "{name}={value:?} is taken for `true`; OpenTofu understands nothing but `true`"
            ));
        }
    }
    for (name, value) in NUMBERS.into_iter().filter_map(set) {
        if value.to_str().is_none_or(|text| text.trim().parse::<u32>().is_err()) {
            warnings.push(format!("{name}={value:?} has no effect; expected a number"));
        }
    }
    for (name, effect) in WEAKENING {
        let Some((name, value)) = set(name) else { continue };
        let is_zero = value == "0" && name != WEAKENING[0].0;
        if boolean(value) == Ok(false) && !is_zero {
            warnings.push(format!("{name}={value:?} {effect}, as any value does; unset it"));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(name: &str, value: &str) -> Vec<String> {
        warnings(&BTreeMap::from([(name.into(), value.into())]))
    }

    #[test]
    fn what_is_understood_is_not_warned_of() {
        for (name, values) in [
            ("TF_LOG", &["", "trace", "Info", "JSON", "off"][..]),
            ("TF_LOG_PROVIDER", &["", "ERROR"]),
            (SignaturePolicy::VALIDATION, &["", "true", "false", "0", "no"]),
            (SignaturePolicy::EXPIRATION, &["", "true", "OFF"]),
            ("TF_REGISTRY_CLIENT_TIMEOUT", &["", "0", " 15 "]),
            ("TF_DISABLE_PLUGIN_TLS", &["", "1", "true"]),
            ("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", &["", "0", "1"]),
            ("PATH", &["~"]),
        ] {
            for value in values {
                assert_eq!(warned(name, value), [""; 0], "{name}={value}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_warned_of_with_what_becomes_of_it() {
        for (name, values, words) in [
            ("TF_LOG", &["verbose", "1", " info"][..], "has no effect; expected trace"),
            ("TF_LOG_PROVIDER", &["loud"], "has no effect; expected trace"),
            (SignaturePolicy::VALIDATION, &["yes", "TRUE", "1", "strict"], "is taken for `true`"),
            (SignaturePolicy::EXPIRATION, &["on"], "is taken for `true`"),
            ("TF_REGISTRY_CLIENT_TIMEOUT", &["10s", "-1"], "has no effect; expected a number"),
            ("TF_DISABLE_PLUGIN_TLS", &["false", "0", "No"], "turns TLS to providers off"),
            ("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", &["false", "off"], "that no lock file has"),
        ] {
            for value in values {
                let found = warned(name, value);
                assert!(
                    matches!(&found[..], [one] if one.starts_with(name) && one.contains(words) && one.contains(value)),
                    "{name}={value}: {found:?}"
                );
            }
        }
    }
}
