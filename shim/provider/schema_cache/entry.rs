//! An entry of the index.

use super::binary::ExecutableDigest;
use crate::schema::Fingerprint;

/// An index entry: the response of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fingerprint: Fingerprint,
    pub(super) executable: [u8; 32],
}

impl Entry {
    pub(super) fn new(fingerprint: Fingerprint, print: &ExecutableDigest) -> Self {
        Self { fingerprint, executable: *print.bytes() }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [*self.fingerprint.bytes(), self.executable].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, executable) = bytes.split_first_chunk::<32>()?;
        let fingerprint = Fingerprint::from_bytes(*fingerprint);
        Some(Self { fingerprint, executable: executable.try_into().ok()? })
    }
}
