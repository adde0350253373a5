//! States of stacks go through the state store: what an import stores, an export writes again.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use isthmus_proto::property::Value;
use isthmus_proto::tfstackdata1::{StateComponentInstanceV1, StateResourceInstanceObjectV1};
use isthmus_state::stacks::{Kind, SequenceFile, StateRecord};
use prost_types::Any;

use super::super::damage::damage;
use super::super::engine::{Engine, Step};
use super::super::goal;
use super::super::state_commands::import;
use super::super::tofu::{Said, isthmus};
use super::{PROVIDER, attribute, dynamic, newer, record, secret, state};
use crate::harness::{Json, json};

/// Objects of one address, and one of them of one id, in two components.
fn pets() -> Vec<StateRecord> {
    let pet = |id: &str, status| StateResourceInstanceObjectV1 {
        value_json: format!(r#"{{"id":"{id}","keepers":null,"length":2,"prefix":null,"separator":"-"}}"#)
            .into(),
        sensitive_paths: vec![attribute("separator")],
        schema_version: 0,
        status,
        dependencies: vec!["random_integer.number".to_owned()],
        create_before_destroy: true,
        provider_config_addr: format!("{PROVIDER}.other"),
        provider_specific_data: "private".into(),
    };
    let entry = |key: &str, id: &str, status| StateRecord {
        key: format!("RSRC{key}"),
        content: Some(record("StateResourceInstanceObjectV1", &pet(id, status))),
    };
    vec![
        entry(r#"component.main["eu"],random_pet.dog,0123cafe"#, "old-dog", 1),
        entry(r#"component.main["eu"],random_pet.dog,cur"#, "able-dog", 1),
        entry(r#"component.main["us"],random_pet.dog,cur"#, "able-dog", 2),
        entry("stack.inner.component.main,module.m.random_pet.dog[1],cur", "shy-dog", 1),
    ]
}

/// Everything but objects: a component, an output, an input, and a record to preserve; and one to discard.
fn others() -> Vec<StateRecord> {
    state().into_iter().filter(|record| !record.key.starts_with("RSRC")).collect()
}

fn entry(key: &str, content: Any) -> StateRecord {
    StateRecord { key: key.to_owned(), content: Some(content) }
}

fn by_key(records: &[StateRecord]) -> BTreeMap<String, Any> {
    let entry = |record: &StateRecord| Some((record.key.clone(), record.content.clone()?));
    records.iter().filter_map(entry).collect()
}

async fn import_records(home: &Path, records: &[StateRecord], more: &[&str]) -> Said {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("given");
    std::fs::write(&file, SequenceFile::State(records.to_vec()).write()).expect("a file");
    import(home, file.to_str().expect("a path in UTF-8"), more).await
}

/// The records that an export writes, by key.
fn exported(home: &Path, more: &[&str]) -> BTreeMap<String, Any> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("exported");
    let out = file.to_str().expect("a path in UTF-8");
    isthmus(home, &[&["state", "export", "--format", "stacks", "--output", out], more].concat()).succeeded();
    let bytes = Bytes::from(std::fs::read(&file).expect("a file"));
    let SequenceFile::State(records) = SequenceFile::read(&bytes, Kind::State).expect("a state") else {
        panic!("no state")
    };
    let all = by_key(&records);
    assert_eq!(all.len(), records.len(), "each key once: {records:?}");
    all
}

#[tokio::test]
async fn a_stack_is_exported_record_by_record_as_it_was_imported() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let given = [others(), pets()].concat();
    let said = import_records(&home, &given, &[]).await.succeeded();
    assert!(said.stdout.starts_with("other records of the stack: 6 added\n"), "{said:?}");
    assert!(said.stdout.ends_with("4 added, 0 already there, 0 replaced, 0 not imported\n"), "{said:?}");
    assert!(said.stderr.contains("warning: discarded, as their keys require: dropped\n"), "{said:?}");
    let said = import_records(&home, &given, &[]).await.succeeded();
    assert!(said.stdout.starts_with("other records of the stack: 6 in the store already\n"), "{said:?}");
    assert!(said.stdout.ends_with("0 added, 4 already there, 0 replaced, 0 not imported\n"), "{said:?}");

    let shown = isthmus(&home, &["state", "show", "--json", "random_pet/able-dog"]).well();
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["records"][0]["component"], r#"component.main["eu"]"#);

    let mut expected = by_key(&given);
    expected.remove("dropped");
    // A component that only an object names gets a record.
    let empty = record("StateComponentInstanceV1", &StateComponentInstanceV1::default());
    for key in [r#"CMPTcomponent.main["us"]"#, "CMPTstack.inner.component.main"] {
        expected.insert(key.to_owned(), empty.clone());
    }
    assert_eq!(exported(&home, &[]), expected);
    let file = directory.path().join("exported");
    let out = file.to_str().expect("a path in UTF-8");
    let said = isthmus(&home, &["state", "export", "--format", "stacks", "--output", out]).succeeded();
    assert_eq!(said.stdout, format!("wrote 4 objects and 6 other records of a stack to {out}\n"));

    // What is exported can be imported again, into this store and into another one.
    let entries: Vec<StateRecord> =
        expected.iter().map(|(key, content)| entry(key, content.clone())).collect();
    for home in [home, directory.path().join("other")] {
        import_records(&home, &entries, &[]).await.succeeded();
        assert_eq!(exported(&home, &[]), expected);
    }
}

#[tokio::test]
async fn another_state_of_a_stack_is_imported_only_as_the_user_decides() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let (first, mut second) = (others(), [others(), pets()[..2].to_vec()].concat());
    import_records(&home, &first, &[]).await.succeeded();
    second.retain(|record| !record.key.starts_with("keeP"));
    second.push(entry("OTPToutput.address", record("DynamicValue", &secret("hunter5"))));
    second.push(entry("VRBLvar.size", record("DynamicValue", &dynamic("large"))));
    let contents = |mut records: BTreeMap<String, Any>| {
        records.retain(|key, _| key != "dropped" && !key.starts_with("RSRC"));
        records
    };
    let (old, new) = (contents(by_key(&first)), contents(by_key(&second)));

    let said = import_records(&home, &second, &[]).await;
    assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{said:?}");
    let differ = "differ from it in OTPToutput.address, VRBLvar.size, \"keeP\\u{7}\"\nhelp: ";
    assert!(said.stderr.contains(differ) && !said.stderr.contains("hunter"), "{said:?}");
    assert_eq!(exported(&home, &[]), old, "nothing is imported, and no object");

    let said = import_records(&home, &second, &["--on-conflict", "both"]).await.succeeded();
    assert!(said.stdout.starts_with("other records of the stack: 1 added\n"), "{said:?}");
    assert!(said.stderr.contains("has another record: OTPToutput.address\n"), "{said:?}");
    let mut both = old;
    both.insert("VRBLvar.size".to_owned(), new["VRBLvar.size"].clone());
    assert_eq!(contents(exported(&home, &[])), both);

    let said = import_records(&home, &second, &["--on-conflict", "replace"]).await.succeeded();
    assert!(said.stdout.starts_with("other records of the stack: 4 replaced the stored ones\n"), "{said:?}");
    let changed = "replaced or removed, because the state store has another record: OTPToutput.address, \"keeP\\u{7}\"\n";
    assert!(said.stderr.contains(changed) && !said.stderr.contains("hunter"), "{said:?}");
    assert_eq!(contents(exported(&home, &[])), new);
}

#[tokio::test]
async fn of_two_first_imports_at_once_one_is_stored_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let stacks = ["one", "other"].map(|name| {
        let output =
            |number| entry(&format!("OTPToutput.{name}_{number}"), record("DynamicValue", &dynamic(name)));
        (directory.path().join(name), (0..50).map(output).collect::<Vec<_>>())
    });
    let imports = stacks.clone().map(|(file, records)| {
        std::fs::write(&file, SequenceFile::State(records).write()).expect("a file");
        let home = home.clone();
        tokio::task::spawn_blocking(move || {
            isthmus(&home, &["state", "import", file.to_str().expect("a path in UTF-8")])
        })
    });
    let mut codes = Vec::new();
    for import in imports {
        codes.push(import.await.expect("an end").code);
    }
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    let stored = exported(&home, &[]);
    assert!(stacks.iter().any(|(_, records)| by_key(records) == stored), "{:?}", stored.keys());
}

#[tokio::test]
async fn the_records_of_a_stack_are_listed_without_values_and_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let list = |more: &[&str]| isthmus(&home, &[&["state", "list", "--stack"], more].concat()).well();
    assert_eq!(list(&[]), "NUMBER  KIND  ADDRESS\n");
    assert!(list(&["--json"]).contains("\"records\": []"));
    import_records(&home, &others(), &[]).await.succeeded();
    let table = list(&[]);
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
    let shown: Vec<&[&str]> = rows.iter().map(|row| &row[1..]).collect();
    assert_eq!(
        shown,
        [
            &["KIND", "ADDRESS"],
            &["component", r#"component.main["eu"]"#],
            &["output", "address"],
            &["input", "token"],
            &["unknown", r#""keeP\u{7}""#],
        ]
    );
    let listed = list(&["--json"]);
    assert!(!format!("{table}{listed}").contains("hunter"), "{listed}");
    let listed: Json = serde_json::from_str(&listed).expect("JSON");
    let number = rows[2][0];
    assert_eq!(
        listed["records"][1],
        json!({ "number": number.parse::<u64>().expect("a number"), "kind": "output", "address": "address",
                "key": "OTPToutput.address" })
    );

    assert_eq!(isthmus(&home, &["state", "rm", number, "VRBLvar.none"]).code, 3, "there is no such input");
    let said = isthmus(&home, &["state", "rm", number, "VRBLvar.token"]).succeeded();
    assert!(said.stdout.starts_with(&format!("removed record {number}, OTPToutput.address\n")), "{said:?}");
    let kept: Vec<String> = exported(&home, &[]).into_keys().collect();
    assert_eq!(kept, [r#"CMPTcomponent.main["eu"]"#, "keeP\u{7}"]);
}

#[tokio::test]
async fn a_damaged_record_of_a_stack_is_reported_removed_and_imported_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    import_records(&home, &others(), &[]).await.succeeded();
    let whole = exported(&home, &[]);
    damage(&home, b"output.address").await;

    let listed = isthmus(&home, &["state", "list", "--stack"]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (1, 4), "{listed:?}");
    let (_, number) = listed.stderr.split_once("isthmus state rm ").expect("what to do");
    let number = number.split('`').next().expect("a number");
    let written = isthmus(&home, &["state", "export", "--format", "stacks"]);
    assert!(written.code == 1 && written.stderr.contains("is damaged"), "{written:?}");
    for conflicts in ["refuse", "both"] {
        let said = import_records(&home, &others(), &["--on-conflict", conflicts]).await;
        let is_named = said.stderr.contains("OTPToutput.address, the record of OTPT");
        assert!(said.code == 1 && is_named && said.stderr.contains("is damaged"), "{said:?}");
    }
    let said = isthmus(&home, &["state", "rm", number]).succeeded();
    assert_eq!(said.stdout, format!("removed record {number}, which was damaged\n"));
    import_records(&home, &others(), &["--on-conflict", "both"]).await.succeeded();
    assert_eq!(exported(&home, &[]), whole);
}

#[tokio::test]
async fn records_that_only_a_newer_release_knows_are_refused_with_all_others() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    for unknown in [entry("NEWKx", newer()), entry("OTPToutput.newer", newer())] {
        let said = import_records(&home, &[others(), vec![unknown.clone()]].concat(), &[]).await;
        let place = format!("record 6 ({})", unknown.key);
        assert!(said.code == 1 && said.stderr.contains(&place), "{said:?}");
    }
    assert!(!home.exists(), "nothing is imported");
}

#[tokio::test]
async fn an_update_by_the_legacy_engine_keeps_the_component_of_an_object() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let offset = |days: f64| {
        goal("time:offset:Offset", [("urnName", Value::from("later")), ("offsetDays", days.into())])
    };
    let mut engine = Engine::with_tool("time").await;
    engine.deploy(&[offset(7.0)]).await.expect("created");
    let objects = exported(engine.home(), &["--component", r#"component.main["eu"]"#]);
    let records = objects.into_iter().chain(by_key(&others()));
    let records: Vec<StateRecord> = records.map(|(key, content)| entry(&key, content)).collect();
    let time = tokio::task::spawn_blocking(|| fixtures::tools::tool("terraform-provider-time"));
    let time = format!("--provider=time={}", time.await.expect("a provider").display());
    import_records(&home, &records, &[&time]).await.succeeded();
    let imported = exported(&home, &[]);

    let mut engine = engine.with_store_in(&home);
    let done = engine.deploy(&[offset(8.0)]).await.expect("updated");
    assert_eq!(done, [("later".to_owned(), Step::Update)]);
    let shown = isthmus(&home, &["state", "list", "--json"]).well();
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["records"][0]["component"], r#"component.main["eu"]"#);

    // The export has the new object, and all other records as they came.
    let updated = exported(&home, &[]);
    let differ = isthmus_state::stacks::differences(&imported, &updated);
    let [key] = Vec::from_iter(differ)[..] else { panic!("one record: {updated:?}") };
    assert!(key.starts_with(r#"RSRCcomponent.main["eu"],time_offset."#), "{key}");
    let object: StateResourceInstanceObjectV1 =
        prost::Message::decode(&updated[key].value[..]).expect("an object");
    let value: Json = serde_json::from_slice(&object.value_json).expect("JSON");
    assert_eq!(value["offset_days"], 8);
}
