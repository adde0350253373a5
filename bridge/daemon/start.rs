//! Starting a provider, or joining one that is running already.

use std::path::PathBuf;

use isthmus_shim::plugin::{
    LaunchError, LaunchSpec, Plugin, ReattachConfig, ReattachError, ReattachSyntaxError,
    parse_reattach_providers,
};
use isthmus_shim::provider::{Diagnostic, Provider, ProviderError};

use super::{Calls, provider_log};
use crate::engine::EngineLog;

/// Terraform's variable for providers that are running already.
const REATTACH: &str = "TF_REATTACH_PROVIDERS";

/// Terraform's variable that turns TLS to providers off, when it is set to anything.
const DISABLE_TLS: &str = "TF_DISABLE_PLUGIN_TLS";

/// The registries whose provider of the same type a bare name may mean.
const HOSTS: [&str; 2] = ["registry.terraform.io", "registry.opentofu.org"];

/// Where a provider comes from.
#[derive(Clone, Debug)]
pub struct ProviderSource {
    /// What it is called in messages: its type, such as `random`.
    pub name: String,
    /// The program.
    pub executable: PathBuf,
}

/// A provider cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot be started, or connected to.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It does not say what it offers.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The variable is damaged.
    #[error("the variable {REATTACH} cannot be read")]
    Syntax(#[from] ReattachSyntaxError),
    /// What the variable says of this provider is wrong.
    #[error("what the variable {REATTACH} says of {address} cannot be used")]
    Reattach {
        /// The provider's address, as it stands there.
        address: String,
        /// What is wrong.
        #[source]
        source: ReattachError,
    },
}

/// Starts the provider, and asks it what it offers. Its log goes to `log`.
pub async fn start(
    source: &ProviderSource,
    log: EngineLog,
    calls: &Calls,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Provider, StartError> {
    let sink = provider_log::sink(log.clone(), calls.clone());
    let plugin = match running(&source.name)? {
        Some(config) => Plugin::reattach(source.name.clone(), config, sink).await?,
        None => {
            let mut spec = LaunchSpec::new(source.name.clone(), source.executable.clone());
            spec.mutual_tls = std::env::var_os(DISABLE_TLS).is_none_or(|value| value.is_empty());
            Plugin::launch(spec, sink).await?
        }
    };
    let observer = provider_log::observer(log, calls.clone());
    Ok(Provider::start(source.name.clone(), plugin, observer, warnings).await?)
}

/// How to join the provider of this type, if it is running already.
fn running(provider_type: &str) -> Result<Option<ReattachConfig>, StartError> {
    match std::env::var(REATTACH) {
        Ok(text) if !text.is_empty() => find(&text, provider_type),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn find(text: &str, provider_type: &str) -> Result<Option<ReattachConfig>, StartError> {
    let mut entries = parse_reattach_providers(text)?;
    let short = [provider_type.to_owned(), format!("hashicorp/{provider_type}")];
    let full = HOSTS.iter().map(|host| format!("{host}/hashicorp/{provider_type}"));
    for address in short.into_iter().chain(full) {
        match entries.remove(&address) {
            None => {}
            Some(Ok(config)) => return Ok(Some(config)),
            Some(Err(source)) => return Err(StartError::Reattach { address, source }),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(address: &str) -> String {
        let socket = r#"{"Network":"unix","String":"/tmp/plugin1"}"#;
        format!(
            r#"{{"{address}":{{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,"Addr":{socket}}}}}"#
        )
    }

    #[test]
    fn a_running_provider_is_found_under_each_form_of_its_address() {
        for address in ["random", "hashicorp/random", "registry.terraform.io/hashicorp/random"] {
            assert!(find(&entry(address), "random").expect(address).is_some(), "{address}");
        }
        assert!(find(&entry("hashicorp/tls"), "random").expect("others do not matter").is_none());
    }

    #[test]
    fn a_damaged_entry_is_an_error_only_for_its_own_provider() {
        let text = entry("random").replace("grpc", "netrpc");
        assert!(find(&text, "tls").expect("others do not matter").is_none());
        let error = isthmus_shim::error_chain(&find(&text, "random").expect_err("netrpc is not spoken"));
        assert!(error.contains("TF_REATTACH_PROVIDERS") && error.contains("netrpc"), "{error}");
    }

    #[test]
    fn a_damaged_variable_is_an_error() {
        assert!(matches!(find("[", "random"), Err(StartError::Syntax(_))));
    }
}
