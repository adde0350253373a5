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
    #[error(
        "{0:?} has no meaning here; there are blocks provider \"ADDRESS\" {{ … }} with version, constraints and hashes"
    )]
    Unknown(String),
    #[error("a provider is written provider \"HOST/NAMESPACE/TYPE\" {{ … }}")]
    Form,
    #[error("{given:?} is not a provider's whole address{}", meant(.canonical.as_deref()))]
    Address { given: String, canonical: Option<String> },
    /// A part of the program itself.
    #[error("{0} is a part of OpenTofu and Terraform themselves, and has no version to lock")]
    BuiltIn(String),
    #[error("the provider {address} is already locked at {first}")]
    Twice { address: String, first: Position },
    #[error("the provider {0} needs the argument \"version\"")]
    NoVersion(String),
    #[error("{0:?} is not a whole version, such as 1.2.3")]
    Version(String),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    #[error("the constraints {given:?} must be written {canonical:?}")]
    ConstraintForm { given: String, canonical: String },
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("the list of hashes is empty; leave it out, or name one")]
    NoHashes,
    /// A number where a text should be, and the like.
    #[error("{name:?} is {found}, but must be {expected}")]
    Kind {
        name: String,
        /// What it must be.
        expected: &'static str,
        found: &'static str,
    },
    #[error("there can be no templates in a lock file")]
    Template,
}

fn meant(canonical: Option<&str>) -> String {
    canonical.map_or_else(
        || ", which is written HOST/NAMESPACE/TYPE".to_owned(),
        |canonical| format!("; write {canonical:?}"),
    )
}
