//! `isthmus state`, as people and scripts use it.

use std::path::Path;

use isthmus_platform::IS_WINDOWS;
use isthmus_proto::property::Value;
use isthmus_state::{
    EncryptedStore, Intent, JournalDurability, JournalFiles, KeySource, OperationKind, StoreKey,
};

use super::engine::Engine;
use super::goal;
use super::tofu::{Said, isthmus, isthmus_with};
use crate::harness::{Json, json};

/// A store with one password.
async fn store_with_a_password() -> (Engine, String) {
    let mut engine = Engine::with_tool("random").await;
    let inputs = [("urnName", Value::from("secret")), ("length", 12.0.into())];
    engine.deploy(&[goal("random:password:Password", inputs)]).await.expect("created");
    let result = engine.resource("secret").outputs.get("result").and_then(Value::as_str).expect("a password");
    let result = result.to_owned();
    (engine, result)
}

/// Writes a state with these resources.
fn write_state(directory: &Path, resources: Json) -> String {
    let state =
        json!({ "version": 4, "serial": 1, "lineage": "test", "outputs": {}, "resources": resources });
    let file = directory.join("given.tfstate");
    std::fs::write(&file, state.to_string()).expect("a file");
    file.to_str().expect("a path in UTF-8").to_owned()
}

fn resource(type_name: &str, name: &str, instances: Json) -> Json {
    let provider_type = type_name.split('_').next().unwrap_or_default();
    json!({
        "mode": "managed",
        "type": type_name,
        "name": name,
        "provider": format!("provider[\"registry.terraform.io/hashicorp/{provider_type}\"]"),
        "instances": instances,
    })
}

pub(super) async fn import(home: &Path, file: &str, more: &[&str]) -> Said {
    let program = |name: &'static str| async move {
        let built =
            tokio::task::spawn_blocking(move || fixtures::tools::tool(&format!("terraform-provider-{name}")));
        format!("--provider={name}={}", built.await.expect("a provider").display())
    };
    let (random, conformance) = (program("random").await, program("conformance").await);
    let mut words = vec!["state", "import", file, random.as_str(), conformance.as_str()];
    words.extend(more);
    isthmus(home, &words)
}

#[tokio::test]
async fn secrets_are_shown_only_when_they_are_asked_for() {
    let (engine, password) = store_with_a_password().await;
    let shown = isthmus(engine.home(), &["state", "show", "random_password/none"]).well();
    assert!(!shown.contains(&password) && shown.contains("(secret)"), "{shown}");
    assert!(shown.contains("hidden") && shown.contains("result"), "{shown}");
    let shown = isthmus(engine.home(), &["state", "show", "random_password/none", "--secrets"]).well();
    assert!(shown.contains(&password), "{shown}");

    let shown = isthmus(engine.home(), &["state", "show", "--json", "random_password/none"]).well();
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["records"][0]["value"]["result"], "(secret)");
    assert_eq!(shown["records"][0]["value"]["length"], 12);
    assert_eq!(shown["records"][0]["hidden"], json!(["bcrypt_hash", "result"]));
    let shown = isthmus(engine.home(), &["state", "show", "--json", "--secrets", "random_password/none"])
        .succeeded()
        .stdout;
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(
        (shown["records"][0]["value"]["result"].as_str(), &shown["records"][0]["hidden"]),
        (Some(&*password), &json!([]))
    );
}

#[tokio::test]
async fn a_backup_of_a_store_in_use_is_restored_by_whoever_has_the_key_and_replaces_nothing() {
    let (engine, password) = store_with_a_password().await;
    let plugin = engine.start().await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("backup").to_str().expect("UTF-8").to_owned();
    let said = isthmus(engine.home(), &["state", "backup", &file]).succeeded();
    assert!(said.stdout.starts_with(&format!("backed up to {file}: ")), "{said:?}");
    let again = isthmus(engine.home(), &["state", "backup", &file]);
    assert!(again.code == 1 && again.stderr.contains("a backup is never overwritten"), "{again:?}");
    let refused = isthmus(engine.home(), &["state", "restore", &file]);
    assert!(refused.code == 1 && refused.stderr.contains("a restore replaces nothing"), "{refused:?}");
    plugin.kill().await;

    let home = directory.path().join("home");
    std::fs::create_dir(&home).expect("a directory");
    let refused = isthmus(&home, &["state", "restore", &file]);
    assert!(
        refused.code == 1 && refused.stderr.contains("put its `state.key` into ISTHMUS_HOME"),
        "{refused:?}"
    );
    std::fs::copy(engine.home().join("state.key"), home.join("state.key")).expect("a key");
    isthmus(&home, &["state", "restore", &file]).succeeded();
    let shown = isthmus(&home, &["state", "show", "random_password/none", "--secrets"]).well();
    assert!(shown.contains(&password), "{shown}");

    let server = [("ISTHMUS_STORE", "postgres://127.0.0.1:1/none".to_owned())];
    let refused = isthmus_with(&home, &["state", "backup", &format!("{file}-2")], &server);
    assert!(refused.code == 1 && refused.stderr.contains("pg_dump"), "{refused:?}");
}

#[tokio::test]
async fn records_are_listed_and_removed_and_what_is_not_there_is_told_by_the_exit_code() {
    let (engine, _) = store_with_a_password().await;
    let list = |words: &[&str]| isthmus(engine.home(), &[&["state", "list"], words].concat()).well();
    let table = list(&[]);
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NUMBER", "PACKAGE", "TYPE", "ID", "CONDITION", "ADDRESS"]);
    assert_eq!(rows[1][1..], ["random", "random_password", "none", "ready"]);
    let number = rows[1][0];
    let shown = isthmus(engine.home(), &["state", "show", number]).well();
    assert!(shown.starts_with(&format!("random_password \"none\", record {number}\n")), "{shown}");
    let record: Json = serde_json::from_str(&list(&["--json"])).expect("JSON");
    assert_eq!(record["records"][0]["id"], "none");
    assert!(list(&["--json", "--package", "other"]).contains("\"records\": []"));
    assert!(list(&["--json", "--type", "random_pet"]).contains("\"records\": []"));

    for words in [["show", "random_pet/none"], ["show", "1700"], ["rm", "random_password"]] {
        let said = isthmus(engine.home(), &[&["state"][..], &words].concat());
        assert_eq!(said.code, 3, "{said:?}");
        assert!(said.stderr.contains(words[1]) && said.stderr.contains("isthmus state list"), "{said:?}");
    }
    let said = isthmus(engine.home(), &["state", "rm", number, "1700"]);
    assert_eq!((said.code, list(&["--json"]).contains("none")), (3, true), "nothing is removed: {said:?}");
    let said = isthmus(engine.home(), &["state", "rm", "random_password/none"]).succeeded();
    assert_eq!(said.stdout, format!("removed record {number}, random_password \"none\" of package random\n"));
    assert!(list(&["--json"]).contains("\"records\": []"));
    assert_eq!(isthmus(engine.home(), &["state", "show"]).code, 2, "the words are wrong");
}

#[tokio::test]
async fn flat_attributes_of_old_sdks_go_through_the_providers_upgrade() {
    let directory = tempfile::tempdir().expect("a directory");
    let flat = json!([{
        "schema_version": 0,
        "attributes_flat": { "id": "old-1", "name": "old", "old_title": "from 2017", "size": "7", "labels": "a,b" },
        "private": "eyJzY2hlbWFfdmVyc2lvbiI6IjAifQ==",
    }]);
    let file = write_state(directory.path(), json!([resource("conformance_legacy_versioned", "old", flat)]));
    let home = directory.path().join("home");
    let said = import(&home, &file, &[]).await.succeeded();
    assert!(said.stdout.contains("conformance_legacy_versioned.old: added, id \"old-1\""), "{said:?}");
    let shown =
        isthmus(&home, &["state", "show", "--json", "--secrets", "conformance_legacy_versioned/old-1"])
            .succeeded()
            .stdout;
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["records"][0]["schema_version"], 3, "it is by the current schema now");
    assert_eq!(shown["records"][0]["value"]["title"], "from 2017");
    assert_eq!(shown["records"][0]["value"]["size"], 7);
    assert_eq!(shown["records"][0]["value"]["labels"], json!(["a", "b"]));
    assert_eq!(shown["records"][0]["private"], "eyJzY2hlbWFfdmVyc2lvbiI6IjAifQ==");
}

#[tokio::test]
async fn a_file_that_is_neither_is_refused_with_each_reason_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("state");
    std::fs::write(&file, "none").expect("the file");
    let file = file.to_str().expect("a path in UTF-8");
    let said = import(&directory.path().join("home"), file, &[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    let words = format!(
        "error: {file} cannot be used: the file is not JSON, so it is not a terraform.tfstate; it may have been cut short: \
         invalid JSON at byte 0: "
    );
    assert!(said.stderr.starts_with(&words), "{said:?}");
}

#[tokio::test]
async fn what_cannot_be_taken_over_is_told_and_does_not_keep_the_rest_away() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let pet = |id: &str| json!([{ "schema_version": 0, "attributes": { "id": id, "length": 2, "separator": "-" } }]);
    let mut data = resource("random_pet", "looked_up", pet("d"));
    data["mode"] = json!("data");
    let file = write_state(
        directory.path(),
        json!([
            data,
            resource("random_pet", "good", pet("able-dog")),
            resource("random_pet", "wrong", json!([{ "attributes": { "id": "x", "length": "many" } }])),
            resource("random_pet", "newer", json!([{ "schema_version": 99, "attributes": { "id": "x" } }])),
            resource("random_yeti", "unknown", pet("x")),
            resource("absent_thing", "nowhere", pet("x")),
        ]),
    );
    let said = import(&home, &file, &[]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stdout.ends_with(
            "1 added, 0 already there, 0 replaced, 4 not imported; 1 from data sources, which are only read, left out\n"
        ),
        "{said:?}"
    );
    for (name, hint) in [
        ("random_pet.wrong", "length"),
        ("random_pet.newer", "99"),
        ("random_yeti.unknown", "random_yeti"),
        ("absent_thing.nowhere", "--provider absent=FILE"),
    ] {
        let told = said.stderr.split("warning: ").find(|told| told.starts_with(name));
        assert!(told.is_some_and(|told| told.matches(hint).count() > 0), "{name}, {hint}: {}", said.stderr);
    }
    let old = directory.path().join("old.tfstate");
    std::fs::write(&old, r#"{"version":3,"serial":1,"modules":[]}"#).expect("a file");
    let said = isthmus(&home, &["state", "import", old.to_str().expect("text")]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("old.tfstate") && said.stderr.contains("state pull"), "{said:?}");
}

#[tokio::test]
async fn another_form_of_an_object_is_left_alone_until_it_is_said_what_to_do() {
    let (engine, password) = store_with_a_password().await;
    let directory = tempfile::tempdir().expect("a directory");
    let given = |result: &str| json!([{ "schema_version": 3, "attributes": { "id": "none", "length": 3, "result": result } }]);
    let result = |number: &str| {
        let shown = isthmus(engine.home(), &["state", "show", "--json", "--secrets", number]).well();
        let shown: Json = serde_json::from_str(&shown).expect("JSON");
        shown["records"][0]["value"]["result"].as_str().expect("text").to_owned()
    };
    let file = write_state(directory.path(), json!([resource("random_password", "a", given("abc"))]));
    let said = import(engine.home(), &file, &[]).await;
    assert_eq!((said.code, result("random_password/none")), (1, password.clone()), "{said:?}");
    for part in ["isthmus state show ", "--on-conflict replace", "--on-conflict both"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    let said = import(engine.home(), &file, &["--on-conflict", "both"]).await.succeeded();
    assert!(said.stdout.contains("added, id \"none#2\""), "{said:?}");
    assert_eq!(
        (result("random_password/none"), result("random_password/none#2")),
        (password, "abc".to_owned())
    );

    // By its address it is certain which object it is.
    let file = write_state(directory.path(), json!([resource("random_password", "a", given("xyz"))]));
    let said = import(engine.home(), &file, &["--on-conflict", "both"]).await;
    assert_eq!((said.code, result("random_password/none#2")), (1, "abc".to_owned()), "{said:?}");
    let said = import(engine.home(), &file, &["--on-conflict", "replace"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.stdout.lines().next(), Some("random_password.a: replaced, id \"none\""), "{said:?}");
}

#[tokio::test]
async fn a_file_is_only_overwritten_by_force_and_the_serial_is_the_users() {
    let (engine, password) = store_with_a_password().await;
    let file = engine.home().join("out.tfstate");
    let out = file.to_str().expect("text");
    let words = ["state", "export", "--output", out, "--lineage", "mine", "--serial", "7"];
    let said = isthmus(engine.home(), &words).succeeded();
    assert!(said.stderr.contains("in the clear"), "{said:?}");
    let state: Json = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!((&state["lineage"], &state["serial"]), (&json!("mine"), &json!(7)));
    assert_eq!(state["resources"][0]["instances"][0]["attributes"]["result"], json!(password));
    let said = isthmus(engine.home(), &words);
    assert!(said.code == 1 && said.stderr.contains("--force"), "{said:?}");
    isthmus(engine.home(), &[&words[..], &["--force"]].concat()).succeeded();

    let said = isthmus_with(engine.home(), &["state", "export", "--provider", "random=a/b/c/d"], &[]);
    assert!(said.code == 1 && said.stderr.contains("random=a/b/c/d"), "{said:?}");
    let names = engine.home().join("names.json");
    for (text, hint) in [
        ("[]", "something else"),
        (r#"{"random pet":"1"}"#, "random pet"),
        (r#"{"random_pet.a":"random_password/none"}"#, "which is a random_password"),
        (
            r#"{"random_password.a":"random_password/none","random_password.b":"random_password/none"}"#,
            "also given",
        ),
    ] {
        std::fs::write(&names, text).expect("a file");
        let said = isthmus(engine.home(), &["state", "export", "--addresses", names.to_str().expect("text")]);
        assert!(
            said.code == 1 && said.stderr.contains(hint) && said.stderr.contains("names.json"),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn records_of_a_stack_go_out_and_come_in_again() {
    let (engine, password) = store_with_a_password().await;
    let file = engine.home().join("stack");
    let out = file.to_str().expect("text");
    let words =
        ["state", "export", "--format", "stacks", "--component", "component.web[\"eu\"]", "--output", out];
    let said = isthmus(engine.home(), &words).succeeded();
    assert!(said.stderr.contains("private") && said.stderr.contains("may change"), "{said:?}");

    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let said = import(&home, out, &[]).await.succeeded();
    let added = "other records of the stack: 1 added\nrandom_password.none: added, id \"none\"\n";
    assert!(said.stdout.starts_with(added), "{said:?}");
    let shown = |home: &Path| {
        let shown = isthmus(home, &["state", "show", "--json", "--secrets", "random_password/none"]).well();
        let mut shown: Json = serde_json::from_str(&shown).expect("JSON");
        let address = [shown["records"][0]["component"].take(), shown["records"][0]["address"].take()];
        // Stores count by themselves.
        shown["records"][0]["number"].take();
        (shown, address)
    };
    let (theirs, address) = shown(&home);
    assert_eq!(theirs, shown(engine.home()).0);
    assert_eq!(address, [json!("component.web[\"eu\"]"), json!("random_password.none")]);
    assert_eq!(theirs["records"][0]["value"]["result"], json!(password));

    let bytes = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &bytes[..bytes.len() - 1]).expect("a file");
    let said = import(&home, out, &[]).await;
    assert!(said.code == 1 && said.stderr.contains("byte ") && said.stderr.contains("cut short"), "{said:?}");
}

/// The directories in a directory that a killed command has left.
fn left_in(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).count()
}

#[tokio::test]
async fn what_a_killed_backup_or_rotation_left_is_removed_by_the_next_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let (home, backups) = (directory.path().join("home"), directory.path().join("backups"));
    std::fs::create_dir(&backups).expect("a directory");
    drop(EncryptedStore::open(&home, None).await.expect("a store"));
    let key = KeySource::Directory(home.clone());
    let journal = JournalFiles::new(&home, key, None, JournalDurability::Process);
    let intent = Intent {
        intention: OperationKind::Create,
        key: StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: String::new() },
        subject: "urn:pulumi:dev::zoo::random:index/pet:Pet::dog".to_owned(),
        prior: None,
        companion: Vec::new().into(),
    };
    journal.begin(&intent).await.expect("journalled");
    drop(journal);
    let killed = |words: &[&str], point: &str| {
        let said = isthmus_with(&home, words, &[("FAIL_POINT", point.to_owned())]);
        // Windows has no signals: a process that kills itself has a code.
        assert_eq!(said.code, if IS_WINDOWS { 9 } else { -1 }, "{point}: {said:?}");
    };

    let file = backups.join("backup").to_str().expect("UTF-8").to_owned();
    killed(&["state", "backup", &file], "backup-written");
    assert!(left_in(&backups) > 0 && !Path::new(&file).exists());
    isthmus(&home, &["state", "backup", &file]).succeeded();
    assert_eq!(left_in(&backups), 0);

    killed(&["state", "rekey"], "key-written");
    assert_eq!(left_in(&home), 1);
    isthmus(&home, &["state", "rekey"]).succeeded();
    assert_eq!(left_in(&home), 0);

    killed(&["state", "rekey"], "journal-key-written");
    assert_eq!(left_in(&home.join("journal")), 1);
    let listed = isthmus(&home, &["recover", "list", "--json"]).well();
    assert!(listed.contains("random_pet"), "{listed}");
    assert_eq!(left_in(&home.join("journal")), 0);
    isthmus(&home, &["state", "rekey"]).succeeded();
}

#[test]
fn a_backup_is_no_stream() {
    let directory = tempfile::tempdir().expect("a directory");
    for command in ["backup", "restore"] {
        let said = isthmus(directory.path(), &["state", command, "-"]);
        assert!(
            said.code == 2
                && said.stdout.is_empty()
                && said.stderr.contains("a backup is a file, not a stream"),
            "{said:?}"
        );
        let said = isthmus(directory.path(), &["state", command, "./-"]);
        assert!(said.code == 1 && !said.stderr.contains("stream"), "{said:?}");
    }
}

#[tokio::test]
async fn the_store_is_encrypted_with_another_key() {
    let (engine, password) = store_with_a_password().await;
    let home = engine.home();
    let key = || std::fs::read_to_string(home.join("state.key")).expect("a key");
    let shown = |variables: &[(&'static str, String)]| {
        isthmus_with(home, &["state", "show", "random_password/none", "--secrets"], variables)
    };
    let first = key();
    let said = isthmus(home, &["state", "rekey"]).well();
    assert!(said.ends_with("records with the new key\n"), "{said}");
    assert_ne!(key(), first);
    assert!(shown(&[]).well().contains(&password));

    let other = home.join("other.key");
    std::fs::write(&other, "ab".repeat(32)).expect("written");
    isthmus_platform::files::set_mode(&other, 0o600).expect("a mode");
    let other = other.to_str().expect("text");
    let said = isthmus(home, &["state", "rekey", "--key-file", other]).well();
    assert!(said.contains("set ISTHMUS_KEY_FILE"), "{said}");
    assert_eq!(shown(&[]).code, 1, "the old key is of no use any more");
    let configured = [("ISTHMUS_KEY_FILE", other.to_owned())];
    assert!(shown(&configured).well().contains(&password));
    let said = isthmus_with(home, &["state", "rekey", "--passphrase"], &configured);
    assert!(said.code == 1 && said.stderr.contains("no passphrase could be read"), "{said:?}");
    let said = isthmus_with(home, &["state", "rekey"], &configured);
    assert!(said.code == 1 && said.stderr.contains("--key-file or --passphrase"), "{said:?}");
}
