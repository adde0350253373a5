//! Diff of provider configurations.
//!
//! No change of a configuration replaces resources: only the provider could decide that, and the
//! protocol has no call for it. Differences of notation are no changes: white space and key order
//! in JSON, a number and its string, the order of a set, null and absence. So values are compared
//! as the provider would get them.

use std::collections::{BTreeMap, BTreeSet};

use isthmus_proto::property::{Struct, Value as Property};

use isthmus_operations::resource::{Change, ChangeKind, Difference, Display};
use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_translate::config_values::unfold_if_possible;
use isthmus_translate::ignore_changes::apply_ignore_changes;
use isthmus_translate::inputs::{Unknowns, value_from_property};
use isthmus_translate::property::{self, bag_without_secrets};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};

/// Depth to which properties are compared one by one; a difference below is one change.
const MAXIMUM_DEPTH: usize = 64;

/// The engine's key for the version of the package.
const VERSION: &str = "version";

/// Compares the stored configuration with a new one, ignoring `ignore_changes`.
pub(crate) fn diff(
    olds: &Struct,
    news: &Struct,
    ignore_changes: &[PropertyPath],
    shape: &ObjectShape,
) -> Difference {
    let marked = [olds, news].map(|bag| unfold_if_possible(bag, shape));
    let [olds, mut news] =
        marked.each_ref().map(|bag| bag_without_secrets(bag).unwrap_or_else(|_| bag.clone()));
    apply_ignore_changes(&mut news, &olds, ignore_changes);
    let mut comparison = Comparison { path: Vec::new(), changes: BTreeMap::new() };
    let names: BTreeSet<&str> = olds.keys().chain(news.keys()).collect();
    for name in names {
        let shape = shape.pulumi(name).map(|field| &field.shape);
        comparison.step(PropertyStep::Name(name.to_owned()), olds.get(name), news.get(name), shape);
    }
    let mut difference =
        Difference { changes: comparison.changes, delete_before_replace: false, stables: Vec::new() };
    difference.hide_keys_of_secrets(shape, &marked.each_ref());
    difference
}

/// Hides a change of `version` that is none: in a stack's first run, engines (3.259) give an explicit provider the version of its
/// package, and in later ones that of the plugin.
pub(crate) fn hide_other_version(
    olds: &mut Struct,
    news: &Struct,
    package: &semver::Version,
    plugin: &semver::Version,
) {
    let is = |bag: &Struct, version: &semver::Version| {
        bag.get(VERSION) == Some(&Property::from(version.to_string().as_str()))
    };
    let both = |one, other| is(olds, one) && is(news, other);
    if (both(package, plugin) || both(plugin, package))
        && let Some(version) = news.get(VERSION)
    {
        olds.insert(VERSION, version.clone());
    }
}

struct Comparison {
    path: Vec<PropertyStep>,
    changes: BTreeMap<PropertyPath, Change>,
}

impl Comparison {
    fn step(
        &mut self,
        step: PropertyStep,
        old: Option<&Property>,
        new: Option<&Property>,
        shape: Option<&Shape>,
    ) {
        self.path.push(step);
        self.compare(present(old), present(new), shape);
        self.path.pop();
    }

    fn compare(&mut self, old: Option<&Property>, new: Option<&Property>, shape: Option<&Shape>) {
        let (old, new) = match (old, new) {
            (None, None) => return,
            (None, Some(_)) => return self.note(ChangeKind::Add),
            (Some(_), None) => return self.note(ChangeKind::Delete),
            (Some(old), Some(new)) => (old, new),
        };
        if old == new || shape.is_some_and(|shape| are_same(old, new, shape)) {
            return;
        }
        match (old, new) {
            _ if self.path.len() >= MAXIMUM_DEPTH => self.note(ChangeKind::Update),
            // Elements of sets have no index.
            _ if matches!(shape, Some(Shape::Set(_))) => self.note(ChangeKind::Update),
            (Property::Struct(olds), Property::Struct(news)) if !is_special(olds) && !is_special(news) => {
                let names: BTreeSet<&str> = olds.keys().chain(news.keys()).collect();
                for name in names {
                    let shape = member(shape, name);
                    self.step(PropertyStep::Name(name.to_owned()), olds.get(name), news.get(name), shape);
                }
            }
            (Property::List(olds), Property::List(news)) => {
                for index in 0..olds.len().max(news.len()) {
                    let step = PropertyStep::Index(index);
                    self.step(step, olds.get(index), news.get(index), element(shape));
                }
            }
            _ => self.note(ChangeKind::Update),
        }
    }

    fn note(&mut self, kind: ChangeKind) {
        // The stored configuration is the inputs.
        let change = Change { display: Display::Inputs, ..Change::new(kind) };
        self.changes.insert(PropertyPath(self.path.clone()), change);
    }
}

/// Null means absent.
fn present(value: Option<&Property>) -> Option<&Property> {
    value.filter(|value| !value.is_null())
}

/// Whether a provider would get the same value for both. An unknown value counts as different.
fn are_same(old: &Property, new: &Property, shape: &Shape) -> bool {
    let read = |value| value_from_property(value, "", shape, Unknowns::Reject);
    matches!((read(old), read(new)), (Ok(old), Ok(new)) if old.value == new.value)
}

fn is_special(object: &Struct) -> bool {
    object.contains_key(property::SIGNATURE_KEY)
}

fn member<'a>(shape: Option<&'a Shape>, name: &str) -> Option<&'a Shape> {
    match shape? {
        Shape::Object(object) => object.pulumi(name).map(|field| &field.shape),
        Shape::Map(element) => Some(&**element),
        Shape::FlattenedList(element) | Shape::FlattenedSet(element) => member(Some(&**element), name),
        _ => None,
    }
}

fn element(shape: Option<&Shape>) -> Option<&Shape> {
    match shape? {
        Shape::List(element) => Some(&**element),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use isthmus_package::shape::IdRule;
    use isthmus_translate::property::{secret, unknown};
    use isthmus_translate::testing::{attribute, bag, block, list, nested, object, resource};

    fn text(text: &str) -> Property {
        Property::from(text)
    }

    fn compare(old: &[(&str, Property)], new: &[(&str, Property)], ignored: &[&str]) -> Vec<String> {
        let inner = block(vec![attribute("url", Type::String), attribute("port", Type::Number)], vec![]);
        let block = block(
            vec![
                attribute("key", Type::String),
                attribute("on", Type::Bool),
                attribute("tags", Type::map(Type::String)),
                attribute("zones", Type::set(Type::String)),
            ],
            vec![nested("endpoint", BlockNesting::List, 0, inner)],
        );
        let shape = resource(block, IdRule::Missing);
        let ignored: Vec<PropertyPath> = ignored.iter().map(|path| path.parse().unwrap()).collect();
        let difference = diff(&bag(old), &bag(new), &ignored, &shape.object);
        difference.changes.iter().map(|(path, change)| format!("{:?} {path}", change.kind)).collect()
    }

    #[test]
    fn what_means_the_same_is_no_change() {
        for (name, old, new) in [
            ("tags", text(r#"{"a":"1","b":"2"}"#), text(r#"{ "b": "2", "a": "1" }"#)),
            ("tags", text(r#"{"a":"1"}"#), object(&[("a", Property::Number(1.0))])),
            ("on", text("true"), Property::Bool(true)),
            ("on", Property::Null, Property::Null),
            ("zones", text(r#"["a","b"]"#), list(&[text("b"), text("a"), text("b")])),
            ("key", secret(text("k")), text("k")),
            ("endpoints", text(r#"[{"url":"u","port":1}]"#), text(r#"[{"url":"u","port":"1.0"}]"#)),
            ("on", text("no JSON"), text("no JSON")),
            ("version", text("1"), text("1")),
        ] {
            assert_eq!(compare(&[(name, old.clone())], &[(name, new)], &[]), [""; 0], "{name}: {old:?}");
        }
        assert_eq!(compare(&[("on", Property::Null)], &[], &[]), [""; 0]);
    }

    #[test]
    fn the_version_of_the_plugin_in_place_of_the_packages_is_no_change() {
        let version = |text: &str| semver::Version::parse(text).expect("a version");
        for (old, new, is_change) in [
            ("3.8.1", "1.4.0", false),
            ("1.4.0", "3.8.1", false),
            ("3.8.0", "3.8.1", true),
            ("3.8.0", "1.4.0", true),
            ("1.1.2", "3.8.1", true),
        ] {
            let [mut olds, news] = [old, new].map(|text| bag(&[("version", Property::from(text))]));
            hide_other_version(&mut olds, &news, &version("3.8.1"), &version("1.4.0"));
            assert_eq!(olds != news, is_change, "{old} {new}");
        }
    }

    #[test]
    fn changes_are_told_by_their_paths() {
        let old = [
            ("key", text("k")),
            ("tags", text(r#"{"a":"1","b":"2"}"#)),
            ("endpoints", text(r#"[{"url":"u"},{"url":"v"}]"#)),
            ("zones", text(r#"["a"]"#)),
        ];
        let new = [
            ("key", unknown()),
            ("tags", text(r#"{"b":"3","c d":"1"}"#)),
            ("endpoints", text(r#"[{"url":"w","port":2}]"#)),
            ("zones", text(r#"["b"]"#)),
            ("version", text("2")),
        ];
        assert_eq!(
            compare(&old, &new, &[]),
            [
                "Add endpoints[0].port",
                "Update endpoints[0].url",
                "Delete endpoints[1]",
                "Update key",
                "Delete tags.a",
                "Update tags.b",
                r#"Add tags["c d"]"#,
                "Add version",
                "Update zones",
            ]
        );
        assert_eq!(compare(&old, &new, &["endpoints", "key", "tags", "zones"]), ["Add version"]);
    }

    #[test]
    fn keys_of_a_secret_map_are_not_told() {
        let old = text(r#"{"a":"1","b":"2"}"#);
        let new = text(r#"{"b":"3","c d":"1"}"#);
        for (old, new) in [
            (secret(old.clone()), new.clone()),
            (old.clone(), secret(new.clone())),
            (secret(old), secret(new)),
        ] {
            assert_eq!(compare(&[("tags", old)], &[("tags", new)], &[]), ["Update tags"]);
        }
    }

    #[test]
    fn another_kind_of_value_is_one_change() {
        let old = [("tags", text(r#"{"a":"1"}"#))];
        assert_eq!(compare(&old, &[("tags", text("[1]"))], &[]), ["Update tags"]);
        assert_eq!(compare(&old, &[("tags", text("no JSON"))], &[]), ["Update tags"]);
    }
}
