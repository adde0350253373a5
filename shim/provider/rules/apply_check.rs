//! Checks that an applied change is consistent with its plan (core's `AssertObjectCompatible`).

use std::collections::BTreeSet;

use isthmus_cty::{AttributePath, PathStep, Type, Value};

use super::Violation;
use super::dynamic_blocks::split_blocks;
use crate::schema::{Attribute, AttributeType, Block, BlockNesting, NestedBlock};

/// Compares `actual` with `planned`. The result is empty if they are consistent. The legacy type
/// system often violates these rules; the caller decides about the severity.
pub fn check_applied(block: &Block, planned: &Value, actual: &Value) -> Vec<Violation> {
    let mut check = Check::default();
    check.block(block, planned, actual);
    check.violations
}

/// Whether an update planned to leave a value as it was that the program leaves to the provider.
///
/// Core reads an object before it plans, engines do not. So what differs there in the result may be
/// what the server has set since, and says nothing about the provider.
pub(crate) fn was_left_to_the_provider(
    block: &Block,
    path: &AttributePath,
    [prior, config, planned]: [&Value; 3],
) -> bool {
    (1..=path.len()).any(|length| {
        let path = &path.0[..length];
        let [Some(prior), Some(config), Some(planned)] =
            [prior, config, planned].map(|value| at(value, path))
        else {
            return false;
        };
        config.is_null() && prior == planned && is_computed(&block.attributes, &block.blocks, path)
    })
}

/// The value at a path; what is in null is null.
fn at<'a>(value: &'a Value, path: &[PathStep]) -> Option<&'a Value> {
    let Some((step, rest)) = path.split_first() else { return Some(value) };
    let part = match (step, value.inner()) {
        (_, Value::Null) => return Some(&NULL),
        (PathStep::Attribute(name), Value::Object(attributes)) => attributes.get(name),
        (PathStep::Key(key), Value::Map(elements)) => elements.get(key),
        (PathStep::Index(index), Value::List(elements) | Value::Tuple(elements)) => elements.get(*index),
        _ => None,
    };
    at(part?, rest)
}

/// Whether the attribute at a path, or one around it, is computed.
fn is_computed(attributes: &[Attribute], blocks: &[NestedBlock], path: &[PathStep]) -> bool {
    let Some((step, rest)) = path.split_first() else { return false };
    // An element of a collection has the schema of its neighbours.
    let PathStep::Attribute(name) = step else { return is_computed(attributes, blocks, rest) };
    if let Some(nested) = blocks.iter().find(|nested| nested.name == *name) {
        return is_computed(&nested.block.attributes, &nested.block.blocks, rest);
    }
    attributes.iter().find(|attribute| attribute.name == *name).is_some_and(|attribute| {
        attribute.computed
            || match &attribute.attribute_type {
                AttributeType::Nested(nested) => is_computed(&nested.attributes, &[], rest),
                AttributeType::Plain(_) => false,
            }
    })
}

#[derive(Default)]
struct Check {
    path: AttributePath,
    violations: Vec<Violation>,
    /// Whether the first violation ends the check.
    ends_at_first: bool,
}

static NULL: Value = Value::Null;
static UNKNOWN: Value = Value::unknown();

/// An attribute of an object; one of an unknown object is unknown.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    match object {
        Value::Object(attributes) => attributes.get(name).unwrap_or(&NULL),
        Value::Unknown(_) => &UNKNOWN,
        _ => &NULL,
    }
}

impl Check {
    /// Checks only whether there is a violation.
    fn whether() -> Self {
        Self { ends_at_first: true, ..Self::default() }
    }

    fn report(&mut self, reason: impl Into<String>) {
        self.violations.push(Violation { path: self.path.clone(), reason: reason.into() });
    }

    fn within(&mut self, step: PathStep, check: impl FnOnce(&mut Self)) {
        if self.ends_at_first && !self.violations.is_empty() {
            return;
        }
        self.path.0.push(step);
        check(self);
        self.path.0.pop();
    }

    fn block(&mut self, block: &Block, planned: &Value, actual: &Value) {
        match (planned.is_null(), actual.is_null()) {
            (true, false) => return self.report("was absent, but is now there"),
            (false, true) => return self.report("was there, but is now absent"),
            (true, true) => return,
            (false, false) => {}
        }
        for attribute in &block.attributes {
            let (planned, actual) = (field(planned, &attribute.name), field(actual, &attribute.name));
            self.within(PathStep::Attribute(attribute.name.clone()), |check| {
                check.attribute(attribute, planned, actual);
            });
        }
        for nested in &block.blocks {
            let element_type = &nested.block.implied_type;
            let planned = split_blocks(field(planned, &nested.name), element_type);
            let actual = split_blocks(field(actual, &nested.name), element_type);
            self.within(PathStep::Attribute(nested.name.clone()), |check| {
                check.nested_block(nested, &planned, &actual);
            });
        }
    }

    fn attribute(&mut self, attribute: &Attribute, planned: &Value, actual: &Value) {
        let found = self.violations.len();
        self.value(attribute.attribute_type.implied_type(), planned, actual);
        // The path inside a sensitive value would reveal information about it.
        if is_sensitive(attribute) && self.violations.len() > found {
            self.violations.truncate(found);
            self.report("a sensitive value is not the planned one");
        }
    }

    fn nested_block(&mut self, nested: &NestedBlock, planned: &Value, actual: &Value) {
        if nested.block.computed {
            // Null would mean that the configuration has none, which is not the provider's
            // decision. Of other blocks core allows it, because the legacy type system returns null
            // for no blocks.
            if actual.is_null() && nested.nesting != BlockNesting::Single {
                return self.report("blocks that are not there must be none, not null");
            }
            if !planned.is_known() {
                return self.value(&nested.implied_type, planned, actual);
            }
        }
        match nested.nesting {
            // An unknown block may turn out to be absent.
            BlockNesting::Single | BlockNesting::Group if !planned.is_known() && actual.is_null() => {}
            BlockNesting::Single | BlockNesting::Group => self.block(&nested.block, planned, actual),
            BlockNesting::List => {
                if let (Value::List(before), Value::List(after)) = (planned, actual) {
                    if before.len() != after.len() {
                        return self.count(before.len(), after.len());
                    }
                    for (index, (planned, actual)) in before.iter().zip(after).enumerate() {
                        self.within(PathStep::Index(index), |check| {
                            check.block(&nested.block, planned, actual)
                        });
                    }
                }
            }
            BlockNesting::Map => {
                if let (Value::Map(before), Value::Map(after)) = (planned, actual) {
                    // Core requires the same keys only if the value is an object, because of a
                    // dynamic attribute; for a map, the number of elements is sufficient.
                    if nested.implied_type == Type::Dynamic {
                        if !before.keys().eq(after.keys()) {
                            return self.report("its keys are not the planned ones");
                        }
                    } else if before.len() != after.len() {
                        return self.count(before.len(), after.len());
                    }
                    for (key, planned) in before {
                        let Some(actual) = after.get(key) else { continue };
                        self.within(PathStep::Key(key.clone()), |check| {
                            check.block(&nested.block, planned, actual)
                        });
                    }
                }
            }
            BlockNesting::Set => {
                if let (Value::Set(before), Value::Set(after)) = (planned, actual) {
                    self.set(before, after, &|planned, actual| blocks_alike(&nested.block, planned, actual));
                }
            }
        }
    }

    fn count(&mut self, planned: usize, actual: usize) {
        self.report(format!("there were {planned} elements, but there are now {actual}"));
    }

    /// Each planned element must match an actual one and the other way round; unknown elements may
    /// have become equal, so there may be fewer, but never more.
    fn set(&mut self, planned: &[Value], actual: &[Value], alike: &dyn Fn(&Value, &Value) -> bool) {
        if actual.len() > planned.len() {
            return self.count(planned.len(), actual.len());
        }
        // Only elements without an equal one are compared with each other, in quadratic time.
        let were: BTreeSet<&Value> = planned.iter().collect();
        let are: BTreeSet<&Value> = actual.iter().collect();
        let has_counterpart =
            |planned: &Value| are.contains(planned) || actual.iter().any(|actual| alike(planned, actual));
        let was_planned =
            |actual: &Value| were.contains(actual) || planned.iter().any(|planned| alike(planned, actual));
        if !planned.iter().all(has_counterpart) {
            self.report("a planned element is not there");
        }
        if !actual.iter().all(was_planned) {
            self.report("an element is there that was not planned");
        }
    }

    /// Compares values of type `own`.
    fn value(&mut self, own: &Type, planned: &Value, actual: &Value) {
        // If the type was unknown, any value is valid: null is planned so as well.
        if *own == Type::Dynamic && matches!(planned, Value::Null | Value::Unknown(_)) {
            return;
        }
        match (own, planned, actual) {
            (_, Value::Dynamic(before), Value::Dynamic(after)) => {
                if is_of_type(&after.0, &before.0) {
                    self.value(&before.0, &before.1, &after.1);
                } else {
                    self.report("its type is not the planned one");
                }
            }
            (_, Value::Unknown(refinements), _) => {
                if refinements.as_ref().is_some_and(|refinements| !refinements.permits(actual)) {
                    self.report("the value is outside what was promised of it");
                }
            }
            _ if planned.is_null() && actual.is_null() => {}
            _ if planned.is_null() => self.report("was null, but is now set"),
            _ if actual.is_null() => self.report("was set, but is now null"),
            (Type::Object(own), Value::Object(before), Value::Object(after)) => {
                for (name, own) in &own.attributes {
                    let planned = before.get(name).unwrap_or(&NULL);
                    let actual = after.get(name).unwrap_or(&NULL);
                    self.within(PathStep::Attribute(name.clone()), |check| check.value(own, planned, actual));
                }
            }
            (Type::Map(own), Value::Map(before), Value::Map(after)) => {
                for (key, planned) in before {
                    self.within(PathStep::Key(key.clone()), |check| match after.get(key) {
                        Some(actual) => check.value(own, planned, actual),
                        None => check.report("the element has vanished"),
                    });
                }
                for key in after.keys().filter(|key| !before.contains_key(*key)) {
                    self.within(PathStep::Key(key.clone()), |check| check.report("an element has appeared"));
                }
            }
            (Type::List(own), Value::List(before), Value::List(after)) => {
                if before.len() != after.len() {
                    return self.count(before.len(), after.len());
                }
                for (index, (planned, actual)) in before.iter().zip(after).enumerate() {
                    self.within(PathStep::Index(index), |check| check.value(own, planned, actual));
                }
            }
            (Type::Tuple(own), Value::Tuple(before), Value::Tuple(after)) => {
                for (index, ((planned, actual), own)) in before.iter().zip(after).zip(own.iter()).enumerate()
                {
                    self.within(PathStep::Index(index), |check| check.value(own, planned, actual));
                }
            }
            (Type::Set(own), Value::Set(before), Value::Set(after)) => {
                self.set(before, after, &|planned, actual| values_alike(own, planned, actual));
            }
            _ => {
                if planned != actual {
                    self.report("the value is not the planned one");
                }
            }
        }
    }
}

fn blocks_alike(block: &Block, planned: &Value, actual: &Value) -> bool {
    let mut check = Check::whether();
    check.block(block, planned, actual);
    check.violations.is_empty()
}

fn values_alike(own: &Type, planned: &Value, actual: &Value) -> bool {
    let mut check = Check::whether();
    check.value(own, planned, actual);
    check.violations.is_empty()
}

/// Whether a type matches the planned one, parts of which may have been dynamic.
fn is_of_type(actual: &Type, planned: &Type) -> bool {
    match (planned, actual) {
        (Type::Dynamic, _) => true,
        (Type::List(planned), Type::List(actual))
        | (Type::Set(planned), Type::Set(actual))
        | (Type::Map(planned), Type::Map(actual)) => is_of_type(actual, planned),
        (Type::Tuple(planned), Type::Tuple(actual)) => {
            planned.len() == actual.len()
                && planned.iter().zip(actual.iter()).all(|(planned, actual)| is_of_type(actual, planned))
        }
        (Type::Object(planned), Type::Object(actual)) => {
            planned.attributes.len() == actual.attributes.len()
                && planned.attributes.iter().all(|(name, planned)| {
                    actual.attributes.get(name).is_some_and(|actual| is_of_type(actual, planned))
                })
        }
        _ => planned == actual,
    }
}

fn is_sensitive(attribute: &Attribute) -> bool {
    attribute.sensitive
        || match &attribute.attribute_type {
            AttributeType::Nested(nested) => nested.attributes.iter().any(is_sensitive),
            AttributeType::Plain(_) => false,
        }
}

#[cfg(test)]
mod tests;
