//! Delivery: from an origin's offer to a verified package on this machine.
//!
//! A registry's archive must be in a list of checksums that is signed by a key that the registry
//! lists. Only the default host may omit the signature. A mirror is trusted, because the user has
//! configured it. Its hashes, if any, must match.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use isthmus_common::blocking;
use semver::Version;

use super::origins::Offer;
use super::{InstallError, InstallEvent, Listener, SignaturePolicy};
use crate::checksums::Checksums;
use crate::download::{DownloadError, download};
use crate::hashes::HashScheme;
use crate::mirror::RemotePackage;
use crate::registry::{Enforced, PackageFault, RegistryClient, RegistryError, RegistryPackage};
use crate::signature::{Signed, verify};
use crate::web::{Ask, WebClient};
use crate::{DEFAULT_HOST, FileSum, PackageForm, PackageHash, ProviderAddress, SumError, Verification};

/// Size limit of a list of checksums.
const LARGEST_SUMS: u64 = 4 << 20;
/// Size limit of a signature.
const LARGEST_SIGNATURE: u64 = 1 << 16;

/// A package on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// An archive, or the unpacked package of a mirror.
    pub package: PackageForm,
    /// How it was verified.
    pub verification: Verification,
    /// Verified hashes: its own, and those of the version's packages for other platforms.
    pub vouched: Vec<PackageHash>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Delivery {
    /// All hashes for a lock file: the verified ones, and those computed from the package.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn hashes(&self) -> Result<BTreeSet<PackageHash>, Box<InstallError>> {
        let package = self.package.clone();
        let own = blocking(move || {
            let mut hashes = vec![PackageHash::of_contents(&package)?];
            if let PackageForm::Archive(path) = &package {
                hashes.push(PackageHash::of_archive(path)?);
            }
            Ok(hashes)
        });
        let own: Vec<PackageHash> = own.await.map_err(|error: SumError| Box::<InstallError>::from(error))?;
        Ok(own.into_iter().chain(self.vouched.iter().cloned()).collect())
    }
}

/// The provider to receive, the rules, and the listener.
#[derive(Clone, Copy)]
pub(super) struct Receiver<'a> {
    pub(super) address: &'a ProviderAddress,
    pub(super) version: &'a Version,
    pub(super) policy: SignaturePolicy,
    pub(super) listener: Listener<'a>,
}

impl Receiver<'_> {
    /// Receives an offer; downloads go into a new file. `mirror` is the origin.
    pub(super) async fn take(
        &self,
        offer: Offer,
        mirror: String,
        file: PathBuf,
    ) -> Result<Delivery, Box<InstallError>> {
        match offer {
            Offer::Published { registry, package } => self.published(&registry, package, file).await,
            Offer::Mirrored { web, package } => self.mirrored(&web, package, mirror, file).await,
            Offer::Local(package) => {
                let verification = Verification::Mirrored { mirror };
                Ok(Delivery { package, verification, vouched: Vec::new(), warnings: Vec::new() })
            }
        }
    }

    async fn published(
        &self,
        registry: &RegistryClient,
        package: RegistryPackage,
        file: PathBuf,
    ) -> Result<Delivery, Box<InstallError>> {
        if !package.speaks() {
            let (address, version) = (self.address.clone(), self.version.clone());
            return Err(Box::new(InstallError::Protocols { address, version }));
        }
        let Judgement { verification, sums, warnings } = self.judge(registry, &package).await?;
        let ask = Ask::document(&package.archive);
        self.download(registry.web(), &ask, &file, Some(package.sum)).await?;
        let vouched = self.lockable(&package, &sums).into_iter().collect();
        Ok(Delivery { package: PackageForm::Archive(file), verification, vouched, warnings })
    }

    async fn mirrored(
        &self,
        web: &WebClient,
        package: RemotePackage,
        mirror: String,
        file: PathBuf,
    ) -> Result<Delivery, Box<InstallError>> {
        let RemotePackage { url, hashes, other_hashes, token_of, authorization, .. } = package;
        let ask = Ask {
            token_of: token_of.as_deref(),
            authorization: authorization.as_ref(),
            ..Ask::document(&url)
        };
        self.download(web, &ask, &file, archive_sum(&hashes)).await?;
        let known = hashes.iter().filter(|hash| hash.scheme() != HashScheme::Other);
        let known: Vec<PackageHash> = known.cloned().collect();
        if !known.is_empty() {
            let (path, wanted) = (file.clone(), known.clone());
            let found = blocking(move || {
                let package = &PackageForm::Archive(path.clone());
                match package.first_match(&wanted)? {
                    Some(_) => Ok(None),
                    None => PackageHash::of_contents(package).map(Some),
                }
            });
            if let Some(found) = found.await? {
                let (address, version) = (self.address.clone(), self.version.clone());
                let other = InstallError::OtherThanMirrored { address, version, mirror, known, found };
                return Err(Box::new(other));
            }
        }
        let vouched = hashes.into_iter().chain(other_hashes).collect();
        let (package, verification) = (PackageForm::Archive(file), Verification::Mirrored { mirror });
        Ok(Delivery { package, verification, vouched, warnings: Vec::new() })
    }

    async fn download(
        &self,
        web: &WebClient,
        ask: &Ask<'_>,
        file: &Path,
        sum: Option<FileSum>,
    ) -> Result<(), Box<InstallError>> {
        let (address, version) = (self.address.clone(), self.version.clone());
        let server = ask.url.host_str().unwrap_or_default().to_owned();
        (self.listener)(InstallEvent::Downloading { address, version, server });
        let progress = |progress| (self.listener)(InstallEvent::Progress(progress));
        download(web, ask, file, sum, progress).await.map_err(|error| match error {
            DownloadError::Web(error) => {
                Box::new(InstallError::Download { address: self.address.clone(), error })
            }
            DownloadError::Write { path, source } => Box::new(InstallError::Write { path, source }),
            DownloadError::WrongSum { expected, found } => {
                self.fault(PackageFault::WrongSum { expected, found })
            }
        })
    }

    /// The verified hashes, after verification of the list of checksums.
    pub(super) fn lockable(&self, package: &RegistryPackage, sums: &Checksums) -> BTreeSet<PackageHash> {
        let is_word_enough = self.address.host() == DEFAULT_HOST && !self.policy.enforce_validation;
        package.lockable(sums, is_word_enough)
    }

    /// Verifies an archive of a registry.
    pub(super) async fn judge(
        &self,
        registry: &RegistryClient,
        package: &RegistryPackage,
    ) -> Result<Judgement, Box<InstallError>> {
        let ask = Ask { largest: LARGEST_SUMS, ..Ask::document(&package.sums) };
        let fetched = registry.web().fetch(&ask).await;
        let text = fetched.map_err(|error| self.fault(PackageFault::NoSums(Box::new(error))))?.body;
        let sums = Checksums::parse(&text).map_err(|error| self.fault(PackageFault::Sums(error)))?;
        let listed = sums.of(&package.file);
        let listed = listed.ok_or_else(|| self.fault(PackageFault::NotListed(package.file.clone())))?;
        if listed != package.sum {
            return Err(self.fault(PackageFault::OtherSum { registry: package.sum, listed }));
        }
        if package.keys.is_empty() {
            let verification = Verification::Unsigned;
            return match (self.address.host() == DEFAULT_HOST, self.policy.enforce_validation) {
                (true, false) => Ok(Judgement { verification, sums, warnings: Vec::new() }),
                (true, true) => Err(self.fault(PackageFault::Unsigned(Enforced::Setting))),
                (false, _) => Err(self.fault(PackageFault::Unsigned(Enforced::Host))),
            };
        }
        let ask = Ask { largest: LARGEST_SIGNATURE, ..Ask::document(&package.signature) };
        let fetched = registry.web().fetch(&ask).await;
        let signature = fetched.map_err(|error| self.fault(PackageFault::NoSignature(Box::new(error))))?.body;
        let (keys, now) = (package.keys.clone(), registry.web().clock().now());
        let signed = blocking(move || verify(&text, &signature, &keys, now)).await;
        let Signed { key, expired } = signed.map_err(|error| self.fault(PackageFault::Signature(error)))?;
        let mut warnings = Vec::new();
        if let Some(when) = expired {
            let when = httpdate::fmt_http_date(when);
            if self.policy.enforce_expiration {
                return Err(self.fault(PackageFault::Expired { key, when }));
            }
            let Self { address, version, .. } = self;
            warnings
                .push(format!("{address} {version} is signed with the key {key}, which expired on {when}"));
        }
        Ok(Judgement { verification: Verification::Signed { key }, sums, warnings })
    }

    fn fault(&self, fault: PackageFault) -> Box<InstallError> {
        let (address, version) = (self.address.clone(), self.version.clone());
        RegistryError::Package { address, version, fault }.into()
    }
}

/// The verification of an archive.
#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) verification: Verification,
    /// The checksums of the release's files, for all platforms.
    pub(super) sums: Checksums,
    pub(super) warnings: Vec<String>,
}

/// The archive's checksum, if exactly one is given.
fn archive_sum(hashes: &[PackageHash]) -> Option<FileSum> {
    let mut sums = hashes.iter().filter(|hash| hash.scheme() == HashScheme::Archive);
    let sum = sums.next()?;
    let digits = sum.as_str().strip_prefix("zh:")?;
    if sums.next().is_some() { None } else { FileSum::parse(digits).ok() }
}
