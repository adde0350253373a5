//! Access to values by path, traversal and transformation.
//!
//! Wrappers of dynamic values are transparent: paths have no step for them, and visitors receive
//! the wrapped value.

use super::Value;
use crate::{AttributePath, PathStep};

impl Value {
    /// The part of the value at the path, if it exists. Steps to attributes and to map elements are
    /// interchangeable, because blocks are either, depending on their type.
    pub fn apply_path(&self, path: &AttributePath) -> Option<&Self> {
        path.iter().try_fold(self, |value, step| value.step(step))
    }

    fn step(&self, step: &PathStep) -> Option<&Self> {
        match (self.inner(), step) {
            (Self::Object(entries) | Self::Map(entries), PathStep::Attribute(name) | PathStep::Key(name)) => {
                entries.get(name)
            }
            (Self::List(elements) | Self::Tuple(elements), PathStep::Index(index)) => elements.get(*index),
            (Self::Set(elements), PathStep::Element(wanted)) => {
                elements.iter().find(|element| **element == **wanted)
            }
            _ => None,
        }
    }

    /// Visits the value and all of its parts, parents first. If the visitor returns `false`, the
    /// parts are skipped.
    ///
    /// # Errors
    /// The visitor's first error, which ends the traversal.
    pub fn walk<E>(&self, visit: &mut impl FnMut(&AttributePath, &Self) -> Result<bool, E>) -> Result<(), E> {
        walk(self, &mut AttributePath::root(), visit)
    }

    /// Rebuilds the value by applying `change` to all of its parts, before their parents. Sets are
    /// sorted again. A replacement within a dynamic value must be of the same type, or dynamic
    /// itself.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn transform<E>(
        self,
        change: &mut impl FnMut(&AttributePath, Self) -> Result<Self, E>,
    ) -> Result<Self, E> {
        transform(self, &mut AttributePath::root(), change)
    }
}

fn walk<E>(
    value: &Value,
    path: &mut AttributePath,
    visit: &mut impl FnMut(&AttributePath, &Value) -> Result<bool, E>,
) -> Result<(), E> {
    let value = value.inner();
    if !visit(path, value)? {
        return Ok(());
    }
    let mut part = |step: PathStep, part: &Value| {
        path.push(step);
        let result = walk(part, path, visit);
        path.pop();
        result
    };
    match value {
        Value::Null | Value::Unknown(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        Value::List(elements) | Value::Tuple(elements) => {
            elements.iter().enumerate().try_for_each(|(index, element)| part(PathStep::Index(index), element))
        }
        Value::Set(elements) => elements
            .iter()
            .try_for_each(|element| part(PathStep::Element(Box::new(element.clone())), element)),
        Value::Map(elements) => {
            elements.iter().try_for_each(|(key, element)| part(PathStep::Key(key.clone()), element))
        }
        Value::Object(attributes) => attributes
            .iter()
            .try_for_each(|(name, attribute)| part(PathStep::Attribute(name.clone()), attribute)),
        // `inner` leaves a wrapper only directly within a wrapper, which is never constructed.
        Value::Dynamic(both) => walk(&both.1, path, visit),
    }
}

fn transform<E>(
    value: Value,
    path: &mut AttributePath,
    change: &mut impl FnMut(&AttributePath, Value) -> Result<Value, E>,
) -> Result<Value, E> {
    let mut part = |step: PathStep, part: Value| {
        path.push(step);
        let result = transform(part, path, change);
        path.pop();
        result
    };
    let rebuilt = match value {
        Value::Null | Value::Unknown(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
        Value::List(mut elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                *element = part(PathStep::Index(index), take(element))?;
            }
            Value::List(elements)
        }
        Value::Tuple(mut elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                *element = part(PathStep::Index(index), take(element))?;
            }
            Value::Tuple(elements)
        }
        Value::Set(mut elements) => {
            for element in &mut elements {
                *element = part(PathStep::Element(Box::new(element.clone())), take(element))?;
            }
            Value::set(elements)
        }
        Value::Map(mut elements) => {
            for (key, element) in &mut elements {
                *element = part(PathStep::Key(key.clone()), take(element))?;
            }
            Value::Map(elements)
        }
        Value::Object(mut attributes) => {
            for (name, attribute) in &mut attributes {
                *attribute = part(PathStep::Attribute(name.clone()), take(attribute))?;
            }
            Value::Object(attributes)
        }
        Value::Dynamic(both) => {
            let (own, value) = *both;
            return transform(value, path, change).map(|value| Value::dynamic(own, value));
        }
    };
    change(path, rebuilt)
}

fn take(value: &mut Value) -> Value {
    std::mem::replace(value, Value::Null)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::Type;

    fn sample() -> Value {
        Value::object([
            ("rule", Value::list([Value::object([("port", 80.into())])])),
            ("tags", Value::map([("a b", "c".into())])),
            ("peers", Value::set(["x".into(), "y".into()])),
            ("any", Value::dynamic(Type::tuple([Type::Bool]), Value::tuple([Value::unknown()]))),
        ])
    }

    fn visited(value: &Value) -> Vec<String> {
        let mut places = Vec::new();
        let Ok(()) = value.walk(&mut |path, part| {
            places.push(format!("{path}={}", part.kind()));
            Ok::<_, Infallible>(true)
        });
        places
    }

    #[test]
    fn a_walk_meets_everything_with_its_path() {
        assert_eq!(
            visited(&sample()),
            [
                "=object",
                "any=tuple",
                "any[0]=an unknown value",
                "peers=set",
                "peers[…]=string",
                "peers[…]=string",
                "rule=list",
                "rule[0]=object",
                "rule[0].port=number",
                "tags=map",
                "tags[\"a b\"]=string",
            ]
        );
    }

    #[test]
    fn every_path_of_a_walk_leads_to_what_was_met() {
        let value = sample();
        let Ok(()) = value.walk(&mut |path, part| {
            assert_eq!(value.apply_path(path).map(Value::inner), Some(part), "{path}");
            Ok::<_, Infallible>(true)
        });
        assert_eq!(value.apply_path(&AttributePath(vec![PathStep::Index(0)])), None);
    }

    #[test]
    fn a_transformed_set_is_in_order_again_and_wrappers_stay() {
        let Ok(changed) = sample().transform(&mut |_, part| {
            Ok::<_, Infallible>(match part {
                Value::String(_) => "same".into(),
                Value::Unknown(_) => true.into(),
                other => other,
            })
        });
        assert_eq!(changed.attribute("peers"), Some(&Value::set(["same".into()])));
        assert_eq!(
            changed.attribute("any"),
            Some(&Value::dynamic(Type::tuple([Type::Bool]), Value::tuple([true.into()])))
        );
    }
}
