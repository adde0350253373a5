//! `ignoreChanges`: properties whose changes the user ignores.
//!
//! The engine replaces ignored inputs by old *inputs* before Check. The provider must do it again
//! with old *outputs*, because most ignored properties are no inputs: computed values that would
//! otherwise be planned anew.

use std::collections::BTreeSet;

use isthmus_proto::property::{Struct, Value};

use super::inputs::read_only;
use super::property::{self, PropertyView};
use super::property_path::{PropertyPath, PropertyStep, inside_mut};
use isthmus_package::shape::ObjectShape;

/// Reverts `news` to `olds` at each of `paths`.
///
/// A property in both gets the old value; one only in `news` is removed; one only in `olds` is
/// restored. Elements of lists must exist on both sides. A path that matches nothing has no effect.
/// The bridge's own properties (`__…`) are never restored.
pub fn apply_ignore_changes(news: &mut Struct, olds: &Struct, paths: &[PropertyPath]) {
    for path in paths {
        if let Some((first, rest)) = path.0.split_first() {
            apply_to_object(news, olds, first, rest, false);
        }
    }
}

/// Removes read-only properties. Core does so only where everything is ignored: single properties
/// that a user names are configured, whatever they are.
pub fn take_out_read_only(news: &mut Struct, shape: &ObjectShape) {
    loop {
        // Each call finds a limited number.
        let found = read_only(news, shape);
        let taken_out = found.iter().filter(|set| set.property.delete(news).is_some()).count();
        if taken_out == 0 {
            return;
        }
    }
}

/// `secret`: an ancestor in `olds` is secret, so what is copied stays secret.
fn apply_to_object(
    news: &mut Struct,
    olds: &Struct,
    first: &PropertyStep,
    rest: &[PropertyStep],
    secret: bool,
) {
    match first {
        PropertyStep::Name(name) => apply_to_property(news, olds, name, rest, secret),
        PropertyStep::All => {
            let names: BTreeSet<String> = news.keys().chain(olds.keys()).map(str::to_owned).collect();
            for name in names.iter().filter(|name| !name.starts_with("__")) {
                apply_to_property(news, olds, name, rest, secret);
            }
        }
        PropertyStep::Index(_) => {}
    }
}

fn apply_to_property(news: &mut Struct, olds: &Struct, name: &str, rest: &[PropertyStep], secret: bool) {
    match (news.get_mut(name), olds.get(name)) {
        (Some(new), Some(old)) => apply(new, old, rest, secret),
        (Some(_), None) if rest.is_empty() => {
            news.remove(name);
        }
        (None, Some(old)) if rest.is_empty() => {
            news.insert(name, taken(old, secret));
        }
        _ => {}
    }
}

fn apply(new: &mut Value, old: &Value, path: &[PropertyStep], secret: bool) {
    let Some((first, rest)) = path.split_first() else {
        *new = taken(old, secret);
        return;
    };
    let Ok((old, old_is_secret)) = property::unwrap(old) else { return };
    let secret = secret || old_is_secret;
    match (old, inside_mut(new)) {
        (PropertyView::Object(old), Value::Struct(new)) if !new.contains_key(property::SIGNATURE_KEY) => {
            apply_to_object(new, old, first, rest, secret);
        }
        (PropertyView::List(old), Value::List(new)) => {
            let range = match first {
                PropertyStep::Index(index) => *index..index.saturating_add(1),
                PropertyStep::All => 0..old.len(),
                PropertyStep::Name(_) => 0..0,
            };
            for index in range {
                if let (Some(new), Some(old)) = (new.get_mut(index), old.get(index)) {
                    apply(new, old, rest, secret);
                }
            }
        }
        _ => {}
    }
}

fn taken(old: &Value, secret: bool) -> Value {
    if secret { property::secret(old.clone()) } else { old.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(fields: &[(&str, Value)]) -> Value {
        Value::Struct(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    fn list(elements: &[&str]) -> Value {
        Value::List(elements.iter().map(|element| Value::from(*element)).collect())
    }

    fn olds() -> Struct {
        Struct::from([
            ("top", Value::from("hi")),
            ("list", list(&["1", "10", "11"])),
            ("map", object(&[("foo", Value::from("0")), ("bar", Value::from("1"))])),
            ("*", Value::Number(3.0)),
            ("old", Value::from("321")),
            ("__meta", Value::from("{}")),
        ])
    }

    fn news() -> Struct {
        Struct::from([
            ("top", Value::from("bye")),
            ("list", list(&["-1", "-10", "-11"])),
            ("map", object(&[("foo", Value::from("-0")), ("bar", Value::from("-1"))])),
            ("*", Value::Number(-3.0)),
            ("new", Value::from("123")),
        ])
    }

    fn after(paths: &[&str]) -> Struct {
        let mut news = news();
        let paths: Vec<PropertyPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        apply_ignore_changes(&mut news, &olds(), &paths);
        news
    }

    #[test]
    fn ignored_paths_keep_what_the_state_has_and_others_change() {
        for (ignored, path, kept) in [
            (&[][..], "top", false),
            (&["*"], "top", true),
            (&["*"], "list[2]", true),
            (&["list"], "list[1]", true),
            (&["list[1]"], "list[1]", true),
            (&["list[2]"], "list[1]", false),
            (&["list[*]"], "list[1]", true),
            (&["map.foo"], "map.foo", true),
            (&["map.bar"], "map.foo", false),
            (&["map[*]"], "map.foo", true),
            (&["new"], "new", true),
            (&["old"], "old", true),
            (&["list.x", "map[0]", "top.deep", "missing.x"], "top", false),
        ] {
            let path: PropertyPath = path.parse().unwrap();
            let result = after(ignored);
            assert_eq!(
                path.find(&result) == path.find(&olds()),
                kept,
                "{path} when ignoring {ignored:?}: {result:?}"
            );
        }
    }

    #[test]
    fn paths_that_lead_nowhere_do_nothing() {
        assert_eq!(after(&["list.x", "map[0]", "top.deep", "missing.x", "list[9]", "", "[0]"]), news());
    }

    #[test]
    fn a_star_ignores_added_and_removed_entries_but_not_the_bridges_own() {
        let mut everything_old = olds();
        everything_old.remove("__meta");
        assert_eq!(after(&["*"]), everything_old);

        let mut news = Struct::from([("k", object(&[("a", Value::from("A"))]))]);
        let olds = Struct::from([("k", object(&[("b", Value::from("B"))]))]);
        apply_ignore_changes(&mut news, &olds, &["k[*]".parse().unwrap()]);
        assert_eq!(news, olds);
    }

    #[test]
    fn stars_may_be_nested_over_objects_and_lists() {
        let nested = |value: &str| {
            let elements = vec![object(&[("x", Value::from("same"))]), object(&[("m", Value::from(value))])];
            object(&[("here", Value::List(elements))])
        };
        let olds = Struct::from([("k1", nested("old")), ("k2", nested("old"))]);
        let mut news = Struct::from([("k1", nested("new")), ("k2", nested("new"))]);
        apply_ignore_changes(&mut news, &olds, &["[*].here[1].m".parse().unwrap()]);
        assert_eq!(news, olds);
    }

    #[test]
    fn what_was_secret_in_the_state_stays_secret() {
        let olds = Struct::from([("k", property::secret(object(&[("a", list(&["hidden"]))])))]);
        let mut news = Struct::from([("k", object(&[("a", list(&["x"])), ("b", Value::from("y"))]))]);
        apply_ignore_changes(&mut news, &olds, &["k.a[0]".parse().unwrap()]);
        let hidden = Value::List(vec![property::secret(Value::from("hidden"))]);
        assert_eq!(news, Struct::from([("k", object(&[("a", hidden), ("b", Value::from("y"))]))]));
    }

    #[test]
    fn whatever_the_decoder_lets_through_fits_the_stack() {
        let depth = isthmus_proto::property::MAX_DEPTH - 2;
        let deep = move |leaf: &str| {
            let deep = (0..depth).fold(Value::from(leaf), |deep, _| Value::List(vec![deep]));
            Struct::from([("a", deep)])
        };
        let ignoring = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let path: PropertyPath = format!("a{}", "[*]".repeat(depth)).parse().unwrap();
            let mut news = deep("new");
            apply_ignore_changes(&mut news, &deep("old"), &[path]);
            news == deep("old")
        });
        assert!(ignoring.unwrap().join().unwrap());
    }

    #[test]
    fn what_only_the_provider_may_set_is_taken_out_however_much_there_is() {
        use isthmus_cty::Type;
        use isthmus_provider::schema::BlockNesting;

        use crate::testing::{attribute, block, computed, nested, resource};
        use isthmus_package::shape::IdRule;

        let rule =
            block(vec![computed(attribute("etag", Type::String)), attribute("port", Type::String)], vec![]);
        let thing = block(
            vec![computed(attribute("etag", Type::String)), attribute("name", Type::String)],
            vec![nested("rule", BlockNesting::List, 0, rule)],
        );
        let shape = resource(thing, IdRule::Missing);
        let rule = object(&[("etag", Value::from("x")), ("port", Value::from("80"))]);
        let mut news = Struct::from([
            ("etag", Value::from("x")),
            ("name", Value::from("n")),
            ("rules", Value::List(vec![rule; 300])),
        ]);
        take_out_read_only(&mut news, &shape.object);
        let rule = object(&[("port", Value::from("80"))]);
        assert_eq!(news, Struct::from([("name", Value::from("n")), ("rules", Value::List(vec![rule; 300]))]));
    }
}
