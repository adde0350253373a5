//! What tells a record that is not as it was written.
//!
//! A checksum beside each record covers everything that is in it, number and version too: a row that a fault has moved,
//! mixed with another or brought back from before is none. It tells a damaged store from a wrong key, which encryption
//! alone could not, and holds without any key.

use sha2::{Digest as _, Sha256};

use super::store::{Kind, Place, StoreKey};

/// The checksum of a record.
pub(super) fn checksum(kind: Kind, place: Place, key: &StoreKey, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update([kind.mark()]);
    hasher.update(place.number.0.to_be_bytes());
    hasher.update(place.version.to_be_bytes());
    add_key(&mut hasher, key);
    hasher.update(bytes);
    hasher.finalize().into()
}

/// What a record is looked up by: keys have any length, and indexes do not.
pub(super) fn key_hash(key: &StoreKey) -> [u8; 32] {
    let mut hasher = Sha256::new();
    add_key(&mut hasher, key);
    hasher.finalize().into()
}

/// Lengths keep one key's parts from being read as another's.
fn add_key(hasher: &mut Sha256, key: &StoreKey) {
    for part in [&key.package, &key.type_name, &key.id] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::RecordNumber;

    #[test]
    fn everything_in_a_record_counts() {
        let key = |package: &str, type_name: &str, id: &str| StoreKey {
            package: package.to_owned(),
            type_name: type_name.to_owned(),
            id: id.to_owned(),
        };
        let place = |number, version| Place { number: RecordNumber(number), version };
        let usual = key("a", "b", "c");
        let sums = [
            checksum(Kind::Object, place(1, 1), &usual, b"x"),
            checksum(Kind::Intent, place(1, 1), &usual, b"x"),
            checksum(Kind::Object, place(2, 1), &usual, b"x"),
            checksum(Kind::Object, place(1, 2), &usual, b"x"),
            checksum(Kind::Object, place(1, 1), &usual, b"y"),
            checksum(Kind::Object, place(1, 1), &usual, b""),
            checksum(Kind::Object, place(1, 1), &key("ab", "", "c"), b"x"),
            checksum(Kind::Object, place(1, 1), &key("a", "bc", ""), b"x"),
            checksum(Kind::Object, place(1, 1), &key("a", "b", "cx"), b""),
        ];
        let different: std::collections::HashSet<_> = sums.iter().collect();
        assert_eq!(different.len(), sums.len(), "{sums:?}");
        assert_ne!(key_hash(&key("ab", "", "c")), key_hash(&key("a", "b", "c")));
    }
}
