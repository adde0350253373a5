//! Responses of registries.

use std::collections::{BTreeMap, BTreeSet};

use isthmus_common::shortened;
use semver::Version;
use serde::{Deserialize, Serialize};
use url::Url;

use super::PackageFault;
use crate::checksums::Checksums;
use crate::hashes::HashScheme;
use crate::shown::shown_text;
use crate::{FileSum, PackageHash, Platform};

/// Warnings that are shown of one answer at most, and characters of each.
const MOST_WARNINGS: usize = 10;
const LONGEST_WARNING: usize = 1_000;

/// Bytes of a file's name, on all file systems.
const LONGEST_NAME: usize = 255;

/// Characters of a name or an address in an error.
const SHOWN: usize = 200;

/// The versions of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// In the registry's order. Invalid versions are omitted.
    pub versions: Vec<ListedVersion>,
    /// The registry's warnings for users, such as that the provider has moved.
    pub warnings: Vec<String>,
}

/// A listed version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedVersion {
    pub version: Version,
    /// Major versions of its protocols; empty if unknown.
    pub protocols: Vec<u32>,
    /// Its platforms, such as `linux_amd64`; empty if unknown.
    pub platforms: Vec<String>,
}

impl ListedVersion {
    /// A version with unknown protocols and platforms.
    pub(crate) fn of_unknown_kind(version: Version) -> Self {
        Self { version, protocols: Vec::new(), platforms: Vec::new() }
    }
}

/// The location and checksum of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegistryPackage {
    pub file: String,
    pub archive: Url,
    pub sum: FileSum,
    /// The list of checksums.
    pub sums: Url,
    /// The signature of that list.
    pub signature: Url,
    /// The registry's keys, in ASCII armor.
    pub keys: Vec<String>,
    /// Major versions of the provider's protocols; empty if unknown.
    pub protocols: Vec<u32>,
    /// The hashes of this version's packages that the registry reports, for all platforms. An
    /// extension that OpenTofu 1.12 reads.
    pub reported: BTreeSet<PackageHash>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionsAnswer {
    #[serde(default)]
    versions: Option<Vec<VersionAnswer>>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct VersionAnswer {
    version: String,
    #[serde(default)]
    protocols: Option<Vec<String>>,
    #[serde(default)]
    platforms: Option<Vec<PlatformAnswer>>,
}

#[derive(Debug, Deserialize)]
struct PlatformAnswer {
    os: String,
    arch: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct DownloadAnswer {
    #[serde(default)]
    protocols: Option<Vec<String>>,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasum: String,
    shasums_url: String,
    shasums_signature_url: String,
    #[serde(default)]
    signing_keys: Option<KeysAnswer>,
    #[serde(default)]
    packages: Option<BTreeMap<String, SumsAnswer>>,
}

#[derive(Debug, Deserialize)]
struct SumsAnswer {
    #[serde(default)]
    hashes: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct KeysAnswer {
    #[serde(default)]
    gpg_public_keys: Option<Vec<KeyAnswer>>,
}

#[derive(Debug, Deserialize)]
struct KeyAnswer {
    ascii_armor: String,
}

impl From<VersionsAnswer> for Listing {
    fn from(answer: VersionsAnswer) -> Self {
        let listed = |answer: VersionAnswer| {
            let platforms = answer.platforms.unwrap_or_default().into_iter();
            Some(ListedVersion {
                version: Version::parse(answer.version.trim_start_matches('v')).ok()?,
                protocols: majors(answer.protocols),
                platforms: platforms.map(|PlatformAnswer { os, arch }| format!("{os}_{arch}")).collect(),
            })
        };
        let versions = answer.versions.unwrap_or_default().into_iter().filter_map(listed).collect();
        let warnings = answer.warnings.unwrap_or_default().into_iter().take(MOST_WARNINGS);
        Self { versions, warnings: warnings.map(|text| shortened(&text, LONGEST_WARNING).into()).collect() }
    }
}

impl DownloadAnswer {
    pub(super) fn checked(self, found_at: &Url, platform: Platform) -> Result<RegistryPackage, PackageFault> {
        let is_for = format!("{}_{}", self.os, self.arch);
        if is_for != platform.to_string() {
            let found = shortened(&is_for, SHOWN).into();
            return Err(PackageFault::Platform { wanted: platform, found });
        }
        let is_name = (1..=LONGEST_NAME).contains(&self.filename.len());
        if !is_name || self.filename.contains(['/', '\\', '\0']) {
            return Err(PackageFault::FileName(shortened(&self.filename, SHOWN).into()));
        }
        let url = |text: &str| {
            let url = found_at.join(text).ok();
            let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            url.ok_or_else(|| PackageFault::Url(shortened(&shown_text(text), SHOWN).into()))
        };
        let sum = FileSum::parse(&self.shasum).map_err(PackageFault::Sum)?;
        let reported = reported(self.packages.unwrap_or_default(), &is_for, sum)?;
        let keys = self.signing_keys.and_then(|keys| keys.gpg_public_keys).unwrap_or_default();
        Ok(RegistryPackage {
            archive: url(&self.download_url)?,
            sum,
            sums: url(&self.shasums_url)?,
            signature: url(&self.shasums_signature_url)?,
            file: self.filename,
            keys: keys.into_iter().map(|key| key.ascii_armor).collect(),
            protocols: majors(self.protocols),
            reported,
        })
    }
}

/// The reported hashes of all packages, unless those for this platform do not match the archive.
fn reported(
    packages: BTreeMap<String, SumsAnswer>,
    platform: &str,
    sum: FileSum,
) -> Result<BTreeSet<PackageHash>, PackageFault> {
    let mut reported = BTreeSet::new();
    let archive = PackageHash::of_archive_sum(sum.0);
    for (of, SumsAnswer { hashes }) in packages {
        for text in hashes.unwrap_or_default() {
            let hash = PackageHash::parse(&text).map_err(PackageFault::Hash)?;
            match hash.scheme() {
                HashScheme::Archive if of == platform && hash != archive => {
                    return Err(PackageFault::OtherHash { sum, found: hash });
                }
                HashScheme::Archive | HashScheme::Contents => {
                    reported.insert(hash);
                }
                // They cannot be compared.
                HashScheme::Other => {}
            }
        }
    }
    Ok(reported)
}

impl RegistryPackage {
    /// Hashes for a lock file after verification of this archive: those of the verified list, for
    /// all platforms, and reported ones if the registry is trusted. By OpenTofu's rule that is the
    /// default host only, unless signatures are enforced. The hash of the contents (`h1:`) is added
    /// after unpacking.
    pub(crate) fn lockable(&self, verified: &Checksums, is_word_enough: bool) -> BTreeSet<PackageHash> {
        let mut hashes = if is_word_enough { self.reported.clone() } else { BTreeSet::new() };
        hashes.extend(verified.iter().map(|(_, sum)| PackageHash::of_archive_sum(sum.0)));
        hashes
    }
}

/// The major versions of protocols such as `5.3`.
fn majors(protocols: Option<Vec<String>>) -> Vec<u32> {
    let major = |protocol: &String| protocol.split('.').next()?.trim().parse().ok();
    let mut majors: Vec<u32> = protocols.iter().flatten().filter_map(major).collect();
    majors.sort_unstable();
    majors.dedup();
    majors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sum(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn package(packages: &serde_json::Value) -> Result<RegistryPackage, String> {
        let answer = json!({
            "os": "linux", "arch": "amd64", "filename": "b.zip", "download_url": "b.zip", "shasum": sum('a'),
            "shasums_url": "SUMS", "shasums_signature_url": "SUMS.sig", "packages": packages,
        });
        let answer: DownloadAnswer = serde_json::from_value(answer).map_err(|error| error.to_string())?;
        let url = Url::parse("https://example.com/v1/").expect("an address");
        let platform = Platform::parse("linux_amd64").expect("a platform");
        answer.checked(&url, platform).map_err(|fault| fault.to_string())
    }

    fn texts(hashes: &BTreeSet<PackageHash>) -> Vec<&str> {
        hashes.iter().map(PackageHash::as_str).collect()
    }

    #[test]
    fn sums_for_all_machines_may_go_into_a_lock_file() {
        let zh = |digit| format!("zh:{}", sum(digit));
        let package = package(&json!({
            "linux_amd64": { "hashes": [zh('a'), "h1:linux"], "package_size": 5 },
            "darwin_arm64": { "hashes": [zh('d'), "h1:darwin", "h2:later"] },
            "windows_386": { "hashes": null },
        }));
        let package = package.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(texts(&package.reported), ["h1:darwin", "h1:linux", &zh('a'), &zh('d')]);
        let verified = format!("{}  b.zip\n{}  manifest.json\n", sum('a'), sum('e'));
        let verified = Checksums::parse(verified.as_bytes()).expect("sums");
        assert_eq!(texts(&package.lockable(&verified, false)), [zh('a'), zh('e')]);
        let all = package.lockable(&verified, true);
        assert_eq!(texts(&all), ["h1:darwin", "h1:linux", &zh('a'), &zh('d'), &zh('e')]);
    }

    #[test]
    fn a_contradictory_registry_is_reported() {
        assert_eq!(package(&json!(null)).map(|package| package.reported.len()), Ok(0));
        let other = package(&json!({ "linux_amd64": { "hashes": [format!("zh:{}", sum('b'))] } }));
        let error = other.expect_err("it has two sums");
        assert_eq!(
            error,
            format!(
                "the registry says that the archive has the SHA-256 {}, and then zh:{}",
                sum('a'),
                sum('b')
            )
        );
        let none = package(&json!({ "darwin_arm64": { "hashes": ["what"] } })).expect_err("no sum");
        assert!(none.contains("\"what\" is not a package hash"), "{none}");
    }
}
