//! Lists and maps of blocks with dynamic attributes.
//!
//! A list cannot have elements of different types, so core gives such a block the type *dynamic*,
//! and its value is a tuple (or, for a map of blocks, an object) whose own type contains each
//! element's. Inside that wrapper a dynamic attribute is plain. The rules need the elements like
//! any other block's, so they are unwrapped before, and wrapped afterwards.

use std::borrow::Cow;
use std::sync::Arc;

use isthmus_cty::{Type, Value};

/// The value of nested blocks in a uniform form: a wrapped tuple becomes a list, a wrapped object a
/// map, and each dynamic attribute of an element gets its own type again. Other values are
/// unchanged.
pub(crate) fn split_blocks<'a>(value: &'a Value, element: &Type) -> Cow<'a, Value> {
    let Value::Dynamic(wrapped) = value else { return Cow::Borrowed(value) };
    match &**wrapped {
        (Type::Tuple(types), Value::Tuple(elements)) => Cow::Owned(Value::List(
            elements.iter().zip(types.iter()).map(|(each, own)| with_own_types(each, own, element)).collect(),
        )),
        (Type::Object(object), Value::Object(elements)) => Cow::Owned(Value::Map(
            elements
                .iter()
                .map(|(key, each)| {
                    let own = object.attributes.get(key).unwrap_or(&Type::Dynamic);
                    (key.clone(), with_own_types(each, own, element))
                })
                .collect(),
        )),
        // A null or unknown needs no wrapper.
        (_, bare @ (Value::Null | Value::Unknown(_))) => Cow::Borrowed(bare),
        _ => Cow::Borrowed(value),
    }
}

/// The inverse of [`split_blocks`]: wraps a list or map of elements of type `element`. Other values
/// are unchanged.
pub(crate) fn join_blocks(value: Value, element: &Type) -> Value {
    match value {
        Value::List(elements) => {
            let own = Type::tuple(std::iter::repeat_n(element.clone(), elements.len()));
            Value::dynamic(own, Value::Tuple(elements))
        }
        Value::Map(elements) => {
            let own = Type::object(elements.keys().map(|key| (Arc::clone(key), element.clone())));
            Value::dynamic(own, Value::Object(elements))
        }
        other => other,
    }
}

/// Wraps values at dynamic positions of `constraint`, with the types in `own`.
fn with_own_types(value: &Value, own: &Type, constraint: &Type) -> Value {
    if own == constraint {
        return value.clone();
    }
    match (constraint, own, value) {
        (Type::Dynamic, _, _) => Value::dynamic(own.clone(), value.clone()),
        (Type::Object(constraint), Type::Object(own), Value::Object(attributes)) => Value::Object(
            attributes
                .iter()
                .map(|(name, each)| {
                    let each = match (own.attributes.get(name), constraint.attributes.get(name)) {
                        (Some(own), Some(constraint)) => with_own_types(each, own, constraint),
                        _ => each.clone(),
                    };
                    (name.clone(), each)
                })
                .collect(),
        ),
        (Type::List(constraint), Type::List(own), Value::List(elements)) => {
            Value::List(elements.iter().map(|each| with_own_types(each, own, constraint)).collect())
        }
        (Type::Set(constraint), Type::Set(own), Value::Set(elements)) => {
            Value::set(elements.iter().map(|each| with_own_types(each, own, constraint)))
        }
        (Type::Map(constraint), Type::Map(own), Value::Map(elements)) => Value::Map(
            elements.iter().map(|(key, each)| (key.clone(), with_own_types(each, own, constraint))).collect(),
        ),
        (Type::Tuple(constraint), Type::Tuple(own), Value::Tuple(elements))
            if constraint.len() == elements.len() && own.len() == elements.len() =>
        {
            let places = own.iter().zip(constraint.iter());
            Value::Tuple(
                elements
                    .iter()
                    .zip(places)
                    .map(|(each, (own, constraint))| with_own_types(each, own, constraint))
                    .collect(),
            )
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Number;
    use isthmus_cty::msgpack;
    use proptest::prelude::*;

    use super::*;

    /// An element with all kinds of dynamic positions.
    fn element_type() -> Type {
        Type::object([
            ("any", Type::Dynamic),
            ("deep", Type::tuple([Type::Dynamic, Type::Number])),
            ("list", Type::list(Type::Dynamic)),
            ("map", Type::map(Type::object([("any", Type::Dynamic)]))),
            ("name", Type::String),
            ("set", Type::set(Type::Dynamic)),
        ])
    }

    fn element(any: Value, each: Value) -> Value {
        Value::object([
            ("any", any.clone()),
            ("deep", Value::tuple([any, 1.into()])),
            ("list", Value::list([each.clone(), each.clone()])),
            ("map", Value::map([("k", Value::object([("any", each.clone())]))])),
            ("name", "n".into()),
            ("set", Value::set([each])),
        ])
    }

    fn text(text: &str) -> Value {
        Value::dynamic(Type::String, text.into())
    }

    #[test]
    fn elements_of_different_types_go_into_one_tuple_on_the_wire() {
        let block = Type::object([("d", Type::Dynamic)]);
        let with = |value: Value| Value::object([("d", value)]);
        let blocks = Value::list([with(text("x")), with(Value::dynamic(Type::Bool, true.into()))]);
        let joined = join_blocks(blocks.clone(), &block);
        assert_eq!(
            joined,
            Value::Dynamic(Box::new((
                Type::tuple([Type::object([("d", Type::String)]), Type::object([("d", Type::Bool)])]),
                Value::tuple([with("x".into()), with(true.into())]),
            )))
        );
        assert_eq!(*split_blocks(&joined, &block), blocks);
    }

    #[test]
    fn one_block_is_written_byte_for_byte_as_core_writes_it() {
        let block = Type::object([("d", Type::Dynamic)]);
        let joined = join_blocks(Value::list([Value::object([("d", text("x"))])]), &block);
        let expected = [
            &[0x92, 0xc4, 0x25][..],
            br#"["tuple",[["object",{"d":"string"}]]]"#,
            &[0x91, 0x81, 0xa1, b'd', 0xa1, b'x'],
        ]
        .concat();
        assert_eq!(msgpack::encode(&joined, &Type::Dynamic), Ok(expected));
    }

    #[test]
    fn null_and_unknown_lose_the_wrapper_and_other_values_stay() {
        let block = element_type();
        let wrapped = |value: Value| Value::Dynamic(Box::new((Type::tuple([]), value)));
        assert_eq!(*split_blocks(&wrapped(Value::Null), &block), Value::Null);
        assert_eq!(*split_blocks(&wrapped(Value::unknown()), &block), Value::unknown());
        let plain = Value::list([Value::Null]);
        assert_eq!(*split_blocks(&plain, &block), plain);
        assert_eq!(join_blocks(Value::unknown(), &block), Value::unknown());
    }

    #[test]
    fn an_empty_collection_of_blocks_is_an_empty_tuple_or_object() {
        let block = element_type();
        for (empty, wire) in [
            (Value::list([]), &b"\x92\xc4\x0c[\"tuple\",[]]\x90"[..]),
            (Value::map::<&str>([]), b"\x92\xc4\x0d[\"object\",{}]\x80"),
        ] {
            let joined = join_blocks(empty.clone(), &block);
            assert_eq!(msgpack::encode(&joined, &Type::Dynamic).as_deref(), Ok(wire), "{empty:?}");
            assert_eq!(*split_blocks(&joined, &block), empty);
        }
    }

    /// A value of a dynamic position.
    fn dynamic() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(Value::unknown()),
            "[a-z]{0,3}".prop_map(|string| text(&string)),
            any::<i32>()
                .prop_map(|number| Value::dynamic(Type::Number, Number::from(i64::from(number)).into())),
            "[a-z]{0,2}".prop_map(|string| {
                Value::dynamic(Type::object([("x", Type::Dynamic)]), Value::object([("x", text(&string))]))
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_joined_is_split_into_the_same(
            elements in proptest::collection::vec((dynamic(), dynamic()), 0..4),
        ) {
            let block = element_type();
            let elements: Vec<Value> =
                elements.into_iter().map(|(any, each)| element(any, each)).collect();
            let list = Value::list(elements.clone());
            let joined = join_blocks(list.clone(), &block);
            prop_assert_eq!(&*split_blocks(&joined, &block), &list);
            let map = Value::map(elements.into_iter().enumerate().map(|(index, each)| (index.to_string(), each)));
            let joined = join_blocks(map.clone(), &block);
            prop_assert_eq!(&*split_blocks(&joined, &block), &map);
            let wire = msgpack::encode(&joined, &Type::Dynamic).expect("a joined value can be written");
            prop_assert_eq!(msgpack::decode(&wire, &Type::Dynamic), Ok(joined));
        }
    }
}
