//! The inputs of a resource that was imported: those that a program would have to set for nothing to change.
//!
//! A state does not tell what of it somebody has set. An empty text may be the program's, or the old SDK's word for
//! nothing; a value may be the provider's own choice, which it refuses to be told. So the inputs are guessed from the
//! schema, without what looks like nothing, and then the provider itself is the judge: what it complains about and would
//! have chosen itself is taken out, and what its plan would change is put in. Terraform's users do that by hand.

use std::collections::BTreeSet;

use isthmus_cty::{PathStep, Value};
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object, ProviderError};

use super::super::diff::changed_properties;
use crate::package::shape::Field;
use crate::resource::Target;
use crate::translate::import::{Settable, inputs_after_import};
use crate::translate::inputs::Unknowns;

/// How often inputs are mended. What one round puts in may make another property known that the plan had left open.
const ROUNDS: usize = 3;

impl Target<'_> {
    /// The inputs for an `object` whose properties, with exact numbers, are `properties`.
    ///
    /// It never fails: where the provider cannot judge, the guess is the answer.
    pub(super) async fn inputs_of_imported(&self, object: &Object, properties: &Struct) -> Struct {
        let all = inputs_after_import(properties, &self.shape, Settable::All);
        let mut inputs = inputs_after_import(properties, &self.shape, Settable::Telling);
        for name in self.refused_choices(&inputs).await {
            inputs.remove(&name);
        }
        for _ in 0..ROUNDS {
            let Some(differing) = self.differing(&inputs, object).await else { break };
            let missing = |names: &BTreeSet<String>| -> Vec<_> {
                let settable = names.iter().filter_map(|name| Some((name.clone(), all.get(name)?.clone())));
                settable.filter(|(name, value)| inputs.get(name) != Some(value)).collect()
            };
            // What the plan leaves open may be so on account of the rest only.
            let mut mended = missing(&differing.known);
            if mended.is_empty() {
                mended = missing(&differing.open);
            }
            if mended.is_empty() {
                break;
            }
            for (name, value) in mended {
                inputs.insert(name, value);
            }
        }
        inputs
    }

    /// Properties that the provider complains about although it can choose them itself, such as one of two that exclude
    /// each other.
    async fn refused_choices(&self, inputs: &Struct) -> Vec<String> {
        let Ok(config) = self.config(inputs, Unknowns::Keep) else { return Vec::new() };
        let Ok(resource) = self.provider.resource(&self.shape.terraform_type) else { return Vec::new() };
        // Check warns when the inputs come back.
        match resource.validate(&config.value, &mut Vec::new()).await {
            Err(ProviderError::Diagnostics { diagnostics, .. }) => {
                let check_failures = diagnostics.iter().filter(|complaint| complaint.is_error());
                let fields = check_failures.filter_map(|complaint| self.field_of(complaint));
                fields.filter(|field| field.computed).map(|field| field.pulumi.clone()).collect()
            }
            Ok(()) | Err(_) => Vec::new(),
        }
    }

    fn field_of(&self, complaint: &Diagnostic) -> Option<&Field> {
        match complaint.path.0.first()? {
            PathStep::Attribute(name) => self.shape.object.terraform(name),
            PathStep::Key(_) | PathStep::Index(_) | PathStep::Element(_) => None,
        }
    }

    /// What the provider would change for these inputs. `None`: it cannot tell.
    async fn differing(&self, inputs: &Struct, object: &Object) -> Option<Differing> {
        let config = self.config(inputs, Unknowns::Keep).ok()?;
        let resource = self.provider.resource(&self.shape.terraform_type).ok()?;
        let plan = resource.plan(Some(object), &config.value, &mut Vec::new()).await.ok()?;
        let is_known = |name: &String| {
            let field = self.shape.object.pulumi(name);
            field
                .and_then(|field| plan.planned.attribute(&field.terraform))
                .is_some_and(Value::is_wholly_known)
        };
        let all = changed_properties(&self.shape.object, &object.value, &plan.planned);
        let (known, open) = all.into_iter().partition(is_known);
        Some(Differing { known, open })
    }
}

/// Properties at the top that a plan changes.
struct Differing {
    /// To something known.
    known: BTreeSet<String>,
    /// To something that is not.
    open: BTreeSet<String>,
}
