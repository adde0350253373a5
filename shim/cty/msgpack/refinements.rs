//! Unknown values: a marker of three bytes, or an extension with a map of refinements.

use super::reader::{Head, Reader};
use super::{DecodeReason, EncodeReason, LONGEST_REFINEMENTS, REFINED_UNKNOWN, writer};
use crate::unknown::shorten_prefix;
use crate::{Number, Refinements, Type, Value, normalize};

const NULLNESS: i64 = 1;
const STRING_PREFIX: i64 = 2;
const NUMBER_MINIMUM: i64 = 3;
const NUMBER_MAXIMUM: i64 = 4;
const LENGTH_MINIMUM: i64 = 5;
const LENGTH_MAXIMUM: i64 = 6;

/// Maximum length of a prefix in bytes.
const LONGEST_PREFIX: usize = 256;

/// Maximum depth of values under unknown keys.
const DEEPEST_SKIPPED: usize = 32;

pub(super) fn write_plain(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xd4, 0, 0]);
}

/// Encodes an unknown with the refinements that apply to its type, or with none if they are too
/// long together.
pub(super) fn write(known: &Refinements, own: &Type, out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    let mut entries = Vec::new();
    let mut count = 0;
    if !matches!(own, Type::Dynamic) && known.null == Some(false) {
        writer::integer(NULLNESS, &mut entries);
        writer::boolean(false, &mut entries);
        count += 1;
    }
    match own {
        Type::String => {
            if let Some(prefix) = known.string_prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
                let sent = if prefix.len() > LONGEST_PREFIX {
                    shorten_prefix(prefix, LONGEST_PREFIX - 1)
                } else {
                    prefix
                };
                writer::integer(STRING_PREFIX, &mut entries);
                writer::string(sent, &mut entries)?;
                count += 1;
            }
        }
        Type::Number => {
            for (key, bound) in
                [(NUMBER_MINIMUM, &known.number_minimum), (NUMBER_MAXIMUM, &known.number_maximum)]
            {
                if let Some((number, inclusive)) = bound.as_ref().filter(|(number, _)| !number.is_infinite())
                {
                    writer::integer(key, &mut entries);
                    writer::array_head(2, &mut entries)?;
                    writer::number(number, &mut entries)?;
                    writer::boolean(*inclusive, &mut entries);
                    count += 1;
                }
            }
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) => {
            let minimum = known.length_minimum.filter(|length| *length > 0);
            for (key, length) in [(LENGTH_MINIMUM, minimum), (LENGTH_MAXIMUM, known.length_maximum)] {
                // A length beyond `i64` is no bound.
                if let Some(length) = length.and_then(|length| i64::try_from(length).ok()) {
                    writer::integer(key, &mut entries);
                    writer::integer(length, &mut entries);
                    count += 1;
                }
            }
        }
        Type::Bool | Type::Dynamic | Type::Object(_) | Type::Tuple(_) => {}
    }
    if count == 0 {
        write_plain(out);
        return Ok(());
    }
    let mut body = Vec::with_capacity(entries.len() + 1);
    writer::map_head(count, &mut body)?;
    body.append(&mut entries);
    if body.len() > LONGEST_REFINEMENTS {
        write_plain(out);
    } else {
        writer::extension(REFINED_UNKNOWN, &body, out)?;
    }
    Ok(())
}

/// Decodes any extension: all are unknown values.
pub(super) fn read(code: i8, body: &[u8], own: &Type) -> Result<Value, DecodeReason> {
    if body.len() <= 1 {
        return Ok(Value::unknown());
    }
    if code != REFINED_UNKNOWN {
        return Err(DecodeReason::UnsupportedExtension { code, length: body.len() });
    }
    if body.len() > LONGEST_REFINEMENTS {
        return Err(DecodeReason::OversizeRefinements(body.len()));
    }
    let mut reader = Reader::new(body);
    let Head::Map(count) = reader.head()? else {
        return Err(DecodeReason::Refinement("a map is required"));
    };
    if matches!(own, Type::Dynamic) {
        return Ok(Value::unknown());
    }
    let mut known = Refinements::default();
    for _ in 0..count {
        let Head::Int(key) = reader.head()? else {
            return Err(DecodeReason::Refinement("a key must be an integer"));
        };
        read_entry(key, &mut reader, own, &mut known)?;
    }
    if known.is_contradictory() {
        return Err(DecodeReason::Refinement("no value can meet all of them"));
    }
    if let Some(resolved) = known.resolve(own) {
        return Ok(resolved);
    }
    Ok(Value::Unknown((!known.is_empty()).then(|| Box::new(known))))
}

fn read_entry(
    key: i64,
    reader: &mut Reader<'_>,
    own: &Type,
    known: &mut Refinements,
) -> Result<(), DecodeReason> {
    match key {
        NULLNESS => {
            let Head::Bool(null) = reader.head()? else {
                return Err(DecodeReason::Refinement("nullness must be a bool"));
            };
            if known.null.is_some_and(|before| before != null) {
                return Err(DecodeReason::Refinement("no value can meet all of them"));
            }
            known.null = Some(null);
        }
        STRING_PREFIX if matches!(own, Type::String) => {
            let Head::Bytes(length) = reader.head()? else {
                return Err(DecodeReason::Refinement("a prefix must be a string"));
            };
            let prefix = normalize(reader.text(length)?);
            known.string_prefix = (!prefix.is_empty()).then_some(prefix);
        }
        NUMBER_MINIMUM if matches!(own, Type::Number) => known.number_minimum = read_bound(reader)?,
        NUMBER_MAXIMUM if matches!(own, Type::Number) => known.number_maximum = read_bound(reader)?,
        LENGTH_MINIMUM if own.is_collection() => {
            let Head::Int(length) = reader.head()? else {
                return Err(DecodeReason::Refinement("a length must be an integer"));
            };
            // Lengths are never negative.
            known.length_minimum = u64::try_from(length).ok().filter(|length| *length > 0);
        }
        LENGTH_MAXIMUM if own.is_collection() => {
            let length = match reader.head()? {
                Head::Int(length) => u64::try_from(length)
                    .map_err(|_| DecodeReason::Refinement("a greatest length must not be negative"))?,
                _ => return Err(DecodeReason::Refinement("a length must be an integer")),
            };
            known.length_maximum = (i64::try_from(length) != Ok(i64::MAX)).then_some(length);
        }
        STRING_PREFIX..=LENGTH_MAXIMUM => {
            return Err(DecodeReason::Refinement("one of them does not apply to the type"));
        }
        // Keys of later versions.
        _ => skip(reader, DEEPEST_SKIPPED)?,
    }
    Ok(())
}

fn read_bound(reader: &mut Reader<'_>) -> Result<Option<(Number, bool)>, DecodeReason> {
    const REQUIRED: DecodeReason = DecodeReason::Refinement("a bound must be a number and a bool");
    if reader.head()? != Head::Array(2) {
        return Err(REQUIRED);
    }
    let number = match reader.head()? {
        Head::Int(integer) => Some(integer.into()),
        Head::LargeInt(integer) => Some(integer.into()),
        Head::Float(double) => Number::from_f64_exact(double),
        Head::Bytes(length) => Number::from_decimal(reader.text(length)?).ok(),
        _ => None,
    };
    match (number, reader.head()?) {
        (Some(number), Head::Bool(inclusive)) => Ok((!number.is_infinite()).then_some((number, inclusive))),
        _ => Err(REQUIRED),
    }
}

fn skip(reader: &mut Reader<'_>, depth: usize) -> Result<(), DecodeReason> {
    let items = match reader.head()? {
        Head::Array(count) => count,
        Head::Map(count) => count.saturating_mul(2),
        Head::Bytes(length) | Head::Extension { length, .. } => {
            reader.take(length)?;
            0
        }
        Head::Nil | Head::Bool(_) | Head::Int(_) | Head::LargeInt(_) | Head::Float(_) | Head::Unused => 0,
    };
    if items > 0 && depth == 0 {
        return Err(DecodeReason::TooDeep);
    }
    reader.expect_items(items)?;
    (0..items).try_for_each(|_| skip(reader, depth - 1))
}

/// An unknown with a string prefix, for tests.
#[cfg(test)]
pub(super) fn with_prefix(prefix: &str) -> Value {
    let prefix: std::sync::Arc<str> = prefix.into();
    Value::Unknown(Some(Box::new(Refinements { string_prefix: Some(prefix), ..Refinements::default() })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{decode, encode};

    fn refined(bytes: &[u8], own: &Type) -> Refinements {
        match decode(bytes, own).unwrap() {
            Value::Unknown(Some(known)) => *known,
            other => panic!("not a refined unknown: {other:?}"),
        }
    }

    #[test]
    fn long_prefixes_are_cut_before_they_are_sent() {
        let sent = encode(&with_prefix(&"x".repeat(300)), &Type::String).unwrap();
        assert_eq!(refined(&sent, &Type::String).string_prefix.as_deref(), Some(&*"x".repeat(254)));
        let sent = encode(&with_prefix(&"x".repeat(256)), &Type::String).unwrap();
        assert_eq!(refined(&sent, &Type::String).string_prefix.as_deref(), Some(&*"x".repeat(256)));
        let sent = encode(&with_prefix(&"ü".repeat(200)), &Type::String).unwrap();
        assert_eq!(refined(&sent, &Type::String).string_prefix.as_deref(), Some(&*"ü".repeat(126)));
    }

    #[test]
    fn refinements_too_long_to_read_are_not_sent() {
        let bound = Some((Number::from_decimal(&format!("{}1", "9".repeat(1100))).unwrap(), true));
        let known = Refinements { number_minimum: bound, ..Refinements::default() };
        let sent = encode(&Value::Unknown(Some(Box::new(known))), &Type::Number).unwrap();
        assert_eq!(sent, [0xd4, 0, 0]);
    }

    #[test]
    fn refinements_of_another_type_are_not_sent() {
        assert_eq!(encode(&with_prefix("x"), &Type::Bool).unwrap(), [0xd4, 0, 0]);
        assert_eq!(encode(&with_prefix("x"), &Type::Dynamic).unwrap(), [0xd4, 0, 0]);
    }

    #[test]
    fn keys_of_later_versions_are_skipped() {
        // {1: false, 42: [true, {"a": nil}], 5: 1}
        let bytes =
            [0xc7, 0x0c, 0x0c, 0x83, 0x01, 0xc2, 0x2a, 0x92, 0xc3, 0x81, 0xa1, b'a', 0xc0, 0x05, 0x01];
        let known = refined(&bytes, &Type::list(Type::Bool));
        assert_eq!((known.null, known.length_minimum), (Some(false), Some(1)));
    }

    #[test]
    fn what_no_value_can_meet_is_refused() {
        let numbers = [0xc7, 0x09, 0x0c, 0x82, 0x03, 0x92, 0x05, 0xc3, 0x04, 0x92, 0x01, 0xc3];
        let lengths = [0xc7, 0x05, 0x0c, 0x82, 0x05, 0x05, 0x06, 0x01];
        for (bytes, own) in [(&numbers[..], Type::Number), (&lengths[..], Type::list(Type::Bool))] {
            let error = decode(bytes, &own).unwrap_err();
            assert_eq!(error.reason, DecodeReason::Refinement("no value can meet all of them"));
        }
        let misplaced = decode(&[0xc7, 0x03, 0x0c, 0x81, 0x05, 0x01], &Type::String).unwrap_err();
        assert_eq!(misplaced.reason, DecodeReason::Refinement("one of them does not apply to the type"));
    }
}
