//! Entrances for the fuzzer.

use bytes::Bytes;

use super::{Catalogue, Fingerprint, SchemaAnswer, SchemaIndex};

/// The index of a response, as it is in a file.
pub fn index(answer: &SchemaAnswer) -> Option<Vec<u8>> {
    answer.index().ok().map(|index| index.to_bytes())
}

/// The catalogue of a response with this index. Nothing is compared with its hash.
pub fn indexed(index: Vec<u8>, response: Bytes) -> Option<Catalogue> {
    let index = SchemaIndex::from_bytes(index.into(), Fingerprint::from_bytes([0; 32]))?;
    Some(Catalogue::contents(index, response).catalogue)
}
