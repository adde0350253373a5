//! Values of dynamic type.
//!
//! Property bags do not distinguish lists from tuples or maps from objects, so types are chosen as
//! for HCL literals after the usual conversions: elements of one type form a list, others a tuple;
//! objects keep their keys unchanged, because no schema maps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{Number, ObjectType, Type, Value};

/// A list if the elements have one and the same type without dynamic parts, else a tuple.
pub(super) fn sequence(elements: Vec<(Type, Value)>) -> (Type, Value) {
    let alike = elements.windows(2).all(|pair| pair[0].0 == pair[1].0);
    let (types, values): (Vec<Type>, Vec<Value>) = elements.into_iter().unzip();
    match types.first() {
        Some(first) if alike && !first.is_dynamic_inside() => {
            (Type::list(first.clone()), Value::List(values))
        }
        _ => (Type::Tuple(types.into()), Value::Tuple(values)),
    }
}

pub(super) fn object(fields: impl IntoIterator<Item = (Arc<str>, (Type, Value))>) -> (Type, Value) {
    let mut attributes = BTreeMap::new();
    let mut values = BTreeMap::new();
    for (name, (field_type, value)) in fields {
        attributes.insert(Arc::clone(&name), field_type);
        values.insert(name, value);
    }
    let object_type = ObjectType { attributes, ..ObjectType::default() };
    (Type::Object(Arc::new(object_type)), Value::Object(values))
}

/// The shortest decimal of `number`; `None` for NaN, and for numbers that a configuration cannot
/// express.
pub(super) fn decimal(number: f64) -> Option<Number> {
    if number.is_finite() { Number::from_f64_shortest(number) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_one_type_make_a_list_and_others_a_tuple() {
        let string = |text: &str| (Type::String, Value::string(text));
        assert_eq!(sequence(vec![string("a"), string("b")]).0, Type::List(Arc::new(Type::String)));
        let mixed = sequence(vec![string("a"), (Type::Bool, Value::Bool(true))]);
        assert_eq!(mixed.0, Type::Tuple([Type::String, Type::Bool].into()));
        let with_null = sequence(vec![string("a"), (Type::Dynamic, Value::Null)]);
        assert_eq!(with_null.0, Type::Tuple([Type::String, Type::Dynamic].into()));
        assert_eq!(sequence(Vec::new()), (Type::Tuple([].into()), Value::Tuple(Vec::new())));
        assert!(matches!(sequence(vec![(Type::Dynamic, Value::Null)]).0, Type::Tuple(_)));
    }
}
