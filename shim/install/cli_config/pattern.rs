//! Patterns of provider source addresses: `example.com/*/*`, `hashicorp/*`.

use std::fmt;

use crate::address::{normalise_host, normalise_part};
use crate::{DEFAULT_HOST, ProviderAddress};

/// The wildcard.
const ANY: &str = "*";

/// A pattern of provider source addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderPattern {
    /// `None` is a wildcard, as are all following parts then.
    host: Option<String>,
    namespace: Option<String>,
    provider_type: Option<String>,
}

/// A text is no pattern of provider source addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a pattern of providers' addresses, which is written [HOST/]NAMESPACE/TYPE, with * for any and only * behind it"
)]
pub struct PatternError;

impl ProviderPattern {
    /// Parses `[HOST/]NAMESPACE/TYPE`. Without a host it is the default one.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, provider_type) = match *parts {
            [namespace, provider_type] => (Some(DEFAULT_HOST.to_owned()), namespace, provider_type),
            [ANY, namespace, provider_type] => (None, namespace, provider_type),
            [host, namespace, provider_type] => {
                (Some(normalise_host(host).map_err(|_| PatternError)?), namespace, provider_type)
            }
            _ => return Err(PatternError),
        };
        let part = |kind, text| {
            (text != ANY).then(|| normalise_part(kind, text).map_err(|_| PatternError)).transpose()
        };
        let (namespace, provider_type) = (part("namespace", namespace)?, part("type", provider_type)?);
        let any_before = |before: bool, part: &Option<String>| before && part.is_some();
        if any_before(host.is_none(), &namespace) || any_before(namespace.is_none(), &provider_type) {
            return Err(PatternError);
        }
        Ok(Self { host, namespace, provider_type })
    }

    /// Whether it matches a provider.
    pub(crate) fn matches(&self, address: &ProviderAddress) -> bool {
        let matches = |part: &Option<String>, given: &str| part.as_deref().is_none_or(|part| part == given);
        matches(&self.host, address.host())
            && matches(&self.namespace, address.namespace())
            && matches(&self.provider_type, address.provider_type())
    }

    /// Host, namespace and type; `None` is a wildcard.
    pub(super) fn parts(&self) -> [Option<&str>; 3] {
        [self.host.as_deref(), self.namespace.as_deref(), self.provider_type.as_deref()]
    }
}

impl fmt::Display for ProviderPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [host, namespace, provider_type] = self.parts().map(|part| part.unwrap_or(ANY));
        write!(formatter, "{host}/{namespace}/{provider_type}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_what_it_says() {
        for (pattern, matched, others) in [
            ("*/*/*", "random example.com/a/b", ""),
            (
                "hashicorp/*",
                "random registry.opentofu.org/hashicorp/x",
                "a/b registry.terraform.io/hashicorp/x",
            ),
            ("*/*", "random a/b", "example.com/a/b"),
            ("Example.com/*/*", "example.com/a/b", "random example.com:81/a/b"),
            ("example.com:81/*/*", "example.com:81/a/b", "example.com/a/b"),
            ("a/B", "a/b", "a/c b/b"),
        ] {
            let pattern = ProviderPattern::parse(pattern).unwrap_or_else(|error| panic!("{error}"));
            let matches = |text: &str| pattern.matches(&ProviderAddress::parse(text).expect(text));
            assert!(matched.split_whitespace().all(matches), "{pattern} {matched}");
            assert!(!others.split_whitespace().any(matches), "{pattern} {others}");
        }
    }

    #[test]
    fn a_text_that_is_no_pattern_is_refused() {
        for pattern in ["*", "a/b/c/d", "*/a", "*/a/*", "*/*/a", "a*/b", "ex_a.com/*/*", "a/"] {
            assert_eq!(ProviderPattern::parse(pattern), Err(PatternError), "{pattern}");
        }
    }
}
