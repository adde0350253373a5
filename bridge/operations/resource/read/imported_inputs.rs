//! Inputs of an imported resource: those with which a program causes no change.
//!
//! A state does not show which values were configured. An empty string may be configured, or the
//! old SDK's form of null; a value may be the provider's default, which it rejects as input. So the
//! provider is asked for a configuration where it offers that (GenerateResourceConfig); otherwise
//! inputs are derived from the schema, without values that look unset. Either is then corrected:
//! what fails validation is removed, and properties that the plan would change are added.
//! Terraform's users do that by hand.

use std::collections::BTreeSet;

use isthmus_cty::{AttributePath, PathStep, Value};
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object, ProviderError};

use super::super::diagnose::describe;
use super::super::diff::changed_properties;
use crate::resource::Target;
use isthmus_translate::attribute_paths::{field_at, property_path};
use isthmus_translate::exact_numbers::with_exact_numbers;
use isthmus_translate::import::{Settable, inputs_after_import};
use isthmus_translate::inputs::Unknowns;

/// How often inputs are corrected. An added property may make another one known that the plan had
/// left unknown, and one that is removed may be the only reason why another one was valid.
const ROUNDS: usize = 3;

impl Target<'_> {
    /// The inputs for an `object` whose properties, with exact numbers, are `properties`.
    ///
    /// It cannot fail: if the provider cannot plan, the uncorrected inputs are returned.
    pub(in crate::resource) async fn inputs_of_imported(
        &self,
        object: &Object,
        properties: &Struct,
    ) -> Struct {
        let all = inputs_after_import(properties, &self.shape, Settable::All);
        let mut inputs = match self.generated_inputs(object).await {
            Some(generated) => generated,
            None => inputs_after_import(properties, &self.shape, Settable::Telling),
        };
        let mut refused = BTreeSet::new();
        self.take_out_refused(&mut inputs, &mut refused).await;
        for _ in 0..ROUNDS {
            let Some(differing) = self.differing(&inputs, object).await else { break };
            let missing = |names: &BTreeSet<String>| -> Vec<_> {
                let settable = names.iter().filter_map(|name| Some((name.clone(), all.get(name)?.clone())));
                settable
                    .filter(|(name, value)| !refused.contains(name) && inputs.get(name) != Some(value))
                    .collect()
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
            self.take_out_refused(&mut inputs, &mut refused).await;
        }
        self.add_refused_name(&mut inputs, &all).await;
        self.add_demanded(&mut inputs, &all, &refused).await;
        inputs
    }

    /// Adds properties without which the provider refuses the others, such as one of two that must be set and was set to an empty text.
    async fn add_demanded(&self, inputs: &mut Struct, all: &Struct, refused: &BTreeSet<String>) {
        let mut faults = self.refusals(inputs).await.len();
        for (name, value) in all.iter() {
            if faults == 0 {
                return;
            }
            if inputs.contains_key(name) || refused.contains(name) {
                continue;
            }
            let mut tried = inputs.clone();
            tried.insert(name, value.clone());
            let left = self.refusals(&tried).await.len();
            if left < faults {
                (*inputs, faults) = (tried, left);
            }
        }
    }

    /// Why the provider refuses inputs; nothing if it accepts them, or cannot say.
    async fn refusals(&self, inputs: &Struct) -> Vec<Diagnostic> {
        let (Ok(config), Ok(resource)) =
            (self.config(inputs, Unknowns::Keep), self.provider.resource(&self.shape.terraform_type))
        else {
            return Vec::new();
        };
        match resource.validate(&config.value, &mut Vec::new()).await {
            Err(ProviderError::Diagnostics { diagnostics, .. }) => {
                diagnostics.into_iter().filter(Diagnostic::is_error).collect()
            }
            Err(_) | Ok(_) => Vec::new(),
        }
    }

    /// Why the next preview would not be without a change; `None` if it would, or the provider cannot plan.
    pub(in crate::resource) async fn fault_of_inputs(
        &self,
        inputs: &Struct,
        object: &Object,
    ) -> Option<String> {
        if let Some(refusal) = self.refusals(inputs).await.first() {
            let reason = describe(refusal, &self.shape.object);
            let text = format!("the provider refuses the values of the state: {reason}");
            return Some(self.provider.secrets().redact(&text).into_owned());
        }
        let Differing { known, open } = self.differing(inputs, object).await?;
        let changed: Vec<String> = known.union(&open).map(|name| format!("`{name}`")).collect();
        (!changed.is_empty()).then(|| {
            format!(
                "the first preview shows a change of {}: set in the program what the configuration of Terraform has",
                changed.join(", ")
            )
        })
    }

    /// Adds the name of the object if it was refused only beside another property that was refused
    /// as well, as where a name and a prefix exclude each other: without a name, Check generates
    /// one.
    async fn add_refused_name(&self, inputs: &mut Struct, all: &Struct) {
        let Some(field) = self.shape.autonamed().filter(|field| !inputs.contains_key(&field.pulumi)) else {
            return;
        };
        let Some(name) = all.get(&field.pulumi) else { return };
        let mut named = inputs.clone();
        named.insert(&*field.pulumi, name.clone());
        let mut refused = BTreeSet::new();
        self.take_out_refused(&mut named, &mut refused).await;
        if refused.is_empty() {
            *inputs = named;
        }
    }

    /// The inputs without deprecated properties, if these change nothing: a state has them as
    /// computed values, and a program that sets them gets warnings.
    pub(in crate::resource) async fn without_deprecated(&self, inputs: Struct, object: &Object) -> Struct {
        let is_kept = |name: &str| {
            let field = self.shape.object.pulumi(name);
            field.is_none_or(|field| field.deprecated.is_none() || field.required)
        };
        let kept = inputs.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        self.wanted_or(inputs, kept, object).await
    }

    /// The `wanted` inputs, of which a property is as in `inputs` where the provider would otherwise
    /// change more of the object, or refuse them. Mostly all are as wanted; only if that changes
    /// something, each is tried. If the provider cannot plan, nothing is wanted.
    pub(in crate::resource) async fn wanted_or(
        &self,
        inputs: Struct,
        wanted: Struct,
        object: &Object,
    ) -> Struct {
        if wanted == inputs {
            return inputs;
        }
        let Some(changed) = self.differing(&inputs, object).await else { return inputs };
        if self.changes_no_more(&wanted, object, &changed).await {
            return wanted;
        }
        let mut found = inputs.clone();
        let names: BTreeSet<&str> = inputs.iter().chain(wanted.iter()).map(|(name, _)| name).collect();
        for name in names.into_iter().filter(|name| inputs.get(name) != wanted.get(name)) {
            let mut tried = found.clone();
            match wanted.get(name) {
                Some(value) => _ = tried.insert(name, value.clone()),
                None => _ = tried.remove(name),
            }
            if self.changes_no_more(&tried, object, &changed).await {
                found = tried;
            }
        }
        found
    }

    /// Whether inputs are valid, and change at most what is `changed` in any case.
    async fn changes_no_more(&self, inputs: &Struct, object: &Object, changed: &Differing) -> bool {
        let (Ok(config), Ok(resource)) =
            (self.config(inputs, Unknowns::Keep), self.provider.resource(&self.shape.terraform_type))
        else {
            return false;
        };
        if resource.validate(&config.value, &mut Vec::new()).await.is_err() {
            return false;
        }
        self.differing(inputs, object)
            .await
            .is_some_and(|found| found.known.is_subset(&changed.known) && found.open.is_subset(&changed.open))
    }

    /// The inputs of the provider's own configuration, if it offers one.
    async fn generated_inputs(&self, object: &Object) -> Option<Struct> {
        let resource = self.provider.resource(&self.shape.terraform_type).ok()?;
        let generated = match resource.generated_config(object, &mut self.warnings.of_call()).await {
            Ok(generated) => generated?,
            Err(error) => {
                self.warn(Diagnostic::warning(
                    "The provider generated no configuration",
                    format!(
                        "{}. The imported inputs are derived from the schema instead.",
                        self.message(&error)
                    ),
                ));
                return None;
            }
        };
        // Of digits that are lost, the import of the properties warns.
        let (properties, _) = self.translated(&generated, &[], false).ok()?;
        let exact = with_exact_numbers(properties, &generated, &self.shape.object);
        Some(inputs_after_import(&exact, &self.shape, Settable::Configured))
    }

    /// Removes what the provider rejects, such as one of two properties that conflict, as far as it
    /// may be left out. Adds the names of the top-level properties concerned to `refused`.
    async fn take_out_refused(&self, inputs: &mut Struct, refused: &mut BTreeSet<String>) {
        for _ in 0..ROUNDS {
            // Check warns when the inputs are used.
            let errors = self.refusals(inputs).await;
            let removed: Vec<_> =
                errors.iter().filter_map(|error| self.take_out(inputs, &error.path)).collect();
            if removed.is_empty() {
                return;
            }
            refused.extend(removed);
        }
    }

    /// Removes the innermost property around a path that may be left out; returns the name of the
    /// top-level property.
    fn take_out(&self, inputs: &mut Struct, path: &AttributePath) -> Option<String> {
        let shape = &self.shape.object;
        (1..=path.0.len()).rev().find_map(|length| {
            let (above, step) = (&path.0[..length - 1], &path.0[length - 1]);
            // The key is an attribute's name, or an entry of a map.
            let (PathStep::Attribute(name) | PathStep::Key(name)) = step else { return None };
            let steps = above.iter().cloned().chain([PathStep::Attribute(name.clone())]).collect();
            let field = field_at(&AttributePath(steps), shape);
            let place = property_path(&AttributePath(path.0[..length].to_vec()), shape);
            // A path into a set ends at the set.
            let is_whole = place.0.len() > property_path(&AttributePath(above.to_vec()), shape).0.len();
            let is_removed = is_whole
                && field.is_none_or(|field| field.optional && !field.required)
                && place.delete(inputs).is_some();
            is_removed.then(|| place.top_level().map(str::to_owned)).flatten()
        })
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
