//! Accessors of a cty object for the resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep, Value};

/// Attributes and blocks of an object by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(pub BTreeMap<Arc<str>, Value>);

impl Object {
    /// `None` if the value is null, unknown or no object.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Object(attributes) => Some(Self(attributes.clone())),
            _ => None,
        }
    }

    /// The value of an attribute, or null.
    pub(crate) fn value(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// A known string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A known integer within `i64`.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        integer(self.value(name))
    }

    /// A nested object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        Self::from_value(self.value(name))
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(Arc::from(name), value);
    }

    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, Value::string(text));
    }

    /// Changes every object in a list or set; ignores other values.
    pub(crate) fn change_elements(&mut self, name: &str, mut change: impl FnMut(usize, &mut Self)) {
        let mut changed = |elements: &[Value]| -> Vec<Value> {
            let change = |(index, value): (usize, &Value)| match Self::from_value(value) {
                Some(mut object) => {
                    change(index, &mut object);
                    object.into_value()
                }
                None => value.clone(),
            };
            elements.iter().enumerate().map(change).collect()
        };
        match self.value(name) {
            Value::List(elements) => {
                let elements = changed(elements);
                self.set(name, Value::List(elements));
            }
            Value::Set(elements) => {
                let elements = changed(elements);
                self.set(name, Value::set(elements));
            }
            _ => {}
        }
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// A known integer within `i64`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}

/// The path of a top-level attribute.
pub(crate) fn at(name: &str) -> AttributePath {
    AttributePath(vec![PathStep::Attribute(Arc::from(name))])
}
