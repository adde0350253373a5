//! Why an operation failed, and what exists all the same.

use isthmus_proto::property::Struct;
use isthmus_provider::ProviderError;

use super::{Failure, StateError};
use crate::package::catalogue::TokenError;
use crate::translate::outputs::OutputError;
use crate::translate::property_path::PropertyPath;

/// A failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationError {
    /// The inputs cannot be used. Check has said so already, unless it was skipped.
    #[error("{}", list(.0))]
    Inputs(Vec<Failure>),
    /// The package has nothing of that name, or its schema cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// What the engine has stored cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The provider failed. The text speaks of properties, not of attributes.
    #[error("{text}")]
    Provider {
        /// For the user.
        text: String,
        /// The failure itself. No source, because the text is made of it.
        error: Box<ProviderError>,
        /// Whether something may have happened all the same.
        outcome_unknown: bool,
    },
    /// The provider made something, and then failed; or made something else than it promised.
    #[error("{}", .0.reasons.join("\n"))]
    Partial(Box<Partial>),
    /// The object that exists now cannot be shown as properties.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A function refused its arguments, none of them in particular.
    #[error("function \"{function}\" returned an error: {text}")]
    Function {
        /// Terraform's name of it.
        function: String,
        /// Its own words.
        text: String,
    },
    /// An action would change something, which a preview must not.
    #[error("{action} is an action, and {}", not_now(*.engine_tells))]
    ActionInPreview {
        /// Its token.
        action: String,
        /// Whether the engine says which invokes are part of a preview.
        engine_tells: bool,
    },
    /// A program has opened too many ephemeral resources.
    #[error(
        "{token} cannot be opened, because {most} ephemeral resources of this provider are open already; they are closed at \
         the end of the run"
    )]
    TooManyLeases {
        /// What was to be opened.
        token: String,
        /// How many there may be.
        most: usize,
    },
    /// The provider has to be configured with more than the engine has stored for it.
    #[error(
        "the provider's configuration lacks {}; set what is missing by `pulumi config set`, or in the program where it \
         makes the provider",
        keys(.0)
    )]
    MissingKeys(Vec<MissingKey>),
    /// The rest of a list is asked for that there is not.
    #[error("failed to continue the list: {reason}\nhelp: start a new list, without a continuation token")]
    Continuation {
        /// Why not.
        reason: &'static str,
    },
    /// A provider process has one configuration for life.
    #[error(
        "the provider {package} is configured already, with another configuration: Configure comes before all calls that \
         need it, and once"
    )]
    ConfiguredAlready {
        /// The package.
        package: String,
    },
    /// A call that needs a configured provider came before Configure, or after one that failed.
    #[error("the provider {package} is not configured: Configure must succeed before this call")]
    NotConfigured {
        /// The package.
        package: String,
    },
    /// The provider wants a replacement where the engine asked for an update.
    #[error("the provider can only replace this resource, because of a change to {}; run the update again", join(.0))]
    NeedsReplacement(Vec<PropertyPath>),
}

/// What a failed operation left behind.
#[derive(Debug)]
pub(crate) struct Partial {
    /// The id of what exists.
    pub id: String,
    /// Its properties, ready to be stored.
    pub properties: Struct,
    /// What went wrong.
    pub reasons: Vec<String>,
}

/// A key of the configuration that must be set and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingKey {
    /// As `pulumi config set` takes it: package, colon, property.
    pub name: String,
    /// What the provider says of it.
    pub description: String,
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

fn not_now(engine_tells: bool) -> &'static str {
    if engine_tells {
        "actions are not carried out in a preview; let the program invoke it only where it is not previewed (as by \
         `pulumi.runtime.isDryRun()`), or update without a preview by `pulumi up --skip-preview`"
    } else {
        "this engine does not tell a preview from an update, so it is not carried out; engines do so from Pulumi 3.206 on"
    }
}

fn keys(missing: &[MissingKey]) -> String {
    let names: Vec<String> = missing.iter().map(|key| format!("`{}`", key.name)).collect();
    names.join(", ")
}

fn join(paths: &[PropertyPath]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}
