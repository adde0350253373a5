//! Starting a provider, or joining one that is running already.

use std::path::{Path, PathBuf};

use isthmus_common::blocking;
use isthmus_install::{AlteredError, SignaturePolicy, Verification, check_program};
use isthmus_provider::plugin::{Guardian, LaunchError, LaunchSpec, OtherSessions, Plugin, ReattachConfig};
use isthmus_provider::schema::CatalogueError;
use isthmus_provider::{Diagnostic, KnownSchema, Provider, ProviderError, SchemaUpdate};

use super::reattach::{self, ReattachVariableError};
use super::{Calls, provider_log};
use crate::engine::EngineLog;
use crate::settings::Settings;

/// Terraform's variable that turns TLS to providers off, when it is set to anything.
const DISABLE_TLS: &str = "TF_DISABLE_PLUGIN_TLS";

/// Where a provider comes from.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSource {
    /// What it is called in messages: its type, such as `random`.
    pub name: String,
    /// How it comes to run.
    pub program: Program,
}

/// How a provider comes to run.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// It is started from this file.
    File(PathBuf),
    /// It runs already.
    Running(ReattachConfig),
}

/// A provider cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Whether it runs already cannot be told.
    #[error(transparent)]
    Reattach(#[from] ReattachVariableError),
    /// It is not the program that was installed.
    #[error(transparent)]
    Altered(#[from] AlteredError),
    /// It is not verified, and signatures are enforced.
    #[error("{} is not verified by a signature, and OPENTOFU_ENFORCE_GPG_VALIDATION is set", program.display())]
    Enforced {
        /// Its program.
        program: PathBuf,
    },
    /// It cannot be started, or connected to.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It does not say what it offers.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// What it says of its own configuration cannot be used; Terraform refuses such a provider as well.
    #[error("the provider {name} cannot be used")]
    Schema {
        /// What it is called.
        name: String,
        /// What is wrong.
        #[source]
        source: CatalogueError,
    },
}

impl ProviderSource {
    /// The provider of this type in a file, unless the environment says that one of this type runs already.
    pub(crate) fn in_file(provider_type: &str, executable: PathBuf) -> Result<Self, ReattachVariableError> {
        let running = reattach::running_of_type(provider_type)?;
        let program = running.map_or(Program::File(executable), Program::Running);
        Ok(Self { name: provider_type.to_owned(), program })
    }
}

/// Starts the provider, and asks it what it offers, which is compared with what is `known`. Its log goes to `log`.
pub(crate) async fn start(
    source: &ProviderSource,
    settings: &Settings,
    log: EngineLog,
    calls: &Calls,
    known: Option<&KnownSchema>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Provider, SchemaUpdate), StartError> {
    let sink = provider_log::sink(log.clone(), calls.clone());
    let plugin = match &source.program {
        Program::Running(config) => Plugin::reattach(source.name.clone(), config.clone(), sink).await?,
        Program::File(executable) => {
            verify(executable).await?;
            let mut spec = LaunchSpec::new(source.name.clone(), executable.clone());
            spec.mutual_tls = std::env::var_os(DISABLE_TLS).is_none_or(|value| value.is_empty());
            spec.guardian = Guardian::own_executable();
            spec.other_sessions =
                if settings.kill_sessions { OtherSessions::Kill } else { OtherSessions::Leave };
            Plugin::launch(spec, sink).await?
        }
    };
    let observer = provider_log::observer(settings, log, calls.clone());
    let (provider, news) = Provider::start(source.name.clone(), plugin, observer, known, warnings).await?;
    if let Err(fault) = provider.catalogue().provider() {
        provider.shutdown().await;
        return Err(StartError::Schema { name: source.name.clone(), source: fault });
    }
    Ok((provider, news))
}

/// Where a provider binary comes from.
enum Provenance {
    /// A signature or a mirror of the user's vouches for it, or it is in no cache: the user has named it.
    Accepted,
    /// Its registry names it without a signature.
    Unsigned,
    /// It is in the cache, and nothing vouches for it; the text says why.
    Unverified(String),
}

/// Refuses a provider binary that was altered since it was installed, however long ago it was chosen, and one that is not
/// verified where signatures are enforced. A path into the cache, or a link, leads there too.
async fn verify(executable: &Path) -> Result<(), StartError> {
    match provenance(executable.to_owned()).await? {
        Provenance::Accepted => Ok(()),
        Provenance::Unsigned | Provenance::Unverified(_) => {
            if SignaturePolicy::from_environment().enforce_validation {
                return Err(StartError::Enforced { program: executable.to_owned() });
            }
            Ok(())
        }
    }
}

/// The warning before a provider binary is started that is named by its path, is in the cache, and is not verified.
pub(crate) async fn unverified(executable: PathBuf) -> Option<String> {
    let shown = executable.display().to_string();
    match provenance(executable).await {
        Ok(Provenance::Unverified(reason)) => {
            Some(format!("{shown} is unverified: it was not installed by isthmus, and {reason}"))
        }
        // That it was altered is found once more when it is started.
        Ok(Provenance::Accepted | Provenance::Unsigned) | Err(_) => None,
    }
}

async fn provenance(executable: PathBuf) -> Result<Provenance, AlteredError> {
    let find = move || match check_program(&executable)? {
        Some(Verification::Signed { .. } | Verification::Mirrored { .. }) => Ok(Provenance::Accepted),
        Some(Verification::Unsigned) => Ok(Provenance::Unsigned),
        Some(Verification::Unverified { reason, .. }) => Ok(Provenance::Unverified(reason.to_string())),
        None if is_in_cache(&executable) => Ok(Provenance::Unverified(
            "its origin has not been asked; `isthmus install` verifies it".to_owned(),
        )),
        None => Ok(Provenance::Accepted),
    };
    blocking(find).await
}

/// Whether a file is in the provider cache, by its path or by where links on it lead. Blocks on the file system.
fn is_in_cache(executable: &Path) -> bool {
    let Ok(cache) = crate::home::provider_cache() else { return false };
    let is_below = |executable: &Path, cache: &Path| executable.starts_with(cache);
    is_below(executable, &cache)
        || executable
            .canonicalize()
            .is_ok_and(|executable| cache.canonicalize().is_ok_and(|cache| is_below(&executable, &cache)))
}
