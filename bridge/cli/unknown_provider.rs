//! Options that are about a provider of a state, by its type or address.

use std::collections::BTreeSet;

use isthmus_common::listed;

/// An option names a provider that the state does not have, so that it would have no effect.
#[derive(Debug, thiserror::Error)]
#[error(
    "{option} names {name:?}, and no provider of the state has that type or address\nhelp: the state has {known}"
)]
pub(super) struct UnknownProvider {
    option: &'static str,
    name: String,
    /// What the state has instead.
    known: String,
}

impl UnknownProvider {
    /// Finds a name that is neither the address nor the type of one of the providers.
    pub(super) fn among(
        option: &'static str,
        values: &[(String, String)],
        addresses: &BTreeSet<String>,
    ) -> Result<(), Self> {
        let is_known = |name: &str| {
            addresses.iter().any(|address| {
                // An address from before Terraform 0.13 has only the type.
                let address_only = address.strip_prefix("-/").unwrap_or(address);
                name == address || name == address_only || address.rsplit('/').next() == Some(name)
            })
        };
        match values.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let known =
                    if addresses.is_empty() { "no providers".to_owned() } else { listed(addresses.iter()) };
                Err(Self { option, name: name.clone(), known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_for_a_provider_that_the_state_does_not_have_is_an_error_with_those_that_it_has() {
        let addresses: BTreeSet<String> = ["a.com/b/random", "-/old"].map(str::to_owned).into();
        let checked = |name: &str, addresses: &BTreeSet<String>| {
            let values = [(name.to_owned(), "./file".to_owned())];
            UnknownProvider::among("--provider", &values, addresses).map_err(|error| error.to_string())
        };
        for name in ["random", "a.com/b/random", "old", "-/old"] {
            assert_eq!(checked(name, &addresses), Ok(()), "{name}");
        }
        let error = checked("nosuch", &addresses).expect_err("there is none");
        assert!(
            error.starts_with("--provider names \"nosuch\"") && error.contains("a.com/b/random"),
            "{error}"
        );
        let error = checked("random", &BTreeSet::new()).expect_err("there is none");
        assert!(error.ends_with("the state has no providers"), "{error}");
    }
}
