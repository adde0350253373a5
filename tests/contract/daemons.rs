//! Plugins that pass the calls of their engines on to a shared daemon.

mod auditing;
mod commands;
mod losses;
mod metrics;
mod network;
mod operators;
mod replicas;
mod sharing;
mod standard;
mod traces;
mod trust;
#[cfg(unix)]
mod upgrades;
