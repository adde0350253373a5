//! What Check says of inputs that cannot be used: where, what is wrong, and what to do, to the letter.
//!
//! Texts that end in `…` are the beginnings of what HashiCorp's libraries say at greater length.

use crate::harness::{Json, Outcome, Protocol, Setup, json, on_both_protocols};

const NOTE: &str = "sandbox:index/note:Note";
const SERVER: &str = "sandbox:index/server:Server";
const BUCKET: &str = "sandbox:index/bucket:Bucket";
const SECRET: &str = "sandbox:index/secret:Secret";
/// On HashiCorp's framework.
const RECORD: &str = "conformance:index/record:Record";
const NESTED: &str = "conformance:index/nested:Nested";
/// On HashiCorp's SDK.
const LEGACY: &str = "conformance:index/legacy:Legacy";

/// A resource's token, its inputs, and for each failure the property and the reason.
type Row = (&'static str, Json, &'static [(&'static str, &'static str)]);

on_both_protocols! {
    async fn every_failure_says_where_and_what_to_do(protocol) {
        let mut rows = rows();
        if protocol == Protocol::V6 {
            rows.extend(nested_attribute_rows());
        }
        judge(protocol, &rows).await?;
    }
}

/// Compares all rows, so that a change of words shows everywhere at once.
async fn judge(protocol: Protocol, rows: &[Row]) -> Outcome {
    let (_sandbox_host, sandbox) = Setup::sandbox(protocol).session().await?;
    let (_conformance_host, conformance) = Setup::conformance(protocol).session().await?;
    let mut surprises = Vec::new();
    for (token, news, expected) in rows {
        let session = if token.starts_with("sandbox") { &sandbox } else { &conformance };
        let checked = session.resource(token, "it").check(news).await?;
        let is_as_expected = checked.failures.len() == expected.len()
            && checked.failures.iter().zip(*expected).all(|((property, reason), (place, text))| {
                property == place
                    && match text.strip_suffix('…') {
                        Some(beginning) => reason.starts_with(beginning),
                        None => reason == text,
                    }
            });
        if !is_as_expected {
            surprises
                .push(format!("{token} {news}\n  expected {expected:?}\n  found    {:?}", checked.failures));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    Ok(())
}

fn asset() -> Json {
    json!({"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "text": "x"})
}

/// An archive, with where its files are.
fn archive(source: &Json) -> Json {
    let mut archive =
        json!({"4dabf18193072939515e22adb298388d": "0def7320c3a5731c473e5ecbe6d01bc7", "hash": "ab"});
    archive.as_object_mut().expect("an object").extend(source.as_object().expect("an object").clone());
    archive
}

fn rows() -> Vec<Row> {
    vec![
        (NOTE, json!({}), &[("title", "Missing required property 'title': What the note is called.")]),
        (
            NOTE,
            json!({"title": null}),
            &[("title", "Missing required property 'title': What the note is called.")],
        ),
        (
            NOTE,
            json!({"body": "x"}),
            &[("title", "Missing required property 'title': What the note is called.")],
        ),
        (
            NOTE,
            json!({"title": "x", "boddy": "y"}),
            &[("", "boddy: there is no such property; did you mean `body`?")],
        ),
        (
            NOTE,
            json!({"title": "x", "secret_hint": "y"}),
            &[(
                "",
                "secret_hint: there is no such property; what Terraform calls `secret_hint` is `secretHint` here",
            )],
        ),
        (
            NOTE,
            json!({"title": "x", "Body": "y"}),
            &[("", "Body: there is no such property; did you mean `body`?")],
        ),
        (
            NOTE,
            json!({"title": "x", "zzzzzz": "y"}),
            &[(
                "",
                "zzzzzz: there is no such property; take it out, or look the name up in the package's documentation",
            )],
        ),
        (
            NOTE,
            json!({"title": "x", "label": {}}),
            &[("", "label: there is no such property; did you mean `labels`?")],
        ),
        (NOTE, json!({"title": {"a": 1}}), &[("", "title: expected a string, found an object")]),
        (NOTE, json!({"title": ["x"]}), &[("title", "expected a string, found a list")]),
        (
            NOTE,
            json!({"title": "x", "priority": "urgent"}),
            &[("priority", "expected a number, found a string that is not one")],
        ),
        (
            NOTE,
            json!({"title": "x", "priority": true}),
            &[("priority", "expected a number, found a boolean")],
        ),
        (NOTE, json!({"title": "x", "priority": [1]}), &[("priority", "expected a number, found a list")]),
        (NOTE, json!({"title": "x", "priority": {}}), &[("priority", "expected a number, found an object")]),
        (
            NOTE,
            json!({"title": "x", "pinned": "true"}),
            &[("pinned", "expected a boolean, found a string; write true or false, without quotes")],
        ),
        (NOTE, json!({"title": "x", "pinned": 1}), &[("pinned", "expected a boolean, found a number")]),
        (NOTE, json!({"title": "x", "pinned": []}), &[("pinned", "expected a boolean, found a list")]),
        (NOTE, json!({"title": "x", "labels": "x"}), &[("labels", "expected an object, found a string")]),
        (
            NOTE,
            json!({"title": "x", "labels": ["x"]}),
            &[("labels", "expected an object, found a list; give each value under a key")],
        ),
        (
            NOTE,
            json!({"title": "x", "labels": {"a": {}}}),
            &[("", "labels.a: expected a string, found an object")],
        ),
        (
            NOTE,
            json!({"title": "x", "labels": {"a.b": ["x"]}}),
            &[("", "labels[\"a.b\"]: expected a string, found a list")],
        ),
        (
            NOTE,
            json!({"title": asset()}),
            &[(
                "",
                "title: found an asset, which Terraform providers do not take; pass the file's path or its text as a string",
            )],
        ),
        (
            NOTE,
            json!({"title": {"4dabf18193072939515e22adb298388d": "nonsense"}}),
            &[(
                "",
                "title: the value is an object with an unknown signature \"nonsense\"; the engine may be newer than this program",
            )],
        ),
        (
            NOTE,
            json!({"title": ""}),
            &[(
                "title",
                "The title is empty. Give the note a title of at least one character. Examine values at 'it.title'.",
            )],
        ),
        (
            NOTE,
            json!({"title": "x", "labels": {"a.b": ""}}),
            &[(
                "",
                "A label is empty. Remove it, or give it a text. Examine values at 'it.labels[\"a.b\"]'.",
            )],
        ),
        (NOTE, json!({"title": "x", "checksum": "y"}), &[("checksum", "read-only output: remove it")]),
        (NOTE, json!({"title": "x", "id": "y"}), &[("id", "read-only output: remove it")]),
        (
            NOTE,
            json!({"pinned": [], "boddy": "x"}),
            &[
                ("title", "Missing required property 'title': What the note is called."),
                ("", "boddy: there is no such property; did you mean `body`?"),
                ("pinned", "expected a boolean, found a list"),
            ],
        ),
        (
            SERVER,
            json!({"disks": [{}]}),
            &[("", "Missing required property 'disks[0].mount': Where it is seen.")],
        ),
        (
            SERVER,
            json!({"disks": {"mount": "/"}}),
            &[(
                "disks",
                "expected a list, found an object; there can be several here, so put it into a list, even if it is the only one",
            )],
        ),
        (
            SERVER,
            json!({"disk": [{"mount": "/"}]}),
            &[("", "disk: there is no such property; what Terraform calls `disk` is `disks` here")],
        ),
        (
            SERVER,
            json!({"disks": "x"}),
            &[("disks", "expected a list, found a string; put it into a list, even if it is the only one")],
        ),
        (
            SERVER,
            json!({"disks": [{"mount": "/"}, "x"]}),
            &[("", "disks[1]: expected an object, found a string")],
        ),
        (
            SERVER,
            json!({"disks": [{"mount": "/", "sise": 3}]}),
            &[("", "disks[0].sise: there is no such property; did you mean `size`?")],
        ),
        (
            SERVER,
            json!({"disks": [{"mount": "/", "size": 0}]}),
            &[("", "A disk has no room. Give it a size above 0. Examine values at 'it.disks[0].size'.")],
        ),
        (
            SERVER,
            json!({"disks": [{"mount": "/", "size": "big"}]}),
            &[("", "disks[0].size: expected a number, found a string that is not one")],
        ),
        (
            SERVER,
            json!({"rules": [{"port": 1}, {"cidr": "x"}]}),
            &[("", "Missing required property 'rules[1].port'")],
        ),
        (
            SERVER,
            json!({"rules": [{"port": "x"}]}),
            &[("", "rules[0].port: expected a number, found a string that is not one")],
        ),
        (
            SERVER,
            json!({"limits": [{"cpu": 1}]}),
            &[(
                "limits",
                "expected an object, found a list; there is only one here, so give it without a list around it",
            )],
        ),
        (
            SERVER,
            json!({"rules": [{"port": 1}, {"port": 2, "id": "x"}]}),
            &[("", "rules[1].id: read-only output: remove it")],
        ),
        (SERVER, json!({"limits": "x"}), &[("limits", "expected an object, found a string")]),
        (
            SERVER,
            json!({"limits": {"cpus": 1}}),
            &[("", "limits.cpus: there is no such property; did you mean `cpu`?")],
        ),
        (
            SERVER,
            json!({"bootTime": "soon"}),
            &[(
                "bootTime",
                "\"soon\" is not a duration. A duration is a whole number and ms, s, m or h. Examine values at 'it.bootTime'.",
            )],
        ),
        (
            SERVER,
            json!({"boot_time": "3s"}),
            &[(
                "",
                "boot_time: there is no such property; what Terraform calls `boot_time` is `bootTime` here",
            )],
        ),
        (
            SERVER,
            json!({"timeouts": {"create": "soon"}}),
            &[(
                "",
                "\"soon\" is not a duration. A duration is a whole number and ms, s, m or h. Examine values at 'it.timeouts.create'.",
            )],
        ),
        (
            SERVER,
            json!({"timeouts": {"creates": "1s"}}),
            &[("", "timeouts.creates: there is no such property; did you mean `create`?")],
        ),
        (
            SERVER,
            json!({"disks": [{"mount": "/"}, {"mount": "/"}, {"mount": "/"}, {"mount": "/"}, {"mount": "/"}]}),
            &[("disks", "at most 4 are allowed here, found 5")],
        ),
        (
            SERVER,
            json!({"metadata": {"a": asset()}}),
            &[(
                "",
                "metadata.a: found an asset, which Terraform providers do not take; pass the file's path or its text as a string",
            )],
        ),
        (
            NOTE,
            json!({"title": archive(&json!({"path": "./folder"})), "body": archive(&json!({}))}),
            &[
                (
                    "",
                    "body: found an archive, which Terraform providers do not take; pass the file's path or its text as a string",
                ),
                (
                    "",
                    "title: found an archive, which Terraform providers do not take; pass the file's path or its text as a string",
                ),
            ],
        ),
        (
            SERVER,
            json!({"metadata": {"a": archive(&json!({"assets": {"b": asset()}}))}}),
            &[(
                "",
                "metadata.a: found an archive, which Terraform providers do not take; pass the file's path or its text as a string",
            )],
        ),
        (
            BUCKET,
            json!({"name": "a", "namePrefix": "b"}),
            &[
                (
                    "name",
                    "Conflicting configuration arguments. \"name\": conflicts with name_prefix. Examine values at 'it.name'.",
                ),
                (
                    "namePrefix",
                    "Conflicting configuration arguments. \"name_prefix\": conflicts with name. Examine values at 'it.namePrefix'.",
                ),
            ],
        ),
        (
            SECRET,
            json!({"length": 0}),
            &[(
                "length",
                "No such length. The length is a whole number from 1 to 1024. Examine values at 'it.length'.",
            )],
        ),
        (
            SECRET,
            json!({"length": 1.5}),
            &[(
                "length",
                "No such length. The length is a whole number from 1 to 1024. Examine values at 'it.length'.",
            )],
        ),
        (
            SECRET,
            json!({}),
            &[("length", "Missing required property 'length': How many characters, 1 to 1024.")],
        ),
        (
            RECORD,
            json!({"name": "r", "title": "invalid"}),
            &[("title", "Invalid title. A record cannot have this title. Examine values at 'it.title'.")],
        ),
        (RECORD, json!({"name": "r", "size": 1.5}), &[("size", "Configuration Read Error.…")]),
        (
            RECORD,
            json!({"name": "r", "settings": [{"mode": "m"}]}),
            &[(
                "settings",
                "expected an object, found a list; there is only one here, so give it without a list around it",
            )],
        ),
        (
            RECORD,
            json!({"name": "r", "rules": {"port": 1}}),
            &[(
                "rules",
                "expected a list, found an object; there can be several here, so put it into a list, even if it is the only one",
            )],
        ),
        (RECORD, json!({"name": "r", "rules": [{"port": 1.5}]}), &[("rules", "Configuration Read Error.…")]),
        (
            RECORD,
            json!({"name": "r", "grants": [{"level": "x"}]}),
            &[("", "Missing required property 'grants[0].who': Who may.")],
        ),
        (
            RECORD,
            json!({"name": "r", "password_wo": "x"}),
            &[(
                "",
                "password_wo: there is no such property; what Terraform calls `password_wo` is `passwordWo` here",
            )],
        ),
        (RECORD, json!({"name": "r", "etag": "x"}), &[("etag", "read-only output: remove it")]),
        (RECORD, json!({"name": "r", "id": "x"}), &[("id", "read-only output: remove it")]),
        (
            RECORD,
            json!({"name": null}),
            &[(
                "name",
                "Missing required property 'name': What the id starts with; `fail-`, `partial-` and `slow-` in front make the creation misbehave.",
            )],
        ),
        (
            RECORD,
            json!({"name": "r", "timeouts": {"create": "soon"}}),
            &[("", "Invalid Attribute Value Time Duration.…")],
        ),
        (
            LEGACY,
            json!({"name": "l", "network": [{"cidr": "x"}]}),
            &[(
                "network",
                "expected an object, found a list; at most one is allowed here, so give it without a list around it",
            )],
        ),
        (
            LEGACY,
            json!({"name": "l", "network": [{"cidr": "x"}, {"cidr": "y"}]}),
            &[(
                "network",
                "expected an object, found a list; at most one is allowed here, so give it without a list around it",
            )],
        ),
        (
            LEGACY,
            json!({"name": "l", "network": {}}),
            &[(
                "",
                "Missing required property 'network.cidr': Address range; changing it replaces the resource.",
            )],
        ),
        (
            LEGACY,
            json!({"name": "l", "networks": [{"cidr": "x"}]}),
            &[("", "networks: there is no such property; did you mean `network`?")],
        ),
        (
            LEGACY,
            json!({"name": "l", "network": {"cidr": "x", "gateway": "y"}}),
            &[("", "network.gateway: read-only output: remove it")],
        ),
        (LEGACY, json!({"name": "l", "etag": "y"}), &[("etag", "read-only output: remove it")]),
        (
            LEGACY,
            json!({"name": "l", "size": 1.5}),
            &[("size", "Attribute must be a whole number, got 1.5. Examine values at 'it.size'.")],
        ),
        (
            LEGACY,
            json!({"name": "l", "rule": [{"port": 1}]}),
            &[("", "rule: there is no such property; what Terraform calls `rule` is `rules` here")],
        ),
        (
            LEGACY,
            json!({"name": "l", "rules": [{"protocol": "x"}]}),
            &[("", "Missing required property 'rules[0].port': Port.")],
        ),
        (
            NOTE,
            json!({"title": "", "tag": "y"}),
            &[(
                "title",
                "The title is empty. Give the note a title of at least one character. Examine values at 'it.title'.",
            )],
        ),
        (
            LEGACY,
            json!({"name": "l", "rules": [{"port": "80.5.1"}]}),
            &[("", "rules[0].port: expected a number, found a string that is not one")],
        ),
        (
            RECORD,
            json!({"name": "r", "rules": "x", "grants": {}, "boddy": 1}),
            &[
                (
                    "",
                    "boddy: there is no such property; take it out, or look the name up in the package's documentation",
                ),
                (
                    "grants",
                    "expected a list, found an object; there can be several here, so put it into a list, even if it is the only one",
                ),
                ("rules", "expected a list, found a string; put it into a list, even if it is the only one"),
            ],
        ),
        (
            NOTE,
            json!({"title": "x", "tags": "y"}),
            &[("", "tags: there is no such property; did you mean `tag`?")],
        ),
        (SERVER, json!({"limits": {"cpu": {}}}), &[("", "limits.cpu: expected a number, found an object")]),
        (
            RECORD,
            json!({"name": "r", "tags": {"a": ["x"]}}),
            &[("", "tags.a: expected a string, found a list")],
        ),
    ]
}

fn nested_attribute_rows() -> Vec<Row> {
    vec![
        (SERVER, json!({"network": {"mtu": 1}}), &[("", "Missing required property 'network.name'")]),
        (
            SERVER,
            json!({"interfaces": [{"name": "a"}, {"primary": "yes"}]}),
            &[
                ("", "Missing required property 'interfaces[1].name'"),
                (
                    "",
                    "interfaces[1].primary: expected a boolean, found a string; write true or false, without quotes",
                ),
            ],
        ),
        (SERVER, json!({"volumes": {"a": {}}}), &[("", "Missing required property 'volumes.a.size'")]),
        (
            SERVER,
            json!({"volumes": {"a": {"size": 1, "kee": "x"}}}),
            &[("", "volumes.a.kee: there is no such property; did you mean `key`?")],
        ),
        (
            SERVER,
            json!({"volumes": [{"size": 1}]}),
            &[("", "volumes: expected an object, found a list; give each value under a key")],
        ),
        (
            NESTED,
            json!({"name": "n", "owner": {}}),
            &[("", "Missing required property 'owner.name': Name of the owner.")],
        ),
        (
            NESTED,
            json!({"name": "n", "disks": [{"size": 1, "partitions": [{"uuid": "x"}]}]}),
            &[
                ("", "Missing required property 'disks[0].partitions[0].path': Where it is mounted."),
                ("", "disks[0].partitions[0].uuid: read-only output: remove it"),
            ],
        ),
        (
            NESTED,
            json!({"name": "n", "disks": {"size": 1}}),
            &[(
                "disks",
                "expected a list, found an object; there can be several here, so put it into a list, even if it is the only one",
            )],
        ),
        (
            NESTED,
            json!({"name": "n", "zones": {"a": {"weight": "x"}}}),
            &[("", "zones.a.weight: expected a number, found a string that is not one")],
        ),
        (
            NESTED,
            json!({"name": "n", "zones": {"a": 1}}),
            &[("", "zones.a: expected an object, found a number")],
        ),
        (
            NESTED,
            json!({"name": "n", "mounts": [{"mode": "x"}]}),
            &[("", "Missing required property 'mounts[0].path': Where it is mounted.")],
        ),
        (
            NESTED,
            json!({"name": "n", "owner": [{"name": "o"}]}),
            &[(
                "",
                "owner: expected an object, found a list; there is only one here, so give it without a list around it",
            )],
        ),
        (
            NESTED,
            json!({"name": "n", "owner": {"name": "o", "number": 3}}),
            &[("", "owner.number: read-only output: remove it")],
        ),
        (
            NESTED,
            json!({"name": "n", "disks": [{"size": 1, "serial": "x"}]}),
            &[("", "disks[0].serial: read-only output: remove it")],
        ),
        (
            NESTED,
            json!({"name": "n", "disk": [{"size": 1}]}),
            &[("", "disk: there is no such property; did you mean `disks`?")],
        ),
    ]
}
