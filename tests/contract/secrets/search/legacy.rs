//! The service of the legacy engine, its state store, and the commands that show it.

use std::path::Path;

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, DeleteRequest, DiffRequest, GetRequest, UpdateRequest,
};
use isthmus_proto::property::Struct;
use isthmus_sandbox::Protocol;

use super::marks::{Search, files};
use crate::harness::{Json, Outcome, bag, json, json_of};
use crate::lumirpc::tofu::isthmus_with;

const LEAK: &str = "sandbox:index/leak:Leak";
const PASSPHRASE: &str = "ISTHMUS_PASSPHRASE";

fn properties(json: &Json) -> Option<Struct> {
    Some(bag(json))
}

#[tokio::test]
async fn the_store_of_the_legacy_service_and_what_commands_show_of_it_have_no_value_in_the_clear() -> Outcome
{
    let search = Search::new("legacy service");
    let passphrase = search.refused("passphrase of the state store");
    let imported = search.refused("stored by the provider, read by an import");
    let setup =
        search.sandbox(Protocol::V6).legacy().with("LEAK_SECRET", &imported).with(PASSPHRASE, &passphrase);
    let host = setup.with("ISTHMUS_SENSITIVE_OUTPUTS", "withhold").start().await;
    let mut client = ResourceProviderClient::new(host.channel().await);
    let r#type = LEAK.to_owned();

    let inputs = json!({
        "name": "leak",
        "secret": search.mark("sensitive attribute"),
        "logins": [{"user": "x", "password": search.mark("sensitive attribute of a block")}],
        "during": "update+read", "how": "error",
    });
    let request = CheckRequest { r#type: r#type.clone(), properties: properties(&inputs) };
    let checked = client.check(request).await?.into_inner();
    search.shown("Check", &format!("{checked:?}"), "failures: []");
    let request = CreateRequest { r#type: r#type.clone(), properties: properties(&inputs) };
    let made = client.create(request).await?.into_inner();
    let outputs = json_of(&made.properties.expect("outputs"));
    search.shown("Create", &outputs.to_string(), "");
    let mut news = inputs.clone();
    news["size"] = json!(2);
    news["secret"] = json!(search.mark("changed sensitive attribute"));
    let (id, olds) = (made.id.clone(), properties(&inputs));
    let request =
        DiffRequest { id: id.clone(), r#type: r#type.clone(), olds: olds.clone(), news: properties(&news) };
    search.shown("Diff", &format!("{:?}", client.diff(request).await?.into_inner()), "");
    let request = UpdateRequest { id: id.clone(), r#type: r#type.clone(), olds, news: properties(&news) };
    search.failed("Update", &client.update(request).await.expect_err("it fails"), "[secret]");
    let request = GetRequest { id: "error".to_owned(), r#type: r#type.clone() };
    search.failed("Get", &client.get(request).await.expect_err("it fails"), "[secret]");
    let mistaken = json!({"name": "leak", "pin": search.refused("text for a sensitive number")});
    let request = CheckRequest { r#type: r#type.clone(), properties: properties(&mistaken) };
    search.shown("Check", &format!("{:?}", client.check(request).await?.into_inner()), "expected a number");
    let other = json!({"name": "leak", "secret": search.refused("properties of another object")});
    let request = DeleteRequest { id, r#type, properties: properties(&other) };
    search.failed("Delete", &client.delete(request).await.expect_err("another object"), "differs");
    let r#type = "sandbox:index/secret:Secret".to_owned();
    let request =
        CreateRequest { r#type, properties: properties(&json!({"name": "computed", "length": 24})) };
    let made = client.create(request).await?.into_inner();
    search.shown("Create", &format!("{made:?}"), "");

    let home = host.directory().join("isthmus");
    let run =
        |words: &[&str], passphrase: &str| isthmus_with(&home, words, &[(PASSPHRASE, passphrase.to_owned())]);
    let shown =
        run(&["state", "show", "--json", "--secrets", &format!("sandbox_secret/{}", made.id)], &passphrase)
            .succeeded();
    let shown: Json = serde_json::from_str(&shown.stdout).expect("JSON");
    search
        .known("computed sensitive attribute", shown["records"][0]["value"]["value"].as_str().expect("text"));
    let other = search.refused("wrong passphrase");
    let backup = host.directory().join("backup").to_str().expect("UTF-8").to_owned();
    for words in [
        &["state", "backup", &backup][..],
        &["state", "list"],
        &["state", "list", "--json"],
        &["state", "show", "1", "2"],
        &["state", "show", "--json", "1", "2"],
        &["recover"],
        &["recover", "--all", "--json"],
        &["recover", "import-file"],
    ] {
        for passphrase in [&passphrase, &other] {
            let said = run(words, passphrase);
            search.shown(&words.join(" "), &(said.stdout + &said.stderr), "");
        }
    }
    assert!(!files(&home, &|_| true).is_empty() && Path::new(&backup).exists(), "both are searched");
    search.conclude(&host);
    Ok(())
}
