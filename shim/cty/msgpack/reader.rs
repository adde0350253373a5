//! A bounds-checked reader of bytes.

use super::DecodeReason;

/// A position in untrusted bytes.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// Kinds of MessagePack items, with their lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Head {
    Nil,
    Bool(bool),
    Int(i64),
    /// Beyond an `i64`.
    LargeInt(u64),
    /// Of 32 or 64 bits.
    Float(f64),
    /// `str` or `bin`: both are used for text.
    Bytes(usize),
    Array(usize),
    Map(usize),
    Extension {
        code: i8,
        length: usize,
    },
    /// The byte that MessagePack does not use.
    Unused,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    pub(super) fn head(&mut self) -> Result<Head, DecodeReason> {
        let [first] = self.array()?;
        Ok(match first {
            0x00..=0x7f => Head::Int(first.into()),
            0x80..=0x8f => Head::Map((first & 0x0f).into()),
            0x90..=0x9f => Head::Array((first & 0x0f).into()),
            0xa0..=0xbf => Head::Bytes((first & 0x1f).into()),
            0xc0 => Head::Nil,
            0xc1 => Head::Unused,
            0xc2 => Head::Bool(false),
            0xc3 => Head::Bool(true),
            0xc4 | 0xd9 => Head::Bytes(self.length8()?),
            0xc5 | 0xda => Head::Bytes(self.length16()?),
            0xc6 | 0xdb => Head::Bytes(self.length32()?),
            0xc7 => {
                let length = self.length8()?;
                self.extension(length)?
            }
            0xc8 => {
                let length = self.length16()?;
                self.extension(length)?
            }
            0xc9 => {
                let length = self.length32()?;
                self.extension(length)?
            }
            0xca => Head::Float(f32::from_be_bytes(self.array()?).into()),
            0xcb => Head::Float(f64::from_be_bytes(self.array()?)),
            0xcc => Head::Int(u8::from_be_bytes(self.array()?).into()),
            0xcd => Head::Int(u16::from_be_bytes(self.array()?).into()),
            0xce => Head::Int(u32::from_be_bytes(self.array()?).into()),
            0xcf => {
                let integer = u64::from_be_bytes(self.array()?);
                i64::try_from(integer).map_or(Head::LargeInt(integer), Head::Int)
            }
            0xd0 => Head::Int(i8::from_be_bytes(self.array()?).into()),
            0xd1 => Head::Int(i16::from_be_bytes(self.array()?).into()),
            0xd2 => Head::Int(i32::from_be_bytes(self.array()?).into()),
            0xd3 => Head::Int(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => self.extension(1 << (first - 0xd4))?,
            0xdc => Head::Array(self.length16()?),
            0xdd => Head::Array(self.length32()?),
            0xde => Head::Map(self.length16()?),
            0xdf => Head::Map(self.length32()?),
            0xe0..=0xff => Head::Int(i8::from_be_bytes([first]).into()),
        })
    }

    /// Whether the next item is a `bin`.
    pub(super) fn next_is_bin(&self) -> bool {
        matches!(self.bytes.get(self.position), Some(0xc4..=0xc6))
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeReason> {
        let rest = &self.bytes[self.position..];
        let taken = rest.get(..length).ok_or(DecodeReason::UnexpectedEnd)?;
        self.position += length;
        Ok(taken)
    }

    /// The text of a `str` or `bin` whose head was read.
    pub(super) fn text(&mut self, length: usize) -> Result<&'a str, DecodeReason> {
        std::str::from_utf8(self.take(length)?).map_err(|_| DecodeReason::InvalidUtf8)
    }

    /// Checks that the remaining bytes suffice for this number of items.
    pub(super) fn expect_items(&self, count: usize) -> Result<(), DecodeReason> {
        if count > self.remaining() { Err(DecodeReason::UnexpectedEnd) } else { Ok(()) }
    }

    fn extension(&mut self, length: usize) -> Result<Head, DecodeReason> {
        let code = i8::from_be_bytes(self.array()?);
        Ok(Head::Extension { code, length })
    }

    fn length8(&mut self) -> Result<usize, DecodeReason> {
        self.array().map(|bytes| u8::from_be_bytes(bytes).into())
    }

    fn length16(&mut self) -> Result<usize, DecodeReason> {
        self.array().map(|bytes| u16::from_be_bytes(bytes).into())
    }

    fn length32(&mut self) -> Result<usize, DecodeReason> {
        // On a 16-bit system such a length exceeds memory.
        self.array().map(|bytes| usize::try_from(u32::from_be_bytes(bytes)).unwrap_or(usize::MAX))
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], DecodeReason> {
        let (taken, _) =
            self.bytes[self.position..].split_first_chunk().ok_or(DecodeReason::UnexpectedEnd)?;
        self.position += LENGTH;
        Ok(*taken)
    }
}
