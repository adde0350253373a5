//! Records are encrypted as a whole: what providers keep is full of passwords and keys.
//!
//! AES-256-GCM, with a random nonce per record and the record's key (package, type, id) as associated data, so that a
//! record cannot be put in the place of another. Each record names the encryption key that it was sealed with, by a hash:
//! a wrong key is then told from a damaged record, and records of an older key can be recognised when keys are changed.
//!
//! Random nonces are safe for 2^32 records per key, which is far beyond what resources are ever written.

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;

use super::store::StoreKey;

/// The form of what `seal` makes: this byte, the key's hash, the nonce, the encrypted bytes with their tag.
const FORM: u8 = 1;
const KEY_HASH: usize = 8;
const NONCE: usize = 12;
const HEAD: usize = 1 + KEY_HASH + NONCE;

/// An encryption key, and the file that it came from.
#[derive(Clone)]
pub struct KeyFile {
    path: PathBuf,
    cipher: Arc<LessSafeKey>,
    hash: [u8; KEY_HASH],
    is_readable_by_others: bool,
}

/// A key file cannot be used, or a record cannot be opened with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("the key file {path} cannot be read; put back the file that the store was encrypted with", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The file cannot be made.
    #[error("the key file {path} cannot be made; set ISTHMUS_HOME to a folder that can be written to", path = path.display())]
    Create {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The file has something else in it.
    #[error(
        "the key file {path} does not hold a key, which would be 64 hexadecimal digits; put back the file that the store \
         was encrypted with",
        path = path.display()
    )]
    Malformed {
        /// Which file.
        path: PathBuf,
    },
    /// The store has records, but the key is gone.
    #[error(
        "the store {store} has encrypted records, but the key file {path} is missing; put back the file that was beside \
         the store, or move the store away to begin anew",
        path = path.display()
    )]
    Missing {
        /// Which file.
        path: PathBuf,
        /// Which store.
        store: String,
    },
    /// The record was sealed with another key.
    #[error(
        "the record of {key} was encrypted with another key than that in {path}; put back the key file that the store was \
         encrypted with",
        path = path.display()
    )]
    WrongKey {
        /// The key file.
        path: PathBuf,
        /// Which record.
        key: Box<StoreKey>,
    },
    /// The record is not what was sealed.
    #[error(
        "the record of {key} is damaged: it cannot be decrypted with the key in {path}, which it was encrypted with; \
         restore the store from a backup, or remove the resource from the engine's state and import it again",
        path = path.display()
    )]
    Damaged {
        /// The key file.
        path: PathBuf,
        /// Which record.
        key: Box<StoreKey>,
    },
    /// The record was sealed in a form that this version does not know.
    #[error(
        "the record of {key} is encrypted in form {form}, which this version does not know; use the version of isthmus \
         that wrote it, or a newer one"
    )]
    Form {
        /// Which record.
        key: Box<StoreKey>,
        /// Its form.
        form: u8,
    },
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl KeyFile {
    /// Reads a key file.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no key.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let read = || -> std::io::Result<(String, u32)> {
            let mode = std::fs::metadata(path)?.permissions().mode();
            Ok((std::fs::read_to_string(path)?, mode))
        };
        let (text, mode) = read().map_err(|error| KeyError::Read { path: path.to_owned(), error })?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes)
            .map_err(|_| KeyError::Malformed { path: path.to_owned() })?;
        let digest = digest(&SHA256, &[&b"isthmus key\0"[..], &bytes].concat());
        let mut hash = [0; KEY_HASH];
        hash.copy_from_slice(&digest.as_ref()[..KEY_HASH]);
        let cipher = UnboundKey::new(&AES_256_GCM, &bytes).expect("a key of AES-256 has 32 bytes");
        Ok(Self {
            path: path.to_owned(),
            cipher: Arc::new(LessSafeKey::new(cipher)),
            hash,
            is_readable_by_others: mode & 0o077 != 0,
        })
    }

    /// Reads a key file; where there is none, makes one with a random key. Of several processes that do so at once, one
    /// makes it and all use it: the file appears under its name only when it is whole.
    ///
    /// # Errors
    /// When the file cannot be made or read, or holds no key.
    pub fn open_or_create(path: &Path) -> Result<Self, KeyError> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => {
                create(path).map_err(|error| KeyError::Create { path: path.to_owned(), error })?;
            }
            Err(error) => return Err(KeyError::Read { path: path.to_owned(), error }),
        }
        Self::open(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the user should know: that others can read the file.
    pub fn warning(&self) -> Option<String> {
        let path = self.path.display();
        self.is_readable_by_others.then(|| {
            format!("the key file {path} can be read by others than its owner; run `chmod 600 {path}`")
        })
    }

    /// Encrypts a record.
    pub(super) fn seal(&self, key: &StoreKey, plain: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE];
        rand::fill(&mut nonce).expect(RANDOM);
        let mut sealed = Vec::with_capacity(HEAD + plain.len() + 16);
        sealed.push(FORM);
        sealed.extend_from_slice(&self.hash);
        sealed.extend_from_slice(&nonce);
        let bound = Aad::from(associated(&sealed[..1 + KEY_HASH], key));
        let mut encrypted = plain.to_vec();
        self.cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut encrypted)
            .expect("a record is shorter than the 64 GiB that AES-GCM can encrypt at once");
        sealed.extend_from_slice(&encrypted);
        sealed
    }

    /// Decrypts a record.
    pub(super) fn unseal(&self, key: &StoreKey, sealed: &[u8]) -> Result<Vec<u8>, KeyError> {
        let damaged = || KeyError::Damaged { path: self.path.clone(), key: Box::new(key.clone()) };
        let (head, encrypted) = sealed.split_at_checked(HEAD).ok_or_else(damaged)?;
        if head[0] != FORM {
            return Err(KeyError::Form { key: Box::new(key.clone()), form: head[0] });
        }
        if head[1..=KEY_HASH] != self.hash {
            return Err(KeyError::WrongKey { path: self.path.clone(), key: Box::new(key.clone()) });
        }
        let bound = Aad::from(associated(&head[..1 + KEY_HASH], key));
        let nonce = Nonce::try_assume_unique_for_key(&head[1 + KEY_HASH..]).map_err(|_| damaged())?;
        let mut plain = encrypted.to_vec();
        let length = self.cipher.open_in_place(nonce, bound, &mut plain).map_err(|_| damaged())?.len();
        plain.truncate(length);
        Ok(plain)
    }
}

/// Why randomness can be counted on.
const RANDOM: &str = "the system's random numbers are there once it has started";

/// What a record is bound to. Lengths keep one key's parts from being read as another's.
fn associated(head: &[u8], key: &StoreKey) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for part in [&key.package, &key.type_name, &key.id] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// Writes a random key beside its place (a new file of mode 0600), and moves it there unless another process was faster.
fn create(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".key-").tempfile_in(folder)?;
    let mut key = [0; 32];
    rand::fill(&mut key).expect(RANDOM);
    writeln!(file, "{}", hex::encode(key))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    // The name must be as durable as the records that depend on the key.
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> StoreKey {
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn a_record_is_opened_with_the_key_that_it_was_sealed_with() {
        let folder = folder();
        let path = folder.path().join("state.key");
        let sealed = KeyFile::open_or_create(&path).expect("a key").seal(&key("a"), b"hunter2");
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"), "{sealed:?}");
        let again = KeyFile::open_or_create(&path).expect("the same key");
        assert_eq!(again.unseal(&key("a"), &sealed).expect("opened"), b"hunter2");
        assert_ne!(sealed, again.seal(&key("a"), b"hunter2"), "every record has its own nonce");
    }

    #[test]
    fn a_key_that_was_made_belongs_to_its_owner_alone() {
        let folder = folder();
        let path = folder.path().join("state.key");
        let made = KeyFile::open_or_create(&path).expect("a key");
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(made.warning(), None);
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            1,
            "nothing else is left behind"
        );
    }

    #[test]
    fn a_key_that_others_can_read_is_warned_about() {
        let folder = folder();
        let path = folder.path().join("state.key");
        KeyFile::open_or_create(&path).expect("a key");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        let warning = KeyFile::open(&path).expect("a key").warning().expect("a warning");
        assert!(warning.contains("chmod 600") && warning.contains("state.key"), "{warning}");
    }

    #[test]
    fn of_several_that_make_the_key_at_once_all_use_the_same() {
        let folder = folder();
        let path = folder.path().join("state.key");
        let keys: Vec<KeyFile> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| KeyFile::open_or_create(&path).expect("a key"))).collect();
            makers.into_iter().map(|maker| maker.join().expect("a maker")).collect()
        });
        assert!(keys.iter().all(|other| other.hash == keys[0].hash));
    }

    #[test]
    fn another_key_is_told_from_a_damaged_record() {
        let folder = folder();
        let ours = KeyFile::open_or_create(&folder.path().join("ours")).expect("a key");
        let other = KeyFile::open_or_create(&folder.path().join("other")).expect("a key");
        let sealed = ours.seal(&key("a"), b"hunter2");
        let error = other.unseal(&key("a"), &sealed).expect_err("the wrong key");
        assert!(matches!(error, KeyError::WrongKey { .. }), "{error}");
        assert!(error.to_string().contains("other") && error.to_string().contains("put back"), "{error}");
        for byte in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[byte] ^= 1;
            ours.unseal(&key("a"), &damaged).expect_err("a damaged record");
        }
        for length in 0..sealed.len() {
            let error = ours.unseal(&key("a"), &sealed[..length]).expect_err("a record cut short");
            assert!(matches!(error, KeyError::Damaged { .. }), "{error}");
        }
    }

    #[test]
    fn a_record_cannot_take_the_place_of_another() {
        let folder = folder();
        let ours = KeyFile::open_or_create(&folder.path().join("state.key")).expect("a key");
        let sealed = ours.seal(&key("a"), b"hunter2");
        let error = ours.unseal(&key("b"), &sealed).expect_err("another record's place");
        assert!(matches!(error, KeyError::Damaged { .. }), "{error}");
    }

    #[test]
    fn a_file_without_a_key_is_named() {
        let folder = folder();
        let path = folder.path().join("state.key");
        for text in ["", "0123", &"g".repeat(64), &"0".repeat(65)] {
            std::fs::write(&path, text).expect("written");
            let error = KeyFile::open_or_create(&path).expect_err(text);
            assert!(matches!(error, KeyError::Malformed { .. }), "{error}");
        }
        let error = KeyFile::open(&folder.path().join("missing")).expect_err("no file");
        assert!(matches!(error, KeyError::Read { .. }), "{error}");
    }
}
