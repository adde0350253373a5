//! Invoke: data sources and functions.
//!
//! What comes of a secret argument is secret as a whole: nobody knows what a provider makes of it. An engine does the same
//! for plugins that take no secrets, so nothing that was hidden there is shown here.

mod data_source;
mod digits;
mod function;
mod outputs;

use isthmus_proto::property::Struct;

use crate::daemon::Instance;
use crate::package::catalogue::{Package, TokenError};
use crate::resource::{Notes, OperationError};
use crate::translate::property::{PropertyView, classify, contains_secret, secret};

/// What an engine makes of the results.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// It takes secrets.
    pub keep_secrets: bool,
    /// It only previews, so that results may be unknown.
    pub preview: bool,
    /// It takes outputs: values that tell what they depend on, and that may be unknown.
    pub outputs: bool,
}

/// Reads the data source, or calls the function, that `token` names.
pub async fn invoke(
    instance: &Instance,
    token: &str,
    arguments: &Struct,
    asked: Asked,
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    let result = match instance.package.data_source_by_token(token) {
        Ok(shape) => data_source::read(instance, shape, arguments, asked, notes).await?,
        Err(TokenError::Unknown { .. }) => match instance.package.function_by_token(token) {
            Ok(shape) => function::call(instance, &shape, arguments, notes).await?,
            Err(TokenError::Unknown { .. }) => return Err(unknown(&instance.package, token).into()),
            Err(error) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
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

fn all_secret(result: Struct) -> Struct {
    let members = result.into_iter().map(|(name, value)| {
        let is_marked = matches!(classify(&value), Ok(PropertyView::Secret(_)));
        (name, if is_marked { value } else { secret(value) })
    });
    members.collect()
}

/// A program does not tell the two kinds apart, so what is alike is looked for among both.
fn unknown(package: &Package, token: &str) -> TokenError {
    let tokens = package.data_sources().iter().chain(package.functions().iter()).map(|(_, token)| token);
    TokenError::Unknown {
        package: package.identity().name.clone(),
        kind: "data source or function",
        token: token.to_owned(),
        nearest: crate::names::tokens::nearest(token, tokens).map(str::to_owned),
    }
}
