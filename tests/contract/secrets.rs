//! Secrets in properties: what was secret, or is sensitive, comes back wrapped; what is write-only does not come back.

mod configured;
mod redaction;
mod search;
mod write_only;

use isthmus_proto::pulumirpc::ConfigureRequest;

use crate::harness::{Json, Setup, bag, json, on_one_protocol, secret};

on_one_protocol! {
    async fn what_was_secret_going_in_is_secret_coming_out(host, session: sandbox) {
        let note = session.note();
        let news = json!({
            "title": secret("Hello"), "body": secret("World"), "labels": {"a": secret("b"), "c": "d"},
        });
        let inputs = note.checked(&news).await?;
        let planned = note.preview_create(&inputs).await?;
        assert_eq!(planned["body"], secret("World"));
        let made = note.create(&inputs).await?;
        assert_eq!(host.objects()[0]["body"], "World", "the provider gets the value itself");
        assert_eq!(made.outputs["title"], secret("Hello"));
        assert_eq!(made.outputs["labels"]["c"], "d");
        assert_eq!(made.outputs["labels"]["a"], secret("b"));
        assert!(!note.diff(&made, &inputs).await?.some, "a secret is no difference");
        let read = note.refresh(&made).await?.expect("it is there");
        assert_eq!(read.outputs["body"], secret("World"));
    }

    async fn secrets_are_followed_by_path_and_by_nothing_else(protocol) {
        let (_host, session) = Setup::conformance(protocol).session().await?;
        let kinds = session.resource("conformance:index/kinds:Kinds", "kinds");
        let mut news = json!({
            "text": "same",
            "textLists": ["a", secret("same"), "c"],
            "textMap": {"a": "same", "b": secret("two")},
            "numberSets": [secret(1), 2],
        });
        let inputs = kinds.checked(&news).await?;
        let planned = kinds.preview_create(&inputs).await?;
        let made = kinds.create(&inputs).await?;
        let read = kinds.refresh(&made).await?.expect("it is there");
        assert_eq!(read.inputs, inputs);
        news["textLists"][0] = json!("changed");
        let inputs = kinds.check_again(&inputs, &news).await?.inputs;
        let difference = kinds.diff(&read, &inputs).await?;
        assert_eq!(difference.changes, ["update textLists[0]"]);
        let changed = kinds.update(&read, &inputs).await?;
        for outputs in [&planned, &made.outputs, &read.outputs, &changed.outputs] {
            let list = &outputs["textLists"];
            assert_eq!((&list[1], &list[2]), (&secret("same"), &json!("c")), "{outputs}");
            assert_eq!(outputs["textMap"], json!({"a": "same", "b": secret("two")}));
            assert_eq!(outputs["text"], "same", "the same value elsewhere is no secret");
            assert_eq!(outputs["numberSets"], secret(json!([1, 2])), "elements of sets have no paths");
        }
        let legacy = session.resource("conformance:index/legacy:Legacy", "legacy");
        let made = legacy.make(&json!({"name": "a", "title": "b", "tags": {"x": secret("y"), "z": "y"}})).await?;
        assert_eq!(made.outputs["tags"], json!({"x": secret("y"), "z": "y"}));
        let record = session.record();
        let made = record.make(&json!({
            "name": "first", "rules": [{"port": 80}, {"port": secret(53), "protocol": "udp"}],
            "settings": {"mode": secret("fast"), "verbose": false},
        })).await?;
        assert_eq!(made.outputs["rules"], json!([
            {"port": 80, "protocol": "tcp"}, {"port": secret(53), "protocol": "udp"},
        ]));
        assert_eq!(made.outputs["settings"]["mode"], secret("fast"));
        assert_eq!(made.outputs["settings"]["verbose"], false);
    }

    async fn an_engine_that_takes_no_secrets_gets_none(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        // Engines before 3.130 know no Handshake, and say what they take in Configure.
        let session = host.connect().await;
        session.parameterize(&[&host.provider()]).await?;
        session.call(
            "Configure",
            ConfigureRequest { args: Some(bag(&json!({}))), ..Default::default() },
            async |mut client, request| client.configure(request).await,
        ).await?;
        let note = session.note();
        let inputs = note.checked(&json!({"title": "Hello", "secretHint": "mat"})).await?;
        assert_eq!(inputs["secretHint"], "mat");
        let made = note.create(&inputs).await?;
        assert_eq!(made.outputs["secretHint"], "mat");
        assert_eq!(note.refresh(&made).await?.expect("it is there"), made);
    }

    async fn secrets_within_stored_state_are_secret_as_well(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        // A dynamic value is stored a second time, in Terraform's own form.
        let made = server.make(&json!({"name": "web", "metadata": {"key": secret("sesame-sesame")}})).await?;
        let mut plain = made.outputs;
        strip_secrets(&mut plain);
        assert!(!plain.to_string().contains("sesame-sesame"), "{plain}");
    }
}

/// Takes out whatever is marked as secret.
fn strip_secrets(json: &mut Json) {
    if *json == secret(json["value"].clone()) {
        *json = Json::Null;
        return;
    }
    match json {
        Json::Object(object) => object.values_mut().for_each(strip_secrets),
        Json::Array(values) => values.iter_mut().for_each(strip_secrets),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
