use isthmus_proto::property::Value as Property;

use super::*;
use isthmus_translate::testing::{bag, list, object, path};

/// What the engine gets of changes, of which each is a kind and a path.
fn shown(changes: &[(ChangeKind, &str)], known: Known<'_>) -> Vec<String> {
    let changes = changes.iter().map(|(kind, place)| (path(place), Change::new(*kind))).collect();
    let shown = displayed(changes, known).into_iter().map(|(path, change)| {
        let values = match change.display {
            Display::Outputs => "",
            Display::Inputs => " of inputs",
            Display::Name => " by name",
        };
        format!("{:?} {path}{values}", change.kind)
    });
    shown.collect()
}

#[test]
fn what_the_program_neither_sets_nor_has_set_shows_no_values() {
    use ChangeKind::{Add, Delete, Update};
    let text = |text: &str| Property::from(text);
    let rules = |port: f64| list(&[object(&[("port", Property::Number(port))])]);
    let inputs = bag(&[("title", text("a")), ("chosen", text("c")), ("rules", rules(1.0))]);
    let news = bag(&[("title", text("b")), ("size", Property::Number(1.0)), ("rules", rules(2.0))]);
    let olds = bag(&[
        ("title", text("a")),
        ("chosen", text("c")),
        ("path", text("/dev/x")),
        ("gone", text("g")),
        ("labels", list(&[])),
        ("object", object(&[("metadata", object(&[("uid", text("u"))]))])),
        (
            "rules",
            list(&[object(&[("port", Property::Number(1.0)), ("id", text("i")), ("tags", list(&[]))])]),
        ),
    ]);
    let known = Known { inputs: &inputs, olds: &olds, news: &news };
    for (change, expected) in [
        ((Update, "title"), "Update title"),
        ((Add, "size"), "Add size"),
        // The program sets it no more: an engine shows that, whatever takes its place.
        ((Delete, "chosen"), "Delete chosen"),
        ((Update, "chosen"), "Update chosen"),
        // The provider's, with a new value that an engine has not.
        ((Update, "path"), "Update path of inputs"),
        ((Add, "status"), "Update status of inputs"),
        ((Update, "object.metadata.uid"), "Update object of inputs"),
        ((Delete, "object.metadata.uid"), "Update object of inputs"),
        ((Delete, "gone"), "Delete gone"),
        ((Delete, "labels"), "Update labels of inputs"),
        ((Update, META), "Update __meta of inputs"),
    ] {
        assert_eq!(shown(&[change], known), [expected], "{change:?}");
    }
    // Within what the program sets, beside a change that shows values.
    let beside = |change| shown(&[(Update, "rules[0].port"), change], known);
    for (change, expected) in [
        ((Update, "rules[0].id"), "Update rules[0].id by name"),
        ((Add, "rules[0].hash"), "Update rules[0].hash by name"),
        ((Delete, "rules[0].tags"), "Update rules[0].tags by name"),
        ((Delete, "rules[0].id"), "Delete rules[0].id"),
    ] {
        assert!(beside(change).contains(&expected.to_owned()), "{change:?}: {:?}", beside(change));
    }
}

#[test]
fn where_nothing_else_changes_an_engine_shows_the_place() {
    let rules = list(&[object(&[("port", Property::Number(1.0))])]);
    let set = bag(&[("rules", rules)]);
    let change = [(ChangeKind::Update, "rules[0].id")];
    let known = Known { inputs: &set, olds: &set, news: &set };
    assert_eq!(shown(&change, known), ["Update rules[0].id of inputs"]);
    // An engine would show the whole list as added.
    let nothing = Struct::default();
    assert_eq!(shown(&change, Known { inputs: &nothing, ..known }), ["Update rules[0].id by name"]);
}

#[test]
fn changes_within_one_computed_property_are_one_that_replaces_if_any_does() {
    let replace = Change { replaces: true, ..Change::new(ChangeKind::Update) };
    let changes = [("object.a", Change::new(ChangeKind::Update)), ("object.b", replace)];
    let changes = changes.into_iter().map(|(place, change)| (path(place), change)).collect();
    let nothing = Struct::default();
    let found = displayed(changes, Known { inputs: &nothing, olds: &nothing, news: &nothing });
    assert_eq!(found, BTreeMap::from([(path("object"), Change { display: Display::Inputs, ..replace })]));
}
