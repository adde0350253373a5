//! Patterns of provider source addresses: `example.com/*/*`, `hashicorp/*`.

use std::fmt;

use crate::address::{PartFault, normalise_host, normalise_part};
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
    "{pattern:?} is not a pattern of providers' addresses, which is written [HOST/]NAMESPACE/TYPE, with * for any: {fault}"
)]
pub struct PatternError {
    pub pattern: String,
    pub fault: PatternFault,
}

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    #[error("it has {0} parts")]
    Parts(usize),
    #[error(transparent)]
    Part(#[from] PartFault),
    #[error("what is behind a * must be a * too")]
    BehindAny,
}

impl ProviderPattern {
    /// Parses `[HOST/]NAMESPACE/TYPE`. Without a host it is the default one.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        Self::read(text).map_err(|fault| PatternError { pattern: text.to_owned(), fault })
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

    fn read(text: &str) -> Result<Self, PatternFault> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, provider_type) = match *parts {
            [namespace, provider_type] => (Some(DEFAULT_HOST.to_owned()), namespace, provider_type),
            [ANY, namespace, provider_type] => (None, namespace, provider_type),
            [host, namespace, provider_type] => (Some(normalise_host(host)?), namespace, provider_type),
            _ => return Err(PatternFault::Parts(parts.len())),
        };
        let part = |kind, text| (text != ANY).then(|| normalise_part(kind, text)).transpose();
        let (namespace, provider_type) = (part("namespace", namespace)?, part("type", provider_type)?);
        let any_before = |before: bool, part: &Option<String>| before && part.is_some();
        if any_before(host.is_none(), &namespace) || any_before(namespace.is_none(), &provider_type) {
            return Err(PatternFault::BehindAny);
        }
        Ok(Self { host, namespace, provider_type })
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
    fn what_is_no_pattern_is_refused_with_the_reason() {
        for (pattern, reason) in [
            ("*", "it has 1 parts"),
            ("a/b/c/d", "it has 4 parts"),
            ("*/a", "what is behind a * must be a * too"),
            ("*/a/*", "what is behind a * must be a * too"),
            ("*/*/a", "what is behind a * must be a * too"),
            ("a*/b", "letters, digits and hyphens"),
            ("ex_a.com/*/*", "not a host's name"),
            ("a/", "letters, digits and hyphens"),
        ] {
            let error = ProviderPattern::parse(pattern).expect_err(pattern).to_string();
            assert!(error.contains(reason) && error.contains(pattern), "{pattern}: {error}");
        }
    }
}
