//! Blocking work, and futures in trait objects.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// A future in a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs blocking work on a blocking thread. A panic is propagated.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down, and with it this task.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Begins blocking work on a blocking thread.
///
/// On the thread of a simulation it is a task instead: which thread is faster would not depend on the seed.
pub fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    #[cfg(feature = "simulation")]
    if crate::simulation::is_simulated() {
        return tokio::spawn(async move { work() });
    }
    tokio::task::spawn_blocking(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_result_is_returned_and_a_panic_goes_on() {
        assert_eq!(blocking(|| 1).await, 1);
        let panicked = tokio::spawn(blocking(|| panic!("on purpose") as ())).await;
        assert!(panicked.expect_err("it panics").is_panic());
    }
}
