//! The certificate authorities that the environment names.

use isthmus_install::unread_authorities;

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The variables that are set.
    set: Vec<&'static str>,
    /// Why some cannot be read.
    unread: Option<String>,
}

/// Blocks on the file system.
pub(super) fn gather(world: &World) -> Facts {
    let environment = world.environment();
    let variables = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
    Facts {
        set: variables.into_iter().filter(|name| environment.value(name).is_some()).collect(),
        unread: unread_authorities(environment),
    }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let summary = if facts.set.is_empty() { "the system's".to_owned() } else { facts.set.join(", ") };
    let unread = facts.unread.as_deref().map(|text| Finding::fault(ErrorCode::AuthoritiesUnread, text));
    Judgement::new(summary, unread.into_iter().collect())
}
