//! Options that are about a provider of a state, by its type or address.

use std::collections::BTreeSet;

use isthmus_common::listed;

use super::output::warn;

/// Warns of the options without effect: those for what is neither the address nor the type of a provider of the state.
pub(super) fn warn_of_unknown(option: &str, values: &[(String, String)], addresses: &BTreeSet<String>) {
    let is_known = |name: &str| {
        addresses.iter().any(|address| {
            // An address from before Terraform 0.13 has only the type.
            let address_only = address.strip_prefix("-/").unwrap_or(address);
            name == address || name == address_only || address.rsplit('/').next() == Some(name)
        })
    };
    let known = || if addresses.is_empty() { "no providers".to_owned() } else { listed(addresses.iter()) };
    for (name, _) in values.iter().filter(|(name, _)| !is_known(name)) {
        warn(&format!(
            "{option} names {name:?}, and no provider of the state has that type or address\nhelp: the state has {}",
            known()
        ));
    }
}
