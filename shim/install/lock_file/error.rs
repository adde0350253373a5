//! What is wrong with a lock file.

use std::io;
use std::path::PathBuf;

use crate::ConstraintError;
use crate::hashes::HashError;
use crate::hcl1::{Position, SyntaxFault};

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

fn meant(canonical: Option<&str>) -> String {
    canonical.map_or_else(
        || ", which is written HOST/NAMESPACE/TYPE".to_owned(),
        |canonical| format!("; write {canonical:?}"),
    )
}
