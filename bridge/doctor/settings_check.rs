//! The environment variables of isthmus, and those of Terraform that it obeys.

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::ALL;

pub(super) fn examine(world: &World) -> Judgement {
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
