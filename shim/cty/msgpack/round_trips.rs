//! Encoded values are decoded as the same value, in both encodings.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{decode, encode};
use crate::json::{from_json, to_json};
use crate::{Number, Refinements, Type, Value};

/// Any type of a bounded size.
pub(super) fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        4 => Just(Type::String),
        3 => Just(Type::Number),
        2 => Just(Type::Bool),
        1 => Just(Type::Dynamic),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let no_dynamic =
            inner.clone().prop_map(|inner| if inner.is_dynamic_inside() { Type::String } else { inner });
        prop_oneof![
            inner.clone().prop_map(Type::list),
            no_dynamic.prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            btree_map("[a-z<é]{1,3}", inner.clone(), 0..4).prop_map(Type::object),
            vec(inner, 0..4).prop_map(Type::tuple),
        ]
    })
}

/// Any value of a type; unknown parts only with `unknowns`.
pub(super) fn any_value(own: &Type, unknowns: bool) -> BoxedStrategy<Value> {
    let known = match own {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Number => any_number().prop_map(Value::Number).boxed(),
        Type::String => any::<String>().prop_map(Value::string).boxed(),
        Type::Dynamic => concrete_type()
            .prop_flat_map(move |own| {
                any_value(&own, unknowns).prop_map(move |value| Value::dynamic(own.clone(), value))
            })
            .boxed(),
        Type::List(element) => {
            vec(any_value(element, unknowns), 0..most(element)).prop_map(Value::list).boxed()
        }
        Type::Set(element) => vec(any_value(element, unknowns), 0..5).prop_map(Value::set).boxed(),
        Type::Map(element) => vec((any::<String>(), any_value(element, unknowns)), 0..most(element))
            .prop_map(Value::map)
            .boxed(),
        Type::Object(object) => {
            let names: Vec<Arc<str>> = object.attributes.keys().cloned().collect();
            let values: Vec<_> = object.attributes.values().map(|own| any_value(own, unknowns)).collect();
            values.prop_map(move |values| Value::object(names.iter().cloned().zip(values))).boxed()
        }
        Type::Tuple(types) => {
            let values: Vec<_> = types.iter().map(|own| any_value(own, unknowns)).collect();
            values.prop_map(Value::Tuple).boxed()
        }
    };
    let unknown = if unknowns { any_unknown(own) } else { Just(Value::Null).boxed() };
    prop_oneof![8 => known, 1 => Just(Value::Null), 1 => unknown].boxed()
}

/// Exclusive maximum of elements: with dynamic parts, two would rarely be of one type.
fn most(element: &Type) -> usize {
    if element.is_dynamic_inside() { 2 } else { 5 }
}

/// Types of values at dynamic positions; nested dynamic positions can only be null here.
fn concrete_type() -> impl Strategy<Value = Type> {
    any_type().prop_map(|own| if own.is_dynamic_inside() { Type::list(Type::Number) } else { own })
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        (-1000_i64..1000).prop_map(Number::from),
        // The text of doubles beyond `i64` is another integer.
        any::<f64>().prop_filter_map("a fraction", |double| {
            Number::from_f64_exact(double).filter(|number| !number.is_integer() && !number.is_infinite())
        }),
        any::<f64>().prop_filter_map("finite", |double| {
            Number::from_f64_shortest(double).filter(|number| !number.is_infinite())
        }),
        "-?[0-9]{1,60}(\\.[0-9]{1,60})?(e-?[0-9]{1,2})?"
            .prop_map(|text| Number::from_decimal(&text).unwrap()),
    ]
}

fn any_unknown(own: &Type) -> BoxedStrategy<Value> {
    let refined = |known: Refinements| Value::Unknown(Some(Box::new(known)));
    let not_null = Refinements { null: Some(false), ..Refinements::default() };
    match own {
        Type::String => "[a-z]{1,4}-"
            .prop_map(move |prefix| {
                refined(Refinements { string_prefix: Some(prefix.into()), ..not_null.clone() })
            })
            .boxed(),
        Type::Number => (any_number(), any::<bool>())
            .prop_map(move |bound| refined(Refinements { number_minimum: Some(bound), ..not_null.clone() }))
            .boxed(),
        Type::List(_) | Type::Set(_) | Type::Map(_) => (1_u64..5, 5_u64..9)
            .prop_map(move |(least, most)| {
                refined(Refinements {
                    length_minimum: Some(least),
                    length_maximum: Some(most),
                    ..Refinements::default()
                })
            })
            .boxed(),
        _ => Just(Value::unknown()).boxed(),
    }
}

pub(super) fn typed_value(unknowns: bool) -> impl Strategy<Value = (Type, Value)> {
    any_type().prop_flat_map(move |own| any_value(&own, unknowns).prop_map(move |value| (own.clone(), value)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn message_pack_reads_what_it_wrote((own, value) in typed_value(true)) {
        prop_assert_eq!(value.conforms(&own), Ok(()));
        let bytes = encode(&value, &own).unwrap();
        let read = decode(&bytes, &own).unwrap();
        prop_assert_eq!(&read, &value);
        // Equality ignores refinements, but the bytes contain them.
        prop_assert_eq!(encode(&read, &own).unwrap(), bytes);
    }

    #[test]
    fn json_reads_what_it_wrote((own, value) in typed_value(false)) {
        let json = to_json(&value, &own).unwrap();
        let read = from_json(json.as_bytes(), &own).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(&to_json(&read, &own).unwrap(), &json);
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }

    #[test]
    fn types_are_read_as_they_were_written(own in any_type()) {
        let json = own.to_json();
        prop_assert_eq!(Type::from_json(json.as_bytes()).unwrap(), own);
    }

    #[test]
    fn sets_are_equal_in_every_order(elements in vec(any_value(&Type::list(Type::Number), true), 0..6), turn in 0_usize..6) {
        let mut turned = elements.clone();
        turned.rotate_left(turn.min(elements.len()));
        let (one, other) = (Value::set(elements), Value::set(turned));
        prop_assert_eq!(&one, &other);
        let own = Type::set(Type::list(Type::Number));
        prop_assert_eq!(decode(&encode(&one, &own).unwrap(), &own).unwrap(), other);
    }
}
