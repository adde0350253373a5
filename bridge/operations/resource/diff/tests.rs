use isthmus_cty::Type;
use isthmus_provider::schema::{BlockNesting, NestedBlock, ObjectNesting};

use super::*;
use isthmus_package::shape::{IdRule, ResourceShape};
use isthmus_translate::property::secret;
use isthmus_translate::testing::{
    attribute, bag, block, list, nested, nested_attribute, object, object_type, object_value, path, required,
    resource, sensitive,
};

fn thing() -> ResourceShape {
    let map = || Type::Map(Type::String.into());
    let mut headers = attribute("headers", map());
    headers.sensitive = true;
    let disk = block(vec![attribute("mount", Type::String), attribute("label", map())], vec![]);
    resource(
        block(
            vec![attribute("tags", map()), headers, attribute("extra", Type::Dynamic)],
            vec![nested("disk", BlockNesting::List, 0, disk)],
        ),
        IdRule::Missing,
    )
}

fn shown(olds: &Struct, news: &Struct, changes: &[(&str, ChangeKind, bool)]) -> Vec<String> {
    let changes = changes
        .iter()
        .map(|&(place, kind, replaces)| (path(place), Change { replaces, ..Change::new(kind) }));
    let mut difference =
        Difference { changes: changes.collect(), delete_before_replace: false, stables: Vec::new() };
    difference.hide_keys_of_secrets(&thing().object, &[olds, news]);
    let shown = difference.changes.iter().map(|(path, change)| {
        let replaces = if change.replaces { " replaces" } else { "" };
        format!("{:?} {path}{replaces}", change.kind)
    });
    shown.collect()
}

#[test]
fn keys_of_a_map_that_is_secret_are_not_told() {
    use ChangeKind::{Add, Delete, Update};
    let text = || isthmus_proto::property::Value::from("x");
    let map = || object(&[("sesame", text()), ("other", text())]);
    let nothing = Struct::default();
    let all = [("tags.sesame", Add, false), ("tags.other", Delete, true), ("headers.sesame", Update, false)];
    let open = bag(&[("tags", map())]);
    assert_eq!(
        shown(&open, &open, &all),
        ["Update headers", "Delete tags.other replaces", "Add tags.sesame"]
    );
    let marked = bag(&[("tags", secret(map()))]);
    for (olds, news) in [(&marked, &open), (&open, &marked), (&marked, &nothing)] {
        assert_eq!(shown(olds, news, &all), ["Update headers", "Update tags replaces"]);
    }
    // Whole additions and deletions are reported as such.
    for kind in [Add, Delete, Update] {
        assert_eq!(shown(&nothing, &marked, &[("tags", kind, false)]), [format!("{kind:?} tags")]);
    }
    // A secret within a map does not make the map secret.
    let within = bag(&[("tags", object(&[("sesame", secret(text()))]))]);
    assert_eq!(shown(&within, &within, &[("tags.sesame", Update, false)]), ["Update tags.sesame"]);
}

#[test]
fn places_and_names_of_the_schema_within_a_secret_are_told() {
    let text = || isthmus_proto::property::Value::from("x");
    let label = || object(&[("sesame", text())]);
    let disks = || list(&[object(&[("mount", text()), ("label", label())])]);
    let secret_list = bag(&[("disks", secret(disks())), ("extra", secret(list(&[label()])))]);
    let changes = [
        ("disks[0].mount", ChangeKind::Update, false),
        ("disks[0].label.sesame", ChangeKind::Update, false),
        ("extra[0].sesame", ChangeKind::Add, false),
    ];
    let found = shown(&secret_list, &Struct::default(), &changes);
    assert_eq!(found, ["Update disks[0].label", "Update disks[0].mount", "Update extra[0]"]);
}

#[test]
fn a_name_in_single_blocks_that_stays_has_the_old_object_deleted_first() {
    use BlockNesting::{List, Set, Single};
    let named = || block(vec![attribute("name", Type::String)], vec![]);
    let must = |nested| NestedBlock { min_items: 1, ..nested };
    let within = |nested: NestedBlock| block(vec![attribute("kind", Type::String)], vec![nested]);
    let single = |value: Value| Value::list([value]);
    let object = |name: &str| object_value(&[("name", name.into())]);
    let whole = |member: &str, value: Value| object_value(&[("kind", Value::Null), (member, value)]);
    let metadata = |name: &str| whole("metadata", single(object(name)));
    let document = |name: &str, label: &str| {
        let labels = object_value(&[("labels", object(label))]);
        let document = object_value(&[("metadata", object(name)), ("spec", labels)]);
        let texts = || Type::String;
        let one = || object_type([("name".to_owned(), texts())]);
        let spec = object_type([("labels".to_owned(), one())]);
        let own = object_type([("metadata".to_owned(), one()), ("spec".to_owned(), spec)]);
        whole("manifest", Value::dynamic(own, document))
    };
    let in_list = within(must(nested("metadata", List, 1, named())));
    let several = within(must(nested("metadata", List, 0, named())));
    let deep = within(must(nested("spec", List, 1, within(must(nested("metadata", Set, 1, named()))))));
    let deeper = |name: &str| {
        let inner = whole("metadata", Value::set([object(name)]));
        whole("spec", single(inner))
    };
    let own_name =
        block(vec![attribute("name", Type::String)], vec![must(nested("metadata", List, 1, named()))]);
    let own = |name: &str| object_value(&[("name", Value::Null), ("metadata", single(object(name)))]);
    let given = || block(vec![required(attribute("name", Type::String))], vec![]);
    let nested_object =
        required(nested_attribute("metadata", ObjectNesting::Single, vec![attribute("name", Type::String)]));
    let hidden = block(vec![sensitive(attribute("name", Type::String))], vec![]);
    let manifest = block(vec![required(attribute("manifest", Type::Dynamic))], vec![]);
    for (what, block, before, after, expected) in [
        ("kept", in_list.clone(), metadata("a"), metadata("a"), true),
        ("changed", in_list.clone(), metadata("a"), metadata("b"), false),
        (
            "not set",
            in_list,
            whole("metadata", single(object_value(&[("name", Value::Null)]))),
            metadata("a"),
            false,
        ),
        ("of several", several, metadata("a"), metadata("a"), false),
        ("deep", deep, deeper("a"), deeper("a"), true),
        ("beside a name of its own", own_name, own("a"), own("a"), false),
        (
            "optional in an optional block",
            within(nested("metadata", Single, 0, named())),
            whole("metadata", object("a")),
            whole("metadata", object("a")),
            false,
        ),
        (
            "required in an optional block",
            within(nested("metadata", Single, 0, given())),
            whole("metadata", object("a")),
            whole("metadata", object("a")),
            true,
        ),
        (
            "in an attribute",
            block(vec![nested_object], vec![]),
            whole("metadata", object("a")),
            whole("metadata", object("a")),
            true,
        ),
        ("secret", within(must(nested("metadata", List, 1, hidden))), metadata("a"), metadata("a"), false),
        ("in a document", manifest.clone(), document("a", "x"), document("a", "y"), true),
        ("a label of a document", manifest, document("a", "x"), document("b", "x"), false),
    ] {
        let shape = resource(block, IdRule::Missing);
        assert_eq!(keeps_a_nested_name(&shape.object, [&before, &before, &after]), expected, "{what}");
    }
}
