//! The certificate authorities that the environment names.

use isthmus_install::unread_authorities;

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;

/// Blocks on the file system.
pub(super) fn examine(world: &World) -> Judgement {
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
