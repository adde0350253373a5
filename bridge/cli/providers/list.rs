//! `isthmus providers list`: lists the cache.

use clap::Args;
use isthmus_install::{Inventory, ProviderCache};
use serde_json::{Value, json};

use super::error::ProvidersError;
use super::{note_if_empty, open_cache};
use crate::cli::output::Outcome;
use crate::cli::table::{bytes, in_one_line, table};
use crate::cli::{json_root, print, verification};

const EXAMPLES: &str = "\
Examples:
  isthmus providers list
  isthmus providers list --json | jq -r '.packages[] | select(.verification == null) | .program'

VERIFIED is how the package was verified: \"signed by KEY\" by its publisher's signature; \"unsigned\" by the checksum of its registry
alone; \"from MIRROR\" by the checksum of that mirror; \"unverified\" not at all, because isthmus did not install it. Below, isthmus lists
entries of the cache that are not providers, with the reason.";

/// List the providers in the cache.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Write a JSON object: directory, packages, and ignored entries.
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self) -> Result<Outcome, ProvidersError> {
        let (cache, inventory) = open_cache()?;
        note_if_empty(&cache, &inventory);
        print(&if self.json { as_json(&cache, &inventory) } else { as_text(&cache, &inventory) });
        Ok(Outcome::Done)
    }
}

fn as_text(cache: &ProviderCache, inventory: &Inventory) -> String {
    let root = cache.root();
    let mut text = if inventory.packages.is_empty() {
        String::new()
    } else {
        let rows = inventory.packages.iter().map(|package| {
            [
                package.address.for_display(),
                package.version.to_string(),
                package.platform.to_string(),
                verification::shown(package.verification.as_ref()),
                bytes(package.size),
                // Only the file name: the other columns determine the directory, which is printed
                // below.
                package.executable.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            ]
        });
        let all = inventory.packages.iter().map(|package| package.size).sum();
        table(["PROVIDER", "VERSION", "PLATFORM", "VERIFIED", "SIZE", "PROGRAM"], rows)
            + &format!("{} in {}\n", bytes(all), root.display())
    };
    for skipped in &inventory.skipped {
        let path = skipped.path.strip_prefix(root).unwrap_or(&skipped.path);
        text.push_str(&format!("passed over {}: {}\n", in_one_line(&path.to_string_lossy()), skipped.reason));
    }
    if !inventory.unfinished.is_empty() {
        let size = inventory.unfinished.iter().map(|unfinished| unfinished.size).sum();
        text.push_str(&format!(
            "{} not finished, by installations that are in progress or were interrupted ({}); `isthmus providers prune` \
             removes the latter\n",
            inventory.unfinished.len(),
            bytes(size)
        ));
    }
    text
}

fn as_json(cache: &ProviderCache, inventory: &Inventory) -> String {
    let packages: Vec<Value> = inventory
        .packages
        .iter()
        .map(|package| {
            json!({
                "address": package.address.to_string(),
                "version": package.version.to_string(),
                "platform": package.platform.to_string(),
                "verification": package.verification.as_ref().map(verification::as_json),
                "size": package.size,
                "directory": package.directory,
                "program": package.executable,
            })
        })
        .collect();
    let skipped: Vec<Value> = inventory
        .skipped
        .iter()
        .map(|skipped| json!({ "path": skipped.path, "reason": skipped.reason }))
        .collect();
    let unfinished: Vec<Value> = inventory
        .unfinished
        .iter()
        .map(|unfinished| json!({ "path": unfinished.path, "size": unfinished.size }))
        .collect();
    let all = json!({
        "directory": cache.root(),
        "packages": packages,
        "skipped": skipped,
        "unfinished": unfinished,
    });
    json_root::document("providers list", all)
}
