//! Work that blocks, out of async code: files that may lie on other machines, derived keys, large texts.

/// Does work that blocks, on a thread for that. A panic goes on in the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}
