//! `isthmus providers verify`: compares the provider binaries in the cache with their records.
//!
//! Every start does that too, but reads a file only if its metadata has changed; this command
//! always reads it. An unverified provider is compared with its registry or mirror, as on its first
//! start.

use std::sync::Arc;

use clap::Args;
use isthmus_common::printable;
use isthmus_install::{CachedPackage, FileSum, Installer, Platform, Verification, VersionConstraint};
use serde_json::{Value, json};

use super::error::ProvidersError;
use super::{note_if_empty, open_cache, selection};
use crate::cli::install::{Reporter, installer};
use crate::cli::output::Outcome;
use crate::cli::{json_root, print, verification, warn};
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus providers verify
  isthmus providers verify hashicorp/random
  isthmus providers verify example.com/acme/thing@1.2.3 --offline

isthmus hashes each provider binary, and compares it with the checksum recorded at its installation. The exit code is 1 if a binary was
altered or is refused. A provider that isthmus did not install has no recorded checksum: isthmus downloads its package according to the
CLI configuration, and compares. A binary that differs is replaced and counts as altered. It is \"unverified\", which is not a failure,
when its origin is unreachable or does not have it, or when it is built for another platform. Any other failure to verify refuses it.";

/// Verify the provider binaries in the cache.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[arg(
        value_name = "PROVIDER",
        help = "Source address, [HOST/][NAMESPACE/]TYPE[@VERSION] (default: all providers)"
    )]
    providers: Vec<String>,
    /// Do not query registries or mirrors.
    #[arg(long)]
    offline: bool,
    /// Write a JSON object: the packages with their results.
    #[arg(long)]
    json: bool,
}

enum Found {
    AsInstalled(Verification),
    /// Downloaded again, and identical.
    Confirmed(Verification),
    /// Downloaded again, and different.
    Replaced(Verification),
    /// Its origin is unreachable or does not have it.
    Unverified(String),
    /// It cannot be verified for another reason, and is not started.
    Refused(String),
    Altered(String),
}

impl Verify {
    pub(super) async fn run(&self, settings: &Arc<Settings>) -> Result<Outcome, ProvidersError> {
        let (cache, inventory) = open_cache()?;
        let selections = selection::parse_all(&self.providers, &cache, &inventory)?;
        note_if_empty(&cache, &inventory);
        let is_selected =
            |package: &CachedPackage| selections.is_empty() || selections.iter().any(|one| one.has(package));
        let mut asked = None;
        let mut outcome = Outcome::Done;
        let progress = Reporter::new();
        let mut results = Vec::new();
        for package in inventory.packages.iter().filter(|package| is_selected(package)) {
            progress.count(&format!("reading {} {}", package.address.for_display(), package.version));
            let verified = package.verify();
            progress.clear();
            let found = match verified {
                Ok(Some(Verification::Unverified { .. }) | None) if self.offline => {
                    Found::Unverified("it was not installed by isthmus".to_owned())
                }
                Ok(Some(Verification::Unverified { .. }) | None) if package.platform != Platform::CURRENT => {
                    let platform = package.platform;
                    Found::Unverified(format!("it was not installed by isthmus, and is built for {platform}"))
                }
                Ok(Some(Verification::Unverified { .. }) | None) => {
                    let installer = match &mut asked {
                        Some(installer) => installer,
                        // By the registries alone, independent of a project's lock file.
                        none => none.insert(installer(settings)?.without_lock().querying_again()),
                    };
                    compare_with_registry(installer, package).await
                }
                Ok(Some(verification)) => Found::AsInstalled(verification),
                Err(error) => Found::Altered(isthmus_common::error_chain(&error)),
            };
            match found {
                Found::Altered(_) | Found::Replaced(_) | Found::Refused(_) => outcome = Outcome::Incomplete,
                Found::AsInstalled(_) | Found::Confirmed(_) | Found::Unverified(_) => {}
            }
            let CachedPackage { address, version, platform, .. } = package;
            if self.json {
                let mut result = found.as_json();
                result["address"] = address.to_string().into();
                result["version"] = version.to_string().into();
                result["platform"] = platform.to_string().into();
                results.push(result);
            } else {
                let line = format!("{} {version} {platform}: {}\n", address.for_display(), found.text());
                print(&printable(&line));
            }
        }
        if self.json {
            print(&json_root::document("providers verify", json!({ "packages": results })));
        }
        Ok(outcome)
    }
}

/// Compares a provider with that of its registry.
async fn compare_with_registry(installer: &Installer, package: &CachedPackage) -> Found {
    let CachedPackage { address, version, executable, .. } = package;
    let before = FileSum::of_file(executable).ok();
    let reporter = Reporter::new();
    let installed = reporter.install(installer, address, &VersionConstraint::exactly(version)).await;
    let installed = match installed {
        Ok(installed) => installed,
        Err(error) => return Found::Refused(isthmus_common::error_chain(&error)),
    };
    match installed.verification {
        Verification::Unverified { .. } => Found::Unverified(installed.warnings.join("; ")),
        verified => {
            installed.warnings.iter().for_each(|warning| warn(warning));
            if FileSum::of_file(&installed.executable).ok() == before {
                Found::Confirmed(verified)
            } else {
                Found::Replaced(verified)
            }
        }
    }
}

impl Found {
    fn as_json(&self) -> Value {
        let verified = |result: &str, verification| json!({ "result": result, "verification": verification::as_json(verification), "reason": null });
        let failed =
            |result: &str, reason| json!({ "result": result, "verification": null, "reason": reason });
        match self {
            Self::AsInstalled(verification) => verified("verified", verification),
            Self::Confirmed(verification) => verified("confirmed", verification),
            Self::Replaced(verification) => verified("replaced", verification),
            Self::Unverified(reason) => failed("unverified", reason),
            Self::Refused(reason) => failed("refused", reason),
            Self::Altered(reason) => failed("altered", reason),
        }
    }

    fn text(&self) -> String {
        let shown = |verification| verification::shown(Some(verification));
        match self {
            Self::AsInstalled(verification) => format!("as it was installed, {}", shown(verification)),
            Self::Confirmed(verification) => format!("verified now, {}", shown(verification)),
            Self::Replaced(verification) => {
                format!(
                    "ALTERED: it was another one, and was replaced by the right one, {}",
                    shown(verification)
                )
            }
            Self::Unverified(reason) => format!("unverified: {reason}"),
            Self::Refused(reason) => format!("REFUSED: {reason}"),
            Self::Altered(reason) => format!("ALTERED: {reason}"),
        }
    }
}
