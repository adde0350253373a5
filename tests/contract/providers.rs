//! How a provider is chosen and configured.

mod addresses;
mod configuration;
mod parameterize;
mod provider_meta;
mod settings;
