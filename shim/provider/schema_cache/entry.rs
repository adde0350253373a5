//! An entry of the index.

use std::time::{Duration, SystemTime};

use super::binary::ExecutableDigest;
use crate::schema::Fingerprint;

/// An index entry: the response of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fingerprint: Fingerprint,
    pub(super) executable: [u8; 32],
    /// When a process was called for the response, in seconds since 1970.
    asked: u64,
}

impl Entry {
    /// A response that an executable has just given.
    pub(super) fn new(fingerprint: Fingerprint, print: &ExecutableDigest) -> Self {
        let asked = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        Self { fingerprint, executable: *print.bytes(), asked }
    }

    /// A response that an executable would perhaps not give any more.
    pub(super) fn doubted(fingerprint: Fingerprint, print: &ExecutableDigest) -> Self {
        Self { fingerprint, executable: *print.bytes(), asked: 0 }
    }

    /// When a process was called for the response.
    pub(super) fn asked(self) -> SystemTime {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.asked)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Whether the same executable has given the same response.
    pub(super) fn agrees_with(self, other: Self) -> bool {
        (self.fingerprint, self.executable) == (other.fingerprint, other.executable)
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.fingerprint.bytes()[..], &self.executable, &self.asked.to_be_bytes()].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, executable) = bytes.split_first_chunk::<32>()?;
        let (executable, asked) = executable.split_first_chunk::<32>()?;
        Some(Self {
            fingerprint: Fingerprint::from_bytes(*fingerprint),
            executable: *executable,
            asked: u64::from_be_bytes(asked.try_into().ok()?),
        })
    }
}
