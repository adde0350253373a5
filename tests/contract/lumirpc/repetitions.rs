//! Calls of the legacy engine that come again, after another object has got the id.
//!
//! The notes of this provider have their titles as ids ([`SANDBOX_IDS`](isthmus_sandbox)), so that a second one can be
//! created under the id of a deleted one. Each process of the plugin is killed before the next one starts.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::harness::processes::Signal;
use isthmus_proto::lumirpc::{CreateRequest, DeleteRequest, DiffRequest, GetRequest, UpdateRequest};
use isthmus_proto::property::{Struct, Value};
use isthmus_state::{Deletion, EncryptedStore, StoreKey, TOMBSTONE_RETENTION};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::tofu::isthmus;
use super::{ResourceProviderClient, goal, kept, text};
use crate::harness::{Host, Protocol, Setup};

const NOTE: &str = "sandbox:note:Note";

/// What the provider is called for that may change or destroy something.
const CHANGES: [&str; 2] = ["PlanResourceChange", "ApplyResourceChange"];

/// What the engine has of a resource.
#[derive(Clone, Debug)]
struct Known {
    id: String,
    inputs: Struct,
    outputs: Struct,
}

impl Known {
    /// As the engine sends it for a deletion.
    fn all(&self) -> Struct {
        let mut all = self.inputs.clone();
        let said = self.outputs.iter().filter(|(_, value)| !value.is_null());
        all.extend(said.map(|(name, value)| (name.to_owned(), value.clone())));
        all
    }
}

/// A process of the plugin.
struct Plugin {
    host: Host,
    client: ResourceProviderClient<Channel>,
}

fn setup() -> Setup {
    Setup::sandbox(Protocol::V6).named("lumi-resource-sandbox").with("SANDBOX_IDS", "titles")
}

fn note(title: &str, body: &str) -> Struct {
    [("title", Value::from(title)), ("body", body.into()), ("secretHint", "hunter2".into())].into()
}

impl Plugin {
    async fn start(setup: Setup) -> Self {
        let host = setup.start().await;
        let client = ResourceProviderClient::new(host.channel().await);
        Self { host, client }
    }

    /// Kills this one, and starts another one on the same store.
    async fn killed(mut self) -> Self {
        self.host.signal(Signal::KILL);
        self.host.exit().await;
        let again = setup().beside(&self.host);
        drop(self);
        Self::start(again).await
    }

    fn home(&self) -> PathBuf {
        self.host.directory().join("isthmus")
    }

    async fn create(&self, inputs: Struct) -> Known {
        let request = CreateRequest { r#type: NOTE.to_owned(), properties: Some(inputs.clone()) };
        let made = self.client.clone().create(request).await.expect("created").into_inner();
        Known { id: made.id, inputs, outputs: made.properties.expect("outputs") }
    }

    async fn update(&self, known: &Known, news: Struct) -> Result<Known, Status> {
        let request = UpdateRequest {
            id: known.id.clone(),
            r#type: NOTE.to_owned(),
            olds: Some(known.inputs.clone()),
            news: Some(news.clone()),
        };
        let updated = self.client.clone().update(request).await?.into_inner();
        Ok(Known { id: known.id.clone(), inputs: news, outputs: updated.properties.expect("outputs") })
    }

    async fn diff(&self, known: &Known, news: Struct) -> Result<Vec<String>, Status> {
        let request = DiffRequest {
            id: known.id.clone(),
            r#type: NOTE.to_owned(),
            olds: Some(known.inputs.clone()),
            news: Some(news),
        };
        Ok(self.client.clone().diff(request).await?.into_inner().replaces)
    }

    async fn delete(&self, known: &Known) -> Result<(), Status> {
        let request =
            DeleteRequest { id: known.id.clone(), r#type: NOTE.to_owned(), properties: Some(known.all()) };
        self.client.clone().delete(request).await.map(drop)
    }

    async fn get(&self, id: &str) -> Option<Struct> {
        let request = GetRequest { id: id.to_owned(), r#type: NOTE.to_owned() };
        self.client.clone().get(request).await.expect("an answer").into_inner().properties
    }

    /// The bodies of the notes that the provider has.
    fn bodies(&self) -> Vec<String> {
        let objects = self.host.objects().into_iter();
        objects.map(|object| object["body"].as_str().expect("a body").to_owned()).collect()
    }

    /// The calls of the provider that may have changed something.
    fn changes(&self) -> usize {
        self.host.call_names().iter().filter(|call| CHANGES.contains(&call.as_str())).count()
    }

    async fn state_store(&self) -> EncryptedStore {
        EncryptedStore::open(&self.home(), None).await.expect("the store")
    }

    /// The number of the only record.
    async fn only_record(&self) -> String {
        let records = self.state_store().await.list(None).await.expect("records");
        assert_eq!(records.len(), 1, "{records:?}");
        records[0].0.number.0.to_string()
    }
}

fn key(id: &str) -> StoreKey {
    StoreKey { package: "sandbox".to_owned(), type_name: "sandbox_note".to_owned(), id: id.to_owned() }
}

/// A refusal that names all this, and no value.
#[track_caller]
fn assert_refused(answer: Result<impl std::fmt::Debug, Status>, parts: &[&str]) {
    let status = answer.expect_err("another object is meant");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    for part in parts {
        assert!(status.message().contains(part), "{part:?} is not in: {}", status.message());
    }
    assert!(!status.message().contains("hunter2"), "{}", status.message());
}

#[tokio::test]
async fn a_repeated_delete_leaves_the_object_alone_that_has_the_id_by_then() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.delete(&first).await.expect("deleted");
    let plugin = plugin.killed().await;
    let second = plugin.create(note("web", "second")).await;
    assert_eq!((first.id.as_str(), second.id.as_str()), ("web", "web"));

    let plugin = plugin.killed().await;
    let calls = plugin.host.call_names();
    plugin.delete(&first).await.expect("it was deleted before");
    assert_eq!(plugin.bodies(), ["second"], "it is alive");
    assert_eq!(plugin.host.call_names(), calls, "nothing is asked of the provider");
    let read = plugin.get("web").await.expect("it is there");
    assert_eq!(text(&read, "body"), "second");

    plugin.delete(&second).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
    let plugin = plugin.killed().await;
    let calls = plugin.host.call_names();
    for known in [&first, &second, &first] {
        plugin.delete(known).await.expect("both were deleted");
    }
    assert_eq!(plugin.host.call_names(), calls);
    assert_eq!(kept(&plugin.home()).await, []);
}

#[tokio::test]
async fn tombstones_are_not_shown_by_the_commands_about_the_store() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.delete(&first).await.expect("deleted");
    let home = plugin.home();
    // A creation counts as open until its answer has certainly been sent.
    let state_store = plugin.state_store().await;
    let ended = async {
        while !state_store.journal().open_intents().await.expect("intents").intents.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("nothing is open any more");
    for words in [&["state", "list"][..], &["state", "list", "--json"], &["state", "export"]] {
        let said = isthmus(&home, words).succeeded();
        assert!(!said.stdout.contains("web") && !said.stderr.contains("web"), "{words:?}: {said:?}");
    }
    let said = isthmus(&home, &["state", "show", "sandbox_note/web"]);
    assert_eq!(said.code, 3, "{said:?}");
}

#[tokio::test]
async fn a_delete_that_contradicts_every_record_is_refused_and_reaches_no_provider() {
    let plugin = Plugin::start(setup()).await;
    let made = plugin.create(note("web", "made")).await;
    let mut other = made.clone();
    other.outputs.insert("body", "other");
    other.outputs.insert("secretHint", "hunter2 of the other");
    let calls = plugin.host.call_names();
    let number = plugin.only_record().await;
    let record = format!("record {number} of the state store");
    let command = format!("`isthmus state rm {number}`");
    let parts = ["sandbox_note \"web\"", &record, "`body`", "`secretHint`", &command, "remove the resource"];
    assert_refused(plugin.delete(&other).await, &parts);
    assert_eq!(plugin.host.call_names(), calls);
    assert_eq!(plugin.bodies(), ["made"]);

    // Also after the record is gone: the provider's object is compared then.
    assert!(isthmus(&plugin.home(), &["state", "rm", &number]).well().contains("removed record"));
    let changes = plugin.changes();
    assert_refused(plugin.delete(&other).await, &["the provider's object", "`body`", "delete it by hand"]);
    assert_eq!((plugin.changes(), plugin.bodies()), (changes, vec!["made".to_owned()]));
    plugin.delete(&made).await.expect("this one is meant");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
    plugin.delete(&made).await.expect("it was deleted before");
    assert_eq!(plugin.changes(), changes + 2, "one deletion is planned and applied");
}

/// A store that was restored from a backup has records of before.
#[tokio::test]
async fn removing_the_record_is_the_way_out_when_the_record_is_older_than_the_object() {
    let plugin = Plugin::start(setup()).await;
    let made = plugin.create(note("web", "old")).await;
    let (home, backup) = (plugin.home(), plugin.host.directory().join("backup"));
    let plugin = plugin.killed().await;
    let copy = |from: &PathBuf, to: &PathBuf| {
        std::fs::create_dir_all(to).expect("a directory");
        for file in ["state.sqlite", "state.sqlite-wal"] {
            match std::fs::copy(from.join(file), to.join(file)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    drop(std::fs::remove_file(to.join(file)));
                }
                copied => drop(copied.expect("copied")),
            }
        }
        drop(std::fs::remove_file(to.join("state.sqlite-shm")));
    };
    copy(&home, &backup);
    let updated = plugin.update(&made, note("web", "new")).await.expect("updated");
    // Again, so that the engine is known to have had the answer.
    let updated = plugin.update(&updated, note("web", "newest")).await.expect("updated");
    let mut host = plugin.host;
    host.signal(Signal::KILL);
    host.exit().await;
    copy(&backup, &home);
    let plugin = Plugin::start(setup().beside(&host)).await;

    let number = plugin.only_record().await;
    let command = format!("`isthmus state rm {number}`");
    assert_refused(plugin.delete(&updated).await, &["`body`", "`revision`", &command]);
    assert_refused(
        plugin.update(&updated, note("web", "later")).await,
        &["cannot update", "`body`", &command],
    );
    assert_eq!(plugin.bodies(), ["newest"]);
    isthmus(&home, &["state", "rm", &number]).succeeded();
    let later = plugin.update(&updated, note("web", "later")).await.expect("it is imported");
    assert_eq!(plugin.bodies(), ["later"]);
    plugin.delete(&later).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

#[tokio::test]
async fn an_expired_tombstone_does_not_stand_for_an_object_any_more() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.delete(&first).await.expect("deleted");
    let second = plugin.create(note("web", "second")).await;
    let (state_store, key, now) = (plugin.state_store().await, key("web"), SystemTime::now());
    let found = state_store.tombstones().find(&key, now).await.expect("tombstones");
    let [tombstone] = &found[..] else { panic!("one tombstone, not {found:?}") };
    let age = |age: Duration| Deletion { at: now - age, ..tombstone.deletion.clone() };

    let nearly = age(TOMBSTONE_RETENTION - Duration::from_secs(600));
    state_store.tombstones().add(&key, &nearly).await.expect("written");
    plugin.delete(&first).await.expect("it was deleted before");
    state_store
        .tombstones()
        .add(&key, &age(TOMBSTONE_RETENTION + Duration::from_secs(1)))
        .await
        .expect("written");
    assert_refused(plugin.delete(&first).await, &["`body`", "isthmus state rm"]);
    assert_eq!(plugin.bodies(), ["second"]);
    plugin.delete(&second).await.expect("deleted");
}

#[tokio::test]
async fn an_object_that_was_created_again_with_the_same_properties_can_be_deleted() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "same")).await;
    plugin.delete(&first).await.expect("deleted");
    let second = plugin.create(note("web", "same")).await;
    assert_eq!(first.all(), second.all(), "nothing tells them apart");
    // Even when its record is lost.
    let number = plugin.only_record().await;
    isthmus(&plugin.home(), &["state", "rm", &number]).succeeded();
    plugin.delete(&second).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());

    // The same by an update.
    let other = plugin.create(note("web", "other")).await;
    let changed = plugin.update(&other, note("web", "changed")).await.expect("updated");
    plugin.delete(&changed).await.expect("deleted");
    let other = plugin.create(note("web", "other")).await;
    let changed = plugin.update(&other, note("web", "changed")).await.expect("updated");
    plugin.delete(&changed).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

#[tokio::test]
async fn what_an_interrupted_delete_has_destroyed_is_not_destroyed_again_under_its_id() {
    let (plugin, first, second) = two_records_of_one_id().await;
    let changes = plugin.changes();
    plugin.delete(&first).await.expect("it is gone");
    assert_eq!((plugin.changes(), plugin.bodies()), (changes, vec!["second".to_owned()]));
    assert_eq!(kept(&plugin.home()).await.len(), 1);
    plugin.delete(&first).await.expect("it was deleted before");
    assert_eq!(plugin.bodies(), ["second"]);
    plugin.delete(&second).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

/// The records of two objects: the provider had deleted the first, the plugin was killed before it could store that, and the
/// second has the id by now.
async fn two_records_of_one_id() -> (Plugin, Known, Known) {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.host.lose_object();
    let plugin = plugin.killed().await;
    let second = plugin.create(note("web", "second")).await;
    assert_eq!((second.id.as_str(), kept(&plugin.home()).await.len()), ("web", 2));
    (plugin, first, second)
}

#[tokio::test]
async fn an_object_that_is_like_none_of_several_records_is_not_deleted_for_any() {
    let (plugin, first, second) = two_records_of_one_id().await;
    plugin.host.tamper(|object| object["body"] = "changed outside".into());
    let changes = plugin.changes();
    let told = ["cannot delete", "2 records", "isthmus state rm"];
    assert_refused(plugin.delete(&first).await, &told);
    assert_refused(plugin.delete(&second).await, &told);
    let update = plugin.update(&first, note("web", "news")).await;
    assert_refused(update, &["cannot update", "2 records", "isthmus state rm"]);
    assert_eq!((plugin.changes(), plugin.bodies()), (changes, vec!["changed outside".to_owned()]));

    // The way out that the error names.
    let records = plugin.state_store().await.list(None).await.expect("records");
    let oldest = records.iter().map(|record| record.0.number.0).min().expect("two");
    isthmus(&plugin.home(), &["state", "rm", &oldest.to_string()]).succeeded();
    plugin.delete(&second).await.expect("its object was changed outside, and is deleted all the same");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

#[tokio::test]
async fn an_update_changes_the_object_of_no_other_record() {
    let (plugin, first, second) = two_records_of_one_id().await;
    let changes = plugin.changes();
    assert_refused(plugin.update(&first, note("web", "news")).await, &["does not exist any more"]);
    assert_eq!((plugin.changes(), plugin.bodies()), (changes, vec!["second".to_owned()]));
    let updated = plugin.update(&second, note("web", "news")).await.expect("this one is meant");
    assert_eq!(plugin.bodies(), ["news"]);
    plugin.delete(&updated).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_gone_without_a_record_counts_as_deleted_from_then_on() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.host.lose_object();
    isthmus(&plugin.home(), &["state", "rm", &plugin.only_record().await]).succeeded();
    plugin.delete(&first).await.expect("there is nothing under its id");
    let second = plugin.create(note("web", "second")).await;
    isthmus(&plugin.home(), &["state", "rm", &plugin.only_record().await]).succeeded();
    plugin.delete(&first).await.expect("it was deleted before");
    assert_eq!(plugin.bodies(), ["second"]);
    plugin.delete(&second).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}

#[tokio::test]
async fn an_update_whose_answer_was_lost_hides_the_resource_from_no_later_call() {
    let plugin = Plugin::start(setup()).await;
    let made = plugin.create(note("web", "first")).await;
    plugin.update(&made, note("web", "second")).await.expect("the answer is lost");
    let plugin = plugin.killed().await;
    plugin.update(&made, note("web", "third")).await.expect("the answer is lost again");
    assert_eq!(plugin.bodies(), ["third"]);
    assert_eq!(plugin.diff(&made, note("web", "fourth")).await.expect("compared"), Vec::<String>::new());
    let plugin = plugin.killed().await;
    plugin.delete(&made).await.expect("what the engine knows of it is old");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
    assert_eq!(kept(&plugin.home()).await, []);
}

#[tokio::test]
async fn neither_a_difference_nor_an_update_takes_another_object_for_the_deleted_one() {
    let plugin = Plugin::start(setup()).await;
    let first = plugin.create(note("web", "first")).await;
    plugin.delete(&first).await.expect("the answer is lost");
    // Nothing has the id.
    assert_eq!(plugin.diff(&first, note("web", "news")).await.expect("compared"), ["id"]);
    let gone = plugin.update(&first, note("web", "news")).await;
    assert_refused(gone, &["does not exist any more"]);

    // Another one of this store has it.
    let second = plugin.create(note("web", "second")).await;
    let changes = plugin.changes();
    assert_eq!(plugin.diff(&first, note("web", "news")).await.expect("compared"), ["id"]);
    assert_refused(plugin.update(&first, note("web", "news")).await, &["does not exist any more"]);
    assert_eq!((plugin.changes(), plugin.bodies()), (changes, vec!["second".to_owned()]));

    // And one that nothing is known of.
    isthmus(&plugin.home(), &["state", "rm", &plugin.only_record().await]).succeeded();
    assert_eq!(plugin.diff(&first, note("web", "news")).await.expect("compared"), ["id"]);
    assert_refused(plugin.update(&first, note("web", "news")).await, &["does not exist any more"]);
    let unknown = Known { inputs: note("web", "never created"), ..first };
    let told = ["cannot update", "the provider's object", "`body`", "remove the resource"];
    assert_refused(plugin.update(&unknown, note("web", "news")).await, &told);
    assert_refused(plugin.diff(&unknown, note("web", "news")).await, &["cannot compare", "`body`"]);
    assert_eq!(plugin.bodies(), ["second"]);
    let updated = plugin.update(&second, note("web", "news")).await.expect("this one is meant");
    assert_eq!(plugin.bodies(), ["news"]);
    plugin.delete(&updated).await.expect("deleted");
}

/// Its provider cannot import, and deletes by the name of the file: what the properties describe is what is destroyed.
#[tokio::test]
async fn a_repeated_delete_leaves_the_file_alone_that_has_the_name_by_then() {
    let mut engine = super::Engine::with_tool("local").await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("web");
    let file = |content: &str| {
        let inputs = [
            ("urnName", Value::from("web")),
            ("filename", path.to_str().expect("text").into()),
            ("content", content.into()),
        ];
        [goal("local:file:File", inputs)]
    };
    let content = || std::fs::read_to_string(&path).expect("the file");
    engine.deploy(&file("first")).await.expect("created");
    let first = engine.resource("web").clone();
    engine.deploy(&[]).await.expect("deleted");
    engine.deploy(&file("second")).await.expect("created");
    let plugin = engine.start().await;
    plugin.delete(&first).await.expect("it was deleted before");
    assert_eq!(content(), "second");

    // Without the tombstone: what is read under its properties is not what they describe.
    let state_store = EncryptedStore::open(engine.home(), None).await.expect("the store");
    let key =
        StoreKey { package: "local".to_owned(), type_name: "local_file".to_owned(), id: first.id.clone() };
    let found = state_store.tombstones().find(&key, SystemTime::now()).await.expect("tombstones").into_iter();
    let numbers: Vec<_> = found.map(|tombstone| tombstone.number).collect();
    assert_eq!(numbers.len(), 1);
    state_store.tombstones().remove(&numbers).await.expect("removed");
    plugin.delete(&first).await.expect("it is gone");
    assert_eq!(content(), "second");
    plugin.kill().await;
}

/// An object that was imported into the store is known by what it is.
#[tokio::test]
async fn an_object_that_was_imported_into_the_store_is_not_deleted_for_another() {
    let plugin = Plugin::start(setup()).await;
    let made = plugin.create(note("web", "made")).await;
    let exported = isthmus(&plugin.home(), &["state", "export"]).well();
    let file = plugin.host.directory().join("terraform.tfstate");
    std::fs::write(&file, exported).expect("written");
    isthmus(&plugin.home(), &["state", "rm", &plugin.only_record().await]).succeeded();
    let provider = format!("sandbox={}", plugin.host.provider());
    let words = ["state", "import", "--provider", &provider, file.to_str().expect("text")];
    isthmus(&plugin.home(), &words).succeeded();
    let mut other = made.clone();
    other.outputs.insert("body", "other");
    assert_refused(plugin.delete(&other).await, &["`body`", "isthmus state rm"]);
    other.inputs.insert("body", "other");
    let news = note("web", "news");
    assert_refused(plugin.diff(&other, news.clone()).await, &["cannot compare", "`body`"]);
    assert_refused(plugin.update(&other, news).await, &["cannot update", "`body`", "isthmus state rm"]);
    assert_eq!(plugin.bodies(), ["made"]);
    plugin.delete(&made).await.expect("deleted");
    assert_eq!(plugin.bodies(), Vec::<String>::new());
}
