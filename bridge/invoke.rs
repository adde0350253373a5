//! Invoke: data sources, functions, ephemeral resources and actions.
//!
//! The whole result of a secret argument is secret, because its data flow is unknown. An engine
//! does the same for plugins that do not accept secrets.

mod action;
mod data_source;
mod ephemeral;
mod function;
mod invocation;
mod outputs;

use isthmus_proto::property::Struct;

use crate::package::catalogue::{Package, TokenError};
use crate::package::shape::ResourceShape;
use crate::resource::{Inputs, OperationError, OperationWarnings};
use crate::translate::inputs::canonical;
use crate::translate::property::contains_secret;
pub(crate) use invocation::Invocation;
use invocation::{ResultOptions, all_secret};

/// Reads the data source, calls the function, opens the ephemeral resource or runs the action that
/// the token names.
pub(crate) async fn invoke(
    invocation: Invocation<'_>,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, preview } = invocation;
    let outputs = session.accepts_outputs_of_invokes();
    let result_options = ResultOptions { keep_secrets: session.accepts_secrets(), preview, outputs };
    let package = &instance.package;
    let result = match Kind::of(package, token)? {
        Kind::DataSource => {
            let shape = package.data_source_by_token(token)?;
            let arguments = canonical_arguments(arguments, &shape, warnings);
            data_source::read(instance, provider, shape, &arguments, result_options, warnings).await?
        }
        Kind::Function => {
            let shape = package.function_by_token(token)?;
            function::call(provider, &shape, arguments, instance.settings().exact_numbers, warnings).await?
        }
        Kind::EphemeralResource(terraform) => {
            let shape = package.ephemeral_resource(terraform)?;
            let arguments = &canonical_arguments(arguments, &shape, warnings);
            ephemeral::open(Invocation { arguments, ..invocation }, shape, warnings).await?
        }
        Kind::Action(terraform) => {
            let shape = package.action(terraform)?;
            let arguments = &canonical_arguments(arguments, &shape, warnings);
            action::carry_out(Invocation { arguments, ..invocation }, shape, warnings).await?
        }
    };
    let is_secret = result_options.keep_secrets
        && arguments.values().any(|argument| contains_secret(argument) == Ok(true));
    let result = if is_secret { all_secret(result) } else { result };
    Ok(if result_options.outputs {
        outputs::with_dependencies(result, arguments)
    } else {
        outputs::as_far_as_known(result, arguments)
    })
}

/// The arguments in the canonical form.
fn canonical_arguments(
    arguments: &Struct,
    shape: &ResourceShape,
    warnings: &mut OperationWarnings,
) -> Struct {
    let mut arguments = arguments.clone();
    let dropped = canonical(&mut arguments, &shape.object);
    warnings.texts.extend(Inputs::new(&arguments, &shape.object).warnings_of_dropped(&dropped));
    arguments
}

/// Whether the invocation must run to completion: otherwise something would stay open or
/// incomplete.
pub(crate) fn must_end(package: &Package, token: &str) -> bool {
    matches!(Kind::of(package, token), Ok(Kind::EphemeralResource(_) | Kind::Action(_)))
}

/// Whether the invocation is an action, which changes resources.
pub(crate) fn is_action(package: &Package, token: &str) -> bool {
    matches!(Kind::of(package, token), Ok(Kind::Action(_)))
}

enum Kind<'a> {
    DataSource,
    Function,
    /// By Terraform's name.
    EphemeralResource(&'a str),
    /// By Terraform's name.
    Action(&'a str),
}

impl<'a> Kind<'a> {
    /// The kind of a token. No two kinds share a token.
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

/// A program does not distinguish the kinds, so suggestions come from all of them.
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
