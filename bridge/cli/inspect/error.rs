//! Why a resource cannot be inspected. What a provider refuses is no such reason: it is shown with the call.

use std::path::PathBuf;

use isthmus_common::listed;

use crate::cli::state::StateError;
use isthmus_context::project::names_file::NamesFileError;
use isthmus_migrate::property_json::ExportedValueError;
use isthmus_package::catalogue::TokenError;
use isthmus_package::parameters::ArgumentsError;
use isthmus_reference::MemberError;
use isthmus_session::daemon::OpenPackageError;

#[derive(Debug, thiserror::Error)]
pub(super) enum InspectError {
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    #[error(transparent)]
    Names(#[from] NamesFileError),
    /// The provider cannot be installed or started.
    #[error(transparent)]
    Open(Box<OpenPackageError>),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{name:?} is not a resource: it is a member of kind {kind}")]
    Kind { name: String, kind: &'static str },
    #[error("only one file can be standard input")]
    StandardInput,
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] StateError),
    #[error("{file} is not a JSON object", file = .file.display())]
    Syntax {
        file: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{file} is not a JSON object", file = .0.display())]
    NotAnObject(PathBuf),
    #[error("the secrets in {file} are encrypted\nhelp: write it with `pulumi stack export --show-secrets`", file = .0.display())]
    Encrypted(PathBuf),
    #[error("{file} has a \"fn::secret\" beside other members\nhelp: write the value of a property as {{\"fn::secret\": \
             VALUE}}, with no other member", file = .0.display())]
    MisplacedSecret(PathBuf),
    #[error("{file} cannot be used", file = .file.display())]
    Value {
        file: PathBuf,
        #[source]
        source: ExportedValueError,
    },
    #[error("{file} has no resource of type {token}", file = .file.display())]
    NoResource { file: PathBuf, token: String },
    #[error("{file} has no resource {urn} of type {token}", file = .file.display())]
    NoUrn { file: PathBuf, urn: String, token: String },
    #[error("{file} has several resources of type {token}\nhelp: choose one with --urn: {urns}", file = .file.display(), urns = listed(.urns))]
    Ambiguous { file: PathBuf, token: String, urns: Vec<String> },
}

impl InspectError {
    /// Whether the arguments are wrong.
    pub(super) fn is_usage_error(&self) -> bool {
        matches!(self, Self::Arguments(_) | Self::StandardInput)
    }
}

impl From<OpenPackageError> for InspectError {
    fn from(error: OpenPackageError) -> Self {
        Self::Open(Box::new(error))
    }
}
