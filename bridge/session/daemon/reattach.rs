//! Reattaching to providers that run already, usually under a debugger, by two environment
//! variables.
//!
//! Terraform's variable is read as Terraform reads it, for all providers. The Go bridge's own
//! variable is for providers of registries: every key must be an address, even of other providers.
//! The version of such a provider is unknown, so its package has none.

use isthmus_common::Environment;
use isthmus_install::{AddressError, DEFAULT_HOST, ProviderAddress};
use isthmus_provider::plugin::{
    ReattachConfig, ReattachError, ReattachSyntaxError, parse_reattach_providers,
};

const OF_TERRAFORM: &str = "TF_REATTACH_PROVIDERS";

const OF_THE_GO_BRIDGE: &str = "PULUMI_BRIDGE_REATTACH_PROVIDERS";

/// Default registries of Terraform and OpenTofu: an address without a host in Terraform's variable
/// may mean either.
const HOSTS: [&str; 2] = ["registry.terraform.io", DEFAULT_HOST];

/// A reattach variable is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ReattachVariableError {
    #[error("the variable {variable} cannot be read")]
    Syntax {
        variable: &'static str,
        #[source]
        source: ReattachSyntaxError,
    },
    /// A key is not a provider address.
    #[error("the variable {variable} has the key {key:?}")]
    Key {
        variable: &'static str,
        key: String,
        #[source]
        source: AddressError,
    },
    /// Two keys name the provider.
    #[error("the variable {variable} names the provider {address} twice, as {first:?} and as {second:?}")]
    Twice { variable: &'static str, address: String, first: String, second: String },
    /// The entry of the provider is invalid.
    #[error("the entry for {key} in the variable {variable} cannot be used")]
    Entry {
        variable: &'static str,
        key: String,
        #[source]
        source: ReattachError,
    },
}

/// Reattach configuration for the provider of this type, if it runs already.
pub(super) fn running_of_type(
    provider_type: &str,
    environment: &Environment,
) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    read(OF_TERRAFORM, environment).map_or(Ok(None), |text| of_type(&text, provider_type))
}

/// Reattach configuration for the provider of a registry, if it runs already.
pub(super) fn running_at(
    address: &ProviderAddress,
    environment: &Environment,
) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    let of_the_go_bridge =
        read(OF_THE_GO_BRIDGE, environment).map_or(Ok(None), |text| at_in_go_bridge(&text, address))?;
    match of_the_go_bridge {
        Some(config) => Ok(Some(config)),
        None => read(OF_TERRAFORM, environment).map_or(Ok(None), |text| at_in_terraform(&text, address)),
    }
}

fn read(variable: &str, environment: &Environment) -> Option<String> {
    // Text that is not UTF-8 fails to parse as JSON.
    environment.value(variable).map(|text| text.to_string_lossy().into_owned())
}

type Entries = std::collections::BTreeMap<String, Result<ReattachConfig, ReattachError>>;

fn parse(variable: &'static str, text: &str) -> Result<Entries, ReattachVariableError> {
    parse_reattach_providers(text).map_err(|source| ReattachVariableError::Syntax { variable, source })
}

fn of_type(text: &str, provider_type: &str) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    let mut entries = parse(OF_TERRAFORM, text)?;
    let short = [provider_type.to_owned(), format!("hashicorp/{provider_type}")];
    let full = HOSTS.iter().map(|host| format!("{host}/hashicorp/{provider_type}"));
    for key in short.into_iter().chain(full) {
        if let Some(entry) = entries.remove(&key) {
            return usable(OF_TERRAFORM, key, entry);
        }
    }
    Ok(None)
}

fn at_in_terraform(
    text: &str,
    wanted: &ProviderAddress,
) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    let on_either_host = HOSTS.contains(&wanted.host());
    let is_wanted = |address: &ProviderAddress| {
        address == wanted
            || (on_either_host
                && HOSTS.contains(&address.host())
                && (address.namespace(), address.provider_type())
                    == (wanted.namespace(), wanted.provider_type()))
    };
    let entries = parse(OF_TERRAFORM, text)?;
    let found = entries
        .into_iter()
        .find(|(key, _)| ProviderAddress::parse(key).is_ok_and(|address| is_wanted(&address)));
    found.map_or(Ok(None), |(key, entry)| usable(OF_TERRAFORM, key, entry))
}

fn at_in_go_bridge(
    text: &str,
    wanted: &ProviderAddress,
) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    let variable = OF_THE_GO_BRIDGE;
    let mut found = None;
    for (key, entry) in parse(variable, text)? {
        let address = match ProviderAddress::parse(&key) {
            Ok(address) => address,
            Err(source) => return Err(ReattachVariableError::Key { variable, key, source }),
        };
        if address != *wanted {
            continue;
        }
        if let Some((first, _)) = found {
            let address = address.to_string();
            return Err(ReattachVariableError::Twice { variable, address, first, second: key });
        }
        found = Some((key, entry));
    }
    found.map_or(Ok(None), |(key, entry)| usable(variable, key, entry))
}

fn usable(
    variable: &'static str,
    key: String,
    entry: Result<ReattachConfig, ReattachError>,
) -> Result<Option<ReattachConfig>, ReattachVariableError> {
    entry.map(Some).map_err(|source| ReattachVariableError::Entry { variable, key, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: &[&str]) -> String {
        let socket = r#"{"Network":"unix","String":"/tmp/plugin1"}"#;
        let entries = keys.iter().map(|key| {
            format!(
                r#""{key}":{{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,"Addr":{socket}}}"#
            )
        });
        format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
    }

    fn address(text: &str) -> ProviderAddress {
        ProviderAddress::parse(text).expect(text)
    }

    fn refused(found: Result<Option<ReattachConfig>, ReattachVariableError>) -> String {
        isthmus_common::error_chain(&found.expect_err("it is refused"))
    }

    #[test]
    fn a_running_provider_is_found_under_each_form_of_its_address() {
        for key in ["random", "hashicorp/random", "registry.terraform.io/hashicorp/random"] {
            assert!(of_type(&entries(&[key]), "random").expect(key).is_some(), "{key}");
            for wanted in ["random", "registry.terraform.io/hashicorp/random"] {
                let found = at_in_terraform(&entries(&[key]), &address(wanted));
                assert!(found.expect(key).is_some(), "{key}, {wanted}");
            }
        }
        assert!(of_type(&entries(&["hashicorp/tls"]), "random").expect("others do not matter").is_none());
    }

    #[test]
    fn a_provider_of_another_registry_or_namespace_is_another() {
        for key in ["example.com/hashicorp/random", "other/random", "not an address", "hashicorp/tls"] {
            let found = at_in_terraform(&entries(&[key]), &address("random"));
            assert!(found.expect("others do not matter").is_none(), "{key}");
        }
        let elsewhere = address("example.com/hashicorp/random");
        assert!(at_in_terraform(&entries(&["random"]), &elsewhere).expect("it is good").is_none());
    }

    #[test]
    fn a_damaged_entry_is_an_error_only_for_its_own_provider() {
        let text = entries(&["random"]).replace("grpc", "netrpc");
        assert!(of_type(&text, "tls").expect("others do not matter").is_none());
        assert!(at_in_go_bridge(&text, &address("tls")).expect("others do not matter").is_none());
        for (error, variable) in [
            (refused(of_type(&text, "random")), OF_TERRAFORM),
            (refused(at_in_terraform(&text, &address("random"))), OF_TERRAFORM),
            (refused(at_in_go_bridge(&text, &address("random"))), OF_THE_GO_BRIDGE),
        ] {
            assert!(error.contains(variable) && error.contains("netrpc"), "{error}");
        }
    }

    #[test]
    fn a_damaged_variable_is_an_error() {
        assert!(refused(of_type("[", "random")).contains(OF_TERRAFORM));
        let error = refused(at_in_go_bridge("not json", &address("random")));
        assert!(
            error.starts_with("the variable PULUMI_BRIDGE_REATTACH_PROVIDERS cannot be read: "),
            "{error}"
        );
    }

    #[test]
    fn the_go_bridges_variable_is_matched_by_normalised_addresses() {
        let found = at_in_go_bridge(
            &entries(&["Registry.OpenTofu.org/HashiCorp/Random", "a/b"]),
            &address("hashicorp/random"),
        );
        assert!(found.expect("it is good").is_some());
        let elsewhere =
            at_in_go_bridge(&entries(&["registry.terraform.io/hashicorp/random"]), &address("random"));
        assert!(elsewhere.expect("it is good").is_none());
    }

    #[test]
    fn every_key_of_the_go_bridges_variable_has_to_be_an_address() {
        let error = refused(at_in_go_bridge(&entries(&["a/b", "bad key!"]), &address("a/b")));
        assert!(error.contains(OF_THE_GO_BRIDGE) && error.contains("\"bad key!\""), "{error}");
        let error = refused(at_in_go_bridge(&entries(&["random", "hashicorp/random"]), &address("random")));
        assert!(error.contains("twice, as \"hashicorp/random\" and as \"random\""), "{error}");
    }
}
