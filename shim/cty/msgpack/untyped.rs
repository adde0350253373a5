//! Values without a type at hand, for display: a plan holds values whose type only a provider knows.
//!
//! What MessagePack itself distinguishes is read: an array is a tuple, a map an object, and a number that no 64 bits hold
//! exactly remains the text that it was sent as. A value must not be written back from here.

use std::collections::BTreeMap;

use super::decode::{Decoder, FIRST_CAPACITY, Read, failure};
use super::reader::{Head, Reader};
use super::{DecodeError, DecodeReason, refinements};
use crate::{MAXIMUM_DEPTH, Number, PathStep, Type, Value, normalize};

/// Reads a value of an unknown type, as far as its bytes show it. What follows the value is ignored.
///
/// # Errors
/// [`DecodeError`], when the bytes are no value of any type.
pub fn decode_untyped(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder { reader: Reader::new(bytes) };
    decoder.untyped(0).map_err(|mut failure| {
        failure.path.0.reverse();
        *failure
    })
}

impl Decoder<'_> {
    fn untyped(&mut self, depth: usize) -> Read<Value> {
        let start = self.reader.position();
        let at = |reason| failure(start, reason);
        if depth > MAXIMUM_DEPTH {
            return Err(at(DecodeReason::TooDeep));
        }
        match self.reader.head().map_err(at)? {
            Head::Nil => Ok(Value::Null),
            Head::Bool(value) => Ok(Value::Bool(value)),
            Head::Int(integer) => Ok(Value::Number(integer.into())),
            Head::LargeInt(integer) => Ok(Value::Number(integer.into())),
            Head::Float(double) => {
                Number::from_f64_exact(double).map(Value::Number).ok_or_else(|| at(DecodeReason::NotANumber))
            }
            Head::Bytes(length) => Ok(Value::String(normalize(self.text(start, length)?))),
            Head::Extension { code, length } => {
                let body = self.reader.take(length).map_err(at)?;
                refinements::read(code, body, &Type::Dynamic).map_err(at)
            }
            // Only the type of a dynamic value is sent as `bin`.
            Head::Array(2) if self.reader.next_is_bin() => self.dynamic(start, Head::Array(2), depth),
            Head::Array(count) => {
                self.reader.expect_items(count).map_err(at)?;
                let mut elements = Vec::with_capacity(count.min(FIRST_CAPACITY));
                for index in 0..count {
                    let element = self.untyped(depth + 1);
                    elements.push(element.map_err(|error| error.inside(PathStep::Index(index)))?);
                }
                Ok(Value::Tuple(elements))
            }
            Head::Map(count) => {
                self.reader.expect_items(count).map_err(at)?;
                let mut members = BTreeMap::new();
                for _ in 0..count {
                    let key = normalize(self.key()?);
                    let member = self.untyped(depth + 1);
                    let step = || PathStep::Attribute(key.clone());
                    members.insert(key.clone(), member.map_err(|error| error.inside(step()))?);
                }
                Ok(Value::Object(members))
            }
            Head::Unused => Err(at(DecodeReason::Required("a value"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::encode;

    #[test]
    fn what_the_bytes_distinguish_is_read_without_a_type() {
        let own = Type::object([
            ("any", Type::Dynamic),
            ("later", Type::String),
            ("number", Type::Number),
            ("on", Type::Bool),
            ("set", Type::set(Type::String)),
            ("text", Type::String),
        ]);
        let value = Value::object([
            ("any", Value::dynamic(Type::list(Type::Number), Value::list([Value::number(1)]))),
            ("later", Value::unknown()),
            ("number", Value::number(-7)),
            ("on", true.into()),
            ("set", Value::set(["b", "a"].map(Value::string))),
            ("text", Value::Null),
        ]);
        let read = decode_untyped(&encode(&value, &own).expect("a value")).expect("a value");
        let shown = Value::object([
            ("any", Value::dynamic(Type::list(Type::Number), Value::list([Value::number(1)]))),
            ("later", Value::unknown()),
            ("number", Value::number(-7)),
            ("on", true.into()),
            ("set", Value::tuple(["a", "b"].map(Value::string))),
            ("text", Value::Null),
        ]);
        assert_eq!(read, shown);
    }

    #[test]
    fn what_no_type_has_is_refused_with_its_place() {
        for (bytes, text) in [
            (&b""[..], "the message ends within a value (byte 0)"),
            (b"\x81\xa1a\xc1", "a: a value is required (byte 3)"),
            (b"\xdf\xff\xff\xff\xff", "the message ends within a value (byte 0)"),
            (b"\x91\xca\x7f\xc0\0\0", "[0]: a number is required, but this is not a number (NaN) (byte 1)"),
        ] {
            assert_eq!(decode_untyped(bytes).expect_err("no value").to_string(), text, "{bytes:?}");
        }
        let deep = [&vec![0x91; MAXIMUM_DEPTH + 1][..], b"\xc0"].concat();
        let error = decode_untyped(&deep).expect_err("too deep");
        assert_eq!(error.reason, DecodeReason::TooDeep);
    }
}
