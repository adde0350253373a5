//! The async runtime of a command, and of a plugin.

use std::num::NonZero;
use std::process::ExitCode;

use tokio::runtime::Builder;

use super::output::fail;
use isthmus_platform::process::limit_holes;

#[derive(Debug, thiserror::Error)]
#[error("failed to start the runtime")]
pub(crate) struct RuntimeError(#[source] std::io::Error);

/// Most threads for tasks. Providers do the work; a bridge does not keep more processors busy.
const MOST_WORKERS: usize = 32;

/// Most threads for work that blocks: operations on files, each of which takes milliseconds. More
/// of them at once would wait for one disk, and a flood of calls would have a thread for each.
///
/// Such work waits for no task, and for other such work only while that runs, so any number of threads finishes it.
const MOST_BLOCKING: usize = 16;

/// Runs `work` to completion, on one thread per processor.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, RuntimeError> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    on(Builder::new_multi_thread().worker_threads(processors.min(MOST_WORKERS)), work)
}

/// The same for work that reports its own failures.
pub(crate) fn run(work: impl Future<Output = ExitCode>) -> ExitCode {
    block_on(work).unwrap_or_else(|error| fail(&isthmus_common::error_chain(&error)))
}

/// Serves calls on this thread. A call goes from the engine's connection through the codecs and the journal to the
/// provider's connection and back, and waking another thread takes longer than any of these steps. What takes over a
/// millisecond is on the threads for work that blocks.
pub(crate) fn serve(work: impl Future<Output = ExitCode>) -> ExitCode {
    limit_holes();
    on(&mut Builder::new_current_thread(), work)
        .unwrap_or_else(|error| fail(&isthmus_common::error_chain(&error)))
}

fn on<T>(builder: &mut Builder, work: impl Future<Output = T>) -> Result<T, RuntimeError> {
    let runtime = builder.max_blocking_threads(MOST_BLOCKING).enable_all().build();
    // On the heap once, instead of on the stack in each function between here and its first poll.
    Ok(runtime.map_err(RuntimeError)?.block_on(Box::pin(work)))
}
