//! The codec compared with another implementation of MessagePack, `rmp-serde`, in both directions:
//! each decodes what the other encodes as the same value. The tree in between is independent of the
//! codec.

use std::fmt;

use proptest::prelude::*;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::round_trips::typed_value;
use super::{decode, encode};
use crate::{Number, Type, Value};

/// `rmp-serde`'s name of extensions.
const EXTENSION: &str = "_ExtStruct";

/// An item of MessagePack.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    Nil,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Extension(i8, Vec<u8>),
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::Array(items) => {
                let mut array = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| array.serialize_element(item))?;
                array.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, item)| map.serialize_entry(key, item))?;
                map.end()
            }
            Self::Extension(code, body) => {
                serializer.serialize_newtype_struct(EXTENSION, &(code, Self::Bytes(body.clone())))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an item")
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Item, E> {
        Ok(Item::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Item, E> {
        Ok(Item::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Item, E> {
        Ok(Item::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Item, E> {
        Ok(Item::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Item, E> {
        Ok(Item::Bytes(bytes.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Item::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Item, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Item::Map(map))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        match <(i8, Item)>::deserialize(deserializer)? {
            (code, Item::Bytes(body)) => Ok(Item::Extension(code, body)),
            (_, other) => Err(serde::de::Error::custom(format!("{other:?} is no body of an extension"))),
        }
    }
}

/// A value as an item, with every number as its decimal text.
fn item(value: &Value, own: &Type) -> Item {
    let all = |values: &[Value], own: &Type| values.iter().map(|value| item(value, own)).collect();
    let text = |text: &str| Item::Text(text.to_owned());
    match (value, own) {
        (Value::Null, _) => Item::Nil,
        (Value::Unknown(_), _) => Item::Extension(0, vec![0]),
        (Value::Dynamic(both), _) => {
            Item::Array(vec![Item::Bytes(both.0.to_json().into_bytes()), item(&both.1, &both.0)])
        }
        (Value::Bool(value), _) => Item::Bool(*value),
        (Value::Number(number), _) => text(&number.to_decimal_text()),
        (Value::String(string), _) => text(string),
        (Value::List(elements), Type::List(own)) | (Value::Set(elements), Type::Set(own)) => {
            Item::Array(all(elements, own))
        }
        (Value::Map(entries), Type::Map(own)) => {
            Item::Map(entries.iter().map(|(key, value)| (text(key), item(value, own))).collect())
        }
        (Value::Object(attributes), Type::Object(object)) => {
            let attribute =
                |(name, own): (&std::sync::Arc<str>, _)| (text(name), item(&attributes[name], own));
            Item::Map(object.attributes.iter().map(attribute).collect())
        }
        (Value::Tuple(elements), Type::Tuple(types)) => {
            Item::Array(elements.iter().zip(types.iter()).map(|(value, own)| item(value, own)).collect())
        }
        _ => panic!("{value:?} is no {own:?}"),
    }
}

/// An item in the form of [`item`]: all numbers as text, without refinements. The negative zero has
/// no sign, because it is written as an integer, as by core (`vectors.rs`).
fn plain(read: Item, own: &Type) -> Item {
    let number = |number: Number| {
        let text = number.to_decimal_text();
        Item::Text(if text == "-0" { "0".to_owned() } else { text })
    };
    match (read, own) {
        (Item::Extension(..), _) => Item::Extension(0, vec![0]),
        (Item::Int(integer), Type::Number) => number(integer.into()),
        (Item::Unsigned(integer), Type::Number) => number(integer.into()),
        (Item::Float(double), Type::Number) => {
            number(Number::from_f64_exact(double).expect("a double that is a number"))
        }
        (Item::Text(text), Type::Number) => number(Number::from_decimal(&text).expect("a number")),
        (Item::Array(items), Type::List(own) | Type::Set(own)) => {
            Item::Array(items.into_iter().map(|item| plain(item, own)).collect())
        }
        (Item::Array(items), Type::Tuple(types)) => {
            Item::Array(items.into_iter().zip(types.iter()).map(|(item, own)| plain(item, own)).collect())
        }
        (Item::Array(items), Type::Dynamic) => {
            let [own @ Item::Bytes(json), value] = &items[..] else {
                panic!("a type and a value: {items:?}")
            };
            let of = Type::from_json(json).expect("a type");
            Item::Array(vec![own.clone(), plain(value.clone(), &of)])
        }
        (Item::Map(entries), Type::Map(own)) => {
            Item::Map(entries.into_iter().map(|(key, item)| (key, plain(item, own))).collect())
        }
        (Item::Map(entries), Type::Object(object)) => {
            let types = object.attributes.values();
            let attribute = |((key, item), own)| (key, plain(item, own));
            Item::Map(entries.into_iter().zip(types).map(attribute).collect())
        }
        (other, _) => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_reader_reads_what_we_write((own, value) in typed_value(true)) {
        let bytes = encode(&value, &own).unwrap();
        let mut rest = bytes.as_slice();
        let read: Item = rmp_serde::from_read(&mut rest).unwrap();
        prop_assert!(rest.is_empty(), "{} bytes are left of {}", rest.len(), hex::encode(&bytes));
        prop_assert_eq!(plain(read, &own), plain(item(&value, &own), &own));
    }

    #[test]
    fn we_read_what_another_writer_writes((own, value) in typed_value(true)) {
        let bytes = rmp_serde::to_vec(&item(&value, &own)).unwrap();
        prop_assert_eq!(decode(&bytes, &own).unwrap(), value);
    }
}
