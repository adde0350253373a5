//! Failures of operations, and what they leave behind.

use isthmus_proto::property::Struct;
use isthmus_provider::ProviderError;

use super::failure::Failure;
use isthmus_package::catalogue::TokenError;
use isthmus_translate::meta::MetaError;
use isthmus_translate::outputs::OutputError;
use isthmus_translate::property_path::PropertyPath;
use isthmus_translate::raw_state::RawStateError;

#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// Invalid inputs. Check reports these too, unless it is skipped.
    #[error("{}", list(.0))]
    Inputs(Vec<Failure>),
    /// The journal that replicas share cannot be written.
    #[error(
        "nothing was changed, because the journal that replicas share cannot be written: {reason}\nhelp: run this again when \
         the database is back"
    )]
    NotJournalled { reason: String },
    /// This process slept, and another replica has taken the operation over.
    #[error(
        "nothing was changed: this daemon was not heard of for so long that another replica has taken the operation over\nhelp: \
         run this again"
    )]
    Overtaken,
    /// The object of a failed update does not exist any more.
    #[error(
        "the {type_name} does not exist any more\nhelp: `pulumi refresh` removes it from the state, and the next update \
         creates it again"
    )]
    Gone { type_name: String },
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The stack has a resource of a type that the package lacks.
    #[error("{error}{}", removed_help(version.as_deref(), urn))]
    RemovedType {
        /// Part of this error's text.
        error: Box<TokenError>,
        /// The version of the provider that wrote the stack's state, if it is another one.
        version: Option<String>,
        urn: String,
    },
    /// The stored state is invalid.
    #[error(transparent)]
    State(#[from] StateError),
    /// The provider failed. The text names properties instead of attributes.
    #[error("{text}")]
    Provider {
        text: String,
        /// Not a source, because the text is derived from it.
        error: Box<ProviderError>,
        /// Whether the call may have had an effect.
        outcome_unknown: bool,
    },
    /// The provider failed after it changed the object, or returned another object than it planned.
    #[error("{}", .0.reasons.join("\n"))]
    Partial(Box<Partial>),
    /// The object exists and cannot be translated to properties.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The object was made or changed, and its state has no form in which it can be stored.
    #[error(
        "{}the {type_name} with id {id:?} exists, and its new state cannot be stored: {reason}",
        failure.as_deref().map(|failure| format!("{failure}\n")).unwrap_or_default()
    )]
    Unstorable {
        type_name: String,
        id: String,
        reason: String,
        /// Why the apply is incomplete, if it is.
        failure: Option<String>,
    },
    /// A function failed, without an error about one argument.
    #[error("function \"{function}\" returned an error: {text}")]
    Function {
        /// Terraform's name of the function.
        function: String,
        /// The provider's message.
        text: String,
    },
    /// An action may change something, which a preview must not, and the engine does not mark
    /// invokes of a preview.
    #[error(
        "{action} is an action, and this engine does not mark previews, so isthmus does not carry it out; engines mark them \
         from Pulumi 3.206 on"
    )]
    UnmarkedPreviews {
        /// The action's token.
        action: String,
    },
    #[error(
        "{token} cannot be opened, because {most} ephemeral resources of this provider are open already; they are closed at \
         the end of the run"
    )]
    TooManyLeases {
        /// Its token.
        token: String,
        most: usize,
    },
    /// The process for this configuration does not start.
    #[error("{0}")]
    Start(String),
    /// The provider's configuration lacks required keys.
    #[error(
        "the provider's configuration lacks {}; set what is missing by `pulumi config set`, or in the program where it \
         makes the provider",
        keys(.0)
    )]
    MissingKeys(Vec<MissingKey>),
    /// An invalid continuation token of a list.
    #[error("failed to continue the list: {reason}\nhelp: start a new list, without a continuation token")]
    Continuation { reason: &'static str },
    /// A provider process is configured once.
    #[error(
        "the provider {package} is configured already, with another configuration: Configure comes before all calls that \
         need it, and once"
    )]
    ConfiguredAlready { package: String },
    /// The call precedes Configure, or Configure failed.
    #[error("the provider {package} is not configured: Configure must succeed before this call")]
    NotConfigured { package: String },
    /// The provider requires a replacement where the engine requested an update.
    #[error("the provider can only replace this resource, because of a change to {}; run the update again", join(.0))]
    NeedsReplacement(Vec<PropertyPath>),
}

/// What a failed operation left behind.
#[derive(Debug)]
pub struct Partial {
    /// The object's id.
    pub id: String,
    /// The properties to store.
    pub properties: Struct,
    pub reasons: Vec<String>,
    /// Whether the object is not known to be what exists.
    pub is_unrefreshed: bool,
}

/// A required configuration key that is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// As `pulumi config set` takes it: package, colon, property.
    pub name: String,
    /// The schema's description.
    pub description: String,
}

/// The engine's state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// The object cannot be rebuilt from its properties.
    #[error(transparent)]
    RawState(#[from] RawStateError),
    /// The object of another type cannot be rebuilt from its properties, which requires the delta.
    #[error(
        "the stored state belongs to a {source_type}, and isthmus cannot rebuild it for a {target_type} ({fault}). \
         Nothing was changed. If the state was edited by hand, restore it; otherwise give the resource its former type back"
    )]
    Foreign {
        /// The Terraform type that wrote the state.
        source_type: String,
        /// The resource's current Terraform type.
        target_type: String,
        fault: String,
    },
}

fn removed_help(version: Option<&str>, urn: &str) -> String {
    let release = version.map(|version| {
        format!(
            "\nhelp: the stack has one, which version {version} of the provider wrote: go back to that version to change or \
             destroy it"
        )
    });
    format!(
        "{}\nhelp: `pulumi state delete '{urn}'` removes it from the stack, and leaves the object as it is",
        release.unwrap_or_default()
    )
}

fn list(failures: &[Failure]) -> String {
    let lines: Vec<String> = failures
        .iter()
        .map(|failure| {
            if failure.property().is_empty() {
                failure.reason().to_owned()
            } else {
                format!("{}: {}", failure.property(), failure.reason())
            }
        })
        .collect();
    lines.join("\n")
}

fn keys(missing: &[MissingKey]) -> String {
    let names: Vec<String> = missing.iter().map(|key| format!("`{}`", key.name)).collect();
    names.join(", ")
}

fn join(paths: &[PropertyPath]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}
