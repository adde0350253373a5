//! Decoding.
//!
//! It is as lenient as go-cty: text may be `bin`, a dynamic value's type `str`, numbers of any
//! width or text, and bytes after the value are ignored. With two exceptions: text must be UTF-8,
//! because the engine would change it otherwise; and an object must not contain an attribute twice,
//! because another would be missing. In a map the later of two equal keys counts, as in go-cty.

use std::collections::BTreeMap;

use super::reader::{Head, Reader};
use super::{DecodeError, DecodeReason, refinements};
use crate::{AttributePath, MAXIMUM_DEPTH, Number, ObjectType, PathStep, Type, Value, normalize};

/// Decodes a value of a type. Bytes after the value are ignored, as by go-cty.
///
/// An empty map for an object, and an empty array for a tuple, are accepted even if the type has
/// attributes or elements, as by go-cty; [`Value::conforms`] detects them.
///
/// # Errors
/// [`DecodeError`], when the bytes are no value of the type.
pub fn decode(bytes: &[u8], own: &Type) -> Result<Value, DecodeError> {
    let mut decoder = Decoder { reader: Reader::new(bytes) };
    decoder.value(own, 0).map_err(|mut failure| {
        failure.path.0.reverse();
        *failure
    })
}

/// An error's path is collected from its last step to its first.
pub(super) type Read<T> = Result<T, Box<DecodeError>>;

/// Limit of elements for which memory is reserved in advance.
pub(super) const FIRST_CAPACITY: usize = 256;

pub(super) struct Decoder<'a> {
    pub(super) reader: Reader<'a>,
}

impl<'a> Decoder<'a> {
    fn value(&mut self, own: &Type, depth: usize) -> Read<Value> {
        let start = self.reader.position();
        if depth > MAXIMUM_DEPTH {
            return Err(failure(start, DecodeReason::TooDeep));
        }
        let head = self.reader.head().map_err(|reason| failure(start, reason))?;
        match (head, own) {
            (Head::Nil, _) => Ok(Value::Null),
            (Head::Extension { code, length }, _) => self
                .reader
                .take(length)
                .and_then(|body| refinements::read(code, body, own))
                .map_err(|reason| failure(start, reason)),
            (_, Type::Dynamic) => self.dynamic(start, head, depth),
            (Head::Bool(value), Type::Bool) => Ok(Value::Bool(value)),
            (Head::Int(integer), Type::Number) => Ok(Value::Number(integer.into())),
            (Head::LargeInt(integer), Type::Number) => Ok(Value::Number(integer.into())),
            (Head::Float(double), Type::Number) => Number::from_f64_exact(double)
                .map(Value::Number)
                .ok_or_else(|| failure(start, DecodeReason::NotANumber)),
            (Head::Bytes(length), Type::Number) => {
                let text = self.text(start, length)?;
                let number = Number::from_decimal(text);
                number.map(Value::Number).map_err(|error| failure(start, DecodeReason::Number(error)))
            }
            (Head::Bytes(length), Type::String) => Ok(Value::String(normalize(self.text(start, length)?))),
            (Head::Array(count), Type::List(element)) => {
                self.elements(start, count, element, depth).map(Value::List)
            }
            (Head::Array(count), Type::Set(element)) => {
                self.elements(start, count, element, depth).map(Value::set)
            }
            (Head::Array(0), Type::Tuple(_)) => Ok(Value::Tuple(Vec::new())),
            (Head::Array(count), Type::Tuple(types)) => self.tuple(start, count, types, depth),
            (Head::Map(count), Type::Map(element)) => self.map(start, count, element, depth),
            (Head::Map(0), Type::Object(_)) => Ok(Value::Object(BTreeMap::new())),
            (Head::Map(count), Type::Object(object)) => self.object(start, count, object, depth),
            _ => Err(failure(start, DecodeReason::Required(required(own)))),
        }
    }

    fn elements(&mut self, start: usize, count: usize, element: &Type, depth: usize) -> Read<Vec<Value>> {
        self.reader.expect_items(count).map_err(|reason| failure(start, reason))?;
        let mut elements = Vec::with_capacity(count.min(FIRST_CAPACITY));
        for index in 0..count {
            elements
                .push(self.value(element, depth + 1).map_err(|error| error.inside(PathStep::Index(index)))?);
        }
        Ok(elements)
    }

    fn tuple(&mut self, start: usize, count: usize, types: &[Type], depth: usize) -> Read<Value> {
        if count != types.len() {
            let reason = DecodeReason::TupleLength { required: types.len(), given: count };
            return Err(failure(start, reason));
        }
        let mut elements = Vec::with_capacity(count.min(FIRST_CAPACITY));
        for (index, element) in types.iter().enumerate() {
            elements
                .push(self.value(element, depth + 1).map_err(|error| error.inside(PathStep::Index(index)))?);
        }
        Ok(Value::Tuple(elements))
    }

    fn map(&mut self, start: usize, count: usize, element: &Type, depth: usize) -> Read<Value> {
        let announced = self.reader.expect_items(count.saturating_mul(2));
        announced.map_err(|reason| failure(start, reason))?;
        let mut elements = BTreeMap::new();
        for _ in 0..count {
            let key = normalize(self.key()?);
            let value =
                self.value(element, depth + 1).map_err(|error| error.inside(PathStep::Key(key.clone())))?;
            elements.insert(key, value);
        }
        Ok(Value::Map(elements))
    }

    fn object(&mut self, start: usize, count: usize, object: &ObjectType, depth: usize) -> Read<Value> {
        let required = object.attributes.len();
        if count != required {
            return Err(failure(start, DecodeReason::AttributeCount { required, given: count }));
        }
        // go-cty sends attributes in this order; then no name is looked up.
        let mut expected = object.attributes.iter();
        let mut attributes = Vec::with_capacity(count.min(FIRST_CAPACITY));
        for _ in 0..count {
            let at = self.reader.position();
            let key = self.key()?;
            let found = match expected.next() {
                Some((name, own)) if **name == *key => Some((name, own)),
                _ => object
                    .attributes
                    .get_key_value(key)
                    .or_else(|| object.attributes.get_key_value(&normalize(key))),
            };
            let Some((name, own)) = found else {
                return Err(failure(at, DecodeReason::UnsupportedAttribute(key.into())));
            };
            let value = self
                .value(own, depth + 1)
                .map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
            attributes.push((name.clone(), value));
        }
        let attributes: BTreeMap<_, _> = attributes.into_iter().collect();
        if attributes.len() != required {
            return Err(failure(start, DecodeReason::RepeatedAttribute));
        }
        Ok(Value::Object(attributes))
    }

    pub(super) fn dynamic(&mut self, start: usize, head: Head, depth: usize) -> Read<Value> {
        if head != Head::Array(2) {
            return Err(failure(start, DecodeReason::DynamicPair));
        }
        let at = self.reader.position();
        let description = match self.reader.head() {
            Ok(Head::Bytes(length)) => self.reader.take(length),
            Ok(_) => Err(DecodeReason::DynamicPair),
            Err(reason) => Err(reason),
        };
        let own = description
            .and_then(|json| Type::from_json(json).map_err(DecodeReason::Type))
            .map_err(|reason| failure(at, reason))?
            .without_optional();
        let value = self.value(&own, depth + 1)?;
        Ok(Value::dynamic(own, value))
    }

    pub(super) fn key(&mut self) -> Read<&'a str> {
        let start = self.reader.position();
        match self.reader.head() {
            Ok(Head::Bytes(length)) => self.text(start, length),
            Ok(_) => Err(failure(start, DecodeReason::Required("a string as key"))),
            Err(reason) => Err(failure(start, reason)),
        }
    }

    pub(super) fn text(&mut self, start: usize, length: usize) -> Read<&'a str> {
        self.reader.text(length).map_err(|reason| failure(start, reason))
    }
}

pub(super) fn failure(offset: usize, reason: DecodeReason) -> Box<DecodeError> {
    Box::new(DecodeError { offset, path: AttributePath::root(), reason })
}

impl DecodeError {
    pub(super) fn inside(mut self: Box<Self>, step: PathStep) -> Box<Self> {
        self.path.push(step);
        self
    }
}

/// go-cty's name of the required kind.
fn required(own: &Type) -> &'static str {
    match own {
        Type::Bool => "bool",
        Type::Number => "number",
        Type::String => "string",
        Type::Dynamic => "a dynamic value",
        Type::List(_) => "a list",
        Type::Set(_) => "a set",
        Type::Map(_) => "a map",
        Type::Object(_) => "an object",
        Type::Tuple(_) => "a tuple",
    }
}
