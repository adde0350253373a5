//! The environment variables of isthmus, and those of Terraform that it obeys.

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::ALL;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// What is wrong, a line for each setting.
    invalid: Vec<String>,
    /// Variables without effect.
    warnings: Vec<String>,
    /// Names of the settings that are set.
    set: Vec<&'static str>,
}

pub(super) fn gather(world: &World) -> Facts {
    let set = ALL.iter().map(|setting| setting.name);
    Facts {
        invalid: world.invalid.clone(),
        warnings: world.settings().warnings.clone(),
        set: set.filter(|name| world.environment().value(name).is_some()).collect(),
    }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let invalid = facts.invalid.iter().map(|line| Finding::fault(ErrorCode::InvalidSetting, line));
    let warnings = facts.warnings.iter().map(|line| {
        let help = "correct the variable or unset it; `isthmus explain settings` lists all";
        Finding::warning(ErrorCode::SettingWithoutEffect, line).advising(help)
    });
    let summary = match &facts.set[..] {
        [] => "no ISTHMUS_ variable is set".to_owned(),
        set => set.join(", "),
    };
    Judgement::new(summary, invalid.chain(warnings).collect())
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn what_is_not_understood_is_a_fault_and_what_has_no_effect_a_warning() {
        let facts = Facts {
            invalid: vec!["ISTHMUS_OFFLINE=\"maybe\": not a boolean".to_owned()],
            warnings: vec!["the variable ISTHMUS_HOM has no effect; did you mean ISTHMUS_HOME?".to_owned()],
            set: vec!["ISTHMUS_OFFLINE"],
        };
        let levels: Vec<Level> = judge(&facts).findings.iter().map(|finding| finding.level).collect();
        assert_eq!(levels, [Level::Fault, Level::Warning]);
        assert_eq!(judge(&Facts::default()).findings, []);
    }
}
