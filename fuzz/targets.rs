//! All targets.

mod bridge;
mod cty;
mod install;
mod opentofu;
mod provider;
mod rmp;
mod state;

/// What is fuzzed: a function that panics where a decoder breaks a promise.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Maximum length of inputs, in bytes: longer ones are slower, and find nothing else.
    pub(crate) longest: usize,
    pub(crate) run: fn(&[u8]),
}

/// In alphabetical order.
pub(crate) const ALL: &[Target] = &[
    target("addresses", 512, install::addresses),
    target("checksums", 2048, install::checksums),
    target("cli_config", 4096, install::cli_config),
    target("constraints", 256, install::constraints),
    target("cty_json", 2048, cty::json),
    target("cty_msgpack", 2048, cty::msgpack),
    target("cty_type", 2048, cty::type_json),
    target("handshake", 1024, provider::handshake),
    target("inspect", 4096, bridge::inspect),
    target("journal_entries", 2048, isthmus_state::fuzzing::entries),
    target("journal_frames", 1024, isthmus_state::fuzzing::frames),
    target("lock_file", 4096, install::lock_file),
    target("network_mirror", 4096, install::network_mirror),
    target("oci_mirror", 8192, install::oci_mirror),
    target("opentofu_addresses", 256, opentofu::addresses),
    target("opentofu_constraints", 256, opentofu::constraints),
    target("opentofu_json", 1024, opentofu::json),
    target("opentofu_lock_file", 4096, opentofu::lock_file),
    target("opentofu_msgpack", 1024, opentofu::msgpack),
    target("parameter", 1024, bridge::parameter),
    target("project", 2048, bridge::project),
    target("property_bag", 4096, bridge::property_bag),
    target("property_path", 512, bridge::property_path),
    target("provider_logs", 2048, provider::logs),
    target("raw_state_delta", 4096, bridge::raw_state_delta),
    target("reattach", 2048, provider::reattach),
    target("redaction", 2048, provider::redaction),
    target("registry", 8192, install::registry),
    target("resource_addresses", 512, state::addresses),
    target("rmp_msgpack", 1024, rmp::msgpack),
    target("schema", 4096, provider::schema),
    target("schema_index", 4096, provider::schema_index),
    target("settings", 2048, bridge::settings),
    target("shown_state", 4096, bridge::shown_state),
    target("signature", 8192, install::signature),
    target("stack_export", 4096, bridge::stack_export),
    target("stack_records", 4096, state::stack_records),
    target("tfstate", 8192, state::tfstate),
    target("translate", 4096, bridge::translate),
    target("translate_value", 4096, bridge::translate_value),
    target("unpack", 4096, install::unpack),
    target("urn", 256, bridge::urn),
];

const fn target(name: &'static str, longest: usize, run: fn(&[u8])) -> Target {
    Target { name, longest, run }
}
