//! `isthmus providers mirror`: copies providers into a directory, for networks without access to
//! their registries.
//!
//! The layout is that of `tofu providers mirror`: a filesystem mirror for OpenTofu, Terraform and
//! isthmus, and a network mirror if a file server serves it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use isthmus_common::scratch::temporary_directory;
use isthmus_install::{
    Delivery, Installer, MirrorWriter, PackageForm, Platform, ProviderAddress, Verification,
    VersionConstraint, choose,
};
use semver::Version;
use serde_json::{Value, json};

use super::error::ProvidersError;
use crate::cli::install::{Reporter, installer, platform};
use crate::cli::output::Outcome;
use crate::cli::{json_root, print, verification, warn};
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus providers mirror ./mirror hashicorp/random hashicorp/tls@4.0.5
  isthmus providers mirror /srv/providers 'hashicorp/aws@~> 5.0' --platform linux_amd64 --platform darwin_arm64

isthmus downloads packages according to the CLI configuration, and verifies them as for an installation. Use the mirror with

  provider_installation {
    filesystem_mirror { path = \"/srv/providers\" }
  }

or, behind an HTTPS file server, with a network_mirror. isthmus keeps packages that the directory already has.";

/// Copy providers into a filesystem mirror.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mirror {
    /// Directory of the mirror, created if missing.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[arg(
        value_name = "PROVIDER",
        required = true,
        help = "Source address, [HOST/][NAMESPACE/]TYPE[@VERSION or CONSTRAINT] (default: the newest version)"
    )]
    providers: Vec<String>,
    /// Platform, such as darwin_arm64 (default: this one).
    #[arg(long = "platform", value_name = "OS_ARCH", value_parser = platform)]
    platforms: Vec<Platform>,
    /// Write a JSON object: the packages that were copied or were there.
    #[arg(long)]
    json: bool,
}

impl Mirror {
    pub(super) async fn run(&self, settings: &Arc<Settings>) -> Result<Outcome, ProvidersError> {
        let wanted = self.providers.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
        let installer = installer(settings)?.without_lock();
        let platforms = if self.platforms.is_empty() { &[Platform::CURRENT][..] } else { &self.platforms };
        let writer = MirrorWriter::new(&self.directory);
        let mut copied = Vec::new();
        let mut outcome = Ok(Outcome::Done);
        for (address, constraint) in &wanted {
            outcome = self.copy(&installer, &writer, (address, constraint), platforms, &mut copied).await;
            if outcome.is_err() {
                break;
            }
        }
        // Copied packages are indexed even if others failed.
        let addresses: BTreeSet<&ProviderAddress> = copied.iter().map(|copied| &copied.address).collect();
        for address in addresses {
            writer.write_indexes(address)?;
        }
        if self.json {
            let packages: Vec<Value> = copied.iter().map(Copied::as_json).collect();
            print(&json_root::document("providers mirror", json!({ "packages": packages })));
        }
        outcome
    }

    async fn copy(
        &self,
        installer: &Installer,
        writer: &MirrorWriter,
        (address, constraint): (&ProviderAddress, &VersionConstraint),
        platforms: &[Platform],
        copied: &mut Vec<Copied>,
    ) -> Result<Outcome, ProvidersError> {
        let version = version(installer, address, constraint, platforms).await?;
        let reporter = Reporter::new();
        for platform in platforms {
            let temporary = temporary_directory("isthmus-download-").map_err(ProvidersError::Temporary)?;
            let report = |event| reporter.report(event);
            let delivery = installer.deliver(address, &version, *platform, temporary.path(), &report).await;
            reporter.clear();
            let Delivery { package, verification, warnings, .. } = delivery?;
            warnings.iter().for_each(|warning| warn(warning));
            let archive = match &package {
                PackageForm::Archive(path) => path,
                PackageForm::Directory(path) => return Err(ProvidersError::Unpacked(path.clone())),
            };
            let path = writer.add(address, &version, *platform, archive)?;
            if !self.json {
                let verified = verification::shown(Some(&verification));
                let name = format!("{} {version} {platform}", address.for_display());
                print(&format!("{name}, {verified}: {}\n", path.display()));
            }
            let (address, version, platform) = (address.clone(), version.clone(), *platform);
            copied.push(Copied { address, version, platform, verification, path });
        }
        Ok(Outcome::Done)
    }
}

/// A package in the mirror.
struct Copied {
    address: ProviderAddress,
    version: Version,
    platform: Platform,
    verification: Verification,
    path: PathBuf,
}

impl Copied {
    fn as_json(&self) -> Value {
        json!({
            "address": self.address.to_string(),
            "version": self.version.to_string(),
            "platform": self.platform.to_string(),
            "verification": verification::as_json(&self.verification),
            "path": self.path,
        })
    }
}

/// An exact version needs no query; otherwise it is the newest for the first platform.
async fn version(
    installer: &Installer,
    address: &ProviderAddress,
    constraint: &VersionConstraint,
    platforms: &[Platform],
) -> Result<Version, ProvidersError> {
    if let Some(version) = constraint.only_version().filter(|version| constraint.allows(version)) {
        return Ok(version.clone());
    }
    let listing = installer.versions(address).await?;
    let platform = platforms.first().copied().unwrap_or(Platform::CURRENT);
    let chosen = choose(address, constraint, &listing, platform).map_err(ProvidersError::NoVersion)?;
    if let Some(warning) = chosen.warning {
        warn(&warning);
    }
    Ok(chosen.version)
}

fn parse(text: &str) -> Result<(ProviderAddress, VersionConstraint), ProvidersError> {
    let (address, constraint) = text.split_once('@').unwrap_or((text, ""));
    Ok((ProviderAddress::parse(address)?, VersionConstraint::parse(constraint)?))
}
