//! The proxy that the environment names.

use isthmus_install::{DEFAULT_HOST, configured_proxy, invalid_proxy};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The proxy of the default registry, without its credentials.
    proxy: Option<String>,
    /// The variable that is not a proxy's address.
    invalid: Option<String>,
}

pub(super) fn gather(world: &World) -> Facts {
    let environment = world.environment();
    Facts { proxy: configured_proxy(environment, DEFAULT_HOST), invalid: invalid_proxy(environment) }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let summary = facts.proxy.clone().unwrap_or_else(|| "none".to_owned());
    let invalid = facts.invalid.as_deref().map(|text| Finding::fault(ErrorCode::InvalidProxy, text));
    Judgement::new(summary, invalid.into_iter().collect())
}
