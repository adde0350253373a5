//! Errors of state files, with the position.

use std::error::Error;
use std::fmt;

use isthmus_cty::json::JsonSyntaxError;

/// A state file is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfStateError {
    /// Position, such as `resources[3].instances[0].private`; empty for the whole file.
    pub place: String,
    /// The reason.
    pub fault: TfStateFault,
}

impl fmt::Display for TfStateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", at(&self.place), self.fault)
    }
}

impl Error for TfStateError {
    /// The reason is in the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

/// What is invalid in a state file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TfStateFault {
    /// Not JSON.
    #[error("the file is not JSON, so it is not a terraform.tfstate; it may have been cut short")]
    Syntax(#[source] JsonSyntaxError),
    /// Another kind of JSON value.
    #[error("{0} is expected")]
    Expected(&'static str),
    /// An object with two members of the same name.
    #[error("the member {0:?} is there twice")]
    Repeated(String),
    /// Encrypted by OpenTofu.
    #[error(
        "the state is encrypted by OpenTofu; write it in the clear with `tofu state pull > plain.tfstate` in its project, \
         and use that file"
    )]
    Encrypted,
    /// Written before Terraform 0.12.
    #[error(
        "the state has version {0}, but only version 4 can be read; let Terraform or OpenTofu turn it into version 4 with \
         `terraform state pull > new.tfstate` (or `tofu state pull`) in its project, and use that file"
    )]
    Old(u64),
    /// Written by a newer version.
    #[error("the state has version {0}, but only version 4 is known; it was written by something newer")]
    New(u64),
    /// An unknown status.
    #[error("the status {0:?} is not known; it is \"tainted\", or there is none")]
    Status(String),
    /// A number out of range.
    #[error("{0} is not a whole number from 0 to {max}", max = i64::MAX)]
    Number(String),
    /// Not Base64.
    #[error("this is not Base64")]
    Base64,
    /// An invalid address.
    #[error("this is not an address")]
    Address(#[source] super::super::addresses::AddressSyntaxError),
    /// An invalid name or type of a resource.
    #[error("{0:?} is not a name")]
    Name(String),
    /// An invalid deposed key.
    #[error("{0:?} is not the key of a deposed object, which has eight hexadecimal digits")]
    Deposed(String),
    /// An unknown type of path step.
    #[error("{0:?} is not the type of a step, which is \"get_attr\" or \"index\"")]
    Step(String),
    /// A duplicate address.
    #[error("{0} is in the state twice")]
    Twice(String),
}

impl TfStateError {
    /// The position is prepended while the error is returned outwards.
    pub(super) fn inside(mut self, outer: &str) -> Self {
        let separator = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{outer}{separator}{}", self.place);
        self
    }
}

impl From<TfStateFault> for TfStateError {
    fn from(fault: TfStateFault) -> Self {
        Self { place: String::new(), fault }
    }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("{place}: ") }
}
