//! Broken state stores, keys and journals, each of a store with a record.

use isthmus_platform::files::FileExt as _;
use std::fs;
use std::path::Path;

use isthmus_state::{EncryptedStore, Intent, OperationKind, StoreKey};

use super::patient::Patient;

/// A machine whose store has an operation that was interrupted.
fn with_a_store() -> Patient {
    let patient = Patient::new();
    leave_an_intent(&patient.home());
    patient
}

#[tokio::main]
async fn leave_an_intent(home: &Path) {
    let store = EncryptedStore::open(home, None).await.expect("a store");
    let key =
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: String::new() };
    let intent = Intent {
        intention: OperationKind::Create,
        key,
        subject: "the dog".to_owned(),
        prior: None,
        companion: bytes::Bytes::new(),
    };
    drop(store.journal().begin(intent, None).await.expect("begun"));
}

fn database(patient: &Patient) -> rusqlite::Connection {
    rusqlite::Connection::open(patient.home().join("state.sqlite")).expect("a database")
}

#[test]
fn interrupted_operations_are_counted() {
    let patient = with_a_store();
    patient.has("operations", 5001, &["1 operation was interrupted"], "`isthmus recover` lists them");
}

#[test]
fn nothing_is_created_in_an_empty_journal() {
    use isthmus_platform::files::DirBuilderExt as _;

    let patient = Patient::new();
    let journal = patient.home().join("journal");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&journal).expect("a directory");
    assert!(patient.faults(&["--only", "operations"]).is_empty());
    patient.machine.isthmus(&["recover"]).well();
    for (directory, entries) in [(journal, 0), (patient.home(), 1)] {
        assert_eq!(fs::read_dir(&directory).expect("a directory").count(), entries, "{directory:?}");
    }
}

#[test]
fn a_locked_store_is_named() {
    let patient = with_a_store();
    let holder = database(&patient);
    holder.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    patient.has("store", 4001, &["state.sqlite", "locked"], "Wait until that process has ended");
}

#[test]
fn a_damaged_store_is_named() {
    let patient = with_a_store();
    // What is in the log goes into the file first.
    database(&patient).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("written");
    let file = fs::File::options().write(true).open(patient.home().join("state.sqlite")).expect("a file");
    let length = file.metadata().expect("a file").len();
    file.write_all_at(&vec![0xa5; usize::try_from(length - 4096).expect("it is small")], 4096)
        .expect("written");
    patient.has("store", 4002, &["state.sqlite", "damaged"], "`isthmus state restore`");
}

#[test]
fn a_store_of_a_newer_format_is_named() {
    let patient = with_a_store();
    database(&patient).pragma_update(None, "user_version", 99).expect("a number");
    patient.has("store", 4003, &["format 99"], "Use the version that wrote it");
}

#[test]
fn a_database_of_another_program_is_named() {
    let patient = with_a_store();
    database(&patient).pragma_update(None, "application_id", 7).expect("a number");
    patient.has("store", 4004, &["another program"], "ISTHMUS_STORE");
}

#[test]
fn a_missing_key_is_named() {
    let patient = with_a_store();
    fs::remove_file(patient.home().join("state.key")).expect("it is there");
    patient.has("store", 4006, &["state.key is missing"], "Put back the file");
}

#[test]
fn another_key_than_that_of_the_store_is_named() {
    let patient = with_a_store();
    fs::write(patient.home().join("state.key"), "0123456789abcdef".repeat(4)).expect("a file");
    patient.has("store", 4007, &["another key"], "the key that it was encrypted with");
}

#[test]
fn a_key_that_is_none_is_named() {
    let patient = with_a_store();
    fs::write(patient.home().join("state.key"), "x").expect("a file");
    patient.has("store", 4008, &["64 hexadecimal digits"], "Put back");
}

#[test]
fn a_key_that_others_may_write_to_is_named_with_the_command() {
    let patient = with_a_store();
    let key = patient.home().join("state.key");
    isthmus_platform::files::set_mode(&key, 0o666).expect("it is ours");
    patient.has("store", 1005, &["state.key", "0666"], &format!("chmod go-w {}", key.display()));
}
