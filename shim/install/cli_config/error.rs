//! Errors of CLI configurations, with their positions. None has anything that is in a file, which may be another one than the
//! user meant, or one with secrets.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::pattern::PatternError;
use super::template::TemplateFault;
use crate::auth::OciPrefixFault;
use crate::hcl::{Position, SyntaxError};

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
    #[error("{}:{error}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The position and the reason.
        error: SyntaxError,
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
        "unknown installation method; use direct, filesystem_mirror, network_mirror, oci_mirror or dev_overrides"
    )]
    Method,
    #[error(
        "\"dev_overrides\" must come before all other ways to install providers, because it goes before them"
    )]
    OverridesFirst,
    #[error("there may be one block {block:?} in all files together, and there is one {first} already")]
    Several { block: &'static str, first: String },
    #[error(
        "this is not a host; write it without a scheme, a user and a path, such as example.com or example.com:8443"
    )]
    Host,
    #[error("this is not a provider's address, which is written [HOST/][NAMESPACE/]TYPE")]
    Address,
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("this is not the address of a network mirror, which starts with \"https://\" and a host")]
    Url,
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
    #[error("docker_credentials_helper is for whole registries, so the label cannot name a repository")]
    OciHelperOfRepository,
    #[error("this is not the name of a credentials helper")]
    Helper,
    /// Contradictory settings.
    #[error("docker_style_config_files has no meaning where discover_ambient_credentials is false")]
    OciContradiction,
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
