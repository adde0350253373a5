//! MessagePack items in their most compact form, as by Go's encoder.

use super::EncodeReason;
use crate::Number;
use crate::number::WireForm;

pub(super) fn nil(out: &mut Vec<u8>) {
    out.push(0xc0);
}

pub(super) fn boolean(value: bool, out: &mut Vec<u8>) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

pub(super) fn integer(value: i64, out: &mut Vec<u8>) {
    if let Ok(unsigned) = u64::try_from(value) {
        if let Ok(byte) = u8::try_from(unsigned) {
            if byte > 0x7f {
                out.push(0xcc);
            }
            out.push(byte);
        } else if let Ok(short) = u16::try_from(unsigned) {
            tagged(0xcd, &short.to_be_bytes(), out);
        } else if let Ok(word) = u32::try_from(unsigned) {
            tagged(0xce, &word.to_be_bytes(), out);
        } else {
            tagged(0xcf, &unsigned.to_be_bytes(), out);
        }
    } else if let Ok(byte) = i8::try_from(value) {
        if byte < -32 {
            out.push(0xd0);
        }
        out.extend_from_slice(&byte.to_be_bytes());
    } else if let Ok(short) = i16::try_from(value) {
        tagged(0xd1, &short.to_be_bytes(), out);
    } else if let Ok(word) = i32::try_from(value) {
        tagged(0xd2, &word.to_be_bytes(), out);
    } else {
        tagged(0xd3, &value.to_be_bytes(), out);
    }
}

/// A number in the first of the three forms that is exact.
pub(super) fn number(number: &Number, out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    match number.wire_form() {
        WireForm::Int(value) => integer(value, out),
        WireForm::Double(value) => double(value, out),
        WireForm::Text(text) => string(&text, out)?,
    }
    Ok(())
}

pub(super) fn double(value: f64, out: &mut Vec<u8>) {
    tagged(0xcb, &value.to_be_bytes(), out);
}

pub(super) fn string(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    match u8::try_from(text.len()) {
        Ok(short @ 0..=31) => out.push(0xa0 | short),
        _ => length(text.len(), [Some(0xd9), Some(0xda), Some(0xdb)], out)?,
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

pub(super) fn binary(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    length(bytes.len(), [Some(0xc4), Some(0xc5), Some(0xc6)], out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

pub(super) fn array_head(count: usize, out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    match u8::try_from(count) {
        Ok(short @ 0..=15) => out.push(0x90 | short),
        _ => length(count, [None, Some(0xdc), Some(0xdd)], out)?,
    }
    Ok(())
}

pub(super) fn map_head(count: usize, out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    match u8::try_from(count) {
        Ok(short @ 0..=15) => out.push(0x80 | short),
        _ => length(count, [None, Some(0xde), Some(0xdf)], out)?,
    }
    Ok(())
}

pub(super) fn extension(code: i8, body: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    match body.len() {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        other => length(other, [Some(0xc7), Some(0xc8), Some(0xc9)], out)?,
    }
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(body);
    Ok(())
}

/// A length after the tag for its width: one, two or four bytes; not every kind has the first.
fn length(length: usize, tags: [Option<u8>; 3], out: &mut Vec<u8>) -> Result<(), EncodeReason> {
    let [one, two, four] = tags;
    if let (Some(tag), Ok(byte)) = (one, u8::try_from(length)) {
        tagged(tag, &[byte], out);
    } else if let (Some(tag), Ok(short)) = (two, u16::try_from(length)) {
        tagged(tag, &short.to_be_bytes(), out);
    } else if let (Some(tag), Ok(word)) = (four, u32::try_from(length)) {
        tagged(tag, &word.to_be_bytes(), out);
    } else {
        return Err(EncodeReason::TooLong);
    }
    Ok(())
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}
