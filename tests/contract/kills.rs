//! Whatever dies, at whatever moment: nothing is lost, nothing is left behind, and nothing is made twice without a word.
//!
//! `matrix` kills the daemon at each fail point that a change reaches; `random` kills daemon, provider, engine, or
//! engine and daemon at random moments, with sixteen resources at once; `replicas` kills replicas of a shared daemon, and stops
//! their database. The tables that they print are in
//! `docs/reliability.md`.

mod engine;
mod matrix;
mod random;
mod replicas;

pub(crate) use random::Dice;
