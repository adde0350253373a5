//! The checksum of a record.
//!
//! It covers all of the record, its number and version too, so it detects rows that a fault has
//! moved, mixed up or reverted. It distinguishes a damaged store from a wrong key, which encryption
//! alone cannot, and is verified without a key.

use sha2::{Digest as _, Sha256};

use super::store::{Kind, Page, RecordNumber, RecordRef, SealedRecord, StoreKey};

/// A row of a store, not yet verified.
pub(super) struct StoredRow {
    pub(super) number: i64,
    pub(super) version: Option<i64>,
    /// Package, type, id, sealed bytes, checksum.
    pub(super) columns: [Option<Vec<u8>>; 5],
}

impl StoredRow {
    /// The record, if its checksum matches; otherwise its apparent key.
    pub(super) fn judged(self, kind: Kind) -> Result<SealedRecord, Option<StoreKey>> {
        let [package, type_name, id, sealed, expected] = self.columns;
        let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes?).ok();
        let (Some(package), Some(type_name), Some(id)) = (text(package), text(type_name), text(id)) else {
            return Err(None);
        };
        let key = StoreKey { package, type_name, id };
        let (Some(version), Some(bytes), Some(expected)) = (self.version, sealed, expected) else {
            return Err(Some(key));
        };
        let place = RecordRef { number: RecordNumber(self.number), version };
        if checksum(kind, place, &key, &bytes)[..] == expected[..] {
            Ok(SealedRecord { place, key, bytes })
        } else {
            Err(Some(key))
        }
    }
}

impl Page {
    /// Adds rows as records or as damaged ones. `package`: the package that was queried.
    pub(super) fn sort(&mut self, rows: Vec<StoredRow>, kind: Kind, package: Option<&str>) {
        for row in rows {
            let number = RecordNumber(row.number);
            match row.judged(kind) {
                Ok(record) if package.is_none_or(|package| package == record.key.package) => {
                    self.records.push(record);
                }
                Ok(_) => {}
                Err(key) => self.damaged.push((number, key)),
            }
        }
    }
}

pub(super) fn checksum(kind: Kind, place: RecordRef, key: &StoreKey, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update([kind.mark()]);
    hasher.update(place.number.0.to_be_bytes());
    hasher.update(place.version.to_be_bytes());
    add_key(&mut hasher, key);
    hasher.update(bytes);
    hasher.finalize().into()
}

/// Hash of a key for lookups: keys may be too long for database indexes.
pub(super) fn key_hash(key: &StoreKey) -> [u8; 32] {
    let mut hasher = Sha256::new();
    add_key(&mut hasher, key);
    hasher.finalize().into()
}

/// Lengths prevent two keys with the same concatenation from having one hash.
fn add_key(hasher: &mut Sha256, key: &StoreKey) {
    for part in [&key.package, &key.type_name, &key.id] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordNumber;

    #[test]
    fn everything_in_a_record_counts() {
        let key = |package: &str, type_name: &str, id: &str| StoreKey {
            package: package.to_owned(),
            type_name: type_name.to_owned(),
            id: id.to_owned(),
        };
        let place = |number, version| RecordRef { number: RecordNumber(number), version };
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
