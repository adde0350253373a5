//! An engine's request, and what all kinds of results have in common.

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Provider, ProviderError};

use isthmus_operations::resource::{OperationError, OperationWarnings, Target, describe};
use isthmus_session::daemon::{Instance, Session};
use isthmus_translate::property::{PropertyView, classify, secret};

/// The engine's options for results.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultOptions {
    /// It accepts secrets.
    pub(super) keep_secrets: bool,
    /// Results may be unknown in a preview.
    pub(super) preview: bool,
    /// It accepts outputs: values with dependencies, which may be unknown.
    pub(super) outputs: bool,
}

/// An engine's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation<'a> {
    pub session: &'a Arc<Session>,
    pub instance: &'a Arc<Instance>,
    /// A handle of it, whose calls end with this invocation's limit.
    pub provider: &'a Provider,
    pub token: &'a str,
    pub arguments: &'a Struct,
    /// Whether it is part of a preview, if the engine marks these.
    pub preview: bool,
}

/// Maps errors before any effect: diagnostics about arguments become failures of these.
pub(super) fn refusal(target: &Target<'_>, arguments: &Struct, error: ProviderError) -> OperationError {
    match error {
        ProviderError::Diagnostics { diagnostics, .. }
            if diagnostics.iter().any(|diagnostic| !diagnostic.path.is_root()) =>
        {
            OperationError::Inputs(target.failures(&diagnostics, arguments))
        }
        error => target.failed(error),
    }
}

/// Moves warnings about arguments to `texts`; the other diagnostics are about the provider's
/// configuration.
pub(super) fn remember(
    diagnostics: &mut Vec<Diagnostic>,
    target: &Target<'_>,
    warnings: &mut OperationWarnings,
) {
    warnings.texts.extend(diagnostics.drain(..).map(|warning| describe(&warning, &target.shape.object)));
}

pub(super) fn all_secret(result: Struct) -> Struct {
    let members = result.into_iter().map(|(name, value)| {
        let is_marked = matches!(classify(&value), Ok(PropertyView::Secret(_)));
        (name, if is_marked { value } else { secret(value) })
    });
    members.collect()
}
