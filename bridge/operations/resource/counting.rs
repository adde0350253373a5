//! Entrances for the counted paths (`benches/instructions`).

use isthmus_cty::Value;
use isthmus_proto::property::Struct;

use super::autoname::{self, AutonamingMode, Naming};
use super::check::mark_sensitive;
use super::diff;
use isthmus_package::shape::ResourceShape;
use isthmus_translate::exact_numbers::doubtful_numbers;
use isthmus_translate::inputs::{canonical, deprecated, missing_required, read_only};

/// Inputs with a generated name, for a resource that is created.
pub fn add_name(shape: &ResourceShape, inputs: &Struct, seed: &[u8]) -> Struct {
    let mut inputs = inputs.clone();
    let olds = Struct::new();
    let naming = Naming { resource: "web-server", olds: &olds, seed, autonaming_mode: AutonamingMode::Any };
    autoname::add_name(&mut inputs, shape, &naming).expect("there is a seed");
    inputs
}

/// The number of properties that differ.
pub fn changes(shape: &ResourceShape, prior: &Value, planned: &Value, olds: &Struct, news: &Struct) -> usize {
    diff::changes(&shape.object, prior, planned, olds, news).len()
}

/// The rules of Check that need no provider, without the translation to a configuration. Returns the
/// inputs to store, and the number of failures and warnings.
pub fn check(mut inputs: Struct, shape: &ResourceShape) -> (Struct, usize) {
    let object = &shape.object;
    let dropped = canonical(&mut inputs, object).len();
    let doubtful = doubtful_numbers(&inputs, object).len();
    let missing = missing_required(&inputs, object).len();
    let set = read_only(&inputs, object).len() + deprecated(&inputs, object).len();
    mark_sensitive(&mut inputs, object);
    (inputs, dropped + doubtful + missing + set)
}
