//! Selection of a registry's version: the newest matching one that supports this platform and a
//! known protocol.

use std::fmt;

use isthmus_common::listed;
use semver::Version;

use super::{ListedVersion, Listing, RegistryPackage};
use crate::failure::FailureClass;
use crate::{Platform, ProviderAddress, VersionConstraint};

/// Supported major protocol versions.
const PROTOCOLS: std::ops::RangeInclusive<u32> = 5..=6;

/// A selected version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub version: Version,
    /// A warning that a newer one was skipped, and why.
    pub warning: Option<String>,
}

/// No version can be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVersion {
    /// There are none.
    #[error("the registry has no version of {0}")]
    Empty(ProviderAddress),
    /// None satisfies the constraint.
    #[error("no version of {address} satisfies \"{constraint}\"; there are {}", listed(.others))]
    Constraint {
        /// The provider.
        address: ProviderAddress,
        /// The constraint.
        constraint: VersionConstraint,
        /// Available versions, newest first.
        others: Vec<Version>,
    },
    /// None is for this platform.
    #[error("{address} {version} is not published for {platform}, only for {}{}", listed(.platforms), newest_for_this(.older.as_ref()))]
    Platform {
        /// The provider.
        address: ProviderAddress,
        /// The newest matching version.
        version: Version,
        /// This platform.
        platform: Platform,
        /// Its platforms.
        platforms: Vec<String>,
        /// The newest version for this platform, matching or not.
        older: Option<Version>,
    },
    /// Its protocols are too old.
    #[error("{address} {version} speaks only {} of the plugin protocol, which is too old; {}", protocols(.majors), instead(.nearest.as_ref(), "the earliest version that can be run is", ">="))]
    TooOld {
        /// The provider.
        address: ProviderAddress,
        /// The newest matching version.
        version: Version,
        /// Its protocols.
        majors: Vec<u32>,
        /// The earliest usable version.
        nearest: Option<Version>,
    },
    /// Its protocols are too new.
    #[error("{address} {version} speaks only {} of the plugin protocol, which is too new; {}", protocols(.majors), instead(.nearest.as_ref(), "the latest version that can be run is", "<="))]
    TooNew {
        /// The provider.
        address: ProviderAddress,
        /// The newest matching version.
        version: Version,
        /// Its protocols.
        majors: Vec<u32>,
        /// The latest usable version.
        nearest: Option<Version>,
    },
}

/// The newest matching version.
///
/// # Errors
/// When there is none, with the alternatives.
pub fn choose(
    address: &ProviderAddress,
    constraint: &VersionConstraint,
    listing: &Listing,
    platform: Platform,
) -> Result<Chosen, Box<NoVersion>> {
    let mut versions: Vec<&ListedVersion> = listing.versions.iter().collect();
    versions.sort_by(|one, other| other.version.cmp(&one.version));
    let Some(_) = versions.first() else { return Err(Box::new(NoVersion::Empty(address.clone()))) };
    let wanted: Vec<&ListedVersion> =
        versions.iter().copied().filter(|listed| constraint.allows(&listed.version)).collect();
    let Some(newest) = wanted.first().copied() else {
        return Err(Box::new(NoVersion::Constraint {
            address: address.clone(),
            constraint: constraint.clone(),
            others: versions.iter().map(|listed| listed.version.clone()).collect(),
        }));
    };
    let runs = |listed: &&&ListedVersion| listed.speaks() && listed.is_for(platform);
    let why_not = || why_not(address, newest, &versions, platform);
    match wanted.iter().find(runs) {
        None => Err(Box::new(why_not())),
        Some(found) => {
            let passed_over = found.version != newest.version;
            let warning = passed_over.then(|| format!("{}; {} is used", why_not(), found.version));
            Ok(Chosen { version: found.version.clone(), warning })
        }
    }
}

fn why_not(
    address: &ProviderAddress,
    newest: &ListedVersion,
    versions: &[&ListedVersion],
    platform: Platform,
) -> NoVersion {
    let (address, version) = (address.clone(), newest.version.clone());
    let released = || versions.iter().filter(|listed| listed.version.pre.is_empty());
    let mut runnable = released().filter(|listed| listed.speaks() && listed.is_for(platform));
    let majors = newest.protocols.clone();
    if newest.speaks() {
        let older = runnable.next().map(|listed| listed.version.clone());
        return NoVersion::Platform {
            address,
            version,
            platform,
            platforms: newest.platforms.clone(),
            older,
        };
    }
    if majors.iter().all(|major| major < PROTOCOLS.start()) {
        let nearest = runnable.next_back().map(|listed| listed.version.clone());
        NoVersion::TooOld { address, version, majors, nearest }
    } else {
        let nearest = runnable.next().map(|listed| listed.version.clone());
        NoVersion::TooNew { address, version, majors, nearest }
    }
}

/// Whether one of these protocols is supported. Unknown ones are assumed to be.
fn speaks(majors: &[u32]) -> bool {
    majors.is_empty() || majors.iter().any(|major| PROTOCOLS.contains(major))
}

impl RegistryPackage {
    /// Whether it supports a known protocol.
    pub(crate) fn speaks(&self) -> bool {
        speaks(&self.protocols)
    }
}

impl ListedVersion {
    fn speaks(&self) -> bool {
        speaks(&self.protocols)
    }

    fn is_for(&self, platform: Platform) -> bool {
        self.platforms.is_empty() || self.platforms.contains(&platform.to_string())
    }
}

fn protocols(majors: &[u32]) -> String {
    format!("version {}", listed(majors))
}

fn newest_for_this(version: Option<&Version>) -> String {
    version.map_or_else(String::new, |version| format!("; the newest version for this machine is {version}"))
}

fn instead(version: Option<&Version>, which: impl fmt::Display, operator: &str) -> String {
    match version {
        Some(version) => format!("{which} {version}: ask for \"{operator} {version}\""),
        None => "no version can be run".to_owned(),
    }
}

impl NoVersion {
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::Empty(_) | Self::Constraint { .. } | Self::Platform { .. } => FailureClass::Absent,
            Self::TooOld { .. } | Self::TooNew { .. } => FailureClass::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLATFORM: Platform = Platform { os: "linux", arch: "arm64" };

    fn chosen(constraint: &str, versions: &[(&str, &[u32], &[&str])]) -> Result<Chosen, String> {
        let listed = |(version, protocols, platforms): &(&str, &[u32], &[&str])| ListedVersion {
            version: Version::parse(version).expect(version),
            protocols: protocols.to_vec(),
            platforms: platforms.iter().map(|platform| (*platform).to_owned()).collect(),
        };
        let listing = Listing { versions: versions.iter().map(listed).collect(), warnings: Vec::new() };
        let address = ProviderAddress::parse("a/b").expect("an address");
        let constraint = VersionConstraint::parse(constraint).expect(constraint);
        choose(&address, &constraint, &listing, PLATFORM).map_err(|error| error.to_string())
    }

    #[test]
    fn the_newest_that_will_do_is_taken() {
        let all: &[(&str, &[u32], &[&str])] = &[
            ("1.9.0", &[5], &["linux_arm64"]),
            ("1.10.0", &[], &[]),
            ("2.0.0-rc1", &[5], &[]),
            ("1.2.0", &[4, 6], &[]),
        ];
        let version = |constraint| chosen(constraint, all).map(|chosen| chosen.version.to_string());
        assert_eq!(version(""), Ok("1.10.0".to_owned()));
        assert_eq!(version("< 1.9"), Ok("1.2.0".to_owned()));
        assert_eq!(version("2.0.0-rc1"), Ok("2.0.0-rc1".to_owned()));
    }

    #[test]
    fn alternatives_are_reported() {
        let error = |constraint, versions: &[(&str, &[u32], &[&str])]| {
            chosen(constraint, versions).expect_err("none")
        };
        let of = "registry.opentofu.org/a/b";
        assert_eq!(error("", &[]), format!("the registry has no version of {of}"));
        assert_eq!(
            error("> 2", &[("1.0.0", &[], &[]), ("1.1.0", &[], &[])]),
            format!("no version of {of} satisfies \"> 2\"; there are 1.1.0, 1.0.0")
        );
        assert_eq!(
            error(
                "2.0.0",
                &[("2.0.0", &[5], &["linux_amd64", "windows_amd64"]), ("1.0.0", &[5], &["linux_arm64"])]
            ),
            format!(
                "{of} 2.0.0 is not published for linux_arm64, only for linux_amd64, windows_amd64; the newest version for \
                 this machine is 1.0.0"
            )
        );
        let all: &[(&str, &[u32], &[&str])] =
            &[("0.9.0", &[4], &[]), ("1.0.0", &[4, 5], &[]), ("2.0.0", &[6], &[]), ("3.0.0", &[7], &[])];
        assert_eq!(
            error("< 1", all),
            format!(
                "{of} 0.9.0 speaks only version 4 of the plugin protocol, which is too old; the earliest version that can be \
                 run is 1.0.0: ask for \">= 1.0.0\""
            )
        );
        assert_eq!(
            error("3.0.0", all),
            format!(
                "{of} 3.0.0 speaks only version 7 of the plugin protocol, which is too new; the latest version that can be run \
                 is 2.0.0: ask for \"<= 2.0.0\""
            )
        );
        assert!(error("", &[("3.0.0", &[7], &[])]).ends_with("no version can be run"));
    }

    #[test]
    fn a_skipped_newer_version_is_reported() {
        let chosen = chosen("", &[("3.0.0", &[7], &[]), ("2.0.0", &[6], &[])]).expect("2.0.0");
        assert_eq!(chosen.version, Version::new(2, 0, 0));
        let warning = chosen.warning.expect("a warning");
        assert!(
            warning.contains("3.0.0 speaks only version 7") && warning.ends_with("; 2.0.0 is used"),
            "{warning}"
        );
    }
}
