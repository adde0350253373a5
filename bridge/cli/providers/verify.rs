//! `isthmus providers verify`: whether the programs in the cache are those that were installed.
//!
//! Every start compares a program with its record, but only reads it when the file system says that it has changed. Here it is read in
//! any case.

use clap::Args;
use isthmus_shim::install::CachedPackage;

use super::list::verified;
use super::{Outcome, ProvidersError, open, selection};
use crate::cli::print;

const EXAMPLES: &str = "\
Examples:
  isthmus providers verify
  isthmus providers verify hashicorp/random
  isthmus providers verify example.com/acme/thing@1.2.3

Each program is read as a whole, and compared with what was recorded when it was installed. Exits with 1 when one was altered.
A provider that somebody else has put into the cache has no record, and is told to be unverified; that is no failure.";

/// Compare the programs in the cache with what was installed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    /// Which, as [HOST/][NAMESPACE/]TYPE[@VERSION]; without any, all.
    #[arg(value_name = "PROVIDER")]
    providers: Vec<String>,
}

impl Verify {
    pub(super) fn run(&self) -> Result<Outcome, ProvidersError> {
        let (cache, inventory) = open()?;
        let selections = selection::parse_all(&self.providers, &cache, &inventory)?;
        let is_selected =
            |package: &CachedPackage| selections.is_empty() || selections.iter().any(|one| one.has(package));
        let mut outcome = Outcome::Done;
        for package in inventory.packages.iter().filter(|package| is_selected(package)) {
            let said = match cache.verify(package) {
                Ok(Some(_)) => format!("as it was installed, {}", verified(package)),
                Ok(None) => "unverified: somebody else has put it there".to_owned(),
                Err(error) => {
                    outcome = Outcome::Faulty;
                    format!("ALTERED: {}", isthmus_shim::error_chain(&error))
                }
            };
            let CachedPackage { address, version, platform, .. } = package;
            print(&format!("{} {version} {platform}: {said}\n", address.for_display()));
        }
        Ok(outcome)
    }
}
