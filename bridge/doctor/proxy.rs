//! The proxy of the default registry that the environment names, without its credentials.

use isthmus_install::{DEFAULT_HOST, configured_proxy, invalid_proxy};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;

pub(super) fn examine(world: &World) -> Judgement {
    let proxy = configured_proxy(world.environment(), DEFAULT_HOST).unwrap_or_else(|| "none".to_owned());
    let invalid = invalid_proxy(world.environment());
    Judgement::new(proxy, invalid.iter().map(|text| Finding::fault(ErrorCode::InvalidProxy, text)).collect())
}
