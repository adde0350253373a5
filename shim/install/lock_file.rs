//! The dependency lock file, `.terraform.lock.hcl`: which version of each provider a project uses, and the sums of its packages.
//!
//! It is read as strictly as OpenTofu reads it, and written byte for byte as OpenTofu writes it, so that neither finds
//! anything to change in what the other has written. As there, what people add by hand is lost when it is written; only the
//! comments at its head stay, which say by whom it is maintained.
//!
//! The file is in HCL 2, but nothing in it may be more than strings, lists and blocks, which both versions of the language
//! share; so the reader of the CLI configuration reads it.

mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use super::{
    ConstraintError, HashError, HashScheme, LocalPackage, PackageHash, Position, ProviderAddress, SumError,
    SyntaxFault, VersionConstraint,
};

/// What the file is called, beside the project.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// The comments that a new file starts with.
const HEADER: &str = "# This file is maintained automatically by \"isthmus install --lock\".\n\
                      # Manual edits may be lost in future updates.\n";

/// A lock file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    header: String,
    providers: BTreeMap<ProviderAddress, ProviderLock>,
    /// What was not understood, but does no harm.
    pub warnings: Vec<String>,
}

/// What a project uses of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLock {
    /// Its version.
    pub version: Version,
    /// What the version was chosen by.
    pub constraint: VersionConstraint,
    /// The sums of its packages, for any platform. A package is the right one if it has one of them.
    pub hashes: BTreeSet<PackageHash>,
}

/// A lock file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// It is there, but cannot be read.
    #[error("the lock file {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("the lock file {} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is not in the language.
    #[error("{}:{position}: {fault}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where in it.
        position: Position,
        /// What is wrong.
        fault: SyntaxFault,
    },
    /// It says something that has no meaning.
    #[error("{}:{position}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where in it.
        position: Position,
        /// What is wrong.
        fault: Box<LockFault>,
    },
}

/// What has no meaning in a lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockFault {
    /// Something that there is not.
    #[error(
        "{0:?} has no meaning here; there are blocks provider \"ADDRESS\" {{ … }} with version, constraints and hashes"
    )]
    Unknown(String),
    /// A block that is written otherwise.
    #[error("a provider is written provider \"HOST/NAMESPACE/TYPE\" {{ … }}")]
    Form,
    /// No provider, or not in the one way in which it is written here.
    #[error("{given:?} is not a provider's whole address{}", meant(.canonical.as_deref()))]
    Address {
        /// As it was given.
        given: String,
        /// As it is written.
        canonical: Option<String>,
    },
    /// A part of the program itself.
    #[error("{0} is a part of OpenTofu and Terraform themselves, and has no version to lock")]
    BuiltIn(String),
    /// The same provider again.
    #[error("the provider {address} is already locked at {first}")]
    Twice {
        /// The provider.
        address: String,
        /// Where.
        first: Position,
    },
    /// A version is missing.
    #[error("the provider {0} needs the argument \"version\"")]
    NoVersion(String),
    /// No version, or not in the one way in which it is written here.
    #[error("{0:?} is not a whole version, such as 1.2.3")]
    Version(String),
    /// No constraint.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// A constraint that is written otherwise.
    #[error("the constraints {given:?} must be written {canonical:?}")]
    ConstraintForm {
        /// As it was given.
        given: String,
        /// As it is written.
        canonical: String,
    },
    /// No sum.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// An empty list.
    #[error("the list of hashes is empty; leave it out, or name one")]
    NoHashes,
    /// A number where a text should be, and the like.
    #[error("{name:?} is {found}, but must be {expected}")]
    Kind {
        /// The argument.
        name: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// `${`
    #[error("there can be no templates in a lock file")]
    Template,
}

/// A package is not one that is locked.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    /// It has other sums.
    #[error(transparent)]
    Other(Box<OtherPackage>),
    /// It cannot be read.
    #[error(transparent)]
    Sum(#[from] SumError),
}

/// A package is not the one that the lock file knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the package of {address} {version} at {} is not the one that the lock file knows: it has the sum {found}, and none of {}. \
     If it was rebuilt on purpose, install it again with --upgrade",
    path.display(),
    listed(.expected)
)]
pub struct OtherPackage {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// The package.
    pub path: PathBuf,
    /// Its sum.
    pub found: PackageHash,
    /// What was expected.
    pub expected: Vec<PackageHash>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { header: HEADER.to_owned(), providers: BTreeMap::new(), warnings: Vec::new() }
    }
}

impl LockFile {
    /// The lock file in a directory; an empty one, where there is none.
    ///
    /// # Errors
    /// When it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockFileError::Read { path: path.to_owned(), source }),
        }
    }

    /// Reads a lock file's text. The path is for errors.
    ///
    /// # Errors
    /// When it cannot be understood.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, LockFileError> {
        read::parse(bytes, path)
    }

    /// Replaces the file, in one step.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LockFileError> {
        write::replace(path, &self.to_string())
            .map_err(|source| LockFileError::Write { path: path.to_owned(), source })
    }

    /// What the project uses of a provider.
    pub fn provider(&self, address: &ProviderAddress) -> Option<&ProviderLock> {
        self.providers.get(address)
    }

    /// All providers.
    pub fn providers(&self) -> impl Iterator<Item = (&ProviderAddress, &ProviderLock)> {
        self.providers.iter()
    }

    /// Locks a provider. As long as its version stays, all sums that were known stay known.
    pub fn lock(&mut self, address: ProviderAddress, mut lock: ProviderLock) {
        if let Some(previous) = self.providers.remove(&address)
            && previous.version == lock.version
        {
            lock.hashes.extend(previous.hashes);
        }
        self.providers.insert(address, lock);
    }

    /// Unlocks a provider.
    pub fn unlock(&mut self, address: &ProviderAddress) -> Option<ProviderLock> {
        self.providers.remove(address)
    }
}

impl ProviderLock {
    /// Checks that a package is one that is locked, and tells by which sum. One without any sum that is known here is not
    /// refused: there is nothing to compare it with.
    ///
    /// # Errors
    /// When it is another one, or cannot be read.
    pub fn check(
        &self,
        address: &ProviderAddress,
        package: LocalPackage<'_>,
    ) -> Result<Option<&PackageHash>, NotLocked> {
        // What has been unpacked has no archive's sum.
        let is_comparable = |hash: &&PackageHash| match (hash.scheme(), package) {
            (HashScheme::Contents, _) | (HashScheme::Archive, LocalPackage::Archive(_)) => true,
            (HashScheme::Archive | HashScheme::Other, _) => false,
        };
        let comparable: Vec<&PackageHash> = self.hashes.iter().filter(is_comparable).collect();
        if let Some(hash) = package.first_match(comparable.iter().copied())? {
            return Ok(Some(hash));
        }
        if self.hashes.iter().all(|hash| hash.scheme() == HashScheme::Other) {
            return Ok(None);
        }
        let expected = if comparable.is_empty() { self.hashes.iter().collect() } else { comparable };
        Err(NotLocked::Other(Box::new(OtherPackage {
            address: address.clone(),
            version: self.version.clone(),
            path: package.path().to_owned(),
            found: PackageHash::of_contents(package)?,
            expected: expected.into_iter().cloned().collect(),
        })))
    }
}

fn meant(canonical: Option<&str>) -> String {
    canonical.map_or_else(
        || ", which is written HOST/NAMESPACE/TYPE".to_owned(),
        |canonical| format!("; write {canonical:?}"),
    )
}

fn listed(hashes: &[PackageHash]) -> String {
    const LISTED: usize = 5;
    let mut text = hashes.iter().take(LISTED).map(PackageHash::as_str).collect::<Vec<_>>().join(", ");
    if hashes.len() > LISTED {
        text.push_str(&format!(" and {} more", hashes.len() - LISTED));
    }
    text
}

#[cfg(test)]
mod tests;
