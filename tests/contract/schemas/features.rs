//! That the conformance provider's resources for single features work through the daemon: one short life each. What a feature
//! has to do in full is the business of the tests about that feature.

use std::path::PathBuf;

use crate::harness::resource::{Resource, half_made};
use crate::harness::{Host, Json, Protocol, Session, Setup, json, on_both_protocols};

fn feature(session: &Session, name: &str) -> Resource {
    let mut capital = name.to_owned();
    capital[..1].make_ascii_uppercase();
    session.resource(&format!("conformance:index/{name}:{capital}"), "feature")
}

/// A file of the provider's objects.
fn file(host: &Host, kind: &str, id: &str) -> PathBuf {
    host.directory().join("objects").join(kind).join(format!("{id}.json"))
}

fn written(host: &Host, kind: &str, id: &str) -> Json {
    let text = std::fs::read_to_string(file(host, kind, id)).expect("the provider has written it");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The types of attributes, with two values each; the last four are of protocol 6.
fn attribute_types() -> [(&'static str, Json, Json); 16] {
    [
        ("Bool", json!(false), json!(true)),
        ("Int32", json!(1), json!(-2)),
        ("Int64", json!(1), json!(4_294_967_296_i64)),
        ("Float32", json!(0.25), json!(-2.5)),
        ("Float64", json!(0.1), json!(1e-9)),
        ("Number", json!(1.5), json!(0)),
        ("String", json!("a"), json!("b")),
        ("List", json!(["a", "b"]), json!(["b"])),
        ("Set", json!(["a", "b"]), json!(["b"])),
        ("Map", json!({"a": "b"}), json!({"c": ""})),
        ("Object", json!({"text": "a", "level": 1}), json!({"text": "b"})),
        ("Dynamic", json!(["a", 1]), json!({"a": true})),
        ("ListNested", json!([{"text": "a"}, {"text": "b", "level": 2}]), json!([{"text": "b"}])),
        ("SetNested", json!([{"text": "a"}, {"text": "b", "level": 2}]), json!([{"text": "b"}])),
        ("MapNested", json!({"x": {"text": "a"}}), json!({"y": {"text": "b"}})),
        ("SingleNested", json!({"text": "a"}), json!({"level": 3})),
    ]
}

/// What an attribute's property is called: collections are called by plurals.
fn property(schema: &Json, resource: &Resource, attribute: &str) -> String {
    let (_, rest) = resource.urn().split_once("contract::").expect("an URN of these tests");
    let (token, _) = rest.split_once("::feature").expect("an URN of these tests");
    let properties = &schema["resources"][token]["properties"];
    let names = [attribute.to_owned(), format!("{attribute}s"), format!("{attribute}es")];
    names.into_iter().find(|name| properties.get(name).is_some()).expect("the attribute has a property")
}

on_both_protocols! {
    async fn every_type_of_attribute_is_defaulted_kept_made_and_replaced(protocol) {
        let (_host, session) = Setup::conformance(protocol).session().await?;
        let schema = session.schema().await?;
        let types = attribute_types();
        let known = if protocol == Protocol::V6 { types.len() } else { types.len() - 4 };
        for (name, first, second) in &types[..known] {
            let resource = feature(&session, &format!("attribute{name}"));
            let called = |attribute: &str| property(&schema, &resource, attribute);
            let (plain, kept, made_once, fixed) =
                (called("plain"), called("kept"), called("made"), called("fixed"));
            let made = resource.make(&json!({"name": "x"})).await?;
            for computed in [called("defaulted"), called("chosen"), called("fresh"), kept.clone(), made_once.clone()] {
                assert!(made.outputs.get(&computed).is_some(), "{name}: {computed} has a value");
            }
            assert_eq!(made.outputs.get(&plain), None, "{name}: nothing was said");
            let read = resource.refresh(&made).await?.expect("it is there");
            assert!(!resource.diff(&read, &made.inputs).await?.some, "{name}: nothing has changed");

            let news = json!({"name": "x", plain.as_str(): first});
            let news = resource.check_again(&made.inputs, &news).await?.inputs;
            let changed = resource.update(&read, &news).await?;
            assert_eq!(changed.outputs[&kept], made.outputs[&kept], "{name}");
            assert_eq!(changed.outputs[&made_once], made.outputs[&made_once], "{name}");
            assert!(changed.outputs.get(&plain).is_some(), "{name}: what was said has come to be");
            assert!(!resource.diff(&changed, &news).await?.some, "{name}: nothing else has");

            let inputs = json!({"name": "x", plain.as_str(): second, fixed.as_str(): second});
            let news = resource.check_again(&news, &inputs).await?.inputs;
            let replaces = resource.diff(&changed, &news).await?.replaces;
            assert!(!replaces.is_empty(), "{name}: it is replaced");
            assert!(replaces.iter().all(|path| path.starts_with(&fixed)), "{name}: by {replaces:?}");
            resource.delete(&changed).await?;
        }
    }

    async fn a_creation_that_fails_half_way_keeps_what_is_there(host, session: conformance) {
        for name in ["flaky", "legacyFlaky"] {
            let resource = feature(&session, name);
            host.trouble("x", &json!({"create": "half", "once": true}));
            let status = resource.make(&json!({"name": "x", "parts": ["a", "b"]})).await.expect_err("it fails");
            let left = half_made(&status).expect("something exists");
            assert_eq!(left.id, "x-1", "{name}");
            let again = resource.make(&json!({"name": "x", "parts": ["a", "b"]})).await?;
            assert_eq!(again.outputs["written"], 2, "{name}: the trouble is over");
            resource.delete(&again).await?;
        }
    }

    async fn private_data_goes_through_every_call(host, session: conformance) {
        let diary = feature(&session, "diary");
        let made = diary.make(&json!({"name": "x", "value": "a"})).await?;
        let read = diary.refresh(&made).await?.expect("it is there");
        let news = diary.check_again(&made.inputs, &json!({"name": "x", "value": "b"})).await?.inputs;
        let changed = diary.update(&read, &news).await?;
        diary.delete(&changed).await?;
        let counted = written(&host, "diary_deleted", "x-1");
        let kept = json!([counted["create"], counted["read"], counted["update"], counted["delete"]]);
        assert_eq!(kept, json!([1, 1, 1, 1]), "{counted}");
    }

    async fn timeouts_of_the_program_reach_the_provider(protocol) {
        let (host, session) = Setup::conformance(protocol).session().await?;
        let shapes = ["timedBlock", "legacyTimed", "timedAttribute"];
        let known = if protocol == Protocol::V6 { &shapes[..] } else { &shapes[..2] };
        for name in known {
            let resource = feature(&session, name);
            let made = resource.make(&json!({"name": "x", "timeouts": {"create": "33s"}})).await?;
            assert_eq!(made.outputs["granted"], "create 33s", "{name}");
            resource.delete(&made).await?;
        }
        assert_eq!(written(&host, "timed_block_deleted", "x-1"), json!({"delete": "10m0s"}));
        assert_eq!(written(&host, "legacy_timed_deleted", "x-1"), json!({"delete": "10m0s"}));
    }

    async fn state_is_upgraded_when_the_provider_is(protocol) {
        for name in ["versioned", "legacyVersioned"] {
            let old = Setup::conformance(protocol).with("CONFORMANCE_SCHEMA_VERSION", "0");
            let (old_host, session) = old.session().await?;
            let inputs = json!({"name": "x", "oldTitle": "t", "size": "5", "labels": "a,b"});
            let made = feature(&session, name).make(&inputs).await?;

            let (_host, session) = Setup::conformance(protocol).beside(&old_host).session().await?;
            let resource = feature(&session, name);
            let news = json!({"name": "x", "title": "t", "size": 5, "labels": ["a", "b"]});
            let news = resource.check_again(&made.inputs, &news).await?.inputs;
            let difference = resource.diff(&made, &news).await?;
            assert!(!difference.some, "{name}: {difference:?}");
            let read = resource.refresh(&made).await?.expect("it is there");
            let origin = if name == "versioned" { "upgraded from version 0" } else { "0 1 2 3" };
            assert_eq!(read.outputs["origin"], origin);
            resource.delete(&read).await?;
        }
    }

    async fn sets_of_three_levels_get_what_is_computed_for_each_element(session: conformance) {
        let sets = feature(&session, "legacySets");
        let rules = json!([
            {"text": "one", "statements": [{"text": "path", "matches": [{"text": "a"}, {"text": "b"}]}]},
            {"text": "two", "priority": 2},
        ]);
        let made = sets.make(&json!({"name": "x", "rules": rules})).await?;
        let of_each = |elements: &Json| {
            let elements = elements.as_array().cloned().unwrap_or_default();
            elements.iter().map(|element| format!("{} {}", element["text"], element["made"])).collect::<Vec<_>>()
        };
        let mut named = of_each(&made.outputs["rules"]);
        named.sort();
        assert_eq!(named, [r#""one" "made of one""#, r#""two" "made of two""#]);
        assert!(!sets.diff(&made, &made.inputs).await?.some, "nothing has changed");
        sets.delete(&made).await?;
    }

    async fn what_the_old_sdk_plans_is_shown(session: conformance) {
        let planned = feature(&session, "legacyPlanned");
        let inputs = json!({"name": "x", "tier": 3, "value": "a", "hashed": "secret", "caseBlind": "A"});
        let made = planned.make(&inputs).await?;
        assert_eq!(made.outputs["summary"], "summary of a");
        assert!(!planned.diff(&made, &made.inputs).await?.some, "nothing has changed");
        let blind = json!({"name": "x", "tier": 3, "value": "a", "hashed": "secret", "caseBlind": "a"});
        let blind = planned.check_again(&made.inputs, &blind).await?.inputs;
        assert!(!planned.diff(&made, &blind).await?.some, "case does not matter");
        let lower = json!({"name": "x", "tier": 2, "value": "a", "hashed": "secret", "caseBlind": "A"});
        let lower = planned.check_again(&made.inputs, &lower).await?.inputs;
        assert_eq!(planned.diff(&made, &lower).await?.replaces, ["tier"]);
        planned.delete(&made).await?;
    }

    async fn write_only_values_are_written_when_their_version_changes(host, session: conformance) {
        let vault = feature(&session, "vault");
        let inputs = |secret: &str, version: i64| {
            json!({"name": "x", "secretWo": secret, "doors": [{"label": "l", "codeWo": secret}], "secretWoVersion": version})
        };
        let made = vault.make(&inputs("first", 1)).await?;
        assert_eq!(written(&host, "vault", "x-1")["notes"]["written"]["secret_wo"], "first");
        let news = vault.check_again(&made.inputs, &inputs("second", 2)).await?.inputs;
        let changed = vault.update(&made, &news).await?;
        let notes = written(&host, "vault", "x-1")["notes"]["written"].clone();
        assert_eq!((&notes["secret_wo"], &notes["door"][0]["code_wo"]), (&json!("second"), &json!("second")));
        vault.delete(&changed).await?;
    }
}
