//! Invoke: data sources, functions, ephemeral resources and actions.
//!
//! What comes of a secret argument is secret as a whole: nobody knows what a provider makes of it. An engine does the same
//! for plugins that take no secrets, so nothing that was hidden there is shown here.

mod action;
mod data_source;
mod digits;
mod ephemeral;
mod function;
mod outputs;

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Provider, ProviderError};

use crate::daemon::{Instance, Session};
use crate::package::catalogue::{Package, TokenError};
use crate::resource::{OperationError, OperationWarnings, Target, describe};
use crate::translate::property::{PropertyView, classify, contains_secret, secret};

/// What an engine makes of the results.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// It takes secrets.
    keep_secrets: bool,
    /// It only previews, so that results may be unknown.
    preview: bool,
    /// It takes outputs: values that tell what they depend on, and that may be unknown.
    outputs: bool,
}

/// What an engine has asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation<'a> {
    /// Whose engine it is.
    pub session: &'a Arc<Session>,
    /// The session's provider.
    pub instance: &'a Arc<Instance>,
    /// A handle of it, whose calls end when nobody waits for this.
    pub provider: &'a Provider,
    /// What is invoked.
    pub token: &'a str,
    /// What it is given.
    pub arguments: &'a Struct,
    /// Whether it is part of a preview, where the engine tells.
    pub preview: bool,
}

/// Reads the data source, calls the function, opens the ephemeral resource or carries out the action that the token names.
pub(crate) async fn invoke(
    invocation: Invocation<'_>,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, preview } = invocation;
    let outputs = session.takes_outputs_of_invokes();
    let asked = Asked { keep_secrets: session.keeps_secrets(), preview, outputs };
    let package = &instance.package;
    let result = match Kind::of(package, token)? {
        Kind::DataSource => {
            let shape = package.data_source_by_token(token)?;
            data_source::read(instance, provider, shape, arguments, asked, notes).await?
        }
        Kind::Function => {
            let shape = package.function_by_token(token)?;
            function::call(provider, &shape, arguments, notes).await?
        }
        Kind::EphemeralResource(terraform) => {
            let shape = package.ephemeral_resource(terraform)?;
            ephemeral::open(invocation, shape, notes).await?
        }
        Kind::Action(terraform) => action::carry_out(invocation, package.action(terraform)?, notes).await?,
    };
    let is_secret =
        asked.keep_secrets && arguments.values().any(|argument| contains_secret(argument) == Ok(true));
    let result = if is_secret { all_secret(result) } else { result };
    Ok(if asked.outputs {
        outputs::with_dependencies(result, arguments)
    } else {
        outputs::as_far_as_known(result, arguments)
    })
}

/// Whether what the token names must not be broken off once it has begun: something would be left open, or half done.
pub(crate) fn must_end(package: &Package, token: &str) -> bool {
    matches!(Kind::of(package, token), Ok(Kind::EphemeralResource(_) | Kind::Action(_)))
}

/// What can be invoked.
enum Kind<'a> {
    DataSource,
    Function,
    /// By Terraform's name.
    EphemeralResource(&'a str),
    /// By Terraform's name.
    Action(&'a str),
}

impl<'a> Kind<'a> {
    /// What the token names. No two kinds have a token in common.
    fn of(package: &'a Package, token: &str) -> Result<Self, TokenError> {
        if package.data_sources().terraform(token).is_some() {
            return Ok(Self::DataSource);
        }
        if package.functions().terraform(token).is_some() {
            return Ok(Self::Function);
        }
        if let Some(terraform) = package.ephemeral_resources().terraform(token) {
            return Ok(Self::EphemeralResource(terraform));
        }
        if let Some(terraform) = package.actions().terraform(token) {
            return Ok(Self::Action(terraform));
        }
        Err(unknown(package, token))
    }
}

/// A provider's complaint before anything has happened: about arguments where it names any.
fn refusal(target: &Target<'_>, arguments: &Struct, error: ProviderError) -> OperationError {
    match error {
        ProviderError::Diagnostics { diagnostics, .. }
            if diagnostics.iter().any(|diagnostic| !diagnostic.path.is_root()) =>
        {
            OperationError::Inputs(target.failures(&diagnostics, arguments))
        }
        error => target.failed(error),
    }
}

/// Takes warnings about arguments; those of the other list of the notes are about the provider's configuration.
fn remember(warnings: &mut Vec<Diagnostic>, target: &Target<'_>, notes: &mut OperationWarnings) {
    notes.texts.extend(warnings.drain(..).map(|warning| describe(&warning, &target.shape.object)));
}

fn all_secret(result: Struct) -> Struct {
    let members = result.into_iter().map(|(name, value)| {
        let is_marked = matches!(classify(&value), Ok(PropertyView::Secret(_)));
        (name, if is_marked { value } else { secret(value) })
    });
    members.collect()
}

/// A program does not tell the kinds apart, so what is alike is looked for among all.
fn unknown(package: &Package, token: &str) -> TokenError {
    let kinds =
        [package.data_sources(), package.functions(), package.ephemeral_resources(), package.actions()];
    let tokens = kinds.into_iter().flat_map(|tokens| tokens.iter());
    TokenError::Unknown {
        package: package.identity().name.clone(),
        kind: "data source or function",
        token: token.to_owned(),
        nearest: crate::names::tokens::nearest_token(token, tokens).map(str::to_owned),
    }
}
