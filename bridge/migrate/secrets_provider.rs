//! The secrets provider of a stack, and the encryption of its secrets by a passphrase.
//!
//! A stack export names the secrets provider, without which the Pulumi CLI cannot import secrets: it
//! encrypts those that are in the clear. A new stack gets a passphrase here, if there is one; else
//! the provider is that of the stack's settings file, `Pulumi.STACK.yaml`, or else Pulumi Cloud.
//!
//! The CLI's format: a key by PBKDF2-HMAC-SHA256 of 1,000,000 iterations from the passphrase and a
//! salt of eight bytes, AES-256-GCM, and `v1:NONCE:CIPHERTEXT` in base64. The salt is stored with a
//! known text, by which the CLI recognizes the passphrase.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::pbkdf2;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_common::Secret;
use serde_json::{Value as Json, json};

const ITERATIONS: NonZeroU32 = NonZeroU32::new(1_000_000).expect("it is not zero");
/// The text by which a passphrase is recognized.
const KNOWN_TEXT: &str = "pulumi";
const PULUMI_CLOUD: &str = "https://api.pulumi.com";

/// How the secrets of a stack are encrypted.
#[derive(Debug)]
pub enum SecretsProvider {
    /// By a passphrase, here.
    Passphrase(PassphraseCrypter),
    /// By the CLI, when it imports them: the type and the state of the provider.
    Cli(Json),
}

/// The encryption of secrets by a passphrase.
pub struct PassphraseCrypter {
    cipher: LessSafeKey,
    /// With the known text.
    salt: String,
}

impl fmt::Debug for PassphraseCrypter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PassphraseCrypter")
    }
}

/// What a settings file of a stack says about its secrets provider.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub struct StackSettings {
    #[serde(default)]
    secretsprovider: String,
    #[serde(default)]
    encryptedkey: String,
    #[serde(default)]
    encryptionsalt: String,
}

impl SecretsProvider {
    /// The provider that the settings of a stack name.
    pub fn of_settings(settings: &StackSettings, project: &str, stack: &str) -> Self {
        let StackSettings { secretsprovider, encryptedkey, encryptionsalt } = settings;
        let url = secretsprovider.as_str();
        Self::Cli(match url {
            "" | "passphrase" if !encryptionsalt.is_empty() => {
                json!({ "type": "passphrase", "state": { "salt": encryptionsalt } })
            }
            "" | "default" | "passphrase" => {
                let state = json!({ "url": PULUMI_CLOUD, "owner": "", "project": project, "stack": stack });
                json!({ "type": "service", "state": state })
            }
            url => json!({ "type": "cloud", "state": { "url": url, "encryptedkey": encryptedkey } }),
        })
    }

    /// Whether it is that of Pulumi Cloud, which only a stack there can use.
    pub fn is_of_the_cloud(&self) -> bool {
        matches!(self, Self::Cli(json) if json["type"] == "service")
    }

    /// As in a stack export.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Passphrase(crypter) => json!({ "type": "passphrase", "state": { "salt": crypter.salt } }),
            Self::Cli(json) => json.clone(),
        }
    }

    /// The encryption, if it takes place here.
    pub fn crypter(&self) -> Option<&PassphraseCrypter> {
        match self {
            Self::Passphrase(crypter) => Some(crypter),
            Self::Cli(_) => None,
        }
    }
}

impl PassphraseCrypter {
    /// The encryption by a passphrase, with a new salt.
    pub fn new(passphrase: &Secret<String>) -> Self {
        let mut salt = [0; 8];
        random(&mut salt);
        Self::with_salt(passphrase, &salt)
    }

    fn with_salt(passphrase: &Secret<String>, salt: &[u8]) -> Self {
        let mut key = [0; 32];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            ITERATIONS,
            salt,
            passphrase.expose().as_bytes(),
            &mut key,
        );
        let key = UnboundKey::new(&AES_256_GCM, &key).expect("a key of AES-256 has 32 bytes");
        let mut crypter = Self { cipher: LessSafeKey::new(key), salt: String::new() };
        crypter.salt = format!("v1:{}:{}", BASE64.encode(salt), crypter.encrypt(KNOWN_TEXT));
        crypter
    }

    /// The salt, as in a stack's settings.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// The ciphertext of a text.
    pub fn encrypt(&self, text: &str) -> String {
        let mut nonce = [0; 12];
        random(&mut nonce);
        let mut bytes = text.as_bytes().to_vec();
        self.cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut bytes)
            .expect("a text is far shorter than AES-GCM's limit");
        format!("v1:{}:{}", BASE64.encode(nonce), BASE64.encode(bytes))
    }
}

fn random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).expect("the system's random numbers are there once it has started");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(crypter: &PassphraseCrypter, text: &str) -> String {
        let parts: Vec<&str> = text.split(':').collect();
        let ["v1", nonce, sealed] = parts.as_slice() else { panic!("{text}") };
        let nonce =
            Nonce::try_assume_unique_for_key(&BASE64.decode(nonce).expect("base64")).expect("a nonce");
        let mut bytes = BASE64.decode(sealed).expect("base64");
        let plain =
            crypter.cipher.open_in_place(nonce, Aad::empty(), &mut bytes).expect("it was sealed by it");
        String::from_utf8(plain.to_vec()).expect("a text")
    }

    /// What Pulumi 3.259.0 has written for the passphrase of this test.
    #[test]
    fn the_cli_encrypts_in_the_same_way() {
        let salt = "v1:pjS/bSXupLo=:v1:uYxh1fDmClM1kEO8:Y5bZHTR95rIv5LXMQCFGFh1AgnZpFQ==";
        let secret = "v1:I452EQweSlDcGjN1:Ffrvmotzrzd1J3+rs/l7yylFS0IOAzZf0W8oWTjlf6E91VKtFRH9Uw==";
        let salt_bytes = BASE64.decode("pjS/bSXupLo=").expect("base64");
        let crypter = PassphraseCrypter::with_salt(&Secret::new("correct horse".to_owned()), &salt_bytes);
        let known = salt.strip_prefix("v1:pjS/bSXupLo=:").expect("a salt");
        assert_eq!(opened(&crypter, known), KNOWN_TEXT);
        assert_eq!(opened(&crypter, secret), r#"{"replace":{"raw":null}}"#);
        assert_eq!(opened(&crypter, &crypter.encrypt("text")), "text");
        assert!(crypter.salt().starts_with("v1:pjS/bSXupLo=:v1:"));
        assert_ne!(crypter.encrypt("text"), crypter.encrypt("text"));
    }

    #[test]
    fn settings_name_the_provider() {
        let of = |yaml: &str| {
            let settings: StackSettings = serde_saphyr::from_str(yaml).expect("settings");
            SecretsProvider::of_settings(&settings, "shop", "dev").to_json()
        };
        assert_eq!(
            of("encryptionsalt: v1:a:v1:b:c\nconfig: {}\n"),
            json!({ "type": "passphrase", "state": { "salt": "v1:a:v1:b:c" } })
        );
        assert_eq!(
            of("secretsprovider: awskms://alias/x\nencryptedkey: a2V5\n"),
            json!({ "type": "cloud", "state": { "url": "awskms://alias/x", "encryptedkey": "a2V5" } })
        );
        assert_eq!(of("config: {}\n")["type"], "service");
    }
}
