//! What Check and Diff do beside their calls of the provider.

use isthmus_operations::resource::counting;
use isthmus_proto::property::Struct;

use super::{Execution, counted};
use crate::sample::Sample;

pub(super) fn check_small() -> Execution {
    check(Sample::small())
}

pub(super) fn check_large() -> Execution {
    check(Sample::large())
}

pub(super) fn diff_small() -> Execution {
    diff(Sample::small())
}

pub(super) fn diff_large() -> Execution {
    diff(Sample::large())
}

/// A list of a hundred blocks, of which the first is removed and another one is added.
pub(super) fn diff_list() -> Execution {
    diff(Sample::list_of_blocks())
}

/// The same in a set.
pub(super) fn diff_set() -> Execution {
    diff(Sample::set_of_blocks())
}

/// A name for a resource without one.
pub(super) fn autoname() -> Execution {
    let shape = Sample::large().shape;
    counted(
        move || counting::add_name(&shape, &Struct::new(), b"a seed of an update plan's length"),
        |inputs| {
            let name = inputs.get("name").and_then(|name| name.as_str()).map(str::len);
            assert_eq!(name, Some("web-server-0123456".len()));
        },
    )
}

/// The inputs by the schema, before the provider validates them. A copy of them is counted as well.
fn check(sample: Sample) -> Execution {
    let (inputs, shape) = (sample.inputs, sample.shape);
    counted(move || counting::check(inputs.clone(), &shape), |(_, found)| assert_eq!(found, 0))
}

/// The properties that a plan changes.
fn diff(sample: Sample) -> Execution {
    let Sample { shape, state, changed, stored, inputs, .. } = sample;
    counted(
        move || counting::changes(&shape, &state, &changed, &stored, &inputs),
        |changes| assert!(changes > 0),
    )
}
