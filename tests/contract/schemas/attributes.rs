//! Every type of attribute that HashiCorp's library has, in one short life each.

use crate::harness::resource::Resource;
use crate::harness::{Json, Protocol, Session, Setup, json, on_both_protocols};

fn feature(session: &Session, name: &str) -> Resource {
    let mut capital = name.to_owned();
    capital[..1].make_ascii_uppercase();
    session.resource(&format!("conformance:index/{name}:{capital}"), "feature")
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
}
