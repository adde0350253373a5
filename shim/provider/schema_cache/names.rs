//! The names of the cache's files.
//!
//! | name | content |
//! |---|---|
//! | `program-FILE` | the digest of the executable at a path, with the same file stamp |
//! | `schema-of-SIZE-EXECUTABLE-KEY-DIRECTORY` | an index entry: the fingerprint of an executable's response in a context |
//! | `schema-FINGERPRINT` | a response and its index, stored once |
//! | `document-KEY` | a document that was rendered from a response: a package schema, a mapping |
//! | `variable-DIGEST` | the mark of an executable whose responses differ in the same context |
//!
//! Upper-case words are hexadecimal digests, except SIZE, the executable's size in bytes: by it an
//! unknown executable is recognised without hashing it. Nothing else has such a name, so a file that
//! has one was written by the cache.

use sha2::{Digest as _, Sha256};

use super::LaunchContext;
use super::binary::{ExecutableDigest, Program};
use crate::schema::Fingerprint;

/// Prefix of files that are being written, or were abandoned.
pub(super) const UNFINISHED: &str = ".unfinished-";
const SIGHTING: &str = "program-";
const ENTRY: &str = "schema-of-";
const ANSWER: &str = "schema-";
const DOCUMENT: &str = "document-";
const MARK: &str = "variable-";

/// Bytes of a digest that is cut short.
const SHORT: usize = 16;

/// Whether the cache gives such names, or another version of it does.
pub(super) fn is_ours(name: &str) -> bool {
    let is_digest = |part: &str| {
        part.len() >= 2 * SHORT && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
    };
    [SIGHTING, ENTRY, ANSWER, DOCUMENT, MARK]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(is_digest))
}

/// Name of the digest of a file in this state.
pub(super) fn sighting(program: &Program) -> String {
    format!("{SIGHTING}{}", short(&[program.path().as_os_str().as_encoded_bytes(), &program.stamp_bytes()]))
}

/// Prefix of entries of executables of this size.
pub(super) fn entries_of_size(program: &Program) -> String {
    format!("{ENTRY}{:x}-", program.size())
}

/// Prefix of an executable's entries, for all names, environments and directories.
pub(super) fn entries_of_executable(program: &Program, print: &ExecutableDigest) -> String {
    format!("{}{}-", entries_of_size(program), hex::encode(&print.0[..SHORT]))
}

/// Prefix of an executable's entries in an environment, for all directories.
pub(super) fn entries(program: &Program, print: &ExecutableDigest, context: &LaunchContext) -> String {
    let file_name = program.path().file_name().unwrap_or_default().as_encoded_bytes();
    let key = short(&[file_name, context.environment.bytes()]);
    format!("{}{key}-", entries_of_executable(program, print))
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
    format!("{MARK}{}", hex::encode(print.0))
}

fn short(parts: &[&[u8]]) -> String {
    hex::encode(&digest(parts)[..SHORT])
}

/// A digest of several values.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_the_cache_gives_are_its_own() {
        let (short, long) = ("0123456789abcdef0123456789abcdef", "ab".repeat(32));
        for ours in [
            format!("program-{short}"),
            format!("schema-of-1f-{short}-{short}-{short}"),
            format!("schema-{long}"),
            format!("document-{long}"),
            format!("variable-{long}"),
        ] {
            assert!(is_ours(&ours), "{ours}");
        }
        for other in [
            "state.sqlite",
            "schema-of-my-house",
            "schema-of-1f",
            &format!("schema-{}", "AB".repeat(32)),
            &format!("schema-{long}.json"),
            "document-1",
            "é",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
