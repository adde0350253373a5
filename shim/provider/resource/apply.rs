//! ApplyResourceChange.

use isthmus_cty::{AttributePath, PathStep, Value};
use isthmus_proto::tfplugin6;

use super::{Object, Plan, Resource, Unknowns};
use crate::rules;
use crate::{Diagnostic, ProviderError, Rpc};

/// A failed apply.
#[derive(Debug)]
pub struct ApplyFailure {
    /// The cause.
    pub error: ProviderError,
    /// The object that exists nevertheless, as far as the provider says. `None`: none exists, or
    /// nothing is known beyond the prior state.
    pub object: Option<Object>,
}

impl Resource<'_> {
    /// Applies a plan, unless it was deferred, or the provider was stopped since planning:
    /// Terraform starts nothing new after that.
    pub async fn apply(
        &self,
        plan: &Plan,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, Box<ApplyFailure>> {
        let rpc = Rpc::ApplyResourceChange;
        let nothing = |error| Box::new(ApplyFailure { error, object: None });
        if self.provider.stops() != plan.stops {
            return Err(nothing(ProviderError::Stopped {
                provider: self.provider.name().to_owned(),
                type_name: self.type_name.to_string(),
            }));
        }
        if let Some(deferral) = plan.deferral {
            let what = if plan.prior.is_null() { "created" } else { "changed" };
            return Err(nothing(self.deferred(what, deferral)));
        }
        let request = tfplugin6::apply_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &plan.prior).map_err(nothing)?,
            planned_state: self.encode(rpc, &plan.planned).map_err(nothing)?,
            config: self.encode(rpc, &plan.config).map_err(nothing)?,
            planned_private: plan.private.clone(),
            provider_meta: self.provider.provider_meta(rpc).map_err(nothing)?,
            planned_identity: plan.identity.clone(),
        };
        let response: tfplugin6::apply_resource_change::Response =
            self.provider.call(rpc, request).await.map_err(nothing)?;
        let errors = self.provider.errors_of(response.diagnostics, warnings);
        let refused = (!errors.is_empty()).then(|| ProviderError::Diagnostics {
            operation: self.provider.operation(rpc),
            diagnostics: errors,
        });
        // An absent value is null in Terraform: after a deletion it means that the object is gone.
        let says_nothing = response.new_state.is_none();
        let value = match self.decode(rpc, response.new_state.as_ref()) {
            Ok(value) => value,
            Err(error) => return Err(nothing(refused.unwrap_or(error))),
        };
        // The object is stored even if the response is wrong. Missing values become null, as in
        // Terraform; write-only values are removed, although Terraform drops the whole object,
        // because a provider that fails halfway does not remove them itself.
        let clean = self.require_no_write_only(rpc, &value);
        let identity = self.received_identity(rpc, response.new_identity, Unknowns::Refused, warnings).await;
        let value = rules::without_write_only(&self.schema.block, value);
        let unknown = unknown_places(&value);
        let value = if unknown.is_empty() { value } else { unknowns_as_null(value) };
        let is_legacy = plan.legacy || response.legacy_type_system;
        // An invalid identity does not replace that of the prior object.
        let (identity, clean) = match identity {
            Ok(identity) => (identity, clean),
            Err(error) => (plan.prior_identity.clone(), clean.and(Err(error))),
        };
        let mut object =
            (!value.is_null()).then(|| Object { value: value.clone(), private: response.private, identity });
        if let Some(error) = refused {
            if let Some(object) = object.as_mut().filter(|_| is_legacy && !plan.prior.is_null()) {
                take_back_plans(&mut object.value, plan);
            }
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if let Err(error) = clean {
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if !unknown.is_empty() {
            let reason = format!(
                "after applying, some values are still unknown, and are kept as null: {}",
                unknown.join(", ")
            );
            let error = self.invalid_answer(rpc, &reason);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if says_nothing && !plan.planned.is_null() {
            return Err(nothing(self.invalid_answer(rpc, "it does not say what exists now")));
        }
        if plan.planned.is_null() && !value.is_null() {
            let reason =
                "it has deleted the object without an error, and answered with one that is still there";
            let error = self.invalid_answer(rpc, reason);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        let mut violations = rules::check_applied(&self.schema.block, &plan.planned, &value);
        if !plan.prior.is_null() && object.is_some() {
            let values = [&plan.prior, &plan.config, &plan.planned];
            violations.retain(|violation| {
                !rules::was_left_to_the_provider(&self.schema.block, &violation.path, values)
            });
        }
        // A deletion is not tolerated even of the legacy type system.
        let is_tolerated = is_legacy && object.is_some();
        if !is_tolerated && !violations.is_empty() {
            let error = self.broken_rules("produced an inconsistent result after apply", violations);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        self.provider.log_tolerated("the result of the apply", &self.type_name, &violations);
        Ok(object)
    }
}

/// Gives attributes that only repeat the plan of a failed update their prior values.
///
/// The legacy SDK answers with the planned values, whatever came of them, unless the provider says
/// otherwise. A read may leave them as they are, such as passwords, and the update would be lost.
fn take_back_plans(value: &mut Value, plan: &Plan) {
    let (Value::Object(attributes), Value::Object(before), Value::Object(planned)) =
        (value, &plan.prior, &plan.planned)
    else {
        return;
    };
    for (name, attribute) in attributes {
        let (Some(before), Some(planned)) = (before.get(name), planned.get(name)) else { continue };
        if attribute == planned || (attribute.is_null() && !planned.is_known()) {
            attribute.clone_from(before);
        }
    }
}

/// Paths of some unknown values. An element of a set is identified by its value, so the set is
/// named instead.
fn unknown_places(value: &Value) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    let walked = value.walk(&mut |path, part| {
        if !part.is_known() {
            let is_named = |step: &&PathStep| !matches!(step, PathStep::Element(_));
            let place = AttributePath(path.iter().take_while(is_named).cloned().collect());
            let place = if place.is_root() { "the whole object".to_owned() } else { place.to_string() };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if places.len() < SHOWN_PLACES { Ok(true) } else { Err(()) }
    });
    if walked.is_err() {
        places.push("…".to_owned());
    }
    places
}

/// Maximum number of paths in an error.
const SHOWN_PLACES: usize = 5;

fn unknowns_as_null(value: Value) -> Value {
    let known = value.transform(&mut |_, part| {
        Ok::<_, std::convert::Infallible>(if part.is_known() { part } else { Value::Null })
    });
    match known {
        Ok(known) => known,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests;
