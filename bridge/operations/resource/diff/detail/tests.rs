use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_provider::schema::{BlockNesting, ObjectNesting};
use proptest::prelude::*;

use super::*;
use isthmus_package::shape::{IdRule, ResourceShape};
use isthmus_translate::testing::{
    attribute, bag, block, list, nested, nested_attribute, object, object_value, resource,
};

fn thing() -> ResourceShape {
    let port = || attribute("port", Type::Number);
    let text = |name: &str| attribute(name, Type::String);
    let rule = block(vec![port(), text("cidr")], vec![]);
    resource(
        block(
            vec![
                text("title"),
                attribute("label", Type::Map(Arc::new(Type::String))),
                attribute("word", Type::List(Arc::new(Type::String))),
                attribute("zone", Type::Set(Arc::new(Type::String))),
                attribute("extra", Type::Dynamic),
                nested_attribute("owner", ObjectNesting::Single, vec![text("mail"), text("name")]),
            ],
            vec![
                nested("limit", BlockNesting::List, 1, block(vec![port()], vec![])),
                nested("disk", BlockNesting::List, 0, block(vec![port()], vec![])),
                nested("rule", BlockNesting::Set, 0, rule),
            ],
        ),
        IdRule::Missing,
    )
}

fn texts(words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| Value::from(*word)).collect()
}

fn text_properties(words: &[&str]) -> Property {
    list(&words.iter().map(|word| Property::from(*word)).collect::<Vec<_>>())
}

fn port(number: i64) -> Value {
    object_value(&[("port", number.into())])
}

/// Compares two objects in which only one attribute is not null.
fn compare(name: &str, was: Value, will_be: Value) -> Vec<String> {
    compare_with(name, was, will_be, &Struct::default(), &Struct::default())
}

fn compare_with(name: &str, was: Value, will_be: Value, olds: &Struct, news: &Struct) -> Vec<String> {
    let shape = thing();
    let whole = |value: Value| {
        let fields = shape.object.fields.iter().map(|field| (Arc::clone(&field.terraform), Value::Null));
        let Value::Object(mut all) = Value::object(fields) else { unreachable!("it was just made") };
        all.insert(name.into(), value);
        Value::Object(all)
    };
    changes(&shape.object, &whole(was), &whole(will_be), olds, news)
        .into_iter()
        .map(|(path, kind)| match kind {
            ChangeKind::Add => format!("+{path}"),
            ChangeKind::Delete => format!("-{path}"),
            ChangeKind::Update => format!("~{path}"),
        })
        .collect()
}

#[test]
fn each_place_is_named_as_deep_as_both_sides_go() {
    let owner = |mail: Value, name: &str| object_value(&[("mail", mail), ("name", name.into())]);
    let labels =
        |labels: &[(&str, &str)]| Value::map(labels.iter().map(|(key, text)| (*key, (*text).into())));
    let extra = |value: i64| {
        let own = Type::object([("deep_key", Type::List(Arc::new(Type::Number)))]);
        Value::dynamic(own, object_value(&[("deep_key", Value::list([1.into(), value.into()]))]))
    };
    for (name, was, will_be, expected) in [
        ("title", "a".into(), "a".into(), vec![]),
        ("title", Value::Null, "a".into(), vec!["+title"]),
        ("title", "a".into(), Value::Null, vec!["-title"]),
        ("title", "a".into(), "b".into(), vec!["~title"]),
        ("title", "a".into(), Value::unknown(), vec!["~title"]),
        ("title", Value::Null, Value::unknown(), vec!["+title"]),
        // An empty attribute differs from null; an empty block is absent.
        ("word", Value::Null, Value::list([]), vec!["+words"]),
        ("disk", Value::Null, Value::list([]), vec![]),
        ("disk", Value::list([]), Value::list([port(1)]), vec!["+disks"]),
        ("owner", owner(Value::Null, "x"), owner("m".into(), "y"), vec!["+owner.mail", "~owner.name"]),
        ("owner", owner("m".into(), "x"), Value::unknown(), vec!["~owner"]),
        (
            "label",
            labels(&[("a", "1"), ("b.c", "2"), ("d", "3")]),
            labels(&[("a", "1"), ("b.c", "9"), ("e", "3")]),
            vec!["~label[\"b.c\"]", "-label.d", "+label.e"],
        ),
        ("limit", Value::list([port(1)]), Value::list([port(2)]), vec!["~limit.port"]),
        ("limit", Value::list([]), Value::list([port(2)]), vec!["+limit"]),
        ("extra", extra(1), extra(2), vec!["~extra.deep_key[1]"]),
        ("extra", extra(1), Value::dynamic(Type::String, "x".into()), vec!["~extra"]),
    ] {
        let mut found = compare(name, was, will_be);
        found.sort();
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.sort();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn what_a_list_keeps_is_not_shown_although_it_moves() {
    for (was, will_be, expected) in [
        (&["a", "b", "c"][..], &["x", "a", "b", "c"][..], vec!["+words[0]"]),
        (&["a", "b", "c"], &["b", "c"], vec!["-words[0]"]),
        (&["a", "b", "c"], &["a", "x", "c"], vec!["~words[1]"]),
        (&["a", "b", "c"], &["a", "c", "b"], vec!["-words[1]", "+words[2]"]),
        (&["a", "a"], &["a", "a", "a"], vec!["+words[2]"]),
        (&["a"], &["b", "c"], vec!["~words[0]", "+words[1]"]),
    ] {
        assert_eq!(
            compare("word", Value::list(texts(was)), Value::list(texts(will_be))),
            expected,
            "{will_be:?}"
        );
    }
}

#[test]
fn two_lists_that_are_too_long_to_line_up_are_compared_place_by_place() {
    let number = |from: i64| Value::list((from..from + 600).map(|index| Value::string(format!("{index}"))));
    let found = compare("word", number(0), number(1000));
    assert_eq!(found.len(), 600);
    assert_eq!(found[0], "~words[0]");
}

#[test]
fn elements_of_a_set_are_named_by_their_places_in_the_lists_of_state_and_program() {
    let olds = bag(&[("zones", text_properties(&["c", "a", "b"]))]);
    let news = bag(&[("zones", text_properties(&["b", "d", "c"]))]);
    let (was, will_be) = (Value::set(texts(&["a", "b", "c"])), Value::set(texts(&["b", "c", "d"])));
    assert_eq!(compare_with("zone", was.clone(), will_be, &olds, &news), ["~zones[1]"]);
    let turned = bag(&[("zones", text_properties(&["b", "a", "c"]))]);
    assert_eq!(compare_with("zone", was.clone(), was.clone(), &olds, &turned), [""; 0]);
    let longer = bag(&[("zones", text_properties(&["x", "a", "b", "c", "y"]))]);
    let will_be = Value::set(texts(&["a", "b", "c", "x", "y"]));
    assert_eq!(compare_with("zone", was, will_be, &olds, &longer), ["+zones[0]", "+zones[4]"]);
}

#[test]
fn an_element_that_the_provider_completes_is_known_by_what_the_program_wrote() {
    let rule = |port: i64, cidr: Value| object_value(&[("cidr", cidr), ("port", port.into())]);
    let written = |port: f64| object(&[("port", Property::Number(port))]);
    let was = Value::set([rule(80, "10/8".into()), rule(443, "any".into())]);
    let will_be = Value::set([rule(443, "any".into()), rule(8080, Value::unknown())]);
    let stored = |port: f64, cidr: &str| object(&[("port", Property::Number(port)), ("cidr", cidr.into())]);
    let olds = bag(&[("rules", list(&[stored(443.0, "any"), stored(80.0, "10/8")]))]);
    let news = bag(&[("rules", list(&[written(8080.0), written(443.0)]))]);
    assert_eq!(compare_with("rule", was, will_be, &olds, &news), ["+rules[0]", "-rules[1]"]);
}

/// Sets of sets of sets, as in firewalls.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    name: u32,
    children: Vec<Self>,
}

const DEPTH: usize = 3;

fn nested_sets(depth: usize) -> isthmus_provider::schema::Block {
    let below = (depth > 1).then(|| nested("item", BlockNesting::Set, 0, nested_sets(depth - 1)));
    block(vec![attribute("name", Type::Number)], below.into_iter().collect())
}

impl Node {
    fn value(&self, depth: usize) -> Value {
        let mut fields = vec![("name", Value::from(i64::from(self.name)))];
        if depth > 1 {
            fields.push(("item", Value::set(self.children.iter().map(|child| child.value(depth - 1)))));
        }
        object_value(&fields)
    }

    fn bag(&self, depth: usize) -> Struct {
        let mut fields = vec![("name", Property::Number(f64::from(self.name)))];
        if depth > 1 && !self.children.is_empty() {
            let children = self.children.iter().map(|child| Property::Struct(child.bag(depth - 1)));
            fields.push(("items", Property::List(children.collect())));
        }
        bag(&fields)
    }

    /// Equality of sets.
    fn is_same(&self, other: &Self) -> bool {
        let holds = |one: &Self, other: &Self| {
            one.children.iter().all(|child| other.children.iter().any(|twin| child.is_same(twin)))
        };
        self.name == other.name && holds(self, other) && holds(other, self)
    }

    fn has(&self, child: &Self) -> bool {
        self.children.iter().any(|own| own.is_same(child))
    }

    /// Drops equal children, as a set does.
    fn deduplicate(&mut self) {
        let mut kept: Vec<Self> = Vec::new();
        for mut child in std::mem::take(&mut self.children) {
            child.deduplicate();
            if !kept.iter().any(|own| own.is_same(&child)) {
                kept.push(child);
            }
        }
        self.children = kept;
    }
}

/// An edit of the node found by following `route`, each number modulo the count of children.
#[derive(Clone, Debug)]
enum Edit {
    Rename(Vec<usize>, u32),
    Remove(Vec<usize>),
    Insert(Vec<usize>, u32),
    Turn(Vec<usize>),
}

fn find<'a>(node: &'a mut Node, route: &[usize]) -> &'a mut Node {
    match route.split_first() {
        Some((step, rest)) if !node.children.is_empty() => {
            let index = step % node.children.len();
            find(&mut node.children[index], rest)
        }
        _ => node,
    }
}

fn edit(root: &mut Node, edit: &Edit) {
    match edit {
        Edit::Rename(route, name) => find(root, route).name = *name,
        Edit::Remove(route) => {
            find(root, route).children.pop();
        }
        Edit::Insert(route, name) if route.len() < DEPTH - 1 => {
            find(root, route).children.insert(0, Node { name: *name, children: Vec::new() });
        }
        Edit::Insert(..) => {}
        Edit::Turn(route) => find(root, route).children.reverse(),
    }
}

fn nodes(depth: u32) -> BoxedStrategy<Node> {
    if depth == 1 {
        return any::<u8>().prop_map(|name| Node { name: name.into(), children: Vec::new() }).boxed();
    }
    (any::<u8>(), prop::collection::vec(nodes(depth - 1), 0..5))
        .prop_map(|(name, children)| Node { name: name.into(), children })
        .boxed()
}

fn edits() -> impl Strategy<Value = Edit> {
    let route = || prop::collection::vec(any::<usize>(), 0..DEPTH);
    prop_oneof![
        (route(), 256..1000u32).prop_map(|(route, name)| Edit::Rename(route, name)),
        route().prop_map(Edit::Remove),
        (route(), 256..1000u32).prop_map(|(route, name)| Edit::Insert(route, name)),
        route().prop_map(Edit::Turn),
    ]
}

/// Follows a reported path and checks that it leads through what is on one side only.
fn judge(was: &Node, will_be: &Node, steps: &[PropertyStep], kind: ChangeKind) -> Result<(), TestCaseError> {
    match steps {
        [PropertyStep::Name(name)] if name == "name" => {
            prop_assert_ne!(was.name, will_be.name);
            prop_assert_eq!(kind, ChangeKind::Update);
        }
        // All children were added, or all were removed.
        [PropertyStep::Name(_)] => match kind {
            ChangeKind::Add => prop_assert!(was.children.is_empty() && !will_be.children.is_empty()),
            ChangeKind::Delete => prop_assert!(will_be.children.is_empty() && !was.children.is_empty()),
            ChangeKind::Update => prop_assert!(false, "nothing says what is in it"),
        },
        [PropertyStep::Name(_), PropertyStep::Index(index), rest @ ..] => {
            let (old, new) = (was.children.get(*index), will_be.children.get(*index));
            if kind != ChangeKind::Add || !rest.is_empty() {
                prop_assert!(old.is_some_and(|old| !will_be.has(old)), "the old one did not go");
            }
            if kind != ChangeKind::Delete || !rest.is_empty() {
                prop_assert!(new.is_some_and(|new| !was.has(new)), "the new one did not come");
            }
            if let (false, Some(old), Some(new)) = (rest.is_empty(), old, new) {
                judge(old, new, rest, kind)?;
            }
        }
        other => prop_assert!(false, "no such place: {other:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn edits_of_nested_sets_are_shown_where_they_are_and_nowhere_else(
        mut was in nodes(3),
        edits in prop::collection::vec(edits(), 0..4),
    ) {
        was.deduplicate();
        let mut will_be = was.clone();
        for change in &edits {
            edit(&mut will_be, change);
        }
        will_be.deduplicate();
        let shape = resource(nested_sets(DEPTH), IdRule::Missing);
        let found = changes(
            &shape.object,
            &was.value(DEPTH),
            &will_be.value(DEPTH),
            &was.bag(DEPTH),
            &will_be.bag(DEPTH),
        );
        prop_assert_eq!(found.is_empty(), was.is_same(&will_be));
        for (path, kind) in &found {
            judge(&was, &will_be, &path.0, *kind)
                .map_err(|error| TestCaseError::fail(format!("{kind:?} {path}: {error}\n{was:?}\n{will_be:?}")))?;
        }
        // Children on one side only are reported at their own index.
        let wholly = found.contains_key(&PropertyPath::top("items"));
        for (own, other) in [(&was, &will_be), (&will_be, &was)] {
            for (index, child) in own.children.iter().enumerate().filter(|(_, child)| !other.has(child)) {
                let place = PropertyPath(vec![PropertyStep::Name("items".into()), PropertyStep::Index(index)]);
                prop_assert!(wholly || found.keys().any(|path| place.contains(path)), "{child:?} is not in {found:?}");
            }
        }
    }
}
