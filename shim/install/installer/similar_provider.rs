//! The provider that was probably meant by an address that no registry and no cache has.

use isthmus_common::blocking;

use super::error::InstallError;
use crate::diagnosis::Trouble;
use crate::{ProviderAddress, ProviderCache};

/// Types that are less alike are others.
const ALIKE: f64 = 0.6;

/// Providers that most programs use, for a first installation, when no cache has any.
const USUAL: [&str; 22] = [
    "cloudflare/cloudflare",
    "datadog/datadog",
    "hashicorp/archive",
    "hashicorp/aws",
    "hashicorp/azuread",
    "hashicorp/azurerm",
    "hashicorp/cloudinit",
    "hashicorp/consul",
    "hashicorp/external",
    "hashicorp/google",
    "hashicorp/google-beta",
    "hashicorp/helm",
    "hashicorp/http",
    "hashicorp/kubernetes",
    "hashicorp/local",
    "hashicorp/null",
    "hashicorp/random",
    "hashicorp/template",
    "hashicorp/time",
    "hashicorp/tls",
    "hashicorp/vault",
    "integrations/github",
];

/// Adds the provider that was probably meant to an error, if no origin has the one that was named.
pub(super) async fn named_beside(
    error: Box<InstallError>,
    cache: &ProviderCache,
    address: &ProviderAddress,
) -> Box<InstallError> {
    if error.trouble() != Trouble::UnknownProvider || matches!(*error, InstallError::OtherRegistry { .. }) {
        return error;
    }
    let (cache, wanted) = (cache.clone(), address.clone());
    let similar = blocking(move || {
        let inventory = cache.inventory().unwrap_or_default();
        similar_provider(&wanted, inventory.packages.iter().map(|package| &package.address))
    });
    match similar.await {
        Some(similar) => Box::new(InstallError::Similar { error, similar }),
        None => error,
    }
}

/// The known provider most similar to an unknown one, as users write it. A provider of the same name in another namespace is the
/// most similar.
fn similar_provider<'a>(
    unknown: &ProviderAddress,
    known: impl IntoIterator<Item = &'a ProviderAddress>,
) -> Option<String> {
    let known: Vec<String> = known.into_iter().map(ProviderAddress::for_display).collect();
    let wanted = unknown.for_display();
    let likeness = |other: &str| {
        let type_name = other.rsplit('/').next().unwrap_or(other);
        strsim::normalized_damerau_levenshtein(unknown.provider_type(), type_name)
    };
    let others = known
        .iter()
        .map(String::as_str)
        .chain(USUAL)
        .filter(|other| *other != wanted)
        .map(|other| (likeness(other), other));
    let alike = others.filter(|(likeness, _)| *likeness >= ALIKE);
    let nearest = alike.max_by(|(one, first), (other, second)| {
        // The first of several.
        one.total_cmp(other).then_with(|| second.cmp(first))
    });
    nearest.map(|(_, other)| other.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_type_or_namespace_is_answered_with_the_provider_that_is_known() {
        let address = |text| ProviderAddress::parse(text).expect("an address");
        let known = [address("example.com/acme/thing")];
        for (unknown, meant) in [
            ("hashicorp/randm", Some("hashicorp/random")),
            ("randon", Some("hashicorp/random")),
            ("acme/aws", Some("hashicorp/aws")),
            ("hashicorp/github", Some("integrations/github")),
            ("example.com/acme/thnig", Some("example.com/acme/thing")),
            ("hashicorp/xylophone", None),
        ] {
            assert_eq!(similar_provider(&address(unknown), &known).as_deref(), meant, "{unknown}");
        }
    }
}
