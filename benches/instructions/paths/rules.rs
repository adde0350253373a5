//! Terraform core's rules around the calls of a provider.

use isthmus_provider::rules::{check_applied, check_planned, proposed_new};

use super::{Execution, counted};
use crate::sample::{Sample, config, planned};

pub(super) fn proposed_small() -> Execution {
    proposed(Sample::small())
}

pub(super) fn proposed_large() -> Execution {
    proposed(Sample::large())
}

/// A set of a hundred blocks, each of which is matched with a prior one.
pub(super) fn proposed_set() -> Execution {
    proposed(Sample::set_of_blocks())
}

pub(super) fn plan_small() -> Execution {
    plan(Sample::small())
}

pub(super) fn plan_large() -> Execution {
    plan(Sample::large())
}

pub(super) fn apply_small() -> Execution {
    apply(Sample::small())
}

pub(super) fn apply_large() -> Execution {
    apply(Sample::large())
}

/// The proposed new state of an update.
fn proposed(sample: Sample) -> Execution {
    let config = config(sample.block(), &sample.changed);
    let (shape, state) = (sample.shape.clone(), sample.state.clone());
    counted(
        move || proposed_new(&shape.schema.block, &state, &config),
        |proposed| assert_eq!(proposed.conforms(sample.own_type()), Ok(())),
    )
}

/// The check of an update's plan.
fn plan(sample: Sample) -> Execution {
    let config = config(sample.block(), &sample.changed);
    let Sample { shape, state, changed, .. } = sample;
    let plan = proposed_new(&shape.schema.block, &state, &config);
    drop(changed);
    counted(
        move || check_planned(&shape.schema.block, &state, &config, &plan),
        |violations| assert_eq!(violations, []),
    )
}

/// The check of a created object, whose plan leaves open what the provider sets.
fn apply(sample: Sample) -> Execution {
    let planned = planned(sample.block(), &sample.config());
    let Sample { shape, state, .. } = sample;
    counted(
        move || check_applied(&shape.schema.block, &planned, &state),
        |violations| assert_eq!(violations, []),
    )
}
