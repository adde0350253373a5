//! MessagePack compared with another implementation, `rmp-serde`.

use std::fmt;

use isthmus_cty::msgpack::{decode, encode};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::input;

/// `rmp-serde`'s name of extensions.
const EXTENSION: &str = "_ExtStruct";

/// What we decode, the other reads too; as it writes it, it is the same value. It also reads what we
/// write, to the last byte.
pub(crate) fn msgpack(bytes: &[u8]) {
    let (own, message) = input::typed(bytes);
    let Ok(value) = decode(message, &own) else { return };
    let read = |mut bytes: &[u8]| rmp_serde::from_read::<_, Item>(&mut bytes).map(|item| (item, bytes.len()));
    let (item, _) = read(message).unwrap_or_else(|error| panic!("{error}: {value:?}"));
    let rewritten = rmp_serde::to_vec(&item).expect("every item can be written");
    assert_eq!(decode(&rewritten, &own).as_ref(), Ok(&value), "{item:?}");
    if let Ok(written) = encode(&value, &own) {
        let (_, left) = read(&written).unwrap_or_else(|error| panic!("{error}: {value:?}"));
        assert_eq!(left, 0, "bytes are left of {value:?}");
    }
}

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
            (_, other) => Err(D::Error::custom(format!("{other:?} is no body of an extension"))),
        }
    }
}
