//! Invoke: data sources, functions, ephemeral resources and actions.
//!
//! The whole result of a secret argument is secret, because its data flow is unknown. An engine
//! does the same for plugins that do not accept secrets. A user can choose functions whose results
//! have no secrets ([`isthmus_package::names::plain_results`]).

mod action;
mod data_source;
mod ephemeral;
mod function;
mod invocation;
mod outputs;

use isthmus_proto::property::Struct;

pub(crate) use invocation::Invocation;
use invocation::{ResultOptions, all_secret};
use isthmus_operations::resource::{Inputs, OperationError, OperationWarnings};
use isthmus_package::catalogue::{Package, TokenError};
use isthmus_package::names::MemberKind;
use isthmus_package::plain_forms;
use isthmus_package::shape::ResourceShape;
use isthmus_translate::inputs::canonical;
use isthmus_translate::property::contains_secret;

/// Reads the data source, calls the function, opens the ephemeral resource or runs the action that
/// the token names.
pub(crate) async fn invoke(
    invocation: Invocation<'_>,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, preview } = invocation;
    let outputs = session.accepts_outputs_of_invokes();
    let package = &instance.package;
    let kind = Invoked::of(package, token).inspect_err(|_| provider.note_failure())?;
    let (member_kind, terraform) = kind.member();
    let plain_results =
        session.settings().plain_results.as_ref().or(package.choices().plain_results.as_ref());
    let is_plain = plain_results.is_some_and(|plain| plain.contains(member_kind, terraform));
    let keep_secrets = session.accepts_secrets() && !is_plain;
    let result_options = ResultOptions { keep_secrets, preview, outputs };
    let result = match kind {
        Invoked::DataSource(_) => {
            let shape = package.data_source_by_token(token)?;
            let arguments = canonical_arguments(arguments, &shape, warnings);
            data_source::read(instance, provider, shape, &arguments, result_options, warnings).await?
        }
        Invoked::Function(_) => {
            let shape = package.function_by_token(token)?;
            function::call(provider, &shape, arguments, instance.settings().exact_numbers, warnings).await?
        }
        Invoked::EphemeralResource(terraform) => {
            let shape = package.ephemeral_resource(terraform)?;
            let arguments = &canonical_arguments(arguments, &shape, warnings);
            ephemeral::open(Invocation { arguments, ..invocation }, shape, keep_secrets, warnings).await?
        }
        Invoked::Action(terraform) => {
            let shape = package.action(terraform)?;
            let arguments = &canonical_arguments(arguments, &shape, warnings);
            action::carry_out(Invocation { arguments, ..invocation }, shape, warnings).await?
        }
    };
    let has_secret = |bag: &Struct| bag.values().any(|value| contains_secret(value) == Ok(true));
    let result = if keep_secrets && has_secret(arguments) { all_secret(result) } else { result };
    if plain_results.is_none() && has_secret(&result) && session.warns_of_plain_forms().await {
        warnings.texts.push(plain_forms::warning_of_call(&member_kind.reference(terraform)));
    }
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
    matches!(Invoked::of(package, token), Ok(Invoked::EphemeralResource(_) | Invoked::Action(_)))
}

/// Whether a token names an action, which must not be carried out twice.
pub(crate) fn is_action(package: &Package, token: &str) -> bool {
    matches!(Invoked::of(package, token), Ok(Invoked::Action(_)))
}

/// What a token names, with Terraform's name.
#[derive(Clone, Copy)]
enum Invoked<'a> {
    DataSource(&'a str),
    Function(&'a str),
    EphemeralResource(&'a str),
    Action(&'a str),
}

impl<'a> Invoked<'a> {
    /// The kind of a token. No two kinds share a token.
    fn of(package: &'a Package, token: &str) -> Result<Self, TokenError> {
        if let Some(terraform) = package.data_sources().terraform(token) {
            return Ok(Self::DataSource(terraform));
        }
        if let Some(terraform) = package.functions().terraform(token) {
            return Ok(Self::Function(terraform));
        }
        if let Some(terraform) = package.ephemeral_resources().terraform(token) {
            return Ok(Self::EphemeralResource(terraform));
        }
        if let Some(terraform) = package.actions().terraform(token) {
            return Ok(Self::Action(terraform));
        }
        Err(unknown(package, token))
    }

    fn member(self) -> (MemberKind, &'a str) {
        match self {
            Self::DataSource(terraform) => (MemberKind::DataSource, terraform),
            Self::Function(terraform) => (MemberKind::Function, terraform),
            Self::EphemeralResource(terraform) => (MemberKind::EphemeralResource, terraform),
            Self::Action(terraform) => (MemberKind::Action, terraform),
        }
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
        nearest: isthmus_package::names::tokens::nearest_token(token, tokens).map(str::to_owned),
    }
}
