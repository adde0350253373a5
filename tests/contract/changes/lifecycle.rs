//! Resources from their creation to their deletion, on the sandbox and on HashiCorp's own libraries.

use isthmus_proto::pulumirpc::ReadRequest;

use crate::harness::resource::Resource;
use crate::harness::{
    Host, Json, Outcome, Protocol, Session, Setup, Status, Stored, bag, json, on_both_protocols, secret,
};

on_both_protocols! {
    async fn what_keeps_its_name_in_a_block_is_deleted_before_it_is_replaced(host, session: conformance) {
        let resource = session.resource("conformance:index/legacyMetadata:LegacyMetadata", "metadata");
        let made = resource.make(&json!({"metadata": {"name": "one"}, "type": "a"})).await?;
        let news = json!({"metadata": {"name": "one"}, "type": "b"});
        let difference = resource.diff(&made, &news).await?;
        assert_eq!((&difference.replaces[..], difference.delete_before_replace), (&["type".to_owned()][..], true));
        resource.create(&news).await.expect_err("two of one name");
        resource.delete(&made).await?;
        resource.create(&news).await?;
        assert_eq!(host.objects()[0]["state"]["type"], "b");
        let renamed = resource.diff(&made, &json!({"metadata": {"name": "two"}, "type": "a"})).await?;
        assert!(!renamed.replaces.is_empty() && !renamed.delete_before_replace, "{renamed:?}");
    }

    async fn what_does_not_exist_is_read_as_nothing_with_empty_properties(session: sandbox) {
        let note = session.note();
        for (properties, inputs) in [(json!({}), json!({})), (json!({"title": "Hello"}), json!({"title": "Hello"}))] {
            let request = ReadRequest {
                id: "no-such-note".to_owned(),
                urn: note.urn().to_owned(),
                properties: Some(bag(&properties)),
                inputs: Some(bag(&inputs)),
                ..Default::default()
            };
            let answer = session.call("Read", request, async |mut client, request| client.read(request).await).await?;
            assert_eq!(answer.id, "");
            assert_eq!((answer.properties, answer.inputs), (None, None));
        }
    }

    async fn a_note_lives_on_providers_of_every_kind_and_age(protocol) {
        for (switch, value) in [
            ("SANDBOX_MINOR", "newest"),
            ("SANDBOX_MINOR", "future"),
            ("SANDBOX_MINOR", &format!("{protocol}.0")),
            ("SANDBOX_MINOR", &format!("{protocol}.3")),
            ("SANDBOX_LEGACY", "true"),
            ("SANDBOX_ANSWER", "json"),
        ] {
            let (host, session) = Setup::sandbox(protocol).with(switch, value).session().await?;
            a_note_lives(&host, &session).await?;
        }
    }

    async fn a_secret_is_replaced_when_its_keepers_change(session: sandbox) {
        let resource = session.resource("sandbox:index/secret:Secret", "secret");
        let inputs = resource.checked(&json!({"length": 16, "keepers": {"year": "2025"}})).await?;
        let old = resource.create(&inputs).await?;

        let news = resource.check_again(&inputs, &json!({"length": 16, "keepers": {"year": "2026"}})).await?.inputs;
        let change = resource.diff(&old, &news).await?;
        assert_eq!(change.replaces, ["keepers"]);
        assert!(!change.delete_before_replace);

        // The engine makes the new one first, and then deletes the old one.
        let new = resource.make(&json!({"length": 16, "keepers": {"year": "2026"}})).await?;
        assert_ne!((&new.id, &new.outputs["value"]), (&old.id, &old.outputs["value"]));
        resource.delete(&old).await?;
    }

    async fn a_server_keeps_its_blocks_and_its_private_bytes(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        let server = session.resource("sandbox:index/server:Server", "server");
        let mut news = json!({
            "name": "web",
            "disks": [{"mount": "/"}, {"mount": "/data", "size": 20}],
            "rules": [{"port": 443}, {"port": 80, "cidr": "10.0.0.0/8"}],
            "limits": {"cpu": 2, "zone": "a"},
            "metadata": {"owner": "ada", "tags": ["x", 1, true]},
            "timeouts": {"create": "1m"},
        });
        if protocol == Protocol::V6 {
            news["network"] = json!({"name": "lan"});
            news["interfaces"] = json!([{"name": "eth0", "primary": true}, {"name": "eth1"}]);
            news["volumes"] = json!({"a": {"size": 1, "key": "sesame"}, "b": {"size": 2}});
        }
        let inputs = server.checked(&news).await?;
        let made = server.create(&inputs).await?;
        assert_eq!(made.outputs["disks"][0], json!({"mount": "/", "size": 10, "device": "/dev/disk0"}));
        assert_eq!(made.outputs["rules"].as_array().map(Vec::len), Some(2));
        assert_eq!(made.outputs["limits"], json!({"cpu": 2, "zone": "a"}));
        assert_eq!(made.outputs["metadata"], json!({"owner": "ada", "tags": ["x", 1, true]}));
        if protocol == Protocol::V6 {
            assert_eq!(made.outputs["network"], json!({"name": "lan", "mtu": 1500, "address": "10.0.0.1"}));
            assert_eq!(made.outputs["volumes"]["a"]["key"], secret("sesame"));
        }
        same(&server, &made.inputs, &made).await?;

        // The sandbox refuses to read or change a server whose private bytes do not come back.
        let read = server.refresh(&made).await?.expect("the server is there");
        news["disks"][1]["size"] = json!(30);
        let news = server.check_again(&inputs, &news).await?.inputs;
        let changed = server.update(&read, &news).await?;
        assert_eq!(changed.outputs["disks"][1]["size"], 30);
        assert_eq!(changed.outputs["disks"][1]["device"], "/dev/disk1", "what survives changes does");

        server.delete(&changed).await?;
        assert!(host.objects().is_empty());
    }

    async fn a_record_of_the_framework_lives(protocol) {
        let (host, session) = Setup::conformance(protocol).session().await?;
        let record = session.record();
        let mut news = json!({
            "name": "first",
            "title": "One",
            "tags": {"a.b": "c", "d": ""},
            "labels": ["y", "x"],
            "secret": secret("hush"),
            "passwordWo": secret("sesame"),
            "passwordWoVersion": 1,
            "extra": {"any": ["thing", 1, null]},
            "rules": [{"port": 80}, {"port": 53, "protocol": "udp"}],
            "grants": [{"who": "bob", "level": "read"}, {"who": "ada"}],
            "settings": {"mode": "fast", "verbose": false, "quota": 1.5},
            "timeouts": {"create": "1m", "delete": "2m"},
        });
        let inputs = record.checked(&news).await?;
        let made = record.create(&inputs).await?;
        assert_eq!(made.id, "first-1");
        assert_eq!(made.outputs["size"], 1, "a default of the provider's");
        assert_eq!(made.outputs["etag"], "v1");
        assert_eq!(made.outputs["tags"], json!({"a.b": "c", "d": ""}));
        assert_eq!(sorted(&made.outputs["labels"]), json!(["x", "y"]));
        assert_eq!(made.outputs["secret"], secret("hush"));
        assert_eq!(made.outputs["passwordWo"], Json::Null, "what is write-only is never in outputs");
        assert_eq!(made.outputs["extra"], json!({"any": ["thing", 1, null]}));
        assert_eq!(made.outputs["rules"], json!([{"port": 80, "protocol": "tcp"}, {"port": 53, "protocol": "udp"}]));
        assert_eq!(made.outputs["settings"], json!({"mode": "fast", "verbose": false, "quota": 1.5}));
        assert_eq!(made.outputs["timeouts"], json!({"create": "1m", "delete": "2m"}));
        assert_eq!(host.objects()[0]["password"], "sesame", "what is write-only reached the provider");
        same(&record, &inputs, &made).await?;
        assert_eq!(record.refresh(&made).await?.expect("the record is there").outputs, made.outputs);

        news["title"] = json!("Two");
        news["passwordWo"] = secret("open");
        let changed = change(&record, &made, &news, "update title").await?;
        assert_eq!(changed.outputs["etag"], "v2");
        assert_eq!(host.objects()[0]["password"], "sesame", "its version has not changed");

        news["passwordWoVersion"] = json!(2);
        let changed = change(&record, &changed, &news, "update passwordWoVersion").await?;
        assert_eq!(host.objects()[0]["password"], "open");

        news["name"] = json!("second");
        let replacing = record.check_again(&changed.inputs, &news).await?.inputs;
        assert_eq!(record.diff(&changed, &replacing).await?.replaces, ["name"]);

        record.delete(&changed).await?;
        assert!(host.objects().is_empty());
    }

    async fn a_resource_of_the_old_sdk_lives(host, session: conformance) {
        let legacy = session.resource("conformance:index/legacy:Legacy", "legacy");
        let mut news = json!({"name": "first", "title": "One", "tags": {"a": "b"}});
        let inputs = legacy.checked(&news).await?;
        let made = legacy.create(&inputs).await?;
        assert_eq!(made.id, "first-1");
        assert_eq!(made.outputs["size"], 1);
        assert_eq!(made.outputs["etag"], "v1");
        same(&legacy, &inputs, &made).await?;
        let read = legacy.refresh(&made).await?.expect("it is there");

        news["title"] = json!("Two");
        let changed = change(&legacy, &read, &news, "update title").await?;
        assert_eq!(changed.outputs["etag"], "v2");
        legacy.delete(&changed).await?;
        assert!(host.objects().is_empty());
    }
}

#[tokio::test]
async fn nested_attributes_of_the_framework_live_on_protocol_6() -> Outcome {
    let (host, session) = Setup::conformance(Protocol::V6).session().await?;
    let nested = session.resource("conformance:index/nested:Nested", "nested");
    let mut news = json!({
        "name": "first",
        "owner": {"name": "ada", "key": secret("sesame")},
        "disks": [{"size": 1, "partitions": [{"path": "/"}, {"path": "/home"}]}, {"size": 2, "label": "data"}],
        "mounts": [{"path": "/b"}, {"path": "/a", "mode": "ro"}],
        "zones": {"west": {"weight": 1}, "e.ast": {}},
    });
    let inputs = nested.checked(&news).await?;
    let made = nested.create(&inputs).await?;
    assert_eq!(made.outputs["owner"]["email"], "ada@example.test");
    assert_eq!(made.outputs["owner"]["number"], 3);
    assert_eq!(made.outputs["owner"]["key"], secret("sesame"));
    assert_eq!(made.outputs["disks"][1]["label"], "data");
    assert!(made.outputs["disks"][0]["partitions"][1]["uuid"].is_string());
    assert_eq!(made.outputs["mounts"].as_array().map(Vec::len), Some(2));
    assert_eq!(made.outputs["zones"]["west"]["weight"], 1);
    assert!(made.outputs["zones"]["e.ast"]["address"].is_string());
    assert_eq!(made.outputs["status"]["phase"], "ready");
    same(&nested, &inputs, &made).await?;
    let read = nested.refresh(&made).await?.expect("it is there");
    assert_eq!(read.outputs, made.outputs);

    news["zones"]["west"]["weight"] = json!(2);
    news["mounts"] = json!([{"path": "/a", "mode": "ro"}, {"path": "/b"}, {"path": "/c"}]);
    let changed = change(&nested, &read, &news, "update zones.west.weight").await?;
    assert_eq!(changed.outputs["mounts"].as_array().map(Vec::len), Some(3));
    assert_eq!(changed.outputs["status"]["revision"], 2);
    nested.delete(&changed).await?;
    assert!(host.objects().is_empty());
    Ok(())
}

async fn a_note_lives(host: &Host, session: &Session) -> Outcome {
    let note = session.note();
    let inputs = note.checked(&json!({"title": "Hello", "body": "World"})).await?;
    let made = note.create(&inputs).await?;
    assert_eq!(made.outputs["id"], made.id.as_str());
    assert_eq!(made.outputs["title"], "Hello");
    assert_eq!(made.outputs["priority"], 3, "a default of the provider's");
    assert_eq!(made.outputs["revision"], 1);
    assert_eq!(host.objects().len(), 1);
    same(&note, &inputs, &made).await?;

    let read = note.refresh(&made).await?.expect("the note is there");
    assert_eq!(read, made);

    let changed = change(&note, &read, &json!({"title": "Hello", "body": "Moon"}), "update body").await?;
    assert_eq!(changed.outputs["body"], "Moon");
    assert_eq!(changed.outputs["revision"], 2);

    note.delete(&changed).await?;
    assert!(host.objects().is_empty());
    assert_eq!(note.refresh(&changed).await?, None, "what was deleted is gone");
    Ok(())
}

/// The engine sees no difference.
async fn same(resource: &Resource, inputs: &Json, stored: &Stored) -> Outcome {
    let difference = resource.diff(stored, inputs).await?;
    assert!(!difference.some, "nothing has changed: {difference:?}");
    Ok(())
}

/// Changes a resource as the engine does: Check, Diff, which shows a certain change and replaces nothing, and Update.
async fn change(resource: &Resource, stored: &Stored, news: &Json, shown: &str) -> Result<Stored, Status> {
    let checked = resource.check_again(&stored.inputs, news).await?;
    assert_eq!(checked.failures, []);
    let difference = resource.diff(stored, &checked.inputs).await?;
    assert!(difference.some && difference.changes.contains(&shown.to_owned()), "{shown}: {difference:?}");
    assert_eq!(difference.replaces, [""; 0]);
    resource.update(stored, &checked.inputs).await
}

fn sorted(list: &Json) -> Json {
    let mut texts: Vec<&str> = list.as_array().expect("a list").iter().filter_map(Json::as_str).collect();
    texts.sort_unstable();
    json!(texts)
}
