//! Check: validates inputs.
//!
//! The schema comes first, because it yields Pulumi's property names and all errors at once; the
//! provider, which stops at the first value that it cannot read, validates only inputs that fit its
//! schema.

use isthmus_cty::{self as cty, AttributePath, PathStep};
use isthmus_proto::property::{Struct, Value};
use isthmus_provider::{Diagnostic, ProviderError};

use super::autoname::{Naming, Unnamed, add_name};
use super::{Failure, InputPath, Inputs, OperationError, Target, in_sentences};
use isthmus_package::shape::{Field, ObjectShape, Shape};
use isthmus_translate::attribute_paths::{field_at, property_path};
use isthmus_translate::exact_numbers::doubtful_numbers;
use isthmus_translate::inputs::{
    Missing, SetProperty, Unknowns, canonical, deprecated, missing_required, read_only,
};
use isthmus_translate::property::{PropertyView, classify, secret};

#[derive(Debug)]
pub struct Checked {
    /// The inputs to store: the program's own, with a generated name where it set none, and with
    /// secrets marked.
    pub inputs: Struct,
    /// What is wrong with them. Any failure makes the resource invalid.
    pub failures: Vec<Failure>,
}

/// Validates `news`, first by the schema and then by the provider. With `naming`, a name is
/// generated where the program sets none.
pub async fn check(
    target: &Target<'_>,
    news: Struct,
    naming: Option<&Naming<'_>>,
) -> Result<Checked, OperationError> {
    let mut inputs = news;
    let dropped = canonical(&mut inputs, &target.shape.object);
    let texts = Inputs::new(&inputs, &target.shape.object).warnings_of_dropped(&dropped);
    target.warnings.warn_in_texts(texts);
    warn_of_doubtful_numbers(target, &inputs);
    let (mut generated, unnamed) = match naming.map(|naming| add_name(&mut inputs, &target.shape, naming)) {
        None => (None, None),
        Some(Ok(added)) => (added, None),
        Some(Err(reason)) => (None, Some(reason)),
    };
    let resource = naming.map(|naming| naming.resource).filter(|resource| !resource.is_empty());

    let mut failures = missing(target, &inputs, unnamed.as_ref());
    let object = &target.shape.object;
    let given = Inputs::new(&inputs, object);
    failures.extend(read_only(&inputs, object).iter().map(|set| read_only_failure(set, given)));
    if let Some(reason) = unnamed.filter(|_| failures.is_empty()) {
        report_unnamed(target, &reason);
    }
    // The provider would only repeat the schema's errors, without Pulumi's names.
    let schema_fits = failures.is_empty();
    match target.config(&inputs, Unknowns::Keep) {
        Err(OperationError::Inputs(found)) => failures.extend(found),
        Err(other) => return Err(other),
        Ok(_) if !schema_fits => {}
        Ok(config) => {
            let reported = target.warnings.lock().diagnostics.len();
            let mut check_failures = validate(target, &config.value).await?;
            if let Some(name) = generated
                && check_failures.iter().any(|diagnostic| is_conflict_of(diagnostic, name))
            {
                // The generated name conflicts with an explicit property and is dropped.
                inputs.remove(&name.pulumi);
                generated = None;
                target.warnings.lock().diagnostics.truncate(reported);
                check_failures = validate(target, &target.config(&inputs, Unknowns::Keep)?.value).await?;
            }
            let given = Inputs::new(&inputs, object);
            failures
                .extend(check_failures.iter().map(|diagnostic| failure(diagnostic, given, object, resource)));
        }
    }
    warn_of_deprecated(target, &inputs);
    if target.keep_secrets {
        mark_sensitive(&mut inputs, &target.shape.object);
    }
    target.warnings.lock().is_name_generated = generated.is_some();
    Ok(Checked { inputs, failures })
}

impl Target<'_> {
    /// Refuses inputs that lack a required property. Core does so before it calls a provider, and not
    /// every provider does it again.
    pub fn require_complete(&self, inputs: &Struct) -> Result<(), OperationError> {
        let missing = missing(self, inputs, None);
        if missing.is_empty() { Ok(()) } else { Err(OperationError::Inputs(missing)) }
    }
}

/// Failures for required properties that are missing.
fn missing(target: &Target<'_>, inputs: &Struct, unnamed: Option<&Unnamed>) -> Vec<Failure> {
    let given = Inputs::new(inputs, &target.shape.object);
    let autonamed = target.shape.autonamed().filter(|_| unnamed.is_some());
    missing_required(inputs, &target.shape.object)
        .into_iter()
        .map(|Missing { path, field }| {
            let is_name = autonamed.is_some_and(|name| std::ptr::eq(name, field));
            let cause = match unnamed {
                Some(unnamed) if is_name => format!(" ({})", isthmus_common::error_chain(unnamed)),
                Some(_) | None => String::new(),
            };
            missing_failure(given.at(&path), &cause, &field.description)
        })
        .collect()
}

/// A failure for a required property that is missing.
fn missing_failure(place: InputPath, cause: &str, description: &str) -> Failure {
    let mut reason = format!("Missing required property '{}'{cause}", place.path());
    if !description.is_empty() {
        reason.push_str(": ");
        reason.push_str(&description.replace('\n', " "));
    }
    place.failure_that_names_it(reason)
}

fn read_only_failure(set: &SetProperty<'_>, given: Inputs<'_>) -> Failure {
    let reason = "read-only output: remove it";
    given.at(&set.property).failure(reason.to_owned())
}

/// Warns of a resource that has no name but can exist without one. Disabled naming is deliberate
/// and needs no warning.
fn report_unnamed(target: &Target<'_>, reason: &Unnamed) {
    if let (Some(name), false) = (target.shape.autonamed(), *reason == Unnamed::Disabled) {
        let warning = Diagnostic::warning("The resource has no name", isthmus_common::error_chain(reason));
        let path = AttributePath(vec![PathStep::Attribute(name.terraform.clone())]);
        target.warn(Diagnostic { path, ..warning });
    }
}

/// Returns the provider's errors about `config`.
async fn validate(target: &Target<'_>, config: &cty::Value) -> Result<Vec<Diagnostic>, OperationError> {
    let resource = target.resource()?;
    match resource.validate(config, &mut target.warnings.of_call()).await {
        Ok(()) => Ok(Vec::new()),
        Err(ProviderError::Diagnostics { diagnostics, .. }) => Ok(diagnostics),
        Err(error) => Err(target.failed(error)),
    }
}

/// Whether a provider reports that `name` conflicts with another argument. Schemas do not contain
/// this, so it is recognized by the texts of HashiCorp's libraries: those of the SDK and of the
/// framework's validators.
fn is_conflict_of(diagnostic: &Diagnostic, name: &Field) -> bool {
    const CONFLICTS: [&str; 2] = ["Conflicting configuration arguments", "Invalid Attribute Combination"];
    diagnostic.is_error()
        && CONFLICTS.contains(&diagnostic.summary.as_str())
        && matches!(&diagnostic.path.0[..], [PathStep::Attribute(attribute)] if *attribute == name.terraform)
}

/// The failure for a diagnostic: summary, detail and property, in full sentences.
fn failure(
    diagnostic: &Diagnostic,
    given: Inputs<'_>,
    object: &ObjectShape,
    resource: Option<&str>,
) -> Failure {
    let place = given.at(&property_path(&diagnostic.path, object));
    let path = place.path().to_string();
    if diagnostic.summary == "Missing Configuration for Required Attribute" && !path.is_empty() {
        let field = field_at(&diagnostic.path, object);
        return missing_failure(place, "", field.map_or("", |field| &field.description));
    }
    let examine = match resource {
        Some(resource) if !path.is_empty() => format!("Examine values at '{resource}.{path}'."),
        Some(_) | None => String::new(),
    };
    let detail = if diagnostic.detail == diagnostic.summary { "" } else { &diagnostic.detail };
    let reason = in_sentences(&[&diagnostic.summary, detail, &examine]);
    if examine.is_empty() { place.failure(reason) } else { place.failure_that_names_it(reason) }
}

/// Warns of numbers that exceed the precision of the engine's.
fn warn_of_doubtful_numbers(target: &Target<'_>, news: &Struct) {
    target.warnings.lock().diagnostics.extend(doubtful_numbers(news, &target.shape.object).into_iter().map(|path| {
        Diagnostic::warning(
            "A number may have lost digits",
            format!(
                "`{path}` has more digits than a number in a program holds, so the last ones may have changed on the way \
                 here. Give it as a string instead: the property takes that, and every digit counts."
            ),
        )
    }));
}

/// Warns of deprecated properties that are set, unless the provider does, as those on HashiCorp's
/// libraries do.
fn warn_of_deprecated(target: &Target<'_>, inputs: &Struct) {
    for SetProperty { attribute: path, field, .. } in deprecated(inputs, &target.shape.object) {
        let is_reported = |warning: &Diagnostic| {
            warning.path == path && warning.summary.to_lowercase().contains("deprecated")
        };
        if !target.warnings.lock().diagnostics.iter().any(is_reported) {
            let message = field.deprecated.clone().unwrap_or_default();
            let warning = Diagnostic::warning("This property is deprecated", message);
            target.warn(Diagnostic { path, ..warning });
        }
    }
}

/// Marks as secret what the schema calls sensitive or write-only, at every level.
pub(crate) fn mark_sensitive(bag: &mut Struct, shape: &ObjectShape) {
    for (name, value) in bag.iter_mut() {
        let Some(field) = shape.pulumi(name) else { continue };
        if field.sensitive || field.write_only {
            let is_marked = matches!(classify(value), Ok(PropertyView::Secret(_)));
            if !is_marked && !value.is_null() {
                *value = secret(std::mem::take(value));
            }
        } else {
            mark_within(value, &field.shape);
        }
    }
}

fn mark_within(value: &mut Value, shape: &Shape) {
    match (shape, value) {
        (Shape::Object(object), Value::Struct(bag)) => mark_sensitive(bag, object),
        (Shape::Map(element), Value::Struct(bag)) => {
            for (_, value) in bag.iter_mut() {
                mark_within(value, element);
            }
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => mark_within(value, element),
        (Shape::List(element) | Shape::Set(element), Value::List(values)) => {
            for value in values {
                mark_within(value, element);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::AttributePath;

    use super::*;
    use isthmus_package::shape::{PackageNaming, compile_resource};
    use isthmus_package::testing::{attribute, compiled, schema};

    #[test]
    fn a_conflict_is_known_by_its_words_and_its_place() {
        let attributes = vec![attribute("name", "\"string\""), attribute("name_prefix", "\"string\"")];
        let naming = PackageNaming::new("test", "test");
        let shape =
            compile_resource("test_res", "test:index/res:Res", compiled(&schema(attributes, vec![])), naming);
        let name = shape.autonamed().unwrap();
        let at = |steps: &[&str]| {
            AttributePath(steps.iter().map(|step| PathStep::Attribute((*step).into())).collect())
        };
        let error = |summary: &str, path| Diagnostic { path, ..Diagnostic::error(summary, "") };
        for summary in ["Conflicting configuration arguments", "Invalid Attribute Combination"] {
            assert!(is_conflict_of(&error(summary, at(&["name"])), name), "{summary}");
            assert!(!is_conflict_of(&error(summary, at(&["name_prefix"])), name), "{summary}");
            assert!(!is_conflict_of(&error(summary, at(&["name", "name"])), name), "{summary}");
            assert!(!is_conflict_of(&error(summary, at(&[])), name), "{summary}");
            let warning = Diagnostic { path: at(&["name"]), ..Diagnostic::warning(summary, "") };
            assert!(!is_conflict_of(&warning, name), "{summary}");
        }
        assert!(!is_conflict_of(&error("Invalid name", at(&["name"])), name));
    }
}
