//! Encryption of whole records: state contains passwords and keys.
//!
//! AES-256-GCM, with a random nonce per record and the record's kind and key (package, type, id) as
//! associated data, so that a record cannot replace another. Each record names the encryption key
//! that it was sealed with, by a hash: this distinguishes a wrong key from a damaged record, and
//! identifies records of an older key during a rotation.
//!
//! Random nonces are safe for 2^32 records per key, far more than are ever written.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use isthmus_common::Secret;

use super::store::{Change, Kind, RecordRef, StoreKey};

/// Format of `seal`: this byte, the key's id, the nonce, the ciphertext with its tag.
const FORM: u8 = 1;
const NONCE: usize = 12;
const HEAD: usize = 1 + size_of::<KeyId>() + NONCE;

/// Why random numbers cannot fail.
const RANDOM: &str = "the system's random numbers are there once it has started";

/// Identifier of a key: a hash that does not reveal it.
pub(super) type KeyId = [u8; 8];

pub(super) struct CipherKey {
    bytes: Secret<[u8; 32]>,
    id: KeyId,
    cipher: LessSafeKey,
}

/// Why bytes cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// They are damaged.
    Damaged,
    /// They are encrypted with another key.
    OtherKey(KeyId),
    /// Their format is unknown to this version.
    Form(u8),
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CipherKey({})", hex::encode(self.id))
    }
}

impl CipherKey {
    pub(super) fn new(bytes: [u8; 32]) -> Self {
        let digest = digest(&SHA256, &[&b"isthmus key\0"[..], &bytes].concat());
        let mut id = KeyId::default();
        id.copy_from_slice(&digest.as_ref()[..size_of::<KeyId>()]);
        let cipher = UnboundKey::new(&AES_256_GCM, &bytes).expect("a key of AES-256 has 32 bytes");
        Self { bytes: Secret::new(bytes), id, cipher: LessSafeKey::new(cipher) }
    }

    pub(super) fn random() -> Self {
        Self::new(random())
    }

    pub(super) fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself, to be encrypted with another.
    pub(super) fn bytes(&self) -> &[u8; 32] {
        self.bytes.expose()
    }

    pub(super) fn seal(&self, kind: Kind, key: &StoreKey, plain: &[u8]) -> Vec<u8> {
        self.seal_at(&place_of(kind, key), plain)
    }

    /// The same for bytes that are not in a record: `place` is what they are bound to.
    pub(super) fn seal_at(&self, place: &[u8], plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE] = random();
        let mut sealed = Vec::with_capacity(HEAD + plain.len() + 16);
        sealed.push(FORM);
        sealed.extend_from_slice(&self.id);
        let bound = Aad::from([&sealed[..], place].concat());
        sealed.extend_from_slice(&nonce);
        let mut encrypted = plain.to_vec();
        self.cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut encrypted)
            .expect("a record is shorter than the 64 GiB that AES-GCM can encrypt at once");
        sealed.extend_from_slice(&encrypted);
        sealed
    }

    /// The change that adds a record.
    pub(super) fn add(&self, kind: Kind, key: &StoreKey, plain: &[u8]) -> Change {
        Change::Add { kind, key: key.clone(), bytes: self.seal(kind, key, plain) }
    }

    /// The change that replaces a record's bytes.
    pub(super) fn replace(&self, kind: Kind, place: RecordRef, key: &StoreKey, plain: &[u8]) -> Change {
        Change::Replace { kind, place, key: key.clone(), bytes: self.seal(kind, key, plain) }
    }

    pub(super) fn unseal(&self, kind: Kind, key: &StoreKey, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        self.unseal_at(&place_of(kind, key), sealed)
    }

    /// Reverses [`Self::seal_at`].
    pub(super) fn unseal_at(&self, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        let sealed_with = key_of(sealed)?;
        if sealed_with != self.id {
            return Err(Unopened::OtherKey(sealed_with));
        }
        let (head, encrypted) = sealed.split_at_checked(HEAD).ok_or(Unopened::Damaged)?;
        let (head, nonce) = head.split_at(HEAD - NONCE);
        let bound = Aad::from([head, place].concat());
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unopened::Damaged)?;
        let mut plain = encrypted.to_vec();
        let length =
            self.cipher.open_in_place(nonce, bound, &mut plain).map_err(|_| Unopened::Damaged)?.len();
        plain.truncate(length);
        Ok(plain)
    }
}

/// The id of the key that a record is encrypted with.
pub(super) fn key_of(sealed: &[u8]) -> Result<KeyId, Unopened> {
    let (form, rest) = sealed.split_first().ok_or(Unopened::Damaged)?;
    if *form != FORM {
        return Err(Unopened::Form(*form));
    }
    rest.first_chunk().copied().ok_or(Unopened::Damaged)
}

pub(super) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    #[cfg(feature = "simulation")]
    if isthmus_common::simulation::is_simulated() {
        return isthmus_common::simulation::random();
    }
    let mut bytes = [0; LENGTH];
    rand::fill(&mut bytes).expect(RANDOM);
    bytes
}

/// What a record is bound to. Lengths prevent two keys with the same concatenation from being equal.
fn place_of(kind: Kind, key: &StoreKey) -> Vec<u8> {
    let mut bytes = vec![kind.mark()];
    for part in [&key.package, &key.type_name, &key.id] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> StoreKey {
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
    }

    #[test]
    fn a_record_is_opened_with_the_key_that_it_was_sealed_with() {
        let ours = CipherKey::random();
        let sealed = ours.seal(Kind::Object, &key("a"), b"hunter2");
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"), "{sealed:?}");
        let again = CipherKey::new(*ours.bytes());
        assert_eq!(again.unseal(Kind::Object, &key("a"), &sealed), Ok(b"hunter2".to_vec()));
        assert_ne!(sealed, again.seal(Kind::Object, &key("a"), b"hunter2"), "every record has its own nonce");
        assert_eq!(key_of(&sealed), Ok(ours.id()));
    }

    #[test]
    fn a_wrong_key_is_distinguished_from_a_damaged_record() {
        let (ours, other) = (CipherKey::random(), CipherKey::random());
        let sealed = ours.seal(Kind::Object, &key("a"), b"hunter2");
        assert_eq!(other.unseal(Kind::Object, &key("a"), &sealed), Err(Unopened::OtherKey(ours.id())));
        for byte in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[byte] ^= 1;
            ours.unseal(Kind::Object, &key("a"), &damaged).expect_err("a damaged record");
        }
        for length in 0..sealed.len() {
            let opened = ours.unseal(Kind::Object, &key("a"), &sealed[..length]);
            assert_eq!(opened, Err(Unopened::Damaged), "cut to {length}");
        }
        assert_eq!(ours.unseal(Kind::Object, &key("a"), &[9; 64]), Err(Unopened::Form(9)));
    }

    #[test]
    fn a_record_cannot_take_the_place_of_another() {
        let ours = CipherKey::random();
        let sealed = ours.seal(Kind::Object, &key("a"), b"hunter2");
        assert_eq!(ours.unseal(Kind::Object, &key("b"), &sealed), Err(Unopened::Damaged));
        assert_eq!(ours.unseal(Kind::Intent, &key("a"), &sealed), Err(Unopened::Damaged));
    }
}
