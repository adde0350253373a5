//! What registries answer, read into what is used of it.

use semver::Version;
use serde::{Deserialize, Serialize};
use url::Url;

use super::PackageFault;
use crate::install::{FileSum, Platform};

/// The versions of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// In the order of the registry. What is no version is left out.
    pub versions: Vec<ListedVersion>,
    /// What the registry has to say to users of the provider, such as that it has moved.
    pub warnings: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedVersion {
    /// Its number.
    pub version: Version,
    /// Which protocols it speaks, by their major numbers; none if the registry does not say.
    pub protocols: Vec<u32>,
    /// For which machines there is an archive, such as `linux_amd64`; none if the registry does not say.
    pub platforms: Vec<String>,
}

impl ListedVersion {
    /// A version of which nobody says what it speaks and for which machines it is.
    pub fn of_unknown_kind(version: Version) -> Self {
        Self { version, protocols: Vec::new(), platforms: Vec::new() }
    }
}

/// Where an archive lies, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryPackage {
    /// The archive's name.
    pub file: String,
    /// Where it lies.
    pub archive: Url,
    /// Its sum.
    pub sum: FileSum,
    /// Where the list of sums lies.
    pub sums: Url,
    /// Where the signature of that list lies.
    pub signature: Url,
    /// The keys that the registry vouches for, in ASCII armor.
    pub keys: Vec<String>,
    /// Which protocols the provider speaks, by their major numbers; none if the registry does not say.
    pub protocols: Vec<u32>,
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
        Self { versions, warnings: answer.warnings.unwrap_or_default() }
    }
}

impl DownloadAnswer {
    pub(super) fn checked(self, found_at: &Url, platform: Platform) -> Result<RegistryPackage, PackageFault> {
        let is_for = format!("{}_{}", self.os, self.arch);
        if is_for != platform.to_string() {
            return Err(PackageFault::Platform { wanted: platform, found: is_for });
        }
        if self.filename.is_empty() || self.filename.contains(['/', '\\', '\0']) {
            return Err(PackageFault::FileName(self.filename));
        }
        let url = |text: &str| {
            let url = found_at.join(text).ok();
            let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            url.ok_or_else(|| PackageFault::Url(text.chars().take(200).collect()))
        };
        let keys = self.signing_keys.and_then(|keys| keys.gpg_public_keys).unwrap_or_default();
        Ok(RegistryPackage {
            archive: url(&self.download_url)?,
            sum: FileSum::parse(&self.shasum).map_err(PackageFault::Sum)?,
            sums: url(&self.shasums_url)?,
            signature: url(&self.shasums_signature_url)?,
            file: self.filename,
            keys: keys.into_iter().map(|key| key.ascii_armor).collect(),
            protocols: majors(self.protocols),
        })
    }
}

/// The major numbers of protocols such as `5.3`.
fn majors(protocols: Option<Vec<String>>) -> Vec<u32> {
    let major = |protocol: &String| protocol.split('.').next()?.trim().parse().ok();
    let mut majors: Vec<u32> = protocols.iter().flatten().filter_map(major).collect();
    majors.sort_unstable();
    majors.dedup();
    majors
}
