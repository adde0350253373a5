//! Errors of lock files.

use std::io;
use std::path::PathBuf;

use crate::ConstraintError;
use crate::hashes::HashError;
use crate::hcl1::{Position, SyntaxFault};

/// A lock file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// An existing file cannot be read.
    #[error("the lock file {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("the lock file {} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A syntax error.
    #[error("{}:{position}: {fault}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The position.
        position: Position,
        /// The reason.
        fault: SyntaxFault,
    },
    /// Invalid contents.
    #[error("{}:{position}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The position.
        position: Position,
        /// The reason.
        fault: Box<LockFault>,
    },
}

/// Why contents are invalid.
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
    /// A built-in provider.
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
    /// A value of another kind.
    #[error("{name:?} is {found}, but must be {expected}")]
    Kind {
        name: String,
        /// The expected kind.
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
