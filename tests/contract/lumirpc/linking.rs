//! `isthmus link` puts a plugin where this engine looks, and the plugin finds its provider, and the provider's address.

use isthmus_proto::property::Value;
use isthmus_state::{EncryptedStore, Saved};

use super::engine::{Engine, Step};
use super::tofu::{isthmus, isthmus_with};
use super::{goal, pet, text};
use crate::harness::host::named;
use crate::harness::scripted::Ancient;
use crate::harness::{Json, json, on_one_protocol};

const ADDRESS: &str = "example.com/acme/sandbox";

#[tokio::test]
async fn a_linked_provider_is_found_and_run_by_the_engine() {
    let mut engine = Engine::with_linked_tool("random").await;
    let goals = [pet([("urnName", Value::from("pet")), ("length", 2.0.into())])];
    let steps = engine.deploy(&goals).await.expect("created");
    assert_eq!(steps, [("pet".to_owned(), Step::Create)]);
    assert_eq!(engine.resource("pet").id.split('-').count(), 2);
    engine.deploy(&[]).await.expect("deleted");
}

fn note(body: &str) -> [super::Goal; 1] {
    [goal("zoo:note:Note", [("title", Value::from("Hello")), ("body", body.into())])]
}

/// An engine with the package `zoo`, whose provider is linked by its address.
async fn zoo() -> Engine {
    let mut engine = Engine::with_linked_address(ADDRESS, "zoo").await;
    let directory = engine.home().to_str().expect("a path in UTF-8").to_owned();
    engine.set("SANDBOX_CALLS", &format!("{directory}/calls"));
    engine.set("SANDBOX_DIR", &format!("{directory}/objects"));
    std::fs::create_dir(engine.home().join("objects")).expect("a directory");
    engine
}

/// The provider in the only record of the state store, and the record.
async fn recorded(engine: &Engine) -> (String, Saved) {
    let state_store = EncryptedStore::open(engine.home(), None).await.expect("the store");
    let mut records = state_store.list(None).await.expect("its records");
    assert_eq!(records.len(), 1, "{records:?}");
    let (_, key, saved) = records.remove(0);
    assert_eq!((&*key.package, &*key.type_name), ("zoo", "sandbox_note"));
    (saved.object.provider.clone(), saved)
}

#[tokio::test]
async fn a_provider_that_is_linked_under_another_name_keeps_its_address_in_states() {
    let mut engine = zoo().await;
    engine.deploy(&note("a")).await.expect("created");
    let provider = format!("provider[\"{ADDRESS}\"]");
    assert_eq!(recorded(&engine).await.0, provider);
    let names = engine.home().join("names.json");
    let id = &engine.resource("Note").id;
    std::fs::write(&names, json!({"sandbox_note.it": format!("sandbox_note/{id}")}).to_string())
        .expect("a file");
    let words = ["state", "export", "--addresses", names.to_str().expect("a path in UTF-8")];
    let state: Json = serde_json::from_str(&isthmus(engine.home(), &words).well()).expect("a state");
    assert_eq!(state["resources"][0]["provider"], provider, "{state}");
    engine.deploy(&[]).await.expect("deleted");
}

#[tokio::test]
async fn a_record_with_the_packages_name_for_an_address_is_found_and_gets_the_address() {
    let mut engine = zoo().await;
    engine.deploy(&note("a")).await.expect("created");
    let state_store = EncryptedStore::open(engine.home(), None).await.expect("the store");
    let (place, key, mut saved) = state_store.list(None).await.expect("its records").remove(0);
    saved.object.provider = "provider[\"registry.terraform.io/hashicorp/zoo\"]".to_owned();
    state_store.replace(place, &key, &saved).await.expect("replaced");
    drop(state_store);
    let found = engine.get("zoo:note:Note", &engine.resource("Note").id).await.expect("an answer");
    assert_eq!(text(&found.expect("it is there"), "body"), "a");
    assert_eq!(engine.deploy(&note("b")).await.expect("changed"), [("Note".to_owned(), Step::Update)]);
    assert_eq!(recorded(&engine).await.0, format!("provider[\"{ADDRESS}\"]"));
    engine.deploy(&[]).await.expect("deleted");
}

#[tokio::test]
async fn provider_metadata_is_found_by_the_address_or_the_type_and_not_by_the_packages_name() {
    for (name, is_found) in
        [(ADDRESS, true), ("sandbox", true), ("example.com/other/sandbox", false), ("zoo", false)]
    {
        let mut engine = zoo().await;
        engine.set("SANDBOX_META", "true");
        engine.set("ISTHMUS_PROVIDER_META", &json!({name: {"module": "blueprint"}}).to_string());
        engine.deploy(&note("a")).await.expect("created");
        let calls = std::fs::read_to_string(engine.home().join("calls")).expect("its calls");
        assert_eq!(calls.contains("blueprint"), is_found, "{name}: {calls}");
    }
}

#[tokio::test]
async fn an_override_of_a_developer_is_linked_as_a_file_and_not_by_an_address_that_it_does_not_have() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path().to_str().expect("a path in UTF-8");
    let program = named(env!("CARGO_BIN_EXE_isthmus"), format!("{here}/terraform-provider-sandbox"));
    let program = program.display().to_string();
    let config = format!("{here}/tofu.tfrc");
    let text = format!(
        "provider_installation {{\n  dev_overrides {{\n    {ADDRESS:?} = {here:?}\n  }}\n  direct {{}}\n}}\n"
    );
    std::fs::write(&config, text).expect("a file");
    let variables = [("TF_CLI_CONFIG_FILE", config)];
    let bin = format!("{here}/bin");
    let said = isthmus_with(directory.path(), &["link", ADDRESS, "--dir", &bin], &variables);
    assert_eq!(said.code, 1, "{said:?}");
    for words in [ADDRESS, "registry.opentofu.org/hashicorp/sandbox", &format!("isthmus link {program}")] {
        assert!(said.stderr.contains(words), "{words:?} is not in {said:?}");
    }
    assert!(!std::path::Path::new(&bin).exists());
    isthmus_with(directory.path(), &["link", &program, "--dir", &bin], &variables).succeeded();
}

on_one_protocol! {
    async fn a_running_provider_is_found_by_the_address_and_not_by_the_packages_name(protocol) {
        let ancient = Ancient::start(protocol).await;
        for (key, is_found) in [("example.com/acme/ancient", true), ("zoo", false), ("ancient", false)] {
            let mut engine = Engine::with_linked_address("example.com/acme/ancient", "zoo").await;
            engine.set("TF_REATTACH_PROVIDERS", &ancient.reattach_as(&[key]));
            // That one is too old for this engine, and the file in the cache is no provider.
            let failure = engine.try_start().await.expect_err(key);
            assert_eq!(failure.contains("the provider ancient does not support"), is_found, "{failure}");
        }
    }
}
