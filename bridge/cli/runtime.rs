//! The async runtime of a command.

use std::process::ExitCode;

use super::output::fail;

#[derive(Debug, thiserror::Error)]
#[error("failed to start the runtime")]
pub(crate) struct RuntimeError(#[source] std::io::Error);

/// Runs `work` to completion, on one thread per processor.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, RuntimeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    Ok(runtime.map_err(RuntimeError)?.block_on(work))
}

/// The same for work that reports its own failures.
pub(crate) fn run(work: impl Future<Output = ExitCode>) -> ExitCode {
    block_on(work).unwrap_or_else(|error| fail(&isthmus_common::error_chain(&error)))
}
