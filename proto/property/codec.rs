//! The property bag on the wire.
//!
//! prost drives this one field of the outermost message at a time; from there on everything is done here, over plain
//! slices, with the nesting counted. The rules are those of protobuf: what is unknown is skipped, the last of several
//! kinds of a value counts, and a nested message that comes twice in one value is merged. A property that comes twice
//! is replaced in its place. A length that is announced is compared with what is there before anything else.
//!
//! A nested message is preceded by its length, which takes a walk over all of it. [`Message::encode_raw`] therefore
//! measures first, from the end to the beginning, and notes the length of each bag and list; writing, from the
//! beginning to the end, takes the notes from the end of the pile again.

use bytes::{Buf, BufMut};
use prost::encoding::{
    DecodeContext, WireType, check_wire_type, decode_key, decode_varint, encode_key, encode_varint,
    encoded_len_varint,
};
use prost::{DecodeError, Message};

use super::{ListValue, MAX_DEPTH, Struct, Value};

/// `google.protobuf.Struct.fields`, and in each of its entries the name and the value.
const FIELDS: u32 = 1;
const ENTRY_NAME: u32 = 1;
const ENTRY_VALUE: u32 = 2;

/// `google.protobuf.Value`, whose kinds are numbered so.
const NULL_VALUE: u32 = 1;
const NUMBER_VALUE: u32 = 2;
const STRING_VALUE: u32 = 3;
const BOOL_VALUE: u32 = 4;
const STRUCT_VALUE: u32 = 5;
const LIST_VALUE: u32 = 6;

/// `google.protobuf.ListValue.values`.
const VALUES: u32 = 1;

/// All fields here have numbers below 16, whose keys take one byte.
const KEY_LENGTH: usize = 1;

impl Message for Struct {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        let mut lengths = Vec::new();
        measure_struct(self, &mut lengths);
        lengths.pop();
        write_struct(self, &mut lengths, buffer);
    }

    fn encoded_len(&self) -> usize {
        measure_struct(self, &mut Unnoted)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        _context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            FIELDS => with_delimited(wire_type, buffer, |entry| merge_entry(self, entry, 1)),
            _ => skip(tag, wire_type, buffer),
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Message for ListValue {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        let mut lengths = Vec::new();
        measure_list(&self.values, &mut lengths);
        lengths.pop();
        write_list(&self.values, &mut lengths, buffer);
    }

    fn encoded_len(&self) -> usize {
        measure_list(&self.values, &mut Unnoted)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        _context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            VALUES => with_delimited(wire_type, buffer, |value| push_value(&mut self.values, value, 1)),
            _ => skip(tag, wire_type, buffer),
        }
    }

    fn clear(&mut self) {
        self.values.clear();
    }
}

impl Message for Value {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        let mut lengths = Vec::new();
        measure_value(self, &mut lengths);
        write_value(self, &mut lengths, buffer);
    }

    fn encoded_len(&self) -> usize {
        measure_value(self, &mut Unnoted)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        _context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            STRUCT_VALUE => with_delimited(wire_type, buffer, |bag| merge_struct(become_bag(self), bag, 1)),
            LIST_VALUE => with_delimited(wire_type, buffer, |list| merge_list(become_list(self), list, 1)),
            _ => merge_plain(self, tag, wire_type, buffer),
        }
    }

    fn clear(&mut self) {
        *self = Self::Null;
    }
}

/// Where lengths of bags and lists are noted while measuring.
trait Notes {
    fn note(&mut self, length: usize);
}

impl Notes for Vec<usize> {
    fn note(&mut self, length: usize) {
        self.push(length);
    }
}

/// Forgets them, for when only the whole length is asked for.
struct Unnoted;

impl Notes for Unnoted {
    fn note(&mut self, _length: usize) {}
}

fn measure_struct(bag: &Struct, notes: &mut impl Notes) -> usize {
    let mut length = 0;
    for (name, value) in bag.fields.iter().rev() {
        length += delimited_length(entry_length(name, measure_value(value, notes)));
    }
    notes.note(length);
    length
}

fn measure_list(values: &[Value], notes: &mut impl Notes) -> usize {
    let mut length = 0;
    for value in values.iter().rev() {
        length += delimited_length(measure_value(value, notes));
    }
    notes.note(length);
    length
}

fn measure_value(value: &Value, notes: &mut impl Notes) -> usize {
    let nested = match value {
        Value::Struct(bag) => measure_struct(bag, notes),
        Value::List(values) => measure_list(values, notes),
        _ => 0,
    };
    value_length(value, nested)
}

/// The length of a value, given that of the bag or list in it.
fn value_length(value: &Value, nested: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => KEY_LENGTH + 1,
        Value::Number(_) => KEY_LENGTH + size_of::<f64>(),
        Value::String(text) => delimited_length(text.len()),
        Value::Struct(_) | Value::List(_) => delimited_length(nested),
    }
}

fn entry_length(name: &str, value_length: usize) -> usize {
    delimited_length(name.len()) + delimited_length(value_length)
}

fn delimited_length(length: usize) -> usize {
    KEY_LENGTH + encoded_len_varint(length as u64) + length
}

fn write_struct(bag: &Struct, lengths: &mut Vec<usize>, buffer: &mut impl BufMut) {
    for (name, value) in &bag.fields {
        let nested = take_note(value, lengths);
        let value_length = value_length(value, nested);
        write_prefix(FIELDS, entry_length(name, value_length), buffer);
        // Both fields are written even when they are empty, as Go does it.
        write_prefix(ENTRY_NAME, name.len(), buffer);
        buffer.put_slice(name.as_bytes());
        write_prefix(ENTRY_VALUE, value_length, buffer);
        write_kind(value, nested, lengths, buffer);
    }
}

fn write_list(values: &[Value], lengths: &mut Vec<usize>, buffer: &mut impl BufMut) {
    for value in values {
        let nested = take_note(value, lengths);
        write_prefix(VALUES, value_length(value, nested), buffer);
        write_kind(value, nested, lengths, buffer);
    }
}

fn write_value(value: &Value, lengths: &mut Vec<usize>, buffer: &mut impl BufMut) {
    let nested = take_note(value, lengths);
    write_kind(value, nested, lengths, buffer);
}

fn write_kind(value: &Value, nested: usize, lengths: &mut Vec<usize>, buffer: &mut impl BufMut) {
    match value {
        Value::Null => {
            encode_key(NULL_VALUE, WireType::Varint, buffer);
            buffer.put_u8(0);
        }
        Value::Bool(truth) => {
            encode_key(BOOL_VALUE, WireType::Varint, buffer);
            buffer.put_u8((*truth).into());
        }
        Value::Number(number) => {
            encode_key(NUMBER_VALUE, WireType::SixtyFourBit, buffer);
            buffer.put_f64_le(*number);
        }
        Value::String(text) => {
            write_prefix(STRING_VALUE, text.len(), buffer);
            buffer.put_slice(text.as_bytes());
        }
        Value::Struct(bag) => {
            write_prefix(STRUCT_VALUE, nested, buffer);
            write_struct(bag, lengths, buffer);
        }
        Value::List(values) => {
            write_prefix(LIST_VALUE, nested, buffer);
            write_list(values, lengths, buffer);
        }
    }
}

/// The noted length of the bag or list that the value is; nothing was noted for other values.
fn take_note(value: &Value, lengths: &mut Vec<usize>) -> usize {
    match value {
        Value::Struct(_) | Value::List(_) => lengths.pop().expect("measuring noted every bag and list"),
        _ => 0,
    }
}

fn write_prefix(tag: u32, length: usize, buffer: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buffer);
    encode_varint(length as u64, buffer);
}

/// Reads the fields of a bag that is nested in another, on the given level.
fn merge_struct(bag: &mut Struct, mut bytes: &[u8], level: usize) -> Result<(), DecodeError> {
    check_depth(level)?;
    while bytes.has_remaining() {
        let (tag, wire_type) = decode_key(&mut bytes)?;
        match tag {
            FIELDS => merge_entry(bag, delimited(wire_type, &mut bytes)?, level)?,
            _ => skip(tag, wire_type, &mut bytes)?,
        }
    }
    Ok(())
}

/// Reads one property of a bag on the given level.
fn merge_entry(bag: &mut Struct, mut entry: &[u8], level: usize) -> Result<(), DecodeError> {
    let mut name = "";
    let mut value = Value::Null;
    while entry.has_remaining() {
        let (tag, wire_type) = decode_key(&mut entry)?;
        match tag {
            ENTRY_NAME => name = text(wire_type, &mut entry)?,
            ENTRY_VALUE => merge_value(&mut value, delimited(wire_type, &mut entry)?, level)?,
            _ => skip(tag, wire_type, &mut entry)?,
        }
    }
    bag.insert(name, value);
    Ok(())
}

fn merge_list(values: &mut Vec<Value>, mut bytes: &[u8], level: usize) -> Result<(), DecodeError> {
    check_depth(level)?;
    while bytes.has_remaining() {
        let (tag, wire_type) = decode_key(&mut bytes)?;
        match tag {
            VALUES => push_value(values, delimited(wire_type, &mut bytes)?, level)?,
            _ => skip(tag, wire_type, &mut bytes)?,
        }
    }
    Ok(())
}

fn push_value(values: &mut Vec<Value>, bytes: &[u8], level: usize) -> Result<(), DecodeError> {
    let mut value = Value::Null;
    merge_value(&mut value, bytes, level)?;
    values.push(value);
    Ok(())
}

/// Reads a value that lies in a bag or list on the given level.
fn merge_value(value: &mut Value, mut bytes: &[u8], level: usize) -> Result<(), DecodeError> {
    while bytes.has_remaining() {
        let (tag, wire_type) = decode_key(&mut bytes)?;
        match tag {
            STRUCT_VALUE => merge_struct(become_bag(value), delimited(wire_type, &mut bytes)?, level + 1)?,
            LIST_VALUE => merge_list(become_list(value), delimited(wire_type, &mut bytes)?, level + 1)?,
            _ => merge_plain(value, tag, wire_type, &mut bytes)?,
        }
    }
    Ok(())
}

/// Reads any field of a value that has no values in it. It is apart from the functions above because they call each
/// other for each level, and what is kept here is not kept on the stack there.
fn merge_plain(
    value: &mut Value,
    tag: u32,
    wire_type: WireType,
    buffer: &mut impl Buf,
) -> Result<(), DecodeError> {
    *value = match tag {
        NULL_VALUE => {
            check_wire_type(WireType::Varint, wire_type)?;
            decode_varint(buffer)?;
            Value::Null
        }
        NUMBER_VALUE => {
            check_wire_type(WireType::SixtyFourBit, wire_type)?;
            let number = buffer.try_get_f64_le().map_err(|_| error("the message ends inside a number"))?;
            Value::Number(number)
        }
        BOOL_VALUE => {
            check_wire_type(WireType::Varint, wire_type)?;
            Value::Bool(decode_varint(buffer)? != 0)
        }
        STRING_VALUE => {
            let text = with_delimited(wire_type, buffer, |bytes| as_text(bytes).map(str::to_owned))?;
            Value::String(text)
        }
        _ => return skip(tag, wire_type, buffer),
    };
    Ok(())
}

/// The bag that the value is, an empty one if it was anything else.
fn become_bag(value: &mut Value) -> &mut Struct {
    if !matches!(value, Value::Struct(_)) {
        *value = Value::Struct(Struct::new());
    }
    match value {
        Value::Struct(bag) => bag,
        _ => unreachable!("it was made a bag"),
    }
}

/// The list that the value is, an empty one if it was anything else.
fn become_list(value: &mut Value) -> &mut Vec<Value> {
    if !matches!(value, Value::List(_)) {
        *value = Value::List(Vec::new());
    }
    match value {
        Value::List(values) => values,
        _ => unreachable!("it was made a list"),
    }
}

fn check_depth(level: usize) -> Result<(), DecodeError> {
    if level > MAX_DEPTH {
        return Err(error("properties are nested more than 1000 levels deep"));
    }
    Ok(())
}

fn text<'a>(wire_type: WireType, bytes: &mut &'a [u8]) -> Result<&'a str, DecodeError> {
    as_text(delimited(wire_type, bytes)?)
}

fn as_text(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|_| error("a text of the property bag is not UTF-8"))
}

/// Takes a field with a length off the slice.
fn delimited<'a>(wire_type: WireType, bytes: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = announced_length(wire_type, bytes)?;
    let (field, rest) = bytes.split_at(length);
    *bytes = rest;
    Ok(field)
}

/// Hands over a field with a length, in place if the buffer has it in one piece.
fn with_delimited<T>(
    wire_type: WireType,
    buffer: &mut impl Buf,
    read: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let length = announced_length(wire_type, buffer)?;
    if let Some(field) = buffer.chunk().get(..length) {
        let outcome = read(field)?;
        buffer.advance(length);
        return Ok(outcome);
    }
    read(&buffer.copy_to_bytes(length))
}

/// Reads a length, and makes sure that as much is there.
fn announced_length(wire_type: WireType, buffer: &mut impl Buf) -> Result<usize, DecodeError> {
    check_wire_type(WireType::LengthDelimited, wire_type)?;
    let length = decode_varint(buffer)?;
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= buffer.remaining())
        .ok_or_else(|| error("a field of the property bag is longer than the message"))
}

/// Passes over a field that is not known here. Groups, which nobody has sent for years, are passed over without a call
/// for each level: prost's own function is bounded by a limit that a feature of prost can lift.
fn skip(tag: u32, wire_type: WireType, buffer: &mut impl Buf) -> Result<(), DecodeError> {
    let mut open_groups = Vec::new();
    let (mut tag, mut wire_type) = (tag, wire_type);
    loop {
        let length = match wire_type {
            WireType::Varint => {
                decode_varint(buffer)?;
                0
            }
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            WireType::LengthDelimited => announced_length(wire_type, buffer)?,
            WireType::StartGroup => {
                open_groups.push(tag);
                0
            }
            WireType::EndGroup => {
                if open_groups.pop() != Some(tag) {
                    return Err(error("a group ends that was not begun"));
                }
                0
            }
        };
        if length > buffer.remaining() {
            return Err(error("the message ends inside a field"));
        }
        buffer.advance(length);
        if open_groups.is_empty() {
            return Ok(());
        }
        (tag, wire_type) = decode_key(buffer)?;
    }
}

#[cold]
fn error(description: &'static str) -> DecodeError {
    #[expect(
        deprecated,
        reason = "prost offers implementations by hand no other way to make an error; prost is pinned to 0.14 for it"
    )]
    DecodeError::new(description)
}
