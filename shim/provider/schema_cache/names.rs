//! The names of the cache's files.
//!
//! | name | content |
//! |---|---|
//! | `program-PATH` | the digest of the executable at a path, and its file stamp |
//! | `schema-of-SIZE-KEY-DIRECTORY` | an index entry: the fingerprint of an executable's response in a context |
//! | `schema-FINGERPRINT` | a response and its index, stored once |
//! | `document-KEY` | a document that was rendered from a response: a package schema, a mapping |
//! | `variable-DIGEST` | the mark of an executable whose responses differ in the same context |
//!
//! Upper-case words are hexadecimal digests, except SIZE, the executable's size in bytes: by it an
//! unknown executable is recognised without hashing it.

use sha2::{Digest as _, Sha256};

use super::LaunchContext;
use super::binary::{ExecutableDigest, Program};
use crate::schema::Fingerprint;

/// Prefix of files that are being written.
pub(super) const UNFINISHED: &str = ".unfinished-";

const SIGHTING: &str = "program-";
const ENTRY: &str = "schema-of-";
const ANSWER: &str = "schema-";
const DOCUMENT: &str = "document-";
const MARK: &str = "variable-";

/// Hexadecimal digits of a digest of several values.
const SHORT: usize = 32;
/// Hexadecimal digits of a digest or a fingerprint.
const LONG: usize = 64;

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The digest of an executable.
    Sighting,
    /// An index entry.
    Entry,
    /// An index entry of the first format, without directories.
    FormerEntry,
    /// A response.
    Answer(Fingerprint),
    /// A rendered document.
    Document,
    /// The mark of a variable executable.
    Mark([u8; LONG / 2]),
    /// A file that is being written, or was abandoned.
    Unfinished,
}

impl Kind {
    /// `None` for a name that the cache does not use.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name.starts_with(UNFINISHED) {
            return Some(Self::Unfinished);
        }
        if let Some(path) = name.strip_prefix(SIGHTING) {
            return is_hex(path, SHORT).then_some(Self::Sighting);
        }
        if let Some(key) = name.strip_prefix(DOCUMENT) {
            return long(key).map(|_| Self::Document);
        }
        if let Some(digest) = name.strip_prefix(MARK) {
            return long(digest).map(Self::Mark);
        }
        if let Some(parts) = name.strip_prefix(ENTRY) {
            return match *parts.split('-').collect::<Vec<_>>() {
                [size, key, directory] if is_size(size) && is_hex(key, SHORT) && is_hex(directory, SHORT) => {
                    Some(Self::Entry)
                }
                [size, key] if is_size(size) && is_hex(key, SHORT) => Some(Self::FormerEntry),
                _ => None,
            };
        }
        name.strip_prefix(ANSWER).and_then(long).map(|bytes| Self::Answer(Fingerprint::from_bytes(bytes)))
    }
}

/// Name of the digest of a path.
pub(super) fn sighting(program: &Program) -> String {
    format!("{SIGHTING}{}", short(&[program.path().as_os_str().as_encoded_bytes()]))
}

/// Prefix of entries of executables of this size.
pub(super) fn entries_of_size(program: &Program) -> String {
    format!("{ENTRY}{:x}-", program.size())
}

/// Prefix of an executable's entries in an environment, for all directories.
pub(super) fn entries(program: &Program, print: &ExecutableDigest, context: &LaunchContext) -> String {
    let file_name = program.path().file_name().unwrap_or_default().as_encoded_bytes();
    let key = short(&[print.bytes(), file_name, context.environment.bytes()]);
    format!("{}{key}-", entries_of_size(program))
}

/// Name of the entry of an executable in a context.
pub(super) fn entry(program: &Program, print: &ExecutableDigest, context: &LaunchContext) -> String {
    entries(program, print, context) + &short(&[context.directory.as_os_str().as_encoded_bytes()])
}

pub(super) fn answer(fingerprint: &Fingerprint) -> String {
    format!("{ANSWER}{fingerprint}")
}

/// Name of a document, which depends on these values and on nothing else.
pub(super) fn document(parts: &[&[u8]]) -> String {
    format!("{DOCUMENT}{}", hex::encode(digest(parts)))
}

pub(super) fn mark(print: &ExecutableDigest) -> String {
    format!("{MARK}{}", hex::encode(print.bytes()))
}

fn short(parts: &[&[u8]]) -> String {
    hex::encode(&digest(parts)[..SHORT / 2])
}

/// A digest of several values.
fn digest(parts: &[&[u8]]) -> [u8; LONG / 2] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_size(text: &str) -> bool {
    (1..=16).contains(&text.len()) && is_hex(text, text.len())
}

fn long(text: &str) -> Option<[u8; LONG / 2]> {
    if !is_hex(text, LONG) {
        return None;
    }
    hex::decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_the_cache_gives_are_its_own() {
        let (short, long) = ("0123456789abcdef0123456789abcdef", "ab".repeat(32));
        let kind = |name: String| Kind::of(&name);
        assert_eq!(kind(format!("program-{short}")), Some(Kind::Sighting));
        assert_eq!(kind(format!("schema-of-1f-{short}-{short}")), Some(Kind::Entry));
        assert_eq!(kind(format!("schema-of-1f-{short}")), Some(Kind::FormerEntry));
        assert_eq!(kind(format!("schema-{long}")), Some(Kind::Answer(Fingerprint::from_bytes([0xab; 32]))));
        assert_eq!(kind(format!("document-{long}")), Some(Kind::Document));
        assert_eq!(kind(format!("variable-{long}")), Some(Kind::Mark([0xab; 32])));
        assert_eq!(kind(".unfinished-x".to_owned()), Some(Kind::Unfinished));
        for other in [
            "state.sqlite".to_owned(),
            "schema-of-my-house".to_owned(),
            format!("schema-of--{short}"),
            format!("schema-of-1f-{short}-{short}-{short}"),
            format!("schema-{}", "AB".repeat(32)),
            format!("schema-{long}.json"),
            format!("program-{long}"),
            format!("document-{short}"),
            format!("variable-{short}"),
            "é".to_owned(),
        ] {
            assert_eq!(kind(other.clone()), None, "{other}");
        }
    }
}
