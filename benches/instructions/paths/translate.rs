//! Translation between property bags and values.

use isthmus_translate::counting;
use isthmus_translate::raw_state::{DELTA_KEY, raw_state, recover};

use super::{Execution, counted};
use crate::sample::{Sample, meta};

pub(super) fn config_small() -> Execution {
    config(Sample::small())
}

pub(super) fn config_large() -> Execution {
    config(Sample::large())
}

pub(super) fn outputs_small() -> Execution {
    outputs(Sample::small())
}

pub(super) fn outputs_large() -> Execution {
    outputs(Sample::large())
}

pub(super) fn state_small() -> Execution {
    state(Sample::small())
}

pub(super) fn state_large() -> Execution {
    state(Sample::large())
}

pub(super) fn recover_small() -> Execution {
    delta_recover(Sample::small())
}

pub(super) fn recover_large() -> Execution {
    delta_recover(Sample::large())
}

/// Inputs to the configuration for the provider.
fn config(sample: Sample) -> Execution {
    let (inputs, shape) = (sample.inputs.clone(), sample.shape.clone());
    counted(
        move || counting::config(&inputs, &shape),
        |config| assert_eq!(config.expect("the inputs fit"), sample.config()),
    )
}

/// An object to the properties that an engine sees.
fn outputs(sample: Sample) -> Execution {
    let (state, shape) = (sample.state.clone(), sample.shape.clone());
    counted(
        move || counting::outputs(&state, &shape),
        |outputs| assert!(sample.stored.len() > outputs.len() && outputs.len() > sample.inputs.len()),
    )
}

/// An object to the properties that an engine stores, with `__meta` and the raw-state delta.
fn state(sample: Sample) -> Execution {
    let Sample { state, shape, inputs, stored, .. } = sample;
    let meta = meta();
    counted(
        move || counting::properties_to_store(&state, &shape, &inputs, &meta),
        |properties| assert_eq!(properties, stored),
    )
}

/// Stored properties to Terraform's state JSON.
fn delta_recover(sample: Sample) -> Execution {
    let stored = sample.stored.clone();
    let delta = stored.get(DELTA_KEY).expect("a delta is stored").clone();
    counted(
        move || recover(&stored, &delta),
        |json| assert_eq!(json.ok(), raw_state(&sample.state, &sample.shape).ok()),
    )
}
