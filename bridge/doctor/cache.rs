//! The provider cache: whether it can be written to, and whether what is in it can be started.

use std::path::PathBuf;

use isthmus_common::counted;
use isthmus_install::{Inventory, Platform, ProviderCache, check_program};
use isthmus_provider::plugin;

use super::directory::{Usability, usability};
use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home;

#[derive(Debug)]
pub(super) struct CacheContents {
    root: PathBuf,
    usability: Usability,
    /// What is in it, or why it cannot be read.
    pub(super) inventory: Result<Inventory, String>,
    /// Executables that cannot be started, with the fault.
    faults: Vec<Finding>,
    /// Those executables.
    pub(super) unusable: Vec<PathBuf>,
}

/// `None` without a directory for it. Reads executables whose metadata have changed. Blocks on the file system.
pub(super) fn gather(world: &World) -> Option<CacheContents> {
    let cache = ProviderCache::new(home::provider_cache(world.environment()).ok()?);
    let inventory = cache.inventory().map_err(|error| error.to_string());
    let (mut faults, mut unusable) = (Vec::new(), Vec::new());
    for package in inventory.iter().flat_map(|inventory| &inventory.packages) {
        let name = format!("{}@{}", package.address, package.version);
        let fault = match check_program(&package.executable) {
            Err(altered) => {
                let text = isthmus_common::error_chain(&altered);
                let help = format!("run `isthmus providers prune {name}`, and install it again");
                Some(Finding::fault(ErrorCode::ProviderAltered, &text).advising(help))
            }
            // Others are for other machines.
            Ok(_) if package.platform != Platform::CURRENT => None,
            Ok(_) => plugin::inspect(&package.executable).err().map(|error| {
                let reason = isthmus_common::error_chain(&error);
                let text = format!("{} cannot be started: {reason}", package.executable.display());
                let help = format!(
                    "run `isthmus providers prune {name}`, and install it again; or correct the file"
                );
                Finding::fault(ErrorCode::ProviderFileUnusable, &text).advising(help)
            }),
        };
        if let Some(fault) = fault {
            faults.push(fault);
            unusable.push(package.executable.clone());
        }
    }
    let root = cache.root().to_owned();
    Some(CacheContents { usability: usability(&root), root, inventory, faults, unusable })
}

pub(super) fn judge(facts: Option<&CacheContents>) -> Judgement {
    let Some(CacheContents { root, usability, inventory, faults, .. }) = facts else {
        let text = "no directory for providers: neither PULUMI_HOME nor HOME is set";
        return Judgement::new("none", vec![Finding::fault(ErrorCode::NoHomeDirectory, text)]);
    };
    let mut findings = faults.clone();
    // What it cannot be written to for is in the check of file systems.
    if let (None, Err(reason)) = (usability.fault("", root), inventory) {
        let text = format!("the provider cache {} cannot be read: {reason}", root.display());
        findings.push(Finding::fault(ErrorCode::DirectoryUnusable, &text));
    }
    let count = inventory.as_ref().map_or(0, |inventory| inventory.packages.len());
    Judgement::new(format!("{} of providers in {}", counted(count, "version"), root.display()), findings)
}
