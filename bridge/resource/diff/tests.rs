use isthmus_cty::Type;
use isthmus_provider::schema::BlockNesting;

use super::*;
use crate::package::shape::{IdRule, ResourceShape};
use crate::translate::property::secret;
use crate::translate::testing::{attribute, bag, block, list, nested, object, path, resource};

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
    let changes = changes.iter().map(|&(place, kind, replaces)| (path(place), Change { kind, replaces }));
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
