//! Inputs of an imported resource: those with which a program causes no change.
//!
//! A state does not show which values were configured. An empty string may be configured, or the
//! old SDK's form of null; a value may be the provider's default, which it rejects as input. So
//! inputs are derived from the schema, without values that look unset, and then corrected by the
//! provider: computed properties that fail validation are removed, and properties that its plan
//! would change are added. Terraform's users do that by hand.

use std::collections::BTreeSet;

use isthmus_cty::{PathStep, Value};
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object, ProviderError};

use super::super::diff::changed_properties;
use crate::package::shape::Field;
use crate::resource::Target;
use crate::translate::import::{Settable, inputs_after_import};
use crate::translate::inputs::Unknowns;

/// How often inputs are corrected. An added property may make another one known that the plan had
/// left unknown.
const ROUNDS: usize = 3;

impl Target<'_> {
    /// The inputs for an `object` whose properties, with exact numbers, are `properties`.
    ///
    /// It cannot fail: if the provider cannot plan, the uncorrected inputs are returned.
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
            // A property may be unknown only because of the others.
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

    /// Computed properties that the provider rejects, such as one of two that conflict.
    async fn refused_choices(&self, inputs: &Struct) -> Vec<String> {
        let Ok(config) = self.config(inputs, Unknowns::Keep) else { return Vec::new() };
        let Ok(resource) = self.provider.resource(&self.shape.terraform_type) else { return Vec::new() };
        // Check warns when the inputs are used.
        match resource.validate(&config.value, &mut Vec::new()).await {
            Err(ProviderError::Diagnostics { diagnostics, .. }) => {
                let check_failures = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
                let fields = check_failures.filter_map(|diagnostic| self.field_of(diagnostic));
                fields.filter(|field| field.computed).map(|field| field.pulumi.clone()).collect()
            }
            Ok(()) | Err(_) => Vec::new(),
        }
    }

    fn field_of(&self, diagnostic: &Diagnostic) -> Option<&Field> {
        match diagnostic.path.0.first()? {
            PathStep::Attribute(name) => self.shape.object.terraform(name),
            PathStep::Key(_) | PathStep::Index(_) | PathStep::Element(_) => None,
        }
    }

    /// The properties that the provider would change for these inputs; `None` if it cannot plan.
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

/// Top-level properties that a plan changes.
struct Differing {
    /// To a known value.
    known: BTreeSet<String>,
    /// To an unknown value.
    open: BTreeSet<String>,
}
