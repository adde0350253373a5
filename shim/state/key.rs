//! The user's key: its sources, and checks of it.
//!
//! It encrypts the keys of records (`keyring`), so that the key or passphrase of a store can be
//! replaced while all of the store stays readable.

use isthmus_platform::files::{Others, help_against_others, protection_of, sync_directory};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE, require_trusted_file};
use isthmus_common::scratch::ScratchDirectory;
use isthmus_common::{Links, Secret, blocking, fail_point, open_regular};

use super::encryption::{CipherKey, random};
use super::key_error::KeyError;

/// Name of the key file in the store's directory, unless another key is configured.
const FILE: &str = "state.key";

/// Costs of Argon2id by OWASP's recommendation (19 MiB of memory, 2 passes, 1 lane): some 30 ms.
const USUAL: Derivation = Derivation { memory: 19 * 1024, passes: 2, lanes: 1 };

/// Limit of the costs that a store may require.
const MOST: Derivation = Derivation { memory: 1 << 20, passes: 64, lanes: 64 };

/// Source of the user's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A random key in `state.key` in a directory, created on first use, for its owner alone.
    Directory(PathBuf),
    /// A file of 64 hexadecimal digits.
    File(PathBuf),
    /// 64 hexadecimal digits in an environment variable.
    Digits(Secret),
    /// A passphrase, from which a key is derived by Argon2id with the store's salt.
    Passphrase(Secret),
}

/// Parameters of deriving a key from a passphrase. Stored unencrypted with the encrypted keys.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KdfParams {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) salt: Vec<u8>,
    /// In KiB.
    #[prost(uint32, tag = "2")]
    pub(super) memory: u32,
    #[prost(uint32, tag = "3")]
    pub(super) passes: u32,
    #[prost(uint32, tag = "4")]
    pub(super) lanes: u32,
}

struct Derivation {
    memory: u32,
    passes: u32,
    lanes: u32,
}

impl KdfParams {
    /// New parameters with a random salt.
    pub(super) fn new() -> Self {
        let Derivation { memory, passes, lanes } = USUAL;
        Self { salt: random::<16>().to_vec(), memory, passes, lanes }
    }
}

#[derive(Debug)]
pub(super) struct MasterKey {
    pub(super) cipher: CipherKey,
    /// Parameters of its derivation, if any.
    pub(super) recipe: Option<KdfParams>,
    /// Its source, for messages.
    pub(super) origin: String,
    /// A warning about its file.
    pub(super) warning: Option<String>,
}

impl KeySource {
    /// The key file of a directory.
    pub(super) fn file_in(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// The key file, whether it exists or not.
    pub(super) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Directory(directory) => Some(Self::file_in(directory)),
            Self::File(path) => Some(path.clone()),
            Self::Digits(_) | Self::Passphrase(_) => None,
        }
    }

    /// The key file of a directory, if it exists.
    pub(super) async fn own_file(&self) -> Option<PathBuf> {
        let Self::Directory(directory) = self else { return None };
        let path = Self::file_in(directory);
        blocking(move || path.exists().then_some(path)).await
    }

    /// Loads the key. `recipe`: parameters of a derivation from a passphrase. A directory's key is
    /// created if it is missing and `store` is `None`: the store is empty.
    ///
    /// # Errors
    /// When there is no valid key.
    pub(super) fn load(&self, recipe: &KdfParams, store: Option<&str>) -> Result<MasterKey, KeyError> {
        match self {
            Self::Directory(directory) => {
                let path = Self::file_in(directory);
                match path.try_exists() {
                    // Who has created it may have died before its name was durable, and what will be encrypted with it is.
                    Ok(true) if store.is_none() => sync_directory(directory)
                        .map_err(|error| KeyError::Read { path: path.clone(), error })?,
                    Ok(true) => {}
                    Ok(false) => {
                        if let Some(store) = store {
                            return Err(KeyError::Missing { path, store: store.to_owned() });
                        }
                        require_trusted_file(&path).map_err(|error| KeyError::Untrusted { error })?;
                        create(&path).map_err(|error| KeyError::Create { path: path.clone(), error })?;
                    }
                    Err(error) => return Err(KeyError::Read { path, error }),
                }
                read(&path)
            }
            Self::File(path) => read(path),
            Self::Digits(digits) => {
                let cipher = parse(digits.expose())
                    .ok_or_else(|| KeyError::Malformed { place: "the variable ISTHMUS_KEY".to_owned() })?;
                let origin = "the one in the variable ISTHMUS_KEY".to_owned();
                Ok(MasterKey { cipher, recipe: None, origin, warning: None })
            }
            Self::Passphrase(words) => derive(words.expose(), recipe),
        }
    }
}

/// Creates a key file with a random key, for its owner alone, unless it exists.
pub(super) fn create(path: &Path) -> std::io::Result<()> {
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        use isthmus_platform::files::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
    }
    // Written to a temporary file and renamed: of several processes that do so at once, one
    // succeeds and all use its key.
    let scratch = ScratchDirectory::beside(path)?;
    let mut file = scratch.file(PRIVATE_FILE)?;
    writeln!(file, "{}", hex::encode(random::<32>()))?;
    file.as_file().sync_all()?;
    fail_point("key-written");
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    // The name must be as durable as the records of the key.
    sync_directory(directory)
}

fn read(path: &Path) -> Result<MasterKey, KeyError> {
    require_trusted_file(path).map_err(|error| KeyError::Untrusted { error })?;
    let read = || -> std::io::Result<(String, u32)> {
        let mut file = open_regular(path, Links::Follow)?;
        let mode = protection_of(&file, &file.metadata()?)?.mode;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((text, mode))
    };
    let (text, mode) = read().map_err(|error| KeyError::Read { path: path.to_owned(), error })?;
    let close = help_against_others(path, Others::Read);
    let path = path.display();
    let cipher = parse(&text).ok_or_else(|| KeyError::Malformed { place: format!("the key file {path}") })?;
    let warning = (mode & 0o077 != 0)
        .then(|| format!("key file {path} is readable by other users than its owner; run `{close}`"));
    Ok(MasterKey { cipher, recipe: None, origin: format!("the one in the file {path}"), warning })
}

fn parse(digits: &str) -> Option<CipherKey> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits.trim(), &mut bytes).ok()?;
    Some(CipherKey::new(bytes))
}

fn derive(words: &str, recipe: &KdfParams) -> Result<MasterKey, KeyError> {
    let failed = |reason: String| KeyError::Derivation { reason };
    let KdfParams { salt, memory, passes, lanes } = recipe;
    if *memory > MOST.memory || *passes > MOST.passes || *lanes > MOST.lanes {
        return Err(failed(format!("the store demands {memory} KiB of memory and {passes} passes for it")));
    }
    let cost = Params::new(*memory, *passes, *lanes, Some(32)).map_err(|error| failed(error.to_string()))?;
    let mut bytes = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, cost)
        .hash_password_into(words.as_bytes(), salt, &mut bytes)
        .map_err(|error| failed(error.to_string()))?;
    Ok(MasterKey {
        cipher: CipherKey::new(bytes),
        recipe: Some(recipe.clone()),
        origin: "the one of the passphrase".to_owned(),
        warning: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    fn load(source: &KeySource) -> Result<MasterKey, KeyError> {
        source.load(&KdfParams { salt: vec![1; 16], memory: 8, passes: 1, lanes: 1 }, None)
    }

    #[test]
    fn a_key_that_was_made_belongs_to_its_owner_alone() {
        let directory = directory();
        let made = load(&KeySource::Directory(directory.path().to_owned())).expect("a key");
        let path = directory.path().join("state.key");
        assert_eq!(isthmus_platform::files::mode(&std::fs::metadata(&path).expect("a file")) & 0o777, 0o600);
        assert_eq!(made.warning, None);
        let names = std::fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!(names, 1, "nothing else is left behind");
        assert_eq!(load(&KeySource::File(path)).expect("the same").cipher.id(), made.cipher.id());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_when_the_next_key_is_made() {
        use isthmus_common::marker::{Purpose, mark};
        use isthmus_platform::directory::Directory;
        let directory = directory();
        let left = directory.path().join(".isthmus-scratch-Ab12Cd");
        std::fs::create_dir(&left).expect("a directory");
        std::fs::write(left.join("key"), "5e".repeat(32)).expect("a file");
        let opened = Directory::open(&left).expect("a directory");
        mark(&opened, left.file_name().expect("a name"), Purpose::Scratch).expect("a marker");
        load(&KeySource::Directory(directory.path().to_owned())).expect("a key");
        assert!(!left.exists());
    }

    #[test]
    fn what_is_no_key_file_is_refused_and_not_waited_for() {
        let directory = directory();
        let path = directory.path().join("state.key");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a FIFO");
        for source in [KeySource::File(path.clone()), KeySource::Directory(directory.path().to_owned())] {
            let error = isthmus_common::error_chain(&load(&source).expect_err("it is a FIFO"));
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_warned_about() {
        let directory = directory();
        let source = KeySource::Directory(directory.path().to_owned());
        load(&source).expect("a key");
        let path = directory.path().join("state.key");
        isthmus_platform::files::set_mode(&path, 0o640).expect("a mode");
        let warning = load(&source).expect("a key").warning.expect("a warning");
        assert!(warning.contains("chmod go= ") && warning.contains("state.key"), "{warning}");
    }

    #[test]
    fn a_key_that_others_can_change_is_refused_with_what_to_do() {
        let directory = directory();
        let source = KeySource::Directory(directory.path().to_owned());
        let set = |path: &Path, mode| {
            isthmus_platform::files::set_mode(path, mode).expect("a mode");
        };
        set(directory.path(), 0o777);
        load(&source).expect_err("others could put theirs in its place");
        assert!(!directory.path().join("state.key").exists(), "nothing is made there");
        set(directory.path(), 0o700);
        load(&source).expect("a key");
        let path = directory.path().join("state.key");
        for source in [source, KeySource::File(path.clone())] {
            set(&path, 0o622);
            let error = isthmus_common::error_chain(&load(&source).expect_err("others can change it"));
            assert!(error.contains(&format!("help: run `chmod go-w {}`", path.display())), "{error}");
            set(&path, 0o600);
            load(&source).expect("it is mended");
        }
    }

    #[test]
    fn of_several_that_make_the_key_at_once_all_use_the_same() {
        let directory = directory();
        let source = KeySource::Directory(directory.path().to_owned());
        let ids: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| load(&source).expect("a key").cipher.id())).collect();
            makers.into_iter().map(|maker| maker.join().expect("a maker")).collect()
        });
        assert!(ids.iter().all(|other| *other == ids[0]), "{ids:?}");
    }

    #[test]
    fn a_place_without_a_key_is_named() {
        let directory = directory();
        let path = directory.path().join("state.key");
        for text in ["", "0123", &"g".repeat(64), &"0".repeat(65)] {
            std::fs::write(&path, text).expect("written");
            let error = load(&KeySource::File(path.clone())).expect_err(text);
            assert!(error.to_string().contains("state.key"), "{error}");
            let error = load(&KeySource::Digits(Secret::new(text.to_owned()))).expect_err(text);
            assert!(error.to_string().contains("ISTHMUS_KEY"), "{error}");
        }
        let error = load(&KeySource::File(directory.path().join("missing"))).expect_err("no file");
        assert!(matches!(error, KeyError::Read { .. }), "{error}");
    }

    #[test]
    fn a_passphrase_gives_the_same_key_with_the_same_salt_only() {
        let source = KeySource::Passphrase(Secret::new("correct horse".to_owned()));
        let recipe = KdfParams { salt: vec![1; 16], memory: 64, passes: 1, lanes: 1 };
        let id =
            |source: &KeySource, recipe: &KdfParams| source.load(recipe, None).expect("a key").cipher.id();
        let usual = id(&source, &recipe);
        assert_eq!(id(&source, &recipe), usual);
        assert_ne!(id(&KeySource::Passphrase(Secret::new("correct house".to_owned())), &recipe), usual);
        assert_ne!(id(&source, &KdfParams { salt: vec![2; 16], ..recipe }), usual);
        assert!(!format!("{source:?}").contains("horse"), "{source:?}");
    }

    #[test]
    fn argon2id_gives_what_its_specification_says() {
        // RFC 9106's vector has a secret and associated data, which are unused here; this one is
        // from its reference program: argon2 somesalt -id -t 2 -m 16 -p 1, for "password".
        let recipe = KdfParams { salt: b"somesalt".to_vec(), memory: 65536, passes: 2, lanes: 1 };
        let key = derive("password", &recipe).expect("a key");
        assert_eq!(
            hex::encode(key.cipher.bytes()),
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"
        );
    }

    #[test]
    fn a_store_cannot_demand_any_effort_for_a_passphrase() {
        let recipe = KdfParams { salt: vec![1; 16], memory: u32::MAX, passes: 1, lanes: 1 };
        let error = derive("words", &recipe).expect_err("too much");
        assert!(error.to_string().contains("KiB of memory"), "{error}");
    }
}
