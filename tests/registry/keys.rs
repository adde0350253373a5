//! Keys of publishers, valid and invalid.

use std::time::{Duration, SystemTime};

use pgp::composed::{
    ArmorOptions, DetachedSignature, KeyType, SecretKeyParamsBuilder, SignedKeyDetails, SignedPublicKey,
    SignedSecretKey, SubkeyParamsBuilder,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{
    KeyFlags, RevocationCode, SignatureConfig, SignatureType, Subpacket, SubpacketData, UserId,
};
use pgp::ser::Serialize as _;
use pgp::types::{KeyDetails as _, Password, SignedUser, Tag, Timestamp};

/// A publisher's key pair.
#[derive(Clone, Debug)]
pub struct PublisherKey {
    secret: SignedSecretKey,
    public: SignedPublicKey,
    by_subkey: bool,
}

impl Default for PublisherKey {
    fn default() -> Self {
        Self::new()
    }
}

impl PublisherKey {
    /// A signing key.
    ///
    /// # Panics
    /// When there is no randomness.
    pub fn new() -> Self {
        Self::of_type(KeyType::Ed25519Legacy)
    }

    /// An RSA key, as most publishers have; generating it takes a second.
    ///
    /// # Panics
    /// When there is no randomness.
    pub fn rsa() -> Self {
        Self::of_type(KeyType::Rsa(2048))
    }

    fn of_type(kind: KeyType) -> Self {
        let mut builder = SecretKeyParamsBuilder::default();
        builder
            .key_type(kind)
            .can_certify(true)
            .can_sign(true)
            .primary_user_id("Publisher <p@example.com>".into());
        let secret = builder.build().expect("all is set").generate(rand::thread_rng()).expect("a key");
        let public = SignedPublicKey::from(secret.clone());
        Self { secret, public, by_subkey: false }
    }

    /// A certifying key with a signing subkey.
    ///
    /// # Panics
    /// When there is no randomness.
    pub fn with_subkey() -> Self {
        let mut subkey = SubkeyParamsBuilder::default();
        subkey.key_type(KeyType::Ed25519Legacy).can_sign(true);
        let mut builder = SecretKeyParamsBuilder::default();
        builder
            .key_type(KeyType::Ed25519Legacy)
            .can_certify(true)
            .can_sign(false)
            .primary_user_id("Publisher <p@example.com>".into())
            .subkeys(vec![subkey.build().expect("all is set")]);
        let secret = builder.build().expect("all is set").generate(rand::thread_rng()).expect("a key");
        let public = SignedPublicKey::from(secret.clone());
        Self { secret, public, by_subkey: true }
    }

    /// The same key with another self-signature: for signing or not, and with a validity period.
    ///
    /// # Panics
    /// Never, with a generated key.
    #[must_use]
    pub fn certified(mut self, for_signing: bool, valid: Option<Duration>) -> Self {
        let mut flags = KeyFlags::default();
        flags.set_certify(true);
        flags.set_sign(for_signing);
        let mut packets = vec![SubpacketData::KeyFlags(flags)];
        if let Some(valid) = valid {
            let seconds = u32::try_from(valid.as_secs()).expect("not for ever");
            packets.push(SubpacketData::KeyExpirationTime(pgp::types::Duration::from_secs(seconds)));
        }
        let config = self.config(SignatureType::CertPositive, packets);
        let id = UserId::from_str(Default::default(), "Publisher <p@example.com>").expect("an id");
        let signature = config
            .sign_certification(
                &self.secret.primary_key,
                &self.public.primary_key,
                &Password::empty(),
                Tag::UserId,
                &id,
            )
            .expect("a certificate");
        let user = SignedUser::new(id, vec![signature]);
        self.public.details = SignedKeyDetails::new(Vec::new(), Vec::new(), vec![user], Vec::new());
        self
    }

    /// The same key without self-signatures.
    #[must_use]
    pub fn uncertified(mut self) -> Self {
        self.public.details = SignedKeyDetails::new(Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self
    }

    /// The same key, revoked as compromised or as retired.
    ///
    /// # Panics
    /// Never, with a generated key.
    #[must_use]
    pub fn revoked(mut self, compromised: bool) -> Self {
        let code = if compromised { RevocationCode::KeyCompromised } else { RevocationCode::KeyRetired };
        let reason = SubpacketData::RevocationReason(code, Vec::new().into());
        let config = self.config(SignatureType::KeyRevocation, vec![reason]);
        let signature = config
            .sign_key(&self.secret.primary_key, &Password::empty(), &self.public.primary_key)
            .expect("a revocation");
        self.public.details.revocation_signatures.push(signature);
        self
    }

    /// The same key with a subkey that is bound to another key.
    #[must_use]
    pub fn with_foreign_binding(mut self) -> Self {
        let other = Self::with_subkey();
        for (own, foreign) in self.public.public_subkeys.iter_mut().zip(other.public.public_subkeys) {
            own.signatures = foreign.signatures;
        }
        self
    }

    fn config(&self, kind: SignatureType, packets: Vec<SubpacketData>) -> SignatureConfig {
        let key = &self.secret.primary_key;
        let mut config = SignatureConfig::v4(kind, key.algorithm(), HashAlgorithm::Sha256);
        let own = [
            SubpacketData::SignatureCreationTime(Timestamp::now()),
            SubpacketData::IssuerFingerprint(key.fingerprint()),
        ];
        let packets = own.into_iter().chain(packets);
        config.hashed_subpackets =
            packets.map(|data| Subpacket::regular(data).expect("a short packet")).collect();
        let id = SubpacketData::IssuerKeyId(key.legacy_key_id());
        config.unhashed_subpackets = vec![Subpacket::regular(id).expect("a short packet")];
        config
    }

    /// The public key, as in registries' responses.
    ///
    /// # Panics
    /// Never, with a generated key.
    pub fn armored(&self) -> String {
        self.public.to_armored_string(ArmorOptions::default()).expect("a key")
    }

    /// Its fingerprint in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        self.public.fingerprint().to_string()
    }

    /// When it was created.
    pub fn made(&self) -> SystemTime {
        self.public.created_at().into()
    }

    /// A detached signature.
    ///
    /// # Panics
    /// Never, with a generated key.
    pub fn sign(&self, document: &[u8]) -> Vec<u8> {
        self.signature(document, HashAlgorithm::Sha256).to_bytes().expect("a signature")
    }

    /// A detached signature with an insecure hash.
    ///
    /// # Panics
    /// Never, with a generated key.
    pub fn sign_weakly(&self, document: &[u8]) -> Vec<u8> {
        self.signature(document, HashAlgorithm::Sha1).to_bytes().expect("a signature")
    }

    /// A detached signature in ASCII armor.
    ///
    /// # Panics
    /// Never, with a generated key.
    pub fn sign_armored(&self, document: &[u8]) -> Vec<u8> {
        let signature = self.signature(document, HashAlgorithm::Sha512);
        signature.to_armored_bytes(ArmorOptions::default()).expect("a signature")
    }

    fn signature(&self, document: &[u8], hash: HashAlgorithm) -> DetachedSignature {
        let (random, password) = (rand::thread_rng(), Password::empty());
        let subkey = self.secret.secret_subkeys.first().filter(|_| self.by_subkey);
        match subkey {
            Some(subkey) => {
                DetachedSignature::sign_binary_data(random, &subkey.key, &password, hash, document)
            }
            None => DetachedSignature::sign_binary_data(
                random,
                &self.secret.primary_key,
                &password,
                hash,
                document,
            ),
        }
        .expect("a signature")
    }
}
