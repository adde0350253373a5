//! Invoke: data sources and functions.

mod data_source;
mod function;

use isthmus_proto::property::Struct;

use crate::daemon::Instance;
use crate::package::catalogue::TokenError;
use crate::resource::{Notes, OperationError};

/// Reads the data source, or calls the function, that `token` names.
pub async fn invoke(
    instance: &Instance,
    token: &str,
    arguments: &Struct,
    keep_secrets: bool,
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    match instance.package.data_source_by_token(token) {
        Ok(shape) => data_source::read(instance, shape, arguments, keep_secrets, notes).await,
        Err(unknown @ TokenError::Unknown { .. }) => match instance.package.function_by_token(token) {
            Ok(shape) => function::call(instance, &shape, arguments).await,
            // Most of what a program invokes is a data source, so that is what the message speaks of.
            Err(TokenError::Unknown { .. }) => Err(unknown.into()),
            Err(error) => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}
