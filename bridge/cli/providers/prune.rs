//! `isthmus providers prune`: removes installed versions from the cache.
//!
//! A removed version can be installed again while its registry is reachable. So by default the
//! newest version of each provider stays, which new packages get; older ones are used only by
//! packages that name them.

mod pins;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::Args;
use isthmus_common::printable;
use isthmus_install::{
    CachedPackage, Inventory, Platform, ProviderAddress, ProviderCache, Removal, RunningPrograms,
    Verification, check_program,
};
use serde_json::{Value, json};

use super::error::ProvidersError;
use super::open_cache;
use super::selection::{self, Selection};
use crate::cli::output::{Outcome, inform};
use crate::cli::table::bytes;
use crate::cli::{json_root, print, warn};
use pins::Pins;

const EXAMPLES: &str = "\
Examples:
  isthmus providers prune --dry-run
  isthmus providers prune --keep 3
  isthmus providers prune --older-than 90d
  isthmus providers prune --keep 0 hashicorp/aws
  isthmus providers prune hashicorp/aws@5.0.0

Without options, isthmus removes all versions but the newest release of each provider, and keeps the same number of newer pre-releases.
With --older-than alone, it removes every version that was neither installed nor started for that time, the newest included (the time of a
start is the access time of the file). With both options, it removes a version that neither of them keeps. It removes a version in the
arguments, such as hashicorp/aws@5.0.0, regardless of its age.

isthmus never removes versions that are running or being installed. It removes versions that it did not install or verify only if they are
in the arguments. It always removes leftovers of interrupted installations. The next use of a removed version downloads it again.";

/// Remove old provider versions and leftovers of interrupted installations.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Prune {
    #[arg(
        value_name = "PROVIDER",
        help = "Source address, [HOST/][NAMESPACE/]TYPE[@VERSION] (default: all providers)"
    )]
    providers: Vec<String>,
    /// Number of newest versions of each provider to keep (default: 1; with --older-than alone, 0).
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// Minimum time since the last use, in hours, days or weeks: 12h, 90d, 4w.
    #[arg(long, value_name = "AGE")]
    older_than: Option<Age>,
    /// List the versions that would go, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write a JSON object: removed and kept versions, with reasons.
    #[arg(long)]
    json: bool,
}

/// A version to remove.
#[derive(Debug)]
struct Superfluous<'a> {
    package: &'a CachedPackage,
    /// Whether an argument names its version.
    is_named: bool,
}

#[derive(Debug)]
struct Pruning {
    is_dry: bool,
    freed: u64,
    outcome: Outcome,
    /// What was done, where it is written as JSON.
    entries: Option<Vec<Value>>,
}

impl Prune {
    pub(super) fn run(&self) -> Result<Outcome, ProvidersError> {
        let (cache, inventory) = open_cache()?;
        let selections = selection::parse_all(&self.providers, &cache, &inventory)?;
        let running = RunningPrograms::now();
        let pins = if self.dry_run { Pins::here() } else { None };
        let mut pruning = Pruning {
            is_dry: self.dry_run,
            freed: 0,
            outcome: Outcome::Done,
            entries: self.json.then(Vec::new),
        };
        for Superfluous { package, is_named } in self.superfluous(&inventory, &selections, SystemTime::now())
        {
            let CachedPackage { address, version, platform, size, .. } = package;
            let name = format!("{} {version} {platform}", address.for_display());
            if !is_named && !package.verification.as_ref().is_some_and(Verification::is_installed) {
                let reason = format!("not installed by isthmus; remove it by name, as {address}@{version}");
                pruning.keep(&name, &reason);
                continue;
            }
            if running.has_one_in(&package.directory) {
                pruning.keep(&name, "it is running");
                continue;
            }
            if let (false, Err(altered)) = (is_named, check_program(&package.executable)) {
                let reason = isthmus_common::error_chain(&altered);
                pruning.keep(&name, &format!("{reason}; remove it by name, as {address}@{version}"));
                continue;
            }
            let reason = pins.as_ref().and_then(|pins| pins.reason(package));
            pruning.remove(&name, *size, reason.as_deref(), || package.remove());
        }
        self.remove_unfinished(&cache, &inventory, &selections, &mut pruning);
        match &pruning.entries {
            Some(entries) => {
                let members = json!({ "dry_run": self.dry_run, "freed": pruning.freed, "entries": entries });
                print(&json_root::document("providers prune", members));
            }
            None => {
                let verb = if self.dry_run { "would be freed" } else { "freed" };
                print(&format!("{} {verb}\n", bytes(pruning.freed)));
            }
        }
        if self.dry_run {
            inform(&Pins::note(pins.as_ref()));
        }
        Ok(pruning.outcome)
    }

    /// The versions to remove.
    fn superfluous<'a>(
        &self,
        inventory: &'a Inventory,
        selections: &[Selection],
        now: SystemTime,
    ) -> Vec<Superfluous<'a>> {
        let keep = self.keep.unwrap_or(if self.older_than.is_some() { 0 } else { 1 });
        let mut counts: BTreeMap<(&ProviderAddress, Platform), Counts> = BTreeMap::new();
        let mut superfluous = Vec::new();
        // The newest come first.
        for package in &inventory.packages {
            let counts = counts.entry((&package.address, package.platform)).or_default();
            let is_kept = counts.is_among_newest(package, keep);
            let selected: Vec<&Selection> = selections.iter().filter(|one| one.has(package)).collect();
            let is_named = selected.iter().any(|selection| selection.version.is_some());
            let is_meant = selections.is_empty() || !selected.is_empty();
            let is_old = self.older_than.is_none_or(|age| age.has_passed(package.used, now));
            if is_named || (is_meant && !is_kept && is_old) {
                superfluous.push(Superfluous { package, is_named });
            }
        }
        superfluous
    }

    /// Removes leftovers of interrupted installations, of the selected providers if any are
    /// selected.
    fn remove_unfinished(
        &self,
        cache: &ProviderCache,
        inventory: &Inventory,
        selections: &[Selection],
        pruning: &mut Pruning,
    ) {
        for unfinished in &inventory.unfinished {
            let is_selected =
                |one: &Selection| unfinished.path.starts_with(cache.provider_directory(&one.address));
            if !selections.is_empty() && !selections.iter().any(is_selected) {
                continue;
            }
            let path = unfinished.path.strip_prefix(cache.root()).unwrap_or(&unfinished.path);
            let name = format!("leftovers of an installation, {}", path.display());
            pruning.remove(&name, unfinished.size, None, || unfinished.remove());
        }
    }
}

/// Counters of a provider's versions.
#[derive(Debug, Default)]
struct Counts {
    releases: usize,
    pre_releases: usize,
}

impl Counts {
    /// A pre-release must not displace the newest release; one that is older than a release is not
    /// kept.
    fn is_among_newest(&mut self, package: &CachedPackage, keep: usize) -> bool {
        if package.version.pre.is_empty() {
            self.releases += 1;
            self.releases <= keep
        } else {
            self.pre_releases += 1;
            self.releases == 0 && self.pre_releases <= keep
        }
    }
}

impl Pruning {
    /// `needed`: who needs it, if that is known.
    fn remove(
        &mut self,
        name: &str,
        size: u64,
        needed: Option<&str>,
        remove: impl FnOnce() -> std::io::Result<Removal>,
    ) {
        let size_of = bytes(size);
        if self.is_dry {
            self.freed += size;
            let needed_by = needed.map(|reason| format!("; {reason}")).unwrap_or_default();
            self.note(name, "would_remove", size, needed, || {
                format!("would remove {name}: {size_of}{needed_by}\n")
            });
            return;
        }
        match remove() {
            Ok(Removal::Removed) => {
                self.freed += size;
                self.note(name, "removed", size, None, || format!("removed {name}: {size_of}\n"));
            }
            Ok(Removal::Busy) => self.keep(name, "its installation is in progress"),
            Err(error) => {
                self.outcome = Outcome::Incomplete;
                warn(&format!("{name} cannot be removed: {error}"));
                if let Some(entries) = &mut self.entries {
                    entries.push(entry(name, "failed", size, Some(&error.to_string())));
                }
            }
        }
    }

    fn keep(&mut self, name: &str, reason: &str) {
        self.note(name, "kept", 0, Some(reason), || format!("kept {name}: {reason}\n"));
    }

    fn note(
        &mut self,
        name: &str,
        action: &str,
        size: u64,
        reason: Option<&str>,
        line: impl FnOnce() -> String,
    ) {
        match &mut self.entries {
            Some(entries) => entries.push(entry(name, action, size, reason)),
            None => print(&printable(&line())),
        }
    }
}

fn entry(name: &str, action: &str, size: u64, reason: Option<&str>) -> Value {
    json!({ "name": name, "action": action, "size": size, "reason": reason })
}

const HOUR: u64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Age(Duration);

impl FromStr for Age {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FAULT: &str = "it is a number with h, d or w behind it (hours, days, weeks), such as 90d";
        let unit = match text.chars().next_back() {
            Some('h') => HOUR,
            Some('d') => 24 * HOUR,
            Some('w') => 7 * 24 * HOUR,
            _ => return Err(FAULT),
        };
        let count: u64 = text[..text.len() - 1].parse().map_err(|_| FAULT)?;
        count.checked_mul(unit).map(|seconds| Self(Duration::from_secs(seconds))).ok_or(FAULT)
    }
}

impl Age {
    /// Whether it has passed; never for an unknown last use.
    fn has_passed(self, since: Option<SystemTime>, now: SystemTime) -> bool {
        since.and_then(|since| now.duration_since(since).ok()).is_some_and(|passed| passed > self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use semver::Version;

    use super::*;

    fn package(provider: &str, version: &str, days: u64) -> CachedPackage {
        CachedPackage {
            address: ProviderAddress::parse(provider).expect(provider),
            version: Version::parse(version).expect(version),
            platform: Platform::CURRENT,
            directory: PathBuf::new(),
            executable: PathBuf::new(),
            verification: None,
            size: 1,
            used: Some(SystemTime::UNIX_EPOCH + Duration::from_secs((100 - days) * 86_400)),
        }
    }

    /// Versions in the inventory's order, with the days since their last use.
    fn inventory() -> Inventory {
        let mut other = package("random", "1.0.0", 90);
        other.platform = Platform::parse("plan9_386").expect("a platform");
        let packages = vec![
            package("aws", "5.0.0-rc2", 1),
            package("aws", "5.0.0-rc1", 3),
            package("aws", "4.1.0", 5),
            package("aws", "4.1.0-rc1", 50),
            package("aws", "4.0.0", 2),
            other,
            package("random", "3.9.0", 80),
        ];
        Inventory { packages, ..Inventory::default() }
    }

    fn removed(keep: Option<usize>, older_than: Option<&str>, providers: &[&str]) -> String {
        let older_than = older_than.map(|text| text.parse().expect("an age"));
        let prune = Prune { providers: Vec::new(), keep, older_than, dry_run: true, json: false };
        let selections: Vec<Selection> =
            providers.iter().map(|text| Selection::parse(text).expect(text)).collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100 * 86_400);
        let inventory = inventory();
        let found = prune.superfluous(&inventory, &selections, now).into_iter();
        let names =
            found.map(|found| format!("{} {}", found.package.address.provider_type(), found.package.version));
        names.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_newest_releases_stay_and_the_pre_releases_of_the_next_one() {
        assert_eq!(removed(None, None, &[]), "aws 5.0.0-rc1, aws 4.1.0-rc1, aws 4.0.0");
        assert_eq!(removed(Some(2), None, &[]), "aws 4.1.0-rc1");
        assert_eq!(removed(Some(9), None, &[]), "aws 4.1.0-rc1");
        assert_eq!(removed(Some(0), None, &["random"]), "random 1.0.0, random 3.9.0");
    }

    #[test]
    fn with_an_age_what_is_old_goes_but_for_what_is_to_be_kept() {
        assert_eq!(removed(None, Some("4d"), &[]), "aws 4.1.0, aws 4.1.0-rc1, random 1.0.0, random 3.9.0");
        assert_eq!(removed(Some(1), Some("4d"), &[]), "aws 4.1.0-rc1");
        assert_eq!(removed(Some(1), Some("60d"), &[]), "");
    }

    #[test]
    fn a_version_that_is_named_goes_whatever_its_age_and_nothing_else() {
        assert_eq!(removed(None, None, &["aws@4.1.0"]), "aws 4.1.0");
        assert_eq!(
            removed(None, Some("60d"), &["aws@5.0.0-rc2", "random"]),
            "aws 5.0.0-rc2, random 1.0.0, random 3.9.0"
        );
        assert_eq!(removed(None, None, &["random"]), "");
    }

    #[test]
    fn an_age_has_a_unit() {
        for (text, hours) in [("12h", 12), ("90d", 90 * 24), ("4w", 4 * 7 * 24), ("0d", 0)] {
            assert_eq!(text.parse(), Ok(Age(Duration::from_secs(hours * HOUR))), "{text}");
        }
        for text in ["", "d", "90", "-1d", "1.5d", "1y", "é", "99999999999999999999d", "9999999999999999999w"]
        {
            assert!(text.parse::<Age>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_may_have_been_used_lately_is_not_old() {
        let now = SystemTime::now();
        let day: Age = "1d".parse().expect("an age");
        let before = |hours| Some(now - Duration::from_secs(hours * HOUR));
        assert!(day.has_passed(before(25), now) && !day.has_passed(before(23), now));
        assert!(!day.has_passed(None, now) && !day.has_passed(Some(now + Duration::from_secs(HOUR)), now));
    }
}
