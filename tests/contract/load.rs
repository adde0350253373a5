//! The daemon under load: many calls at once, many resources one after another, floods of messages and of connections.
//!
//! What is measured is stated before it is: each bound is a constant with its reason. Each test is a slice that takes
//! seconds; `tests/reliability/run load lifecycles floods` runs them in full on a release build, and writes its figures to
//! `docs/reliability.md`.

mod attacks;
mod concurrency;
mod driver;
mod fairness;
mod figures;
mod floods;
mod isolation;
mod lifecycles;
mod sessions;

/// A number of the environment, by which a slice becomes the whole.
fn setting(name: &str, slice: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return slice };
    text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}"))
}
