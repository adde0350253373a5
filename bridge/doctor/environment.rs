//! The environment variables of isthmus, and those of others that it obeys: settings, certificate authorities, the proxy.

use isthmus_install::{DEFAULT_HOST, configured_proxy, invalid_proxy, unread_authorities};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::ALL;

/// The settings of isthmus, and the variables of Terraform that it obeys.
pub(super) fn settings(world: &World) -> Judgement {
    let invalid = world.invalid.iter().map(|line| Finding::fault(ErrorCode::InvalidSetting, line));
    let warnings = world.settings().warnings.iter().map(|line| {
        let help = "correct the variable or unset it; `isthmus explain settings` lists all";
        Finding::warning(ErrorCode::SettingWithoutEffect, line).advising(help)
    });
    let mut set: Vec<_> = ALL.iter().map(|setting| setting.name).collect();
    set.retain(|name| world.environment().value(name).is_some());
    let summary = if set.is_empty() { "no ISTHMUS_ variable is set".to_owned() } else { set.join(", ") };
    Judgement::new(summary, invalid.chain(warnings).collect())
}

/// The certificate authorities that the environment names. Blocks on the file system.
pub(super) fn certificates(world: &World) -> Judgement {
    let environment = world.environment();
    let mut set = vec!["SSL_CERT_FILE", "SSL_CERT_DIR"];
    set.retain(|name| environment.value(name).is_some());
    let summary = if set.is_empty() { "the system's".to_owned() } else { set.join(", ") };
    let unread = unread_authorities(environment);
    Judgement::new(
        summary,
        unread.iter().map(|text| Finding::fault(ErrorCode::AuthoritiesUnread, text)).collect(),
    )
}

/// The proxy of the default registry that the environment names, without its credentials.
pub(super) fn proxy(world: &World) -> Judgement {
    let proxy = configured_proxy(world.environment(), DEFAULT_HOST).unwrap_or_else(|| "none".to_owned());
    let invalid = invalid_proxy(world.environment());
    Judgement::new(proxy, invalid.iter().map(|text| Finding::fault(ErrorCode::InvalidProxy, text)).collect())
}
