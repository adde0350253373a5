//! Errors of lock files. None has anything that is in the file, which may be another one than the user meant.

use std::io;
use std::path::PathBuf;

use crate::hcl::{Position, SyntaxError};

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
    #[error("{}:{error}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The position and the reason.
        error: SyntaxError,
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
        "this name has no meaning here; there are blocks provider \"ADDRESS\" {{ … }} with version, constraints and hashes"
    )]
    Unknown,
    #[error("a provider is written provider \"HOST/NAMESPACE/TYPE\" {{ … }}")]
    Form,
    #[error("this is not a provider's whole address, which is written HOST/NAMESPACE/TYPE in lower case")]
    Address,
    #[error("a built-in provider is a part of OpenTofu and Terraform themselves, and has no version to lock")]
    BuiltIn,
    #[error("this provider is already locked at {first}")]
    Twice { first: Position },
    #[error("this provider needs the argument \"version\"")]
    NoVersion,
    #[error("this is not a whole version, such as 1.2.3")]
    Version,
    #[error("this is not a version constraint, such as \">= 1.2.0, < 2.0.0\"")]
    Constraint,
    #[error(
        "these constraints are not in the form in which OpenTofu writes them, such as \">= 1.2.0, < 2.0.0\""
    )]
    ConstraintForm,
    #[error("this is not a package hash, which starts with its scheme and a colon, as in \"h1:\"")]
    Hash,
    #[error("the list of hashes is empty; leave it out, or name one")]
    NoHashes,
    /// A value of another kind.
    #[error("{name:?} is {found}, but must be {expected}")]
    Kind {
        name: &'static str,
        /// The expected kind.
        expected: &'static str,
        found: &'static str,
    },
    #[error("there can be no templates in a lock file")]
    Template,
}
