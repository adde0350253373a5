//! Entrances for the counted paths (`benches/instructions`), to what is private to this crate.

use isthmus_cty::Value;
use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_proto::property::Struct;

use crate::exact_numbers::{NumberForm, form_numbers};
use crate::inputs::{Unknowns, config_from_inputs};
use crate::meta::Meta;
use crate::outputs::{OutputOptions, outputs_from_state};
use crate::raw_state::add_stored_properties;
use crate::sets::in_order_of;
use isthmus_package::shape::ResourceShape;

const OPTIONS: OutputOptions<'_> = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };

/// The configuration of inputs; `None` if they do not fit.
pub fn config(inputs: &Struct, shape: &ResourceShape) -> Option<Value> {
    let config = config_from_inputs(inputs, &shape.object, &shape.schema.block, Unknowns::Keep);
    config.ok().map(|config| config.value)
}

/// The properties that an engine sees of a state.
pub fn outputs(state: &Value, shape: &ResourceShape) -> Struct {
    outputs_from_state(state, shape, OPTIONS).expect("the state is of the shape's type")
}

/// The properties that an engine stores of a state, as after a call of the provider.
pub fn properties_to_store(state: &Value, shape: &ResourceShape, inputs: &Struct, meta: &Meta) -> Struct {
    let value = in_order_of(state, &shape.object, inputs);
    let mut properties = outputs(&value, shape);
    form_numbers(&mut properties, &value, &shape.object, NumberForm::Number, &shape.terraform_type);
    add_stored_properties(&mut properties, meta, state, shape, OPTIONS.keep_secrets)
        .expect("the state has a JSON form");
    properties
}

/// Notes the secrets in a bag.
pub fn note_secrets(bag: &Struct, secrets: &KnownSecrets) {
    crate::marked_secrets::note_secrets(bag, secrets, Retention::Usual);
}
