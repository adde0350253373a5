//! A store in which some records are not as they were written.

use std::path::Path;
use std::time::Duration;

use isthmus_proto::property::Value;
use isthmus_state::{EncryptedStore, Intent, OperationKind, StoreKey};

use super::engine::Engine;
use super::goal;
use super::tofu::isthmus;
use crate::harness::engine::Severity;
use crate::harness::{Json, PATIENCE};

/// Flips a bit of the last of these bytes wherever they stand in the store's file, in which everything is by then.
pub(super) async fn damage(home: &Path, bytes: &[u8]) {
    let closed = async {
        while home.join("state.sqlite-wal").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, closed).await.expect("everybody lets go of the store");
    let path = home.join("state.sqlite");
    let mut file = std::fs::read(&path).expect("the store's file");
    let found: Vec<usize> =
        (0..file.len() - bytes.len()).filter(|at| file[*at..].starts_with(bytes)).collect();
    assert!(!found.is_empty(), "{:?} is in the file", String::from_utf8_lossy(bytes));
    for at in found {
        file[at + bytes.len() - 1] ^= 1;
    }
    std::fs::write(path, file).expect("damaged");
}

/// The word that follows.
fn after<'a>(text: &'a str, words: &str) -> &'a str {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("{words:?} is not in {text}"));
    rest.split(|character: char| !character.is_ascii_digit()).next().unwrap_or_default()
}

#[tokio::test]
async fn what_can_still_be_read_is_listed_exported_and_told_and_the_rest_is_named() {
    let mut engine = Engine::with_tool("random").await;
    let goals = [
        goal("random:password:Password", [("urnName", Value::from("secret")), ("length", 12.0.into())]),
        goal("random:pet:Pet", [("urnName", Value::from("dog"))]),
    ];
    engine.deploy(&goals).await.expect("created");
    let pet = engine.resource("dog").id.clone();
    let state_store = EncryptedStore::open(engine.home(), None).await.expect("the store");
    for (type_name, subject) in [("random_pet", "the cat"), ("random_id", "the number")] {
        let key = StoreKey {
            package: "random".to_owned(),
            type_name: type_name.to_owned(),
            id: "unknown".to_owned(),
        };
        let (intention, prior, companion) = (OperationKind::Update, None, bytes::Bytes::new());
        let intent = Intent { intention, key, subject: subject.to_owned(), prior, companion };
        drop(state_store.journal().begin(intent, None).await.expect("begun"));
    }
    drop(state_store);
    isthmus(engine.home(), &["state", "list"]).succeeded();
    damage(engine.home(), b"randomrandom_passwordnone").await;
    damage(engine.home(), b"randomrandom_idunknown").await;

    let listed = isthmus(engine.home(), &["state", "list"]);
    assert_eq!(listed.code, 1, "{listed:?}");
    assert!(listed.stdout.contains(&pet), "{listed:?}");
    for part in ["random_password", "restore the store from a backup"] {
        assert!(listed.stderr.contains(part), "{part:?} is not in {listed:?}");
    }
    let record = after(&listed.stderr, "isthmus state rm ").to_owned();
    let listed = isthmus(engine.home(), &["recover", "--json"]);
    let change = after(&listed.stderr, "isthmus recover dismiss ").to_owned();
    assert!(listed.stderr.contains("random_id"), "{listed:?}");
    assert!(listed.code == 1 && listed.stdout.contains("\"the cat\""), "{listed:?}");
    assert!(!listed.stdout.contains("the number"), "{listed:?}");

    let exported = isthmus(engine.home(), &["state", "export"]);
    assert_eq!(exported.code, 1, "{exported:?}");
    let state: Json = serde_json::from_str(&exported.stdout).expect("a state");
    assert_eq!(state["resources"][0]["instances"][0]["attributes"]["id"], pet, "{state}");
    assert_eq!(state["resources"].as_array().map(Vec::len), Some(1), "{state}");
    assert!(exported.stderr.contains("random_password"), "{exported:?}");
    isthmus(engine.home(), &["state", "show", &format!("random_pet/{pet}")]).succeeded();
    let shown = isthmus(engine.home(), &["state", "show", "random_password/none"]);
    assert!(shown.code == 3 && shown.stderr.contains("isthmus state rm"), "{shown:?}");

    engine.start().await.kill().await;
    let warned: Vec<String> = engine
        .shown()
        .into_iter()
        .filter(|line| line.severity == Severity::Warning && line.message.contains("recover dismiss"))
        .map(|line| line.message)
        .collect();
    // The engine knows what it wanted to update, and does so again.
    let [warned] = &warned[..] else { panic!("one warning, not {warned:?}") };
    assert!(warned.contains(&format!("recover dismiss {change}`")), "{warned}");

    let removed = isthmus(engine.home(), &["state", "rm", &record]).succeeded();
    assert_eq!(removed.stdout, format!("removed record {record}, which was damaged\n"));
    let dismissed = isthmus(engine.home(), &["recover", "dismiss", &change]).succeeded();
    assert!(dismissed.stdout.starts_with(&format!("dismissed {change}: ")), "{dismissed:?}");
    isthmus(engine.home(), &["state", "list"]).succeeded();
}
