//! Verification of signed lists of checksums.
//!
//! The OpenPGP library parses packets and verifies signatures cryptographically; the policy is
//! here. A key may sign if its self-signature says so; subkeys must be bound to it, and it to them.
//! Documents must be signed with a secure hash; a key's own self-signature need not be, since the
//! key comes from the registry. A compromised key is invalid; a retired one is for later
//! signatures. Keys of large publishers expire without being replaced, so an expired one is a
//! warning, as in OpenTofu, whose setting refuses it.
//!
//! All of this blocks the thread, for some milliseconds with a large key.

use std::io::Cursor;
use std::time::{Duration, SystemTime};

use isthmus_common::listed;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{RevocationCode, Signature, SignatureType, SubpacketData};
use pgp::types::{KeyDetails as _, Tag, VerifyingKey};

/// Limit of keys; each is tried.
const MOST_KEYS: usize = 50;
/// Size limit of a key.
const LARGEST_KEY: usize = 1 << 20;
/// Size limit of signatures.
const LARGEST_SIGNATURE: usize = 1 << 16;

/// A valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    /// The fingerprint of the publisher's key, in hexadecimal digits.
    pub key: String,
    /// When the key or the signature expired, if it has.
    pub expired: Option<SystemTime>,
}

/// There is no valid signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the signature cannot be read: {0}")]
    Unreadable(String),
    #[error("no signing key can be read: {0}")]
    NoKey(String),
    #[error("it is signed by {signers}, and the registry lists {}", listed(.keys))]
    Unknown { signers: String, keys: Vec<String> },
    #[error("the signature by {key} is not good: {fault}")]
    Bad { key: String, fault: SignatureFault },
}

/// Why the signature of a known key is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    #[error("the list of checksums is not what was signed")]
    OtherContent,
    #[error("it is made over {0}, which can be forged")]
    WeakHash(String),
    #[error("it is not the signature of a document")]
    OtherKind,
    /// The key is for another purpose, such as encryption.
    #[error("the key is not for signing")]
    NotForSigning,
    #[error("the subkey is not bound to the key")]
    Unbound,
    /// The key has no valid self-signature.
    #[error("the key has not signed its own certificate")]
    Uncertified,
    #[error("the key was revoked")]
    Revoked,
}

/// Verifies that `document` is signed by one of the keys, each in ASCII armor, and returns which
/// one.
pub(crate) fn verify(
    document: &[u8],
    signature: &[u8],
    keys: &[String],
    now: SystemTime,
) -> Result<Signed, SignatureError> {
    let signatures = read_signatures(signature)?;
    let keys = read_keys(keys)?;
    let mut fault = None;
    for signature in &signatures {
        for key in &keys {
            match check(document, signature, key, now) {
                Some(Ok(signed)) => return Ok(signed),
                Some(Err(found)) => {
                    let key = key.fingerprint().to_string();
                    fault = Some(SignatureError::Bad { key, fault: found });
                }
                None => {}
            }
        }
    }
    Err(fault.unwrap_or_else(|| SignatureError::Unknown {
        signers: listed(signatures.iter().map(signer)),
        keys: keys.iter().map(|key| key.fingerprint().to_string()).collect(),
    }))
}

fn read_signatures(bytes: &[u8]) -> Result<Vec<Signature>, SignatureError> {
    let unreadable = |error: &dyn std::fmt::Display| SignatureError::Unreadable(error.to_string());
    if bytes.len() > LARGEST_SIGNATURE {
        return Err(unreadable(&format!("it has more than {LARGEST_SIGNATURE} bytes")));
    }
    let (found, _) =
        DetachedSignature::from_reader_many(Cursor::new(bytes)).map_err(|error| unreadable(&error))?;
    let mut signatures = Vec::new();
    let mut fault = None;
    for signature in found.take(MOST_KEYS) {
        match signature {
            Ok(signature) => signatures.push(signature.signature),
            Err(error) => fault = Some(unreadable(&error)),
        }
    }
    match signatures.is_empty() {
        true => Err(fault.unwrap_or_else(|| unreadable(&"there is none in the file"))),
        false => Ok(signatures),
    }
}

/// The readable keys; others are ignored.
fn read_keys(armored: &[String]) -> Result<Vec<SignedPublicKey>, SignatureError> {
    let mut keys = Vec::new();
    let mut fault = "the registry names none".to_owned();
    for text in armored.iter().take(MOST_KEYS) {
        if text.len() > LARGEST_KEY {
            fault = format!("it has more than {LARGEST_KEY} bytes");
            continue;
        }
        match SignedPublicKey::from_armor_many(Cursor::new(text.as_bytes())) {
            Ok((found, _)) => {
                for key in found.take(MOST_KEYS) {
                    match key {
                        Ok(key) => keys.push(key),
                        Err(error) => fault = error.to_string(),
                    }
                }
            }
            Err(error) => fault = error.to_string(),
        }
    }
    if keys.is_empty() { Err(SignatureError::NoKey(fault)) } else { Ok(keys) }
}

/// Verifies a signature by this key; `None` if it is of another key.
fn check(
    document: &[u8],
    signature: &Signature,
    key: &SignedPublicKey,
    now: SystemTime,
) -> Option<Result<Signed, SignatureFault>> {
    let primary = is_by(signature, &key.primary_key);
    let subkey = key.public_subkeys.iter().find(|subkey| is_by(signature, &subkey.key));
    if !primary && subkey.is_none() {
        return None;
    }
    Some(check_by(document, signature, key, subkey.filter(|_| !primary), now))
}

fn check_by(
    document: &[u8],
    signature: &Signature,
    key: &SignedPublicKey,
    subkey: Option<&SignedPublicSubKey>,
    now: SystemTime,
) -> Result<Signed, SignatureFault> {
    if !matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text)) {
        return Err(SignatureFault::OtherKind);
    }
    let hash = signature.hash_alg().ok_or(SignatureFault::OtherKind)?;
    if !is_strong(hash) {
        return Err(SignatureFault::WeakHash(hash.to_string()));
    }
    let verified = match subkey {
        Some(subkey) => signature.verify(&subkey.key, document),
        None => signature.verify(&key.primary_key, document),
    };
    verified.map_err(|_| SignatureFault::OtherContent)?;
    let made = signature.created().map(SystemTime::from);
    let about_key = self_signature(key).ok_or(SignatureFault::Uncertified)?;
    let revocations = key.details.revocation_signatures.iter();
    let mut revocations = revocations.filter(|revocation| revocation.verify_key(&key.primary_key).is_ok());
    if revocations.any(|revocation| withdraws(revocation, made)) {
        return Err(SignatureFault::Revoked);
    }
    let mut ends = vec![end(key.primary_key.created_at().into(), about_key.key_expiration_time())];
    match subkey {
        None if !may_sign(about_key) => return Err(SignatureFault::NotForSigning),
        None => {}
        Some(subkey) => {
            let binding = binding(key, subkey)?;
            let mut revocations = subkey.signatures.iter().filter(|signature| {
                signature.typ() == Some(SignatureType::SubkeyRevocation)
                    && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
            });
            if revocations.any(|revocation| withdraws(revocation, made)) {
                return Err(SignatureFault::Revoked);
            }
            ends.push(end(subkey.key.created_at().into(), binding.key_expiration_time()));
        }
    }
    ends.push(made.and_then(|made| end(made, signature.signature_expiration_time())));
    let expired = ends.into_iter().flatten().filter(|end| *end <= now).min();
    Ok(Signed { key: key.fingerprint().to_string(), expired })
}

/// Whether the signature names this key as its issuer.
fn is_by(signature: &Signature, key: &impl VerifyingKey) -> bool {
    signature.issuer_key_id().contains(&&key.legacy_key_id())
        || signature.issuer_fingerprint().contains(&&key.fingerprint())
}

/// Whether the hash is collision-resistant.
fn is_strong(hash: HashAlgorithm) -> bool {
    matches!(
        hash,
        HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512
    )
}

/// The newest valid self-signature of a key.
fn self_signature(key: &SignedPublicKey) -> Option<&Signature> {
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(|signature| {
        signature.typ() == Some(SignatureType::Key) && signature.verify_key(&key.primary_key).is_ok()
    });
    let users = key
        .details
        .users
        .iter()
        .flat_map(|user| user.signatures.iter().map(move |signature| (user, signature)));
    let users = users.filter_map(|(user, signature)| {
        let own = signature.is_certification()
            && is_by(signature, &key.primary_key)
            && signature.verify_certification(&key.primary_key, Tag::UserId, &user.id).is_ok();
        own.then_some(signature)
    });
    direct.chain(users).max_by_key(|signature| signature.created())
}

/// The newest binding of a signing subkey to its key, in both directions.
fn binding<'a>(
    key: &SignedPublicKey,
    subkey: &'a SignedPublicSubKey,
) -> Result<&'a Signature, SignatureFault> {
    let bindings = subkey.signatures.iter().filter(|signature| {
        signature.typ() == Some(SignatureType::SubkeyBinding)
            && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
    });
    let newest = bindings.max_by_key(|signature| signature.created()).ok_or(SignatureFault::Unbound)?;
    if !newest.key_flags().sign() {
        return Err(SignatureFault::NotForSigning);
    }
    let back = newest.embedded_signature().ok_or(SignatureFault::Unbound)?;
    back.verify_primary_key_binding(&subkey.key, &key.primary_key).map_err(|_| SignatureFault::Unbound)?;
    Ok(newest)
}

/// Whether a key may sign documents. Without key flags it may, if its algorithm can.
fn may_sign(about_key: &Signature) -> bool {
    let says = about_key.config().is_some_and(|config| {
        config.hashed_subpackets().any(|packet| matches!(packet.data, SubpacketData::KeyFlags(_)))
    });
    !says || about_key.key_flags().sign()
}

/// Whether a revocation invalidates signatures of this time.
fn withdraws(revocation: &Signature, made: Option<SystemTime>) -> bool {
    let retired = matches!(
        revocation.revocation_reason_code(),
        Some(RevocationCode::KeySuperseded | RevocationCode::KeyRetired)
    );
    let before =
        revocation.created().map(SystemTime::from).zip(made).is_some_and(|(revoked, made)| made < revoked);
    !(retired && before)
}

fn end(begin: SystemTime, after: Option<pgp::types::Duration>) -> Option<SystemTime> {
    let seconds = after.map(pgp::types::Duration::as_secs).filter(|seconds| *seconds > 0)?;
    begin.checked_add(Duration::from_secs(u64::from(seconds)))
}

/// The issuer in a signature.
fn signer(signature: &Signature) -> String {
    let fingerprints = signature.issuer_fingerprint().into_iter().map(ToString::to_string);
    let ids = signature.issuer_key_id().into_iter().map(ToString::to_string);
    fingerprints.chain(ids).next().unwrap_or_else(|| "an unnamed key".to_owned())
}

#[cfg(test)]
mod tests;
