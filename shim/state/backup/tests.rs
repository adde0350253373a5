//! Backups while others write, and restores of what is whole, damaged, or of another key.

use isthmus_platform::directory::Directory;
use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::journal::{Intent, OperationKind};
use crate::store_key::StoreKey;
use crate::suite::{key, saved};

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn scope(home: &Path) -> BackupScope {
    let key = KeySource::Directory(home.to_owned());
    BackupScope { store: database_in(home), home: home.to_owned(), key }
}

fn journal(home: &Path) -> JournalFiles {
    let scope = scope(home);
    JournalFiles::new(home, scope.key, Some(scope.store), JournalDurability::Process)
}

fn creation(name: &str) -> Intent {
    Intent {
        intention: OperationKind::Create,
        key: StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: String::new() },
        subject: name.to_owned(),
        prior: None,
        companion: Bytes::new(),
    }
}

async fn ids(home: &Path) -> BTreeSet<String> {
    let store = EncryptedStore::open(home, None).await.expect("a store");
    store.list(None).await.expect("its records").into_iter().map(|(_, key, _)| key.id).collect()
}

async fn operations(home: &Path) -> BTreeSet<String> {
    let opened = journal(home).open_intents().await.expect("the journal");
    assert!(opened.faults.is_empty(), "{:?}", opened.faults);
    opened.intents.into_iter().map(|open| open.intent.subject).collect()
}

/// A home with the key of another one.
fn home_with_key_of(other: &Path) -> TempDir {
    let home = home();
    std::fs::copy(other.join("state.key"), home.path().join("state.key")).expect("a key");
    home
}

/// The names in a directory.
fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// A home with records and an operation, and its backup.
async fn backed_up() -> (TempDir, PathBuf) {
    let home = home();
    let store = EncryptedStore::open(home.path(), None).await.expect("a store");
    for number in 0..20 {
        store.add(&key(&format!("pet-{number}")), &saved("dog")).await.expect("added");
    }
    journal(home.path()).begin(&creation("cut short")).await.expect("journalled");
    let file = home.path().join("backup");
    let made = scope(home.path()).back_up(&file).await.expect("a backup");
    assert_eq!((made.has_store, made.records, made.journal_files), (true, 21, 2), "{made:?}");
    (home, file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_while_others_write_is_restored_as_of_one_moment() {
    let home = home();
    let store = EncryptedStore::open(home.path(), None).await.expect("a store");
    let open = journal(home.path());
    open.begin(&creation("before")).await.expect("journalled");
    let (began, begins) = tokio::sync::oneshot::channel();
    let (end, mut ends) = tokio::sync::oneshot::channel::<()>();
    let writing = tokio::spawn(async move {
        let mut began = Some(began);
        let mut written = 0;
        while ends.try_recv().is_err() {
            store.add(&key(&format!("pet-{written:06}")), &saved("dog")).await.expect("added");
            open.begin(&creation(&format!("operation-{written:06}"))).await.expect("journalled");
            written += 1;
            if written == 10 {
                let _ = began.take().expect("once").send(());
            }
        }
        written
    });
    begins.await.expect("it writes");
    let file = home.path().join("backup");
    scope(home.path()).back_up(&file).await.expect("a backup of what is in use");
    end.send(()).expect("it still writes");
    let written = writing.await.expect("the writer");

    let other = home_with_key_of(home.path());
    scope(other.path()).restore(&file).await.expect("restored");
    let restored = ids(other.path()).await;
    assert!((10..=written).contains(&restored.len()), "{} of {written}", restored.len());
    let first: BTreeSet<String> = (0..restored.len()).map(|number| format!("pet-{number:06}")).collect();
    assert_eq!(restored, first, "the records of one moment: no later one without an earlier one");
    let restored = operations(other.path()).await;
    assert!(restored.contains("before") && restored.contains("operation-000009"), "{restored:?}");
    let first: BTreeSet<String> =
        (0..restored.len() - 1).map(|number| format!("operation-{number:06}")).collect();
    assert!(first.is_subset(&restored), "{restored:?}");
}

#[tokio::test]
async fn a_journal_without_a_state_store_is_backed_up_too() {
    let home = home();
    journal(home.path()).begin(&creation("cut short")).await.expect("journalled");
    let file = home.path().join("backup");
    let made = scope(home.path()).back_up(&file).await.expect("a backup");
    assert_eq!((made.has_store, made.records, made.journal_files), (false, 1, 2), "{made:?}");
    let other = home_with_key_of(home.path());
    assert_eq!(scope(other.path()).restore(&file).await.expect("restored"), made);
    assert_eq!(operations(other.path()).await, BTreeSet::from(["cut short".to_owned()]));
    assert!(!database_in(other.path()).exists());
    let error =
        scope(tempfile::tempdir().expect("a directory").path()).back_up(&home.path().join("none")).await;
    assert!(matches!(error, Err(BackupError::Nothing { .. })), "{error:?}");
}

#[tokio::test]
async fn what_is_damaged_is_not_backed_up_and_named_where_it_is() {
    let home = home();
    journal(home.path()).begin(&creation("cut short")).await.expect("journalled");
    let foreign = home.path().join("journal/0123456789ab.journal");
    std::fs::write(&foreign, "not ours").expect("a file");
    let file = home.path().join("backup");
    let error = scope(home.path()).back_up(&file).await.expect_err("it could not be restored").to_string();
    let wanted = format!(
        "no backup was written, because it could not be restored: the journal file {} cannot be read whole",
        foreign.display()
    );
    assert!(error.starts_with(&wanted), "{error}");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_nothing_is_written() {
    let (home, file) = backed_up().await;
    let good = std::fs::read(&file).expect("the backup");
    let other = home_with_key_of(home.path());
    let damaged = other.path().join("damaged");
    let refuse = async |bytes: &[u8], what: &str| {
        std::fs::write(&damaged, bytes).expect("written");
        let error = scope(other.path()).restore(&damaged).await.expect_err(what);
        assert!(
            matches!(
                error,
                BackupError::Damaged { .. } | BackupError::Foreign(_) | BackupError::Store { .. }
            ),
            "{what}: {error:?}"
        );
        assert_eq!(names(other.path()), ["damaged", "state.key"].map(str::to_owned).into(), "{what}");
    };
    for at in (0..good.len()).step_by(good.len() / 20).chain([good.len() - 1]) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        refuse(&bytes, &format!("byte {at} is flipped")).await;
        refuse(&good[..at], &format!("cut off at {at}")).await;
    }
    // Whoever can write a sum cannot write a record.
    let (content, _) = good.split_at(good.len() - DIGEST);
    let mut bytes = content.to_vec();
    let sealed =
        bytes.windows(6).position(|window| window == b"pet-19").expect("the id of a record is not encrypted");
    bytes[sealed + 40] ^= 1;
    bytes.extend_from_slice(&Sha256::digest(&bytes));
    refuse(&bytes, "a record is changed, and the sum is right").await;
    let mut bytes = MAGIC.to_vec();
    append(&mut bytes, "journal/../5e5e5e5e5e5e.journal", &b"mine"[..]).expect("written");
    bytes.push(0);
    bytes.extend_from_slice(&Sha256::digest(&bytes));
    refuse(&bytes, "a name that leads elsewhere").await;
    std::fs::write(&damaged, &good).expect("written");
    scope(other.path()).restore(&damaged).await.expect("the good one is restored");
}

#[tokio::test]
async fn a_backup_of_another_key_is_refused() {
    let (_home, file) = backed_up().await;
    for make in [true, false] {
        let other = tempfile::tempdir().expect("a directory");
        if make {
            std::fs::write(other.path().join("state.key"), "5e".repeat(32)).expect("a key");
        }
        let there = names(other.path());
        let error = scope(other.path()).restore(&file).await.expect_err("another key");
        assert!(matches!(error, BackupError::Store { .. }), "{error:?}");
        assert!(error.to_string().contains("help: set ISTHMUS_KEY_FILE"), "{error}");
        assert_eq!(names(other.path()), there, "nothing is written, nor a key made");
    }
}

/// What a killed process leaves in a directory.
fn abandoned(directory: &Path) -> PathBuf {
    let path = directory.join(".isthmus-scratch-Ab12Cd");
    std::fs::create_dir(&path).expect("a directory");
    std::fs::write(path.join("half"), "half of a backup").expect("a file");
    let name = path.file_name().expect("a name");
    let opened = Directory::open(&path).expect("a directory");
    isthmus_common::marker::mark(&opened, name, isthmus_common::marker::Purpose::Scratch).expect("a marker");
    path
}

#[tokio::test]
async fn what_killed_commands_left_is_removed_by_the_next_one() {
    let (home, file) = backed_up().await;
    let backups = tempfile::tempdir().expect("a directory");
    let left = abandoned(backups.path());
    scope(home.path()).back_up(&backups.path().join("one")).await.expect("a backup");
    assert!(!left.exists());
    assert_eq!(names(backups.path()), ["one".to_owned()].into(), "and nothing else is left");
    let other = home_with_key_of(home.path());
    let left = abandoned(other.path());
    scope(other.path()).restore(&file).await.expect("restored");
    assert!(!left.exists());
    assert_eq!(
        names(other.path()),
        ["journal", "state.key", "state.sqlite"].map(str::to_owned).into(),
        "and nothing else is left"
    );
}

#[tokio::test]
async fn what_is_no_file_is_refused_and_not_waited_for() {
    let (home, file) = backed_up().await;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let pipe = |path: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
    let refused = |error: BackupError, path: &Path| {
        let error = isthmus_common::error_chain(&error);
        assert_eq!(
            error,
            format!(
                "failed to read {}: it is a FIFO, not a regular file\nhelp: move away what is there",
                path.display()
            )
        );
    };
    let path = home.path().join("pipe");
    pipe(&path);
    let other = home_with_key_of(home.path());
    refused(scope(other.path()).restore(&path).await.expect_err("a FIFO is no backup"), &path);
    let path = home.path().join("journal/0123456789ab.journal");
    pipe(&path);
    let new = home.path().join("new");
    refused(scope(home.path()).back_up(&new).await.expect_err("a part is missing"), &path);
    let path = database_in(other.path());
    pipe(&path);
    refused(scope(other.path()).back_up(&new).await.expect_err("there is no store"), &path);
    assert!(!new.exists() && file.exists());
}

#[tokio::test]
async fn a_journal_directory_that_holds_nothing_is_replaced() {
    let (home, file) = backed_up().await;
    let with = |names: &[&str]| {
        let other = home_with_key_of(home.path());
        std::fs::create_dir(other.path().join("journal")).expect("a directory");
        for name in names {
            std::fs::write(other.path().join("journal").join(name), "").expect("a file");
        }
        other
    };
    for names in [&[][..], &["lock"]] {
        let other = with(names);
        scope(other.path()).restore(&file).await.unwrap_or_else(|error| panic!("{names:?}: {error}"));
        assert_eq!(operations(other.path()).await.len(), 1);
    }
    for names in [&["key"][..], &["lock", "key"], &["notes.txt"]] {
        let other = with(names);
        let error = scope(other.path()).restore(&file).await.expect_err("there is something");
        assert!(matches!(error, BackupError::Occupied(_)), "{names:?}: {error:?}");
        assert!(!database_in(other.path()).exists());
    }
    let other = with(&["lock"]);
    let _used = listing_lock(&other.path().join("journal")).expect("a lock");
    let error = scope(other.path()).restore(&file).await.expect_err("it is in use");
    assert!(isthmus_common::error_chain(&error).contains("another process is using it"), "{error}");
    assert!(other.path().join("journal/lock").exists() && !database_in(other.path()).exists());
    let other = home_with_key_of(home.path());
    isthmus_platform::files::symlink(with(&[]).path().join("journal"), other.path().join("journal"))
        .expect("a link");
    let error = scope(other.path()).restore(&file).await.expect_err("it is a link");
    assert!(matches!(error, BackupError::Occupied(_)), "{error:?}");
}

#[tokio::test]
async fn what_is_there_is_never_replaced() {
    let (home, file) = backed_up().await;
    let error = scope(home.path()).back_up(&file).await.expect_err("the file exists");
    assert!(matches!(error, BackupError::Exists(_)), "{error:?}");
    for occupied in ["state.sqlite", "state.sqlite-wal", "journal"] {
        let other = home_with_key_of(home.path());
        std::fs::write(other.path().join(occupied), "of somebody").expect("written");
        let error = scope(other.path()).restore(&file).await.expect_err("it exists");
        assert!(matches!(error, BackupError::Occupied(_)), "{occupied}: {error:?}");
        assert_eq!(names(other.path()), [occupied, "state.key"].map(str::to_owned).into(), "{occupied}");
    }
    let error = scope(home.path()).restore(&file).await.expect_err("it is in use");
    assert!(error.to_string().contains("help: end all plugins"), "{error}");
    assert_eq!(ids(home.path()).await.len(), 20);
}
