//! An entry of the index.

use super::binary::ExecutableDigest;
use crate::plugin::ProtocolVersion;
use crate::schema::{Fingerprint, SchemaAnswer};

/// An index entry: the response of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) protocol: ProtocolVersion,
    pub(super) fingerprint: Fingerprint,
    pub(super) executable: [u8; 32],
}

impl Entry {
    pub(super) fn new(answer: &SchemaAnswer, print: &ExecutableDigest) -> Self {
        Self { protocol: answer.protocol, fingerprint: answer.fingerprint(), executable: *print.bytes() }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.protocol.number().to_le_bytes()[..], self.fingerprint.bytes(), &self.executable].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (protocol, rest) = bytes.split_first_chunk::<4>()?;
        let (fingerprint, executable) = rest.split_first_chunk::<32>()?;
        Some(Self {
            protocol: ProtocolVersion::from_number(u32::from_le_bytes(*protocol))?,
            fingerprint: Fingerprint::from_bytes(*fingerprint),
            executable: executable.try_into().ok()?,
        })
    }
}
