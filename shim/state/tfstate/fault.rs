//! What keeps a file from being a state, and where in it.

use isthmus_cty::json::JsonSyntaxError;

/// A file is no state that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", at(place))]
pub struct TfStateError {
    /// Where, such as `resources[3].instances[0].private`; empty for the file itself.
    pub place: String,
    /// What is wrong there.
    #[source]
    pub fault: TfStateFault,
}

/// What is wrong at one place of a state file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TfStateFault {
    /// It is no JSON.
    #[error("the file is not JSON, so it is no terraform.tfstate; it may have been cut short")]
    Syntax(#[source] JsonSyntaxError),
    /// JSON of something else.
    #[error("{0} is expected")]
    Expected(&'static str),
    /// OpenTofu has encrypted it.
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
    /// Written by something that does not exist yet.
    #[error("the state has version {0}, but only version 4 is known; it was written by something newer")]
    New(u64),
    /// A status that nobody knows.
    #[error("the status {0:?} is not known; it is \"tainted\", or there is none")]
    Status(String),
    /// A number that is out of bounds.
    #[error("{0} is not a whole number from 0 to {max}", max = i64::MAX)]
    Number(String),
    /// Not the text of bytes.
    #[error("this is not Base64")]
    Base64,
    /// No address.
    #[error("this is no address")]
    Address(#[source] super::super::addresses::AddressSyntaxError),
    /// No name for a resource, or its type.
    #[error("{0:?} is not a name")]
    Name(String),
    /// Not the key of a deposed object.
    #[error("{0:?} is not the key of a deposed object, which has eight hexadecimal digits")]
    Deposed(String),
    /// A step that paths do not have.
    #[error("{0:?} is not the type of a step, which is \"get_attr\" or \"index\"")]
    Step(String),
    /// The address occurs twice.
    #[error("{0} is in the state twice")]
    Twice(String),
}

impl TfStateError {
    /// While it travels outwards, an error's place grows at its beginning.
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
