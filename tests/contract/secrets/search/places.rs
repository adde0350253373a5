//! Every place that a value can be in, used as it should be.

use crate::harness::processes::Signal;
use isthmus_proto::pulumirpc::ListRequest;

use super::marks::Search;
use crate::harness::{Protocol, bag, json, on_both_protocols, secret};
use crate::lumirpc::tofu::isthmus_with;

const LEAK: &str = "sandbox:index/leak:Leak";

fn part(protocol: Protocol) -> Search {
    Search::new(&format!("places, protocol {protocol}"))
}

on_both_protocols! {
    async fn no_place_of_a_value_is_written_in_the_clear(protocol) {
        let search = part(protocol);
        let imported = search.mark("stored by the provider, read by an import");
        let module = search.refused("environment of the provider");
        let passphrase = search.refused("passphrase of the journal");
        let setup = search.sandbox(protocol).with("LEAK_SECRET", &imported);
        let host = setup.with("ACME_PASSWORD", &module).with("ISTHMUS_PASSPHRASE", &passphrase).start().await;
        let session = host.parameterized().await?;
        let config = json!({"token": search.mark("sensitive attribute of the configuration")});
        let checked = session.check_config(&json!({}), &config).await?;
        search.shown("CheckConfig", &format!("{:?}", checked.failures), "[]");
        session.configure(&config).await?;
        let environment = std::fs::read(format!("/proc/{}/environ", host.provider_process())).expect("it runs");
        assert!(String::from_utf8_lossy(&environment).contains(&module), "the provider gets it");

        let leak = session.resource(LEAK, "leak");
        let inputs = |when: &str| json!({
            "secret": search.mark(&format!("sensitive attribute, {when}")),
            "open": secret(search.mark(&format!("attribute that the program marks, {when}"))),
            "pin": search.number(&format!("sensitive number, {when}")),
            "size": secret(search.number(&format!("number that the program marks, {when}"))),
            "options": {"a": secret(search.mark(&format!("value in a map, {when}")))},
            "names": ["x", secret(search.mark(&format!("element of a set, {when}")))],
            "logins": [{
                "user": secret(search.mark(&format!("attribute of a block, {when}"))),
                "password": search.mark(&format!("sensitive attribute of a block, {when}")),
            }],
        });
        let made = {
            let checked = leak.check(&inputs("created")).await?;
            search.shown("Check", &format!("{:?}", checked.failures), "[]");
            search.got("Create (preview)", &leak.preview_create(&checked.inputs).await?);
            leak.create(&checked.inputs).await?
        };
        search.got("Create", &made.outputs);
        let read = leak.refresh(&made).await?.expect("it is there");
        search.got("Read", &read.outputs);
        let news = leak.check_again(&read.inputs, &inputs("changed")).await?.inputs;
        let difference = leak.diff_in_full(&read, &news, &[]).await?;
        search.shown("Diff", &format!("{difference:?}"), "logins");
        let changed = leak.update(&read, &news).await?;
        search.got("Update", &changed.outputs);
        leak.delete(&changed).await?;

        let keys = json!({"options": secret(json!({search.word("key in a map that is marked"): "x"}))});
        search.got("Create", &session.resource(LEAK, "keys").make(&keys).await?.outputs);
        let found = session.resource(LEAK, "found").import("nothing").await?.expect("an object");
        search.got("Read (import)", &found.outputs);

        let note = session.note();
        let made = note.make(&json!({
            "title": secret(search.mark("title, which a data source looks up")),
            "labels": {"a": secret(search.mark("value in a map of a stored object"))},
            "passphrase": search.mark("write-only attribute"),
            "secretHint": search.mark("sensitive attribute of a stored object"),
        })).await?;
        search.got("Create", &made.outputs);
        let computed = session.resource("sandbox:index/secret:Secret", "computed").make(&json!({"length": 24})).await?;
        search.known("computed sensitive attribute", computed.outputs["value"]["value"].as_str().expect("text"));
        search.got("Create", &computed.outputs);
        let server = session.resource("sandbox:index/server:Server", "server");
        let metadata = json!({"a": [{"b": secret(search.mark("deep in a dynamic value"))}]});
        let mut inputs = json!({"name": "web", "metadata": metadata});
        if protocol == Protocol::V6 {
            let key = search.mark("sensitive attribute of a nested attribute");
            inputs["volumes"] = json!({"a": {"size": 1, "key": key}});
        }
        let made = server.make(&inputs).await?;
        search.got("Create", &made.outputs);
        search.got("Read", &server.refresh(&made).await?.expect("it is there").outputs);

        // What these return goes to the program, whose SDK marks it as the arguments were.
        let title = search.mark("argument of a data source");
        let failures = session.invoke("sandbox:index/getNote:getNote", &json!({"title": secret(title)})).await?;
        search.shown("Invoke of a data source", &format!("{:?}", failures.expect_err("there is none")), "[secret]");
        let argument = json!({"value": secret(json!([{"a": search.mark("argument of a function")}]))});
        session.invoke("sandbox:index/oddSame:oddSame", &argument).await?.expect("the same");
        let audience = json!({"audience": search.mark("argument of an ephemeral resource")});
        let opened = session.invoke("sandbox:index/ephemeralToken:ephemeralToken", &audience).await?.expect("a token");
        search.known("ephemeral value", opened["value"]["value"].as_str().expect("text"));
        search.got("Invoke of an ephemeral resource", &opened);
        let message = json!({"message": "x", "password": search.mark("sensitive argument of an action")});
        session.invoke("sandbox:index/actionBroadcast:actionBroadcast", &message).await?.expect("done");
        let prefix = json!({"titlePrefix": secret(search.mark("query of a list"))});
        let token = "sandbox:index/note:Note".to_owned();
        session.list(ListRequest { token, query: Some(bag(&prefix)), ..Default::default() }).await?;
        search.conclude(&host);
    }

    async fn what_is_cut_short_is_in_the_journal_without_its_values_in_the_clear(protocol) {
        let search = Search::new(&format!("killed in a change, protocol {protocol}"));
        let mut host = search.sandbox(protocol).start().await;
        let session = host.session().await?;
        let leak = session.resource(LEAK, "leak");
        let made = leak.make(&json!({"secret": search.mark("object that the engine knows")})).await?;
        let half = session.resource(LEAK, "half");
        let value = search.mark("object of an interrupted creation");
        let stuck = json!({"secret": value, "options": {"a": secret(search.mark("value in a map"))}, "how": "hang", "during": "create"});
        let (created, ()) = tokio::join!(half.make(&stuck), async {
            host.provider_is_in("ApplyResourceChange", 2).await;
            host.signal(Signal::KILL);
        });
        let status = created.expect_err("nobody answers");
        search.failed("Create", &status, "");
        host.exit().await;
        // What is half made has no id, so the last one leaves it out, with a warning and another exit code.
        let recover = |words: &[&str]| {
            let said = isthmus_with(&host.directory().join("isthmus"), words, &[]);
            search.shown(&words.join(" "), &(said.stdout + &said.stderr), "");
        };
        recover(&["recover"]);
        recover(&["recover", "--all", "--json"]);
        recover(&["recover", "import-file"]);
        let again = search.sandbox(protocol).beside(&host).start().await;
        let session = again.parameterized().await?;
        session.configure(&json!({})).await?;
        search.got("Read", &session.resource(LEAK, "leak").refresh(&made).await?.expect("it is there").outputs);
        for line in again.engine.lines() {
            search.shown("the next daemon", &line.message, "");
        }
        search.shown("the next daemon", &again.stderr(), "");
        search.conclude(&host);
    }
}
