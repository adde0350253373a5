//! The service of the legacy engine, driven as that engine drives it.
//!
//! [`engine`] plays the engine, call for call: one process of the plugin for each command, ended by SIGKILL; names, checks,
//! comparisons and then changes, deletions last; its state is only what that engine keeps. The providers are real.

mod cut;
mod damage;
mod engine;
mod example;
mod interchange;
mod journal;
mod kills;
mod linking;
mod names;
mod programs;
mod repetitions;
mod replicas;
mod stacks;
mod state_commands;
mod telling;
pub(crate) mod tofu;
mod together;

use std::path::{Path, PathBuf};

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, DeleteRequest, DiffRequest, GetRequest, UpdateRequest,
};
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc;
use isthmus_state::{EncryptedStore, Status};
use isthmus_translate::property;
use tonic::transport::Channel;

use crate::harness::engine::Severity;
use crate::harness::{Outcome, Session, Setup, json, on_one_protocol, processes};
use engine::{Engine, Goal, Step};

fn goal(type_token: &str, inputs: impl Into<Struct>) -> Goal {
    Goal { type_token: type_token.to_owned(), inputs: inputs.into() }
}

fn pet(inputs: impl Into<Struct>) -> Goal {
    goal("random:pet:Pet", inputs)
}

fn text(bag: &Struct, name: &str) -> String {
    bag.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no text {name} in {bag:?}")).to_owned()
}

/// What is in the store that a plugin with this home has used.
async fn kept(home: &Path) -> Vec<(String, Status)> {
    let state_store = EncryptedStore::open(home, None).await.expect("the store");
    let records = state_store.list(None).await.expect("its records");
    records.into_iter().map(|(_, key, saved)| (key.id, saved.object.status)).collect()
}

#[tokio::test]
async fn both_forms_of_token_lead_to_the_resource() {
    let mut engine = Engine::with_tool("random").await;
    let goals = [
        goal("random:pet:Pet", [("urnName", Value::from("short"))]),
        goal("random:index/pet:Pet", [("urnName", Value::from("long"))]),
    ];
    engine.deploy(&goals).await.expect("created");
    let ids = [engine.resource("short").id.clone(), engine.resource("long").id.clone()];
    assert!(ids.iter().all(|id| id.contains('-')), "{ids:?}");
    let error = engine.plan(&[goal("random:pat:Pat", Struct::new())]).await.expect_err("no such type");
    assert!(error.contains("random:index/pet:Pet"), "it names what was perhaps meant: {error}");
}

#[tokio::test]
async fn names_come_from_the_program_or_the_type_and_never_reach_the_provider() {
    let mut engine = Engine::with_tool("random").await;
    // The schema of a pet has neither property, and refuses what it does not have.
    let goals = [
        pet([("urnName", Value::from("one")), ("name", "two".into())]),
        pet([("name", Value::from("three"))]),
        pet(Struct::new()),
    ];
    let steps = engine.deploy(&goals).await.expect("created");
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["one", "three", "Pet"]);
    let error = engine.plan(&[pet([("urnName", property::unknown())])]).await.expect_err("an unknown name");
    assert!(error.contains("`urnName`"), "{error}");
}

#[tokio::test]
async fn an_offset_is_changed_in_place_with_its_base_time_from_the_store() {
    let mut engine = Engine::with_tool("time").await;
    let offset = |days: f64| {
        [goal("time:offset:Offset", [("urnName", Value::from("later")), ("offsetDays", Value::from(days))])]
    };
    engine.deploy(&offset(1.0)).await.expect("created");
    let made = engine.resource("later").clone();
    let base = text(&made.outputs, "baseRfc3339");

    let updated = [("later".to_owned(), Step::Update)];
    assert_eq!(engine.plan(&offset(7.0)).await.expect("a plan"), updated);
    assert_eq!(engine.deploy(&offset(7.0)).await.expect("changed"), updated);
    let changed = engine.resource("later").clone();
    assert_eq!(changed.id, made.id);
    assert_eq!(text(&changed.outputs, "baseRfc3339"), base, "only the store knows when it was made");
    assert_ne!(text(&changed.outputs, "rfc3339"), text(&made.outputs, "rfc3339"));

    let found = engine.get("time:offset:Offset", &made.id).await.expect("an answer");
    assert_eq!(found, Some(changed.outputs), "what is read is what was stored last");

    // The provider changes its own id with the base time; the engine goes on with the one that it knows.
    let with = |more: [(&str, Value); 2]| {
        let mut goals = offset(7.0);
        goals[0].inputs.extend(more.map(|(name, value)| (name.to_owned(), value)));
        goals
    };
    let base = Value::from("2020-02-12T06:36:13Z");
    let moved = with([("baseRfc3339", base.clone()), ("triggers", Value::Null)]);
    assert_eq!(engine.deploy(&moved).await.expect("changed"), updated);
    assert_eq!(text(&engine.resource("later").outputs, "rfc3339"), "2020-02-19T06:36:13Z");
    assert_eq!(kept(engine.home()).await, [(made.id.clone(), Status::Ready)]);

    let triggers = Value::from(Struct::from([("run", Value::from("2"))]));
    let triggered = with([("baseRfc3339", base), ("triggers", triggers)]);
    let steps = engine.deploy(&triggered).await.expect("replaced");
    assert_eq!(steps, [("later".to_owned(), Step::Replace(vec!["triggers".to_owned()]))]);
    assert_eq!(engine.resource("later").id, "2020-02-12T06:36:13Z");
    engine.deploy(&[]).await.expect("deleted");
    assert!(kept(engine.home()).await.is_empty());
}

#[tokio::test]
async fn a_file_moves_although_the_old_and_the_new_one_have_the_same_id() {
    let mut engine = Engine::with_tool("local").await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let file = |path: PathBuf, content: &str| {
        let inputs = [
            ("urnName", Value::from("greeting")),
            ("filename", path.to_str().expect("text").into()),
            ("content", content.into()),
        ];
        [goal("local:file:File", inputs)]
    };
    engine.deploy(&file(path("old"), "hello")).await.expect("created");
    assert_eq!(std::fs::read_to_string(path("old")).expect("the file"), "hello");
    let id = engine.resource("greeting").id.clone();

    let steps = engine.deploy(&file(path("new"), "hello")).await.expect("replaced");
    assert_eq!(steps, [("greeting".to_owned(), Step::Replace(vec!["filename".to_owned()]))]);
    assert_eq!(engine.resource("greeting").id, id, "the id is a hash of the content");
    assert!(!path("old").exists(), "the old file is the one that was deleted");
    assert_eq!(std::fs::read_to_string(path("new")).expect("the file"), "hello");
    assert_eq!(kept(engine.home()).await, [(id.clone(), Status::Ready)]);

    let found = engine.get("local:file:File", &id).await.expect("an answer").expect("the file");
    assert_eq!(text(&found, "filename"), path("new").to_str().expect("text"));
    std::fs::remove_file(path("new")).expect("removed by hand");
    assert_eq!(
        engine.get("local:file:File", &id).await.expect("an answer"),
        None,
        "it is not there any more"
    );

    engine.deploy(&[]).await.expect("what is gone already is deleted");
    assert!(kept(engine.home()).await.is_empty());
}

#[tokio::test]
async fn resources_of_one_id_are_told_apart() {
    let mut engine = Engine::with_tool("random").await;
    let password = |name: &str, length: f64| {
        goal("random:password:Password", [("urnName", Value::from(name)), ("length", length.into())])
    };
    let both = [password("one", 12.0), password("two", 13.0)];
    engine.deploy(&both).await.expect("created");
    let two = engine.resource("two").clone();
    assert_eq!((&*engine.resource("one").id, &*two.id), ("none", "none"));
    let steps = engine.deploy(&both[1..]).await.expect("one of them deleted");
    assert_eq!(steps, [("two".to_owned(), Step::Same), ("one".to_owned(), Step::Delete)]);
    let found = engine.get("random:password:Password", &two.id).await.expect("an answer").expect("the other");
    assert_eq!(text(&found, "result"), text(&two.outputs, "result"), "the right one is left");
}

#[tokio::test]
async fn resources_that_nothing_tells_apart_get_ids_of_their_own() {
    let mut engine = Engine::with_tool("random").await;
    let password = |name: &str, special: bool| {
        let inputs = [("urnName", Value::from(name)), ("length", 12.0.into()), ("special", special.into())];
        goal("random:password:Password", inputs)
    };
    let all = ["one", "two", "three"].map(|name| password(name, true));
    engine.deploy(&all).await.expect("created");
    let ids = ["one", "two", "three"].map(|name| engine.resource(name).id.clone());
    assert_eq!(ids, ["none", "none#2", "none#3"]);
    for name in ["one", "two", "three"] {
        let made = engine.resource(name).clone();
        let found = engine.get("random:password:Password", &made.id).await.expect("an answer");
        assert_eq!(text(&found.expect("a password"), "result"), text(&made.outputs, "result"), "{name}");
    }
    let mut changed = all.clone();
    changed[1] = password("two", false);
    let steps = engine.deploy(&changed).await.expect("one of them replaced");
    assert_eq!(steps[1], ("two".to_owned(), Step::Replace(vec!["special".to_owned()])));
    assert_eq!(engine.resource("two").id, "none", "its inputs tell it apart again");
    engine.deploy(&[]).await.expect("deleted");
    assert_eq!(kept(engine.home()).await, []);
}

#[tokio::test]
async fn an_id_that_the_store_does_not_know_is_imported_or_the_way_out_is_told() {
    let time = Engine::with_tool("time").await;
    let found = time.get("time:offset:Offset", "2020-02-12T06:36:13Z,0,0,7,0,0,0").await.expect("an answer");
    assert_eq!(text(&found.expect("an offset"), "rfc3339"), "2020-02-19T06:36:13Z");

    let random = Engine::with_tool("random").await;
    let error = random.get("random:pet:Pet", "happy-dog").await.expect_err("pets cannot be imported");
    for part in ["random_pet \"happy-dog\"", "state.sqlite", "ISTHMUS_HOME"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    assert!(kept(random.home()).await.is_empty() && kept(time.home()).await.is_empty());
}

/// An engine whose sandbox keeps its objects in the directory that is returned.
async fn sandbox() -> (Engine, PathBuf) {
    let engine = Engine::with_sandbox().await;
    let objects = engine.home().join("objects");
    std::fs::create_dir_all(&objects).expect("a directory");
    engine.configure(json!({ "directory": objects }));
    (engine, objects)
}

fn faulty(mode: &str, during: &str) -> [Goal; 1] {
    [goal("sandbox:faulty:Faulty", [("mode", Value::from(mode)), ("during", during.into())])]
}

#[tokio::test]
async fn a_creation_that_fails_half_way_leaves_nothing() {
    let (mut engine, objects) = sandbox().await;
    let timeouts = Struct::from([("create", Value::from("1ms"))]);
    let slow = [goal(
        "sandbox:server:Server",
        [("name", Value::from("slow")), ("bootTime", "50ms".into()), ("timeouts", timeouts.into())],
    )];
    let error = engine.deploy(&slow).await.expect_err("a failed creation");
    assert_eq!(error.matches("did not boot within 1ms").count(), 1, "{error}");
    assert!(error.contains("object was deleted"), "{error}");
    assert_eq!(kept(engine.home()).await, []);
    assert_eq!(std::fs::read_dir(&objects).expect("a directory").count(), 0, "half a server is left");
}

#[tokio::test]
async fn what_a_failed_creation_leaves_all_the_same_is_named_and_kept_as_damaged() {
    let (mut engine, _objects) = sandbox().await;
    let error = engine.deploy(&faulty("partial", "create+delete")).await.expect_err("a failed creation");
    let records = kept(engine.home()).await;
    let [(id, Status::Damaged)] = &records[..] else { panic!("one damaged record, not {records:?}") };
    for part in ["could not be deleted again", "kept in the store as damaged", id] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_named_and_nothing_is_done() {
    let mut engine = Engine::with_tool("random").await;
    let small = [pet([("urnName", Value::from("pet")), ("length", 2.0.into())])];
    engine.deploy(&small).await.expect("created");
    let key = engine.home().join("state.key");
    std::fs::write(&key, "0".repeat(64)).expect("another key");
    let error = engine.try_start().await.expect_err("the wrong key");
    assert!(error.contains("state.key") && error.contains("another key"), "{error}");
    std::fs::remove_file(&key).expect("removed");
    let failed = engine.try_start().await.expect_err("no key");
    assert!(
        failed.contains("no port") && failed.contains("state.key") && failed.contains("missing"),
        "{failed}"
    );
    assert!(!key.exists(), "no key is made in its place");
}

#[tokio::test]
async fn a_providers_warning_is_shown_before_the_answer() {
    let mut engine = Engine::with_sandbox().await;
    engine.configure(json!({ "directory": engine.home() }));
    engine.deploy(&[goal("sandbox:note:Note", [("title", Value::from("warn"))])]).await.expect("created");
    let shown = engine.shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].severity == Severity::Warning && shown[0].message.contains("`title`"), "{shown:?}");
}

on_one_protocol! {
    async fn both_services_are_on_one_port_and_no_provider_outlives_them(protocol) {
        let mut host = Setup::sandbox(protocol).named("lumi-resource-sandbox").start().await;
        let mut lumi = ResourceProviderClient::new(host.channel().await);
        let note = CreateRequest {
            r#type: "sandbox:note:Note".to_owned(),
            properties: Some([("title", Value::from("hello"))].into()),
        };
        let made = lumi.create(note).await?.into_inner();
        assert_eq!(host.objects().len(), 1, "{made:?}");
        let mut pulumi =
            pulumirpc::resource_provider_client::ResourceProviderClient::new(host.channel().await);
        let properties = made.properties.unwrap_or_default();
        let checked = pulumi.check(pulumirpc::CheckRequest {
            urn: "urn:pulumi:dev::project::sandbox:index/note:Note::note".to_owned(),
            news: Some([("title", Value::from(text(&properties, "title")))].into()),
            ..pulumirpc::CheckRequest::default()
        });
        assert_eq!(checked.await?.into_inner().failures, []);

        let provider = host.provider_process();
        assert!(processes::lives(provider));
        host.signal(processes::Signal::KILL);
        host.exit().await;
        processes::ended(provider).await;
    }
}

on_one_protocol! {
    async fn both_services_change_resources_of_one_provider_at_the_same_time(protocol) {
        let host = Setup::sandbox(protocol).named("lumi-resource-sandbox").start().await;
        let lumi = ResourceProviderClient::new(host.channel().await);
        let today = host.connect().await;
        let mut pairs = tokio::task::JoinSet::new();
        for number in 0..8 {
            pairs.spawn(both_at_once(lumi.clone(), today.clone(), number));
        }
        pairs.join_all().await.into_iter().collect::<Result<Vec<()>, _>>()?;
        assert!(host.objects().is_empty(), "{:?}", host.objects());
        assert!(processes::lives(host.provider_process()), "one provider process did all of it");
        assert!(kept(&host.directory().join("isthmus")).await.is_empty(), "the store has the legacy engine's objects alone");
        let shown = host.engine.shown();
        assert!(shown.is_empty(), "{shown:?}");
    }
}

/// The life of a note of each service, each step of the one together with the same of the other.
async fn both_at_once(mut lumi: ResourceProviderClient<Channel>, today: Session, number: usize) -> Outcome {
    let token = || "sandbox:note:Note".to_owned();
    let note = today.resource("sandbox:index/note:Note", &format!("new{number}"));
    let (old_title, new_title) = (format!("old {number}"), format!("new {number}"));
    let properties =
        |body: &str| -> Struct { [("title", Value::from(old_title.as_str())), ("body", body.into())].into() };
    let inputs = |body: &str| json!({"title": new_title, "body": body});
    let create = CreateRequest { r#type: token(), properties: Some(properties("a")) };
    let a = inputs("a");
    let (old, new) = tokio::join!(lumi.create(create), note.make(&a));
    let (old, new) = (old?.into_inner(), new?);
    let update = UpdateRequest {
        id: old.id.clone(),
        r#type: token(),
        olds: Some(properties("a")),
        news: Some(properties("b")),
    };
    let b = inputs("b");
    let (updated, new) = tokio::join!(lumi.update(update), note.update(&new, &b));
    let (updated, new) = (updated?.into_inner().properties.unwrap_or_default(), new?);
    assert_eq!((text(&updated, "body"), &new.outputs["body"]), ("b".to_owned(), &json!("b")));
    let get = GetRequest { id: old.id.clone(), r#type: token() };
    let (read, refreshed) = tokio::join!(lumi.get(get), note.refresh(&new));
    let read = read?.into_inner().properties.expect("it is there");
    let refreshed = refreshed?.expect("it is there");
    assert_eq!((text(&read, "title"), &refreshed.outputs["title"]), (old_title.clone(), &json!(new_title)));
    let delete = DeleteRequest { id: old.id, r#type: token(), properties: Some(updated) };
    let (deleted, gone) = tokio::join!(lumi.delete(delete), note.delete(&refreshed));
    deleted?;
    gone
}

#[tokio::test]
async fn without_its_configuration_the_plugin_does_not_start() {
    let engine = Engine::with_tool("random").await;
    engine.refuse_configuration("random:config/vars cannot be evaluated");
    let failed = engine.try_start().await.expect_err("no configuration");
    assert!(failed.contains("status 1") && failed.contains("no port"), "{failed}");
    assert!(failed.contains("cannot be evaluated"), "{failed}");

    engine.configure(json!({ "colour": "red" }));
    let failed = engine.try_start().await.expect_err("a variable that the provider does not have");
    assert!(failed.contains("no port") && failed.contains("colour"), "{failed}");

    engine.configure(json!({ "colour": null }));
    let plugin = engine.try_start().await.expect("a variable without a value is none");
    assert_eq!(engine.asked_for(), vec!["random:config/vars"; 3]);
    plugin.kill().await;
}
