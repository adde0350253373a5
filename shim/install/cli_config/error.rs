//! Errors of CLI configurations, with their positions.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::pattern::PatternError;
use super::template::TemplateFault;
use crate::address::{AddressError, PartFault};
use crate::auth::OciPrefixFault;
use crate::hcl1::{Position, SyntaxFault};
use crate::shown::shown_text;

/// A CLI configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum CliConfigError {
    /// An existing file cannot be read.
    #[error("the CLI configuration at {} cannot be read", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A syntax error.
    #[error("{}:{position}: {fault}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The position.
        position: Position,
        /// The reason.
        fault: SyntaxFault,
    },
    /// An invalid setting.
    #[error("{}:{position}: {fault}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The position.
        position: Position,
        /// The reason.
        fault: Box<ConfigFault>,
    },
}

/// Why a setting is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// A value of another kind.
    #[error("{name:?} is {found}, but must be {expected}")]
    Kind {
        name: String,
        /// The expected kind.
        expected: &'static str,
        found: &'static str,
    },
    /// A required argument is missing.
    #[error("the block {block:?} needs the argument {argument:?}")]
    Missing { block: String, argument: &'static str },
    #[error("the block {block:?} is written {form}")]
    Form { block: String, form: &'static str },
    #[error(
        "{0:?} is no way to install providers; there are direct, filesystem_mirror, network_mirror, oci_mirror and \
         dev_overrides"
    )]
    Method(String),
    #[error(
        "\"dev_overrides\" must come before all other ways to install providers, because it goes before them"
    )]
    OverridesFirst,
    #[error("there may be one block {block:?} in all files together, and there is one at {first} already")]
    Several { block: &'static str, first: String },
    #[error("{:?} is no host: {fault}", shown_text(.host))]
    Host { host: String, fault: PartFault },
    #[error(transparent)]
    Address(AddressError),
    #[error(transparent)]
    Pattern(PatternError),
    #[error("{:?} is not the address of a network mirror, which starts with \"https://\" and a host", shown_text(.0))]
    Url(String),
    #[error(transparent)]
    Template(#[from] TemplateFault),
    #[error(transparent)]
    OciPrefix(#[from] OciPrefixFault),
    #[error(
        "the block \"oci_credentials\" needs either username and password, or access_token and refresh_token, or \
         docker_credentials_helper"
    )]
    OciSecret,
    /// A helper is for whole registries only.
    #[error("docker_credentials_helper is asked by registry, so the label cannot name a repository")]
    OciHelperOfRepository,
    #[error("{0:?} is not the name of a credentials helper")]
    Helper(String),
    /// Contradictory settings.
    #[error("docker_style_config_files has no meaning where discover_ambient_credentials is false")]
    OciContradiction,
}

impl From<AddressError> for ConfigFault {
    fn from(error: AddressError) -> Self {
        Self::Address(AddressError { address: shown_text(&error.address), ..error })
    }
}

impl From<PatternError> for ConfigFault {
    fn from(error: PatternError) -> Self {
        Self::Pattern(PatternError { pattern: shown_text(&error.pattern), ..error })
    }
}

/// A setting without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// The file, if any.
    pub file: Option<PathBuf>,
    pub position: Option<Position>,
    /// The warning.
    pub text: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, position, text } = self;
        if let Some(file) = file {
            write!(formatter, "{}:", file.display())?;
            if let Some(position) = position {
                write!(formatter, "{position}:")?;
            }
            formatter.write_str(" ")?;
        }
        formatter.write_str(text)
    }
}
