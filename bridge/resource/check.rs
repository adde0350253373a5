//! Check: whether the inputs are what the provider takes.
//!
//! The schema judges first, because it can point at properties in Pulumi's names and knows everything that is wrong at
//! once; the provider, which stops at what it cannot read, is asked only about inputs that fit its schema.

use isthmus_cty::{self as cty, AttributePath, PathStep};
use isthmus_proto::property::{Struct, Value};
use isthmus_provider::{Diagnostic, ProviderError};

use super::autoname::{Naming, Unnamed, add_name};
use super::{Failure, Inputs, OperationError, OperationWarnings, Place, Target, in_sentences};
use crate::package::shape::{Field, ObjectShape, Shape};
use crate::translate::attribute_paths::{field_at, property_path};
use crate::translate::exact_numbers::doubtful_numbers;
use crate::translate::inputs::{Missing, SetProperty, Unknowns, deprecated, missing_required, read_only};
use crate::translate::property::{PropertyView, classify, secret};

/// What became of the inputs.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The inputs as they are to be stored: the program's own, with a name if one was made up, and with secrets marked.
    pub inputs: Struct,
    /// What is wrong with them. Any failure makes the resource invalid.
    pub failures: Vec<Failure>,
}

/// Judges `news`, first by the schema and then by the provider itself. With `naming`, a name is made up where the program
/// gives none.
pub(crate) async fn check(
    target: &Target<'_>,
    news: Struct,
    naming: Option<&Naming<'_>>,
    notes: &mut OperationWarnings,
) -> Result<Checked, OperationError> {
    warn_of_doubtful_numbers(target, &news, notes);
    let mut inputs = news;
    let (mut made_up, unnamed) = match naming.map(|naming| add_name(&mut inputs, &target.shape, naming)) {
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
        report_unnamed(target, &reason, notes);
    }
    // A provider would only repeat what is known to be wrong, in words that are not Pulumi's.
    let schema_fits = failures.is_empty();
    match target.config(&inputs, Unknowns::Keep) {
        Err(OperationError::Inputs(found)) => failures.extend(found),
        Err(other) => return Err(other),
        Ok(_) if !schema_fits => {}
        Ok(config) => {
            let warnings = notes.warnings.len();
            let mut check_failures = validate(target, &config.value, notes).await?;
            if let Some(name) = made_up
                && check_failures.iter().any(|complaint| is_conflict_of(complaint, name))
            {
                // Nobody asked for the name, so it gives way to what the program did ask for.
                inputs.remove(&name.pulumi);
                made_up = None;
                notes.warnings.truncate(warnings);
                check_failures =
                    validate(target, &target.config(&inputs, Unknowns::Keep)?.value, notes).await?;
            }
            let given = Inputs::new(&inputs, object);
            failures
                .extend(check_failures.iter().map(|complaint| failure(complaint, given, object, resource)));
        }
    }
    warn_of_deprecated(target, &inputs, notes);
    if target.keep_secrets {
        mark_sensitive(&mut inputs, &target.shape.object);
    }
    notes.name_is_made_up = made_up.is_some();
    Ok(Checked { inputs, failures })
}

/// Failures for what has to be set and is not.
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

/// A failure for what has to be set and is not.
pub(crate) fn missing_failure(place: Place, cause: &str, description: &str) -> Failure {
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

/// Says why a resource that can do without a name has none. Who has disabled names knows.
fn report_unnamed(target: &Target<'_>, reason: &Unnamed, notes: &mut OperationWarnings) {
    if let (Some(name), false) = (target.shape.autonamed(), *reason == Unnamed::Disabled) {
        let warning = Diagnostic::warning("The resource has no name", isthmus_common::error_chain(reason));
        let path = AttributePath(vec![PathStep::Attribute(name.terraform.clone())]);
        notes.warnings.push(Diagnostic { path, ..warning });
    }
}

/// What the provider has against `config`.
async fn validate(
    target: &Target<'_>,
    config: &cty::Value,
    notes: &mut OperationWarnings,
) -> Result<Vec<Diagnostic>, OperationError> {
    let resource = target.resource()?;
    match resource.validate(config, &mut notes.warnings).await {
        Ok(()) => Ok(Vec::new()),
        Err(ProviderError::Diagnostics { diagnostics, .. }) => Ok(diagnostics),
        Err(error) => Err(target.failed(error)),
    }
}

/// Whether a provider says that `name` may not stand beside something else. Schemas do not tell, so there is no other way
/// to know than by the words of HashiCorp's libraries: of the SDK, and of the framework's validators.
fn is_conflict_of(complaint: &Diagnostic, name: &Field) -> bool {
    const CONFLICTS: [&str; 2] = ["Conflicting configuration arguments", "Invalid Attribute Combination"];
    complaint.is_error()
        && CONFLICTS.contains(&complaint.summary.as_str())
        && matches!(&complaint.path.0[..], [PathStep::Attribute(attribute)] if *attribute == name.terraform)
}

/// A provider's complaint: what, why, and where, in full sentences.
fn failure(
    complaint: &Diagnostic,
    given: Inputs<'_>,
    object: &ObjectShape,
    resource: Option<&str>,
) -> Failure {
    let place = given.at(&property_path(&complaint.path, object));
    let path = place.path().to_string();
    if complaint.summary == "Missing Configuration for Required Attribute" && !path.is_empty() {
        let field = field_at(&complaint.path, object);
        return missing_failure(place, "", field.map_or("", |field| &field.description));
    }
    let examine = match resource {
        Some(resource) if !path.is_empty() => format!("Examine values at '{resource}.{path}'."),
        Some(_) | None => String::new(),
    };
    let detail = if complaint.detail == complaint.summary { "" } else { &complaint.detail };
    let reason = in_sentences(&[&complaint.summary, detail, &examine]);
    if examine.is_empty() { place.failure(reason) } else { place.failure_that_names_it(reason) }
}

/// Warns of numbers that are too large for the engine's own to hold them.
fn warn_of_doubtful_numbers(target: &Target<'_>, news: &Struct, notes: &mut OperationWarnings) {
    notes.warnings.extend(doubtful_numbers(news, &target.shape.object).into_iter().map(|path| {
        Diagnostic::warning(
            "A number may have lost digits",
            format!(
                "`{path}` has more digits than a number in a program holds, so the last ones may have changed on the way \
                 here. Give it as a string instead: the property takes that, and every digit counts."
            ),
        )
    }));
}

/// Warns of deprecated properties that are set. Providers on HashiCorp's libraries do so themselves; their word is enough.
fn warn_of_deprecated(target: &Target<'_>, inputs: &Struct, notes: &mut OperationWarnings) {
    for SetProperty { attribute: path, field, .. } in deprecated(inputs, &target.shape.object) {
        let says_so = |warning: &Diagnostic| {
            warning.path == path && warning.summary.to_lowercase().contains("deprecated")
        };
        if !notes.warnings.iter().any(says_so) {
            let message = field.deprecated.clone().unwrap_or_default();
            let warning = Diagnostic::warning("This property is deprecated", message);
            notes.warnings.push(Diagnostic { path, ..warning });
        }
    }
}

/// Wraps as secret what the schema calls sensitive or write-only, at every level.
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
    use crate::package::shape::{PackageNaming, compile_resource};
    use crate::package::testing::{attribute, compiled, schema};

    #[test]
    fn a_conflict_is_known_by_its_words_and_its_place() {
        let attributes = vec![attribute("name", "\"string\""), attribute("name_prefix", "\"string\"")];
        let naming = PackageNaming { package: "test", prefix: "test" };
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
