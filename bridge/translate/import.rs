//! Inputs of a resource after a read.
//!
//! After a refresh the engine compares a program with the stored inputs, so these must follow the
//! resource's drift, but only in properties that the program had set, and in its notation. After an
//! import there is no program yet: the inputs are those that one would have.

use std::collections::BTreeMap;

use isthmus_cty::Number;
use isthmus_proto::property::{Struct, Value as Property};

use super::inputs::is_defaults_mark;
use super::property::{self, PropertyView, ReferenceId};
use isthmus_package::shape::{ObjectShape, ResourceShape, Shape};

/// Limit for matching elements of a set, beyond which they are paired by order.
const MATCHED_ELEMENTS: usize = 256;

/// Depth to which inputs are updated. Deeper values are copied from what was read.
const MAXIMUM_DEPTH: usize = 100;

/// Updates the stored inputs by what was read.
///
/// Properties that the resource does not have any more are removed; others get their new values.
/// Lists are updated by position and do not grow; sets by content. Secrets stay secret. Write-only
/// values are never read and stay unchanged.
pub fn inputs_after_refresh(inputs: &Struct, outputs: &Struct, shape: &ResourceShape) -> Struct {
    refreshed_object(inputs, outputs, Some(&shape.object), 0)
}

/// Which settable properties become inputs of an imported resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settable {
    /// All but optional ones with the zero value of their type, which most providers return for
    /// unset ones, and an `id` that the provider would choose.
    Telling,
    /// Of a configuration: all but blocks without elements.
    Configured,
    All,
}

/// Which parts of a value a configuration sets, by Terraform's names.
#[derive(Clone, Debug, PartialEq)]
pub enum Configured {
    /// There is no configuration: what the provider may compute counts as computed.
    Unknown,
    Whole,
    Parts(BTreeMap<String, Self>),
}

/// The inputs that were configured, and required ones.
pub fn configured_inputs(inputs: &Struct, shape: &ObjectShape, configured: &Configured) -> Struct {
    let set = inputs.iter().filter_map(|(name, input)| {
        let field = shape.pulumi(name)?;
        let (is_set, parts) = match configured {
            Configured::Unknown => (!field.computed, configured),
            Configured::Whole => (true, configured),
            Configured::Parts(parts) => match parts.get(&*field.terraform) {
                Some(parts) => (true, parts),
                None => (false, &Configured::Whole),
            },
        };
        let is_set = field.required || (is_set && !input.is_null());
        is_set.then(|| (name.to_owned(), configured_parts(input, &field.shape, parts)))
    });
    set.collect()
}

fn configured_parts(input: &Property, shape: &Shape, configured: &Configured) -> Property {
    let Ok((view, secret)) = property::unwrap(input) else { return input.clone() };
    let parts = match (shape, view) {
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), _) => {
            return configured_parts(input, element, configured);
        }
        (Shape::Object(object), PropertyView::Object(properties)) => {
            Property::Struct(configured_inputs(properties, object, configured))
        }
        (Shape::List(element) | Shape::Set(element), PropertyView::List(elements)) => {
            Property::List(elements.iter().map(|part| configured_parts(part, element, configured)).collect())
        }
        (Shape::Map(element), PropertyView::Object(entries)) => {
            let entry = |(key, part): (&str, &Property)| {
                let of_entry = match configured {
                    Configured::Parts(parts) => parts.get(key).unwrap_or(&Configured::Whole),
                    configured => configured,
                };
                (key.to_owned(), configured_parts(part, element, of_entry))
            };
            Property::Struct(entries.iter().map(entry).collect())
        }
        _ => return input.clone(),
    };
    if secret { property::secret(parts) } else { parts }
}

/// The inputs of a program for the imported resource.
pub fn inputs_after_import(outputs: &Struct, shape: &ResourceShape, which: Settable) -> Struct {
    let mut inputs = imported_object(outputs, &shape.object, which);
    if which == Settable::Telling
        && let Some(id) = shape.object.terraform("id").filter(|id| id.computed)
    {
        inputs.remove(&id.pulumi);
    }
    inputs
}

fn refreshed_object(inputs: &Struct, outputs: &Struct, shape: Option<&ObjectShape>, depth: usize) -> Struct {
    let properties = inputs.iter().filter(|(name, input)| !is_defaults_mark(name, input));
    let refreshed = properties.filter_map(|(name, input)| {
        let field = shape.and_then(|shape| shape.pulumi(name));
        if field.is_some_and(|field| field.write_only) {
            return Some((name.to_owned(), input.clone()));
        }
        let Some(output) = outputs.get(name).filter(|output| !output.is_null()) else {
            // Stored inputs have a null for a name that is not to be generated.
            return input.is_null().then(|| (name.to_owned(), Property::Null));
        };
        Some((name.to_owned(), refreshed(input, output, field.map(|field| &field.shape), depth + 1)))
    });
    refreshed.collect()
}

fn refreshed(input: &Property, output: &Property, shape: Option<&Shape>, depth: usize) -> Property {
    if depth > MAXIMUM_DEPTH {
        return output.clone();
    }
    let (Ok((input_view, input_secret)), Ok((output_view, output_secret))) =
        (property::unwrap(input), property::unwrap(output))
    else {
        return output.clone();
    };
    if means_the_same(&input_view, &output_view) {
        return if output_secret && !input_secret { property::secret(input.clone()) } else { input.clone() };
    }
    let shape = match shape {
        Some(Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => Some(&**element),
        shape => shape,
    };
    let value = match (input_view, output_view, shape) {
        (PropertyView::List(inputs), PropertyView::List(outputs), Some(Shape::Set(element)))
            if inputs.len().max(outputs.len()) <= MATCHED_ELEMENTS =>
        {
            Property::List(refreshed_set(inputs, outputs, element, depth))
        }
        (PropertyView::List(inputs), PropertyView::List(outputs), shape) => {
            let element = match shape {
                Some(Shape::List(element) | Shape::Set(element)) => Some(&**element),
                _ => None,
            };
            let pairs = inputs.iter().zip(outputs);
            Property::List(
                pairs.map(|(input, output)| refreshed(input, output, element, depth + 1)).collect(),
            )
        }
        (PropertyView::Object(inputs), PropertyView::Object(outputs), Some(Shape::Object(object))) => {
            Property::Struct(refreshed_object(inputs, outputs, Some(object), depth))
        }
        (PropertyView::Object(inputs), PropertyView::Object(outputs), Some(Shape::Map(element))) => {
            let entries = inputs.iter().filter_map(|(key, input)| {
                Some((key.to_owned(), refreshed(input, outputs.get(key)?, Some(element), depth + 1)))
            });
            Property::Struct(entries.filter(|(key, entry)| !is_defaults_mark(key, entry)).collect())
        }
        (PropertyView::Object(inputs), PropertyView::Object(outputs), _) => {
            Property::Struct(refreshed_object(inputs, outputs, None, depth))
        }
        _ => {
            return if input_secret && !output_secret {
                property::secret(output.clone())
            } else {
                output.clone()
            };
        }
    };
    // If the program had marked something within a set, the whole output is secret, and the marks
    // within its elements suffice.
    let is_marked_within =
        matches!(shape, Some(Shape::Set(_))) && property::contains_secret(input) == Ok(true);
    if input_secret || (output_secret && !is_marked_within) { property::secret(value) } else { value }
}

/// Pairs each element of a set with the most similar one, complete matches first.
fn refreshed_set(inputs: &[Property], outputs: &[Property], element: &Shape, depth: usize) -> Vec<Property> {
    let mut free: Vec<usize> = (0..outputs.len()).collect();
    let mut found: Vec<Option<usize>> = vec![None; inputs.len()];
    for whole in [true, false] {
        for (input, found) in inputs.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let best = free
                .iter()
                .enumerate()
                .map(|(place, output)| (likeness(input, &outputs[*output], depth), std::cmp::Reverse(place)))
                .filter(|(likeness, _)| !whole || *likeness == Likeness::Whole)
                .max();
            if let Some((_, std::cmp::Reverse(place))) = best {
                *found = Some(free.remove(place));
            }
        }
    }
    let pairs = inputs.iter().zip(found);
    pairs
        .filter_map(|(input, found)| Some(refreshed(input, &outputs[found?], Some(element), depth + 1)))
        .collect()
}

/// How much of an input an output contains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// This number of its properties.
    Parts(usize),
    Whole,
}

fn likeness(input: &Property, output: &Property, depth: usize) -> Likeness {
    if depth > MAXIMUM_DEPTH {
        return Likeness::Parts(0);
    }
    let (Ok((input, _)), Ok((output, _))) = (property::unwrap(input), property::unwrap(output)) else {
        return Likeness::Parts(0);
    };
    match (input, output) {
        (PropertyView::Object(inputs), PropertyView::Object(outputs)) => {
            let properties =
                inputs.iter().filter(|(name, input)| !is_defaults_mark(name, input) && !input.is_null());
            let (mut all, mut there) = (0, 0);
            for (name, input) in properties {
                all += 1;
                let whole = outputs
                    .get(name)
                    .is_some_and(|output| likeness(input, output, depth + 1) == Likeness::Whole);
                there += usize::from(whole);
            }
            if all == there { Likeness::Whole } else { Likeness::Parts(there) }
        }
        (PropertyView::List(inputs), PropertyView::List(outputs)) => {
            let whole = |(input, output)| likeness(input, output, depth + 1) == Likeness::Whole;
            if inputs.len() == outputs.len() && inputs.iter().zip(outputs).all(whole) {
                Likeness::Whole
            } else {
                Likeness::Parts(0)
            }
        }
        (input, output) if means_the_same(&input, &output) || input == output => Likeness::Whole,
        _ => Likeness::Parts(0),
    }
}

/// Whether a plain input is another notation of the output: the program's notation is preserved
/// then.
fn means_the_same(input: &PropertyView<'_>, output: &PropertyView<'_>) -> bool {
    match (input, output) {
        (PropertyView::String(input), PropertyView::String(output)) => input == output,
        (PropertyView::Bool(input), PropertyView::Bool(output)) => input == output,
        (PropertyView::Number(input), PropertyView::Number(output)) => input == output,
        (PropertyView::String(input), PropertyView::Number(output)) => {
            Number::from_decimal(input).is_ok_and(|input| input.as_f64() == *output)
        }
        (PropertyView::Bool(input), PropertyView::String(output)) => {
            *output == if *input { "true" } else { "false" }
        }
        (PropertyView::Number(input), PropertyView::String(output)) => {
            Number::from_f64_shortest(*input).is_some_and(|input| input.to_decimal_text() == *output)
        }
        (
            PropertyView::ResourceReference { id: ReferenceId::Known(id), .. },
            PropertyView::String(output),
        ) => id == output,
        _ => false,
    }
}

fn imported_object(outputs: &Struct, shape: &ObjectShape, which: Settable) -> Struct {
    let inputs = outputs.iter().filter(|(_, output)| !output.is_null()).filter_map(|(name, output)| {
        let field = shape.pulumi(name).filter(|field| field.optional || field.required)?;
        let input = imported(output, &field.shape, which);
        let is_wanted = field.required
            || match which {
                Settable::Telling => !is_zero(&input),
                Settable::Configured => !(field.is_block && is_zero(&input)),
                Settable::All => true,
            };
        is_wanted.then(|| (name.to_owned(), input))
    });
    inputs.collect()
}

fn imported(output: &Property, shape: &Shape, which: Settable) -> Property {
    let Ok((view, secret)) = property::unwrap(output) else { return output.clone() };
    let input = match (shape, view) {
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), _) => {
            return imported(output, element, which);
        }
        (Shape::Object(object), PropertyView::Object(properties)) => {
            Property::Struct(imported_object(properties, object, which))
        }
        (Shape::List(element) | Shape::Set(element), PropertyView::List(elements)) => {
            Property::List(elements.iter().map(|output| imported(output, element, which)).collect())
        }
        (Shape::Map(element), PropertyView::Object(entries)) => {
            let entries =
                entries.iter().map(|(key, output)| (key.to_owned(), imported(output, element, which)));
            Property::Struct(entries.collect())
        }
        _ => return output.clone(),
    };
    if secret { property::secret(input) } else { input }
}

fn is_zero(input: &Property) -> bool {
    match property::unwrap(input) {
        Ok((view, _)) => match view {
            PropertyView::Null | PropertyView::Bool(false) | PropertyView::String("") => true,
            PropertyView::Number(number) => number == 0.0,
            PropertyView::List(elements) => elements.is_empty(),
            PropertyView::Object(properties) => properties.is_empty(),
            _ => false,
        },
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::{Attribute, BlockNesting};

    use super::*;
    use crate::property::secret;
    use crate::testing::{attribute, bag, block, computed, list, nested, object, required, resource};
    use isthmus_package::shape::IdRule;

    fn optional_and_computed(name: &str, of: Type) -> Attribute {
        Attribute { computed: true, ..attribute(name, of) }
    }

    fn thing() -> ResourceShape {
        let inner = || {
            block(
                vec![
                    attribute("key", Type::String),
                    attribute("on", Type::Bool),
                    computed(attribute("hash", Type::String)),
                ],
                vec![],
            )
        };
        resource(
            block(
                vec![
                    optional_and_computed("id", Type::String),
                    required(attribute("count_of", Type::Number)),
                    optional_and_computed("region", Type::String),
                    attribute("item", Type::list(Type::String)),
                    attribute("port", Type::set(Type::Number)),
                    attribute("label", Type::map(Type::String)),
                    computed(attribute("arn", Type::String)),
                ],
                vec![
                    nested("rule", BlockNesting::Set, 0, inner()),
                    nested("one", BlockNesting::List, 1, inner()),
                ],
            ),
            IdRule::Property("id".to_owned()),
        )
    }

    fn text(text: &str) -> Property {
        Property::from(text)
    }

    #[test]
    fn a_refresh_changes_what_the_program_had_set_and_nothing_else() {
        let inputs = bag(&[
            ("__defaults", list(&[])),
            ("region", text("old")),
            ("items", list(&[text("a"), text("b")])),
            ("label", object(&[("k", text("1")), ("gone", text("2")), ("__defaults", list(&[]))])),
            ("one", object(&[("key", text("k")), ("on", Property::Bool(true)), ("__defaults", list(&[]))])),
            ("vanished", text("x")),
        ]);
        let outputs = bag(&[
            ("arn", text("computed")),
            ("items", list(&[text("a"), text("changed"), text("added")])),
            ("label", object(&[("k", text("new")), ("other", text("3"))])),
            ("one", object(&[("hash", text("h")), ("key", text("k")), ("on", Property::Bool(false))])),
            ("region", text("new")),
        ]);
        let expected = bag(&[
            ("region", text("new")),
            ("items", list(&[text("a"), text("changed")])),
            ("label", object(&[("k", text("new"))])),
            ("one", object(&[("key", text("k")), ("on", Property::Bool(false))])),
        ]);
        assert_eq!(inputs_after_refresh(&inputs, &outputs, &thing()), expected);
    }

    #[test]
    fn elements_of_sets_are_followed_by_content() {
        let rule = |key: &str, on: bool| object(&[("key", text(key)), ("on", Property::Bool(on))]);
        let read = |key: &str, on: bool| {
            object(&[("hash", text("h")), ("key", text(key)), ("on", Property::Bool(on))])
        };
        let inputs = bag(&[
            ("rules", list(&[rule("b", true), rule("a", true), rule("gone", true)])),
            ("ports", list(&[Property::Number(443.0), Property::Number(80.0)])),
        ]);
        let outputs = bag(&[
            ("rules", list(&[read("a", false), read("b", true)])),
            ("ports", list(&[Property::Number(22.0), Property::Number(443.0)])),
        ]);
        let expected = bag(&[
            ("rules", list(&[rule("b", true), rule("a", false)])),
            ("ports", list(&[Property::Number(443.0), Property::Number(22.0)])),
        ]);
        assert_eq!(inputs_after_refresh(&inputs, &outputs, &thing()), expected);
    }

    #[test]
    fn a_set_that_is_secret_for_what_is_in_it_is_no_secret_of_the_programs() {
        let inputs = bag(&[("ports", list(&[secret(Property::Number(443.0)), Property::Number(80.0)]))]);
        let outputs = bag(&[("ports", secret(list(&[Property::Number(22.0), Property::Number(80.0)])))]);
        let expected = bag(&[("ports", list(&[secret(Property::Number(22.0)), Property::Number(80.0)]))]);
        assert_eq!(inputs_after_refresh(&inputs, &outputs, &thing()), expected);
    }

    #[test]
    fn the_programs_own_writing_is_kept_where_it_means_the_same() {
        for (input, output, expected) in [
            (text("5"), Property::Number(5.0), text("5")),
            (text("5"), Property::Number(6.0), Property::Number(6.0)),
            (text("9007199254740993"), Property::Number(9_007_199_254_740_992.0), text("9007199254740993")),
            (Property::Bool(true), text("true"), Property::Bool(true)),
            (Property::Number(0.5), text("0.5"), Property::Number(0.5)),
            (secret(text("a")), text("a"), secret(text("a"))),
            (secret(text("a")), text("b"), secret(text("b"))),
            (text("a"), secret(text("a")), secret(text("a"))),
            (text("a"), secret(text("b")), secret(text("b"))),
            (secret(list(&[text("a")])), list(&[text("b")]), secret(list(&[text("b")]))),
            (property::unknown(), text("b"), text("b")),
        ] {
            let (inputs, outputs) = (bag(&[("p", input)]), bag(&[("p", output)]));
            assert_eq!(
                inputs_after_refresh(&inputs, &outputs, &thing()),
                bag(&[("p", expected)]),
                "{inputs:?}"
            );
        }
    }

    #[test]
    fn an_import_gives_what_a_program_would_have_to_set() {
        let rule = |fields: &[(&str, Property)]| object(fields);
        let outputs = bag(&[
            ("__meta", text("{}")),
            ("arn", text("computed")),
            ("countOf", Property::Number(0.0)),
            ("id", text("chosen by the provider")),
            ("items", list(&[])),
            ("label", object(&[("empty", text(""))])),
            ("one", rule(&[("hash", text("h"))])),
            ("region", secret(text("eu"))),
            (
                "rules",
                list(&[rule(&[("hash", text("h")), ("key", text("k")), ("on", Property::Bool(false))])]),
            ),
        ]);
        let expected = bag(&[
            ("countOf", Property::Number(0.0)),
            ("label", object(&[("empty", text(""))])),
            ("region", secret(text("eu"))),
            ("rules", list(&[object(&[("key", text("k"))])])),
        ]);
        assert_eq!(inputs_after_import(&outputs, &thing(), Settable::Telling), expected);

        let rule = rule(&[("key", text("k")), ("on", Property::Bool(false))]);
        let all = [
            ("countOf", Property::Number(0.0)),
            ("id", text("chosen by the provider")),
            ("items", list(&[])),
            ("label", object(&[("empty", text(""))])),
            ("one", object(&[])),
            ("region", secret(text("eu"))),
            ("rules", list(&[rule])),
        ];
        assert_eq!(inputs_after_import(&outputs, &thing(), Settable::All), bag(&all));
    }

    #[test]
    fn a_refresh_leaves_what_is_write_only_as_the_program_had_it() {
        let write_only = |name: &str| Attribute { write_only: true, ..attribute(name, Type::String) };
        let inner = block(vec![write_only("key")], vec![]);
        let shape = resource(
            block(vec![write_only("password")], vec![nested("one", BlockNesting::List, 1, inner)]),
            IdRule::Missing,
        );
        let inputs = bag(&[("password", secret(text("a"))), ("one", object(&[("key", text("b"))]))]);
        let outputs = bag(&[("one", object(&[]))]);
        assert_eq!(inputs_after_refresh(&inputs, &outputs, &shape), inputs);
    }

    #[test]
    fn an_output_is_like_an_input_by_the_properties_that_it_has_as_a_whole() {
        let letters = |letters: &[&str]| list(&letters.iter().copied().map(text).collect::<Vec<_>>());
        let input = object(&[("a", text("1")), ("b", letters(&["x", "y"]))]);
        for (b, like) in [
            (letters(&["x", "y"]), Likeness::Whole),
            (letters(&["x", "z"]), Likeness::Parts(1)),
            (letters(&["x"]), Likeness::Parts(1)),
            (letters(&["x", "y", "z"]), Likeness::Parts(1)),
            (text("x"), Likeness::Parts(1)),
        ] {
            let output = object(&[("a", text("1")), ("b", b.clone()), ("c", text("of the provider"))]);
            assert!(likeness(&input, &output, 0) == like, "{b:?}");
        }
        assert!(likeness(&input, &object(&[]), 0) == Likeness::Parts(0));
    }

    #[test]
    fn whatever_the_decoder_lets_through_fits_the_stack() {
        let deep = |leaf: Property| {
            let layers = 0..(isthmus_proto::property::MAX_DEPTH - 2) / 2;
            let deep = layers.fold(leaf, |deep, _| list(&[object(&[("k", deep)])]));
            bag(&[("rules", deep)])
        };
        let refreshing = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let refreshed = inputs_after_refresh(&deep(text("a")), &deep(text("b")), &thing());
            refreshed == deep(text("b"))
        });
        assert!(refreshing.unwrap().join().unwrap());
    }
}
