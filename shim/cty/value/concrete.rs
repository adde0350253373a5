//! The concrete type of a value where its constraint is dynamic.

use std::sync::Arc;

use super::{Type, Value};

impl Value {
    /// The type of this value at a position of type `constraint`: the constraint with each dynamic
    /// part replaced by the value's type. Null and unknown leave it dynamic; so do elements of a
    /// collection that are not all of one type.
    pub(crate) fn concrete_type(&self, constraint: &Type) -> Type {
        if !constraint.is_dynamic_inside() {
            return constraint.clone();
        }
        match (self, constraint) {
            (Self::Dynamic(both), Type::Dynamic) => both.0.clone(),
            (Self::List(elements), Type::List(element)) => Type::list(common_type(elements, element)),
            (Self::Set(elements), Type::Set(element)) => Type::set(common_type(elements, element)),
            (Self::Map(elements), Type::Map(element)) => Type::map(common_type(elements.values(), element)),
            (Self::Tuple(elements), Type::Tuple(types)) if elements.len() == types.len() => Type::tuple(
                elements.iter().zip(types.iter()).map(|(element, own)| element.concrete_type(own)),
            ),
            (Self::Object(attributes), Type::Object(object)) => {
                Type::object(object.attributes.iter().map(|(name, constraint)| {
                    let own = attributes.get(name).map(|attribute| attribute.concrete_type(constraint));
                    (Arc::clone(name), own.unwrap_or_else(|| constraint.clone()))
                }))
            }
            _ => constraint.clone(),
        }
    }

    /// Removes the wrappers of positions whose type is known in `concrete`, the concrete type.
    pub(super) fn unwrapped(self, concrete: &Type) -> Self {
        match (self, concrete) {
            (Self::Dynamic(both), own) if !matches!(own, Type::Dynamic) => both.1,
            (Self::List(elements), Type::List(own)) => {
                Self::list(elements.into_iter().map(|element| element.unwrapped(own)))
            }
            (Self::Set(elements), Type::Set(own)) => {
                Self::set(elements.into_iter().map(|element| element.unwrapped(own)))
            }
            (Self::Map(elements), Type::Map(own)) => {
                Self::Map(elements.into_iter().map(|(key, element)| (key, element.unwrapped(own))).collect())
            }
            (Self::Tuple(elements), Type::Tuple(types)) if elements.len() == types.len() => Self::tuple(
                elements.into_iter().zip(types.iter()).map(|(element, own)| element.unwrapped(own)),
            ),
            (Self::Object(mut attributes), Type::Object(object)) => {
                for (name, attribute) in &mut attributes {
                    if let Some(own) = object.attributes.get(name) {
                        *attribute = std::mem::replace(attribute, Self::Null).unwrapped(own);
                    }
                }
                Self::Object(attributes)
            }
            (value, _) => value,
        }
    }
}

/// Whether elements of a collection are all of one type, which a constraint with dynamic parts does
/// not ensure. Otherwise providers on go-cty panic. Null and unknown elements of dynamic type are
/// of any type.
pub(crate) fn are_of_one_type<'a>(elements: impl IntoIterator<Item = &'a Value>, constraint: &Type) -> bool {
    if !constraint.is_dynamic_inside() {
        return true;
    }
    let mut types = elements
        .into_iter()
        .map(|element| element.concrete_type(constraint))
        .filter(|own| *own != Type::Dynamic);
    let Some(first) = types.next() else { return true };
    types.all(|own| own == first)
}

/// The common type of all elements that have one.
fn common_type<'a>(elements: impl IntoIterator<Item = &'a Value>, constraint: &Type) -> Type {
    let mut common: Option<Type> = None;
    for element in elements {
        if matches!(element, Value::Null | Value::Unknown(_)) {
            continue;
        }
        let own = element.concrete_type(constraint);
        match &common {
            None => common = Some(own),
            Some(known) if *known == own => {}
            Some(_) => return constraint.clone(),
        }
    }
    common.unwrap_or_else(|| constraint.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str) -> Value {
        Value::dynamic(Type::String, text.into())
    }

    #[test]
    fn collections_of_dynamic_take_the_type_that_their_elements_share() {
        let dynamics = Type::list(Type::Dynamic);
        let strings = Type::list(Type::String);
        assert_eq!(Value::list([wrapped("a"), Value::Null, wrapped("b")]).concrete_type(&dynamics), strings);
        let mixed = Value::list([wrapped("a"), Value::dynamic(Type::Bool, true.into())]);
        assert_eq!(mixed.concrete_type(&dynamics), dynamics);
        assert_eq!(Value::list([]).concrete_type(&dynamics), dynamics);
    }

    #[test]
    fn blocks_with_dynamic_inside_become_tuples_of_their_own_types() {
        let block = Type::object([("d", Type::Dynamic), ("n", Type::Number)]);
        let own = Value::tuple([
            Value::object([("d", wrapped("x")), ("n", 1.into())]),
            Value::object([("d", Value::unknown()), ("n", Value::Null)]),
        ])
        .concrete_type(&Type::tuple([block.clone(), block.clone()]));
        assert_eq!(own, Type::tuple([Type::object([("d", Type::String), ("n", Type::Number)]), block]));
    }
}
