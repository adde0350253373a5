//! Identity of a response, and of its parts.
//!
//! Equal responses seldom have the same bytes, since Go randomizes the order of maps; the
//! [`Fingerprint`] does not depend on that order.

use std::fmt;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::plugin::ProtocolVersion;

/// A hash of a response that is independent of the order of map entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// Consecutive bytes, and their SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) hash: [u8; 32],
}

impl Fingerprint {
    /// Of a response with these top-level fields.
    pub(super) fn of(protocol: ProtocolVersion, fields: &[Span]) -> Self {
        let mut hashes: Vec<_> = fields.iter().map(|field| field.hash).collect();
        hashes.sort_unstable();
        let mut whole = Sha256::new();
        whole.update(protocol.number().to_le_bytes());
        for hash in hashes {
            whole.update(hash);
        }
        Self(whole.finalize().into())
    }

    /// The fingerprint with these bytes, from [`Fingerprint::bytes`].
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The encoded message.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({self})")
    }
}

impl Span {
    /// Them, of all bytes.
    pub(super) fn of(self, bytes: &Bytes) -> Option<Bytes> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.length).ok()?)?;
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }
}
