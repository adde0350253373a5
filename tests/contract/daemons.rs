//! Plugins that pass the calls of their engines on to a shared daemon.

mod commands;
mod losses;
mod metrics;
mod network;
mod sharing;
mod trust;
mod upgrades;
