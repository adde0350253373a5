//! The provider that was probably meant by an address that no registry and no cache has.

use isthmus_install::ProviderAddress;

use super::tokens::nearest;

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

/// The known provider most similar to an unknown one, as users write it. A provider of the same name in another namespace is the
/// most similar.
pub(crate) fn similar_provider<'a>(
    unknown: &ProviderAddress,
    known: impl IntoIterator<Item = &'a ProviderAddress>,
) -> Option<String> {
    let known: Vec<String> = known.into_iter().map(ProviderAddress::for_display).collect();
    let all = || known.iter().map(String::as_str).chain(USUAL);
    let wanted = unknown.for_display();
    let same_type =
        all().find(|other| *other != wanted && other.rsplit('/').next() == Some(unknown.provider_type()));
    let types: Vec<&str> = all().filter_map(|other| other.rsplit('/').next()).collect();
    let by_type = || {
        let nearest = nearest(unknown.provider_type(), types)?;
        all().find(|other| *other != wanted && other.rsplit('/').next() == Some(nearest))
    };
    same_type.or_else(by_type).map(str::to_owned)
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
