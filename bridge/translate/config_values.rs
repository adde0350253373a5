//! Provider configuration in the form of engines and SDKs.
//!
//! Stack configuration consists of strings, and generated SDKs follow it: every property that is no
//! string is passed as the JSON of its value *in a string*. YAML programs send plain values. So
//! both are read, and strings are stored, in one canonical form.

use isthmus_cty::Number;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};

use super::inputs::InputFailure;
use super::property::{self, PropertyView};
use super::property_path::PropertyPath;
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// Maximum depth: that of the JSON parser.
const MAXIMUM_DEPTH: usize = 512;

/// Parses properties that are strings, unless the schema has a string there.
///
/// An empty string is the zero value of its type. Secrets stay marked, also within the JSON.
/// Unknown properties are unchanged.
///
/// # Errors
/// For each property whose string is not JSON.
pub fn unfold(config: &Struct, shape: &ObjectShape) -> Result<Struct, Vec<InputFailure>> {
    let mut failures = Vec::new();
    let mut unfolded = Struct::new();
    for (name, value) in config.iter() {
        let unfolded_value = match shape.pulumi(name) {
            None => value.clone(),
            Some(field) => unfold_value(value, &field.shape).unwrap_or_else(|reason| {
                failures.push(InputFailure { path: PropertyPath::top(name), reason });
                Property::Null
            }),
        };
        unfolded.insert(name, unfolded_value);
    }
    if failures.is_empty() { Ok(unfolded) } else { Err(failures) }
}

/// As [`unfold`], for comparisons: a string that is not JSON is unchanged.
pub fn unfold_if_possible(config: &Struct, shape: &ObjectShape) -> Struct {
    let properties = config.iter().map(|(name, value)| {
        let unfolded = shape.pulumi(name).and_then(|field| unfold_value(value, &field.shape).ok());
        (name.to_owned(), unfolded.unwrap_or_else(|| value.clone()))
    });
    properties.collect()
}

/// Converts properties to the strings that an engine stores: JSON, unless the schema has a string.
///
/// A property with any unknown value is unknown as a whole; one with any secret, by marks or by the
/// schema, is one secret string.
pub fn fold(config: &Struct, shape: &ObjectShape) -> Struct {
    let properties = config.iter().map(|(name, value)| {
        let folded = match shape.pulumi(name) {
            Some(field) => fold_value(value, field),
            None => value.clone(),
        };
        (name.to_owned(), folded)
    });
    properties.collect()
}

/// Parses the flat map of strings of old engines, with keys `PACKAGE:config:KEY` or `PACKAGE:KEY`.
/// Values are JSON, except for strings, which some senders encode as JSON too.
///
/// # Errors
/// The first key without a namespace.
pub fn from_variables<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
    shape: &ObjectShape,
) -> Result<Struct, VariableKeyError> {
    let properties = variables.into_iter().map(|(key, text)| {
        let (_, name) = key.rsplit_once(':').ok_or_else(|| VariableKeyError { key: key.clone() })?;
        let field = shape.pulumi(name);
        let text = match field.map(|field| (&field.shape, Json::parse(text.as_bytes()))) {
            Some((Shape::String, Ok(Json::String(inner)))) => inner,
            _ => text.clone(),
        };
        Ok((name.to_owned(), Property::String(text)))
    });
    properties.collect()
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "could not parse {key} as a configuration key (configuration keys should be of the form `<namespace>:<name>`)"
)]
pub struct VariableKeyError {
    pub key: String,
}

fn unfold_value(value: &Property, shape: &Shape) -> Result<Property, String> {
    let (view, secret) = property::unwrap(value).map_err(|error| error.to_string())?;
    let PropertyView::String(text) = view else { return Ok(value.clone()) };
    let unfolded = match shape {
        Shape::String => Property::from(text),
        _ if text.is_empty() => zero(shape),
        _ => {
            let json = Json::parse(text.as_bytes()).map_err(|_| not_json(shape))?;
            // A list given as its only element, or an object within a list, is resolved later.
            from_json(&json, has_dynamic(shape))
        }
    };
    Ok(if secret { property::secret(unfolded) } else { unfolded })
}

fn fold_value(value: &Property, field: &Field) -> Property {
    if property::contains_unknown(value) == Ok(true) {
        return property::unknown();
    }
    let plain = property::without_secrets(value);
    let secret = property::contains_secret(value) == Ok(true)
        || field.sensitive
        || plain.as_ref().is_ok_and(|plain| holds_sensitive(plain, &field.shape));
    let folded = match plain {
        Ok(Property::Null) => Property::from(""),
        Ok(Property::String(text)) => Property::String(text),
        // The string form of the number for the provider, which differs from JSON.
        Ok(Property::Number(number)) if matches!(field.shape, Shape::String) && number.is_finite() => {
            Property::String(number.to_string())
        }
        Ok(plain) => match to_json(&plain, 0) {
            Some(json) => Property::String(json.to_string()),
            // Reading it fails later, with its path.
            None => value.clone(),
        },
        Err(_) => value.clone(),
    };
    if secret { property::secret(folded) } else { folded }
}

/// Whether `value` contains anything that the schema calls sensitive.
fn holds_sensitive(value: &Property, shape: &Shape) -> bool {
    match (shape, value) {
        (Shape::Object(object), Property::Struct(members)) => members.iter().any(|(name, member)| {
            object.pulumi(name).is_some_and(|field| field.sensitive || holds_sensitive(member, &field.shape))
        }),
        (Shape::Map(element), Property::Struct(members)) => {
            members.values().any(|member| holds_sensitive(member, element))
        }
        (Shape::List(element) | Shape::Set(element), Property::List(elements)) => {
            elements.iter().any(|value| holds_sensitive(value, element))
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => {
            holds_sensitive(value, element)
        }
        (Shape::Tuple(shapes), Property::List(elements)) => {
            elements.iter().zip(shapes).any(|(value, shape)| holds_sensitive(value, shape))
        }
        _ => false,
    }
}

fn zero(shape: &Shape) -> Property {
    match shape {
        Shape::String => Property::from(""),
        Shape::Bool => Property::Bool(false),
        Shape::Number => Property::Number(0.0),
        Shape::List(_) | Shape::Set(_) => Property::List(Vec::new()),
        // Absent, instead of an empty block.
        Shape::FlattenedList(_) | Shape::FlattenedSet(_) => Property::Null,
        Shape::Map(_) | Shape::Object(_) | Shape::Tuple(_) | Shape::Dynamic => {
            Property::Struct(Struct::new())
        }
    }
}

fn not_json(shape: &Shape) -> String {
    let expected = match shape {
        Shape::Bool => "a boolean: `true` or `false`",
        Shape::Number => "a number",
        Shape::List(_) | Shape::Set(_) => "a list as JSON, such as `[\"a\", \"b\"]`",
        _ => "a value as JSON, such as `{\"key\": \"value\"}`",
    };
    format!("expected {expected}; found text that is not JSON")
}

/// `open`: the schema does not identify strings that represent numbers, so numbers stay numbers
/// even if they lose digits.
fn from_json(json: &Json, open: bool) -> Property {
    match json {
        Json::Null => Property::Null,
        Json::Bool(value) => Property::Bool(*value),
        Json::Number(text) => {
            let nearest = Number::from_decimal(text).map_or(f64::NAN, |number| number.as_f64());
            let kept =
                nearest.is_finite() && Number::from_f64_shortest(nearest) == Number::from_decimal(text).ok();
            if kept || open && nearest.is_finite() {
                Property::Number(nearest)
            } else {
                Property::from(text.as_str())
            }
        }
        Json::String(text) => Property::from(text.as_str()),
        Json::Array(elements) => {
            let mut list = Vec::with_capacity(elements.len());
            for element in elements {
                list.push(from_json(element, open));
            }
            Property::List(list)
        }
        Json::Object(members) => {
            let mut object = Struct::new();
            for (name, member) in members {
                object.insert(name.as_str(), from_json(member, open));
            }
            Property::Struct(object)
        }
    }
}

/// `None` if the JSON parser would not accept the result.
fn to_json(value: &Property, depth: usize) -> Option<Json> {
    if depth > MAXIMUM_DEPTH {
        return None;
    }
    Some(match value {
        Property::Null => Json::Null,
        Property::Bool(value) => Json::Bool(*value),
        Property::Number(number) if number.is_finite() => Json::Number(json_number(*number)),
        Property::Number(_) => return None,
        Property::String(text) => Json::String(text.clone()),
        Property::List(elements) => {
            let mut array = Vec::with_capacity(elements.len());
            for element in elements {
                array.push(to_json(element, depth + 1)?);
            }
            Json::Array(array)
        }
        Property::Struct(members) => {
            let mut object = Vec::with_capacity(members.len());
            for (name, member) in members.iter() {
                object.push((name.to_owned(), to_json(member, depth + 1)?));
            }
            object.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Object(object)
        }
    })
}

/// A number in the form of Go's encoder: stored text in another form looks like a change.
fn json_number(number: f64) -> String {
    const SMALLEST: f64 = 1e-6;
    const LARGEST: f64 = 1e21;
    if number != 0.0 && !(SMALLEST..LARGEST).contains(&number.abs()) {
        let text = format!("{number:e}");
        return if number.abs() < 1.0 { text } else { text.replace('e', "e+") };
    }
    number.to_string()
}

fn has_dynamic(shape: &Shape) -> bool {
    match shape {
        Shape::Dynamic => true,
        Shape::Bool | Shape::Number | Shape::String => false,
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => has_dynamic(element),
        Shape::Object(object) => object.fields.iter().any(|field| has_dynamic(&field.shape)),
        Shape::Tuple(elements) => elements.iter().any(has_dynamic),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;
    use proptest::prelude::*;

    use super::*;
    use crate::outputs::{OutputOptions, outputs_from_state};
    use crate::property::{secret, unknown};
    use crate::testing::{Choices, attribute, bag, block, list, nested, object, path, resource};
    use isthmus_package::shape::{IdRule, ResourceShape};

    fn config() -> ResourceShape {
        let inner = block(vec![attribute("role", Type::String)], vec![]);
        resource(
            block(
                vec![
                    attribute("text", Type::String),
                    attribute("on", Type::Bool),
                    attribute("number", Type::Number),
                    attribute("region", Type::list(Type::String)),
                    attribute("tag", Type::map(Type::String)),
                ],
                vec![nested("assume", BlockNesting::List, 1, inner)],
            ),
            IdRule::Missing,
        )
    }

    fn text(text: &str) -> Property {
        Property::from(text)
    }

    #[test]
    fn text_becomes_what_the_schema_says() {
        for (name, folded, unfolded) in [
            ("text", text("true"), text("true")),
            ("text", text(""), text("")),
            ("on", text("true"), Property::Bool(true)),
            ("on", text(""), Property::Bool(false)),
            ("number", text("123.456"), Property::Number(123.456)),
            ("number", text("9007199254740993"), text("9007199254740993")),
            ("number", text(""), Property::Number(0.0)),
            ("regions", text(r#"["a","b"]"#), list(&[text("a"), text("b")])),
            ("regions", text(""), list(&[])),
            ("tag", text(""), object(&[])),
            ("assume", text(r#"{"role":"r"}"#), object(&[("role", text("r"))])),
            ("assume", text(""), Property::Null),
            ("assume", object(&[("role", text("r"))]), object(&[("role", text("r"))])),
            ("on", secret(text("true")), secret(Property::Bool(true))),
            ("on", unknown(), unknown()),
            ("version", text("1.2.3"), text("1.2.3")),
            (
                "assume",
                text(
                    r#"{"role":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","value":"s"}}"#,
                ),
                object(&[("role", secret(text("s")))]),
            ),
        ] {
            let result = unfold(&bag(&[(name, folded.clone())]), &config().object);
            assert_eq!(result, Ok(bag(&[(name, unfolded)])), "{name}: {folded:?}");
        }
    }

    #[test]
    fn text_that_is_no_json_says_what_would_be() {
        let failures =
            unfold(&bag(&[("on", text("yes")), ("regions", text("a"))]), &config().object).unwrap_err();
        assert_eq!(failures[0].path, path("on"));
        assert_eq!(failures[0].reason, "expected a boolean: `true` or `false`; found text that is not JSON");
        assert!(failures[1].reason.contains(r#"`["a", "b"]`"#), "{}", failures[1].reason);
    }

    #[test]
    fn values_become_text() {
        for (name, unfolded, folded) in [
            ("on", Property::Bool(false), text("false")),
            ("number", Property::Number(5.0), text("5")),
            ("number", Property::Number(-0.5), text("-0.5")),
            ("number", Property::Number(1e-6), text("0.000001")),
            ("number", Property::Number(1.5e-7), text("1.5e-7")),
            ("number", Property::Number(1e20), text("100000000000000000000")),
            ("number", Property::Number(-1e21), text("-1e+21")),
            ("text", Property::Number(1e21), text("1000000000000000000000")),
            ("text", Property::Number(123.456), text("123.456")),
            ("text", Property::Bool(true), text("true")),
            ("tag", object(&[("a", text("<&>"))]), text(r#"{"a":"\u003c\u0026\u003e"}"#)),
            ("text", text("plain"), text("plain")),
            ("text", Property::Null, text("")),
            ("tag", object(&[("b", text("1")), ("a", Property::Null)]), text(r#"{"a":null,"b":"1"}"#)),
            ("regions", list(&[text("a"), unknown()]), unknown()),
            ("assume", object(&[("role", secret(text("s")))]), secret(text(r#"{"role":"s"}"#))),
            ("version", object(&[]), object(&[])),
        ] {
            assert_eq!(fold(&bag(&[(name, unfolded)]), &config().object), bag(&[(name, folded)]), "{name}");
        }
    }

    #[test]
    fn what_the_schema_calls_sensitive_becomes_secret() {
        let mut inner = block(vec![attribute("user", Type::String), attribute("word", Type::String)], vec![]);
        inner.attributes[1].sensitive = true;
        let mut token = attribute("token", Type::String);
        token.sensitive = true;
        let shape = resource(
            block(
                vec![token],
                vec![
                    nested("login", BlockNesting::List, 1, inner.clone()),
                    nested("endpoint", BlockNesting::List, 0, inner),
                ],
            ),
            IdRule::Missing,
        );
        for (name, unfolded, folded) in [
            ("token", text("t"), secret(text("t"))),
            ("token", secret(text("t")), secret(text("t"))),
            ("token", Property::Null, secret(text(""))),
            ("token", unknown(), unknown()),
            ("login", object(&[("user", text("u"))]), text(r#"{"user":"u"}"#)),
            ("login", object(&[("word", text("w"))]), secret(text(r#"{"word":"w"}"#))),
            ("endpoints", list(&[object(&[("user", text("u"))])]), text(r#"[{"user":"u"}]"#)),
            ("endpoints", list(&[object(&[("word", text("w"))])]), secret(text(r#"[{"word":"w"}]"#))),
        ] {
            assert_eq!(fold(&bag(&[(name, unfolded)]), &shape.object), bag(&[(name, folded)]), "{name}");
        }
    }

    #[test]
    fn variables_of_old_engines_become_properties() {
        let read = |variables: &[(&str, &str)]| {
            let variables: BTreeMap<String, String> =
                variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            from_variables(&variables, &config().object)
        };
        let variables = [
            ("cloud:config:text", "0012345678901234567890"),
            ("cloud:on", "true"),
            ("cloud:config:regions", r#"["a"]"#),
            ("cloud:config:other", r#""quoted""#),
        ];
        let expected = [
            ("on", text("true")),
            ("other", text(r#""quoted""#)),
            ("regions", text(r#"["a"]"#)),
            ("text", text("0012345678901234567890")),
        ];
        let properties = read(&variables).unwrap();
        assert_eq!(properties.len(), expected.len());
        for (name, value) in expected {
            assert_eq!(properties.get(name), Some(&value), "{name}");
        }
        assert_eq!(read(&[("cloud:text", r#""quoted""#)]), Ok(bag(&[("text", text("quoted"))])));
        let error = read(&[("text", "x")]).unwrap_err().to_string();
        assert!(error.contains("could not parse text as a configuration key"), "{error}");
    }

    #[test]
    fn whatever_the_decoder_lets_through_fits_the_stack() {
        let mut deep = Property::Null;
        for _ in 0..(isthmus_proto::property::MAX_DEPTH - 2) / 2 {
            deep = list(&[object(&[("k", deep)])]);
        }
        let deep = bag(&[("regions", deep)]);
        let folding = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let too_deep = fold(&deep, &config().object) == deep;
            let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
            (too_deep, unfold(&bag(&[("regions", Property::from(nested))]), &config().object).is_ok())
        });
        assert_eq!(folding.unwrap().join().unwrap(), (true, true));
    }

    proptest! {
        #[test]
        fn folding_and_unfolding_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut choices = Choices(&bytes);
            let shape = resource(choices.block(1), IdRule::Missing);
            let state = choices.state(&shape.schema.block);
            let options = OutputOptions { keep_secrets: false, secrets: &[], unknowns: false };
            let config = outputs_from_state(&state, &shape, options).unwrap();
            // A dynamic string cannot be distinguished from JSON, and a number beyond doubles is a
            // string already.
            let ambiguous = |value: &Property, shape: &Shape| {
                matches!((value, shape), (Property::String(_), Shape::Dynamic | Shape::Number))
            };
            prop_assume!(!shape.object.fields.iter().any(|field| {
                config.get(&field.pulumi).is_some_and(|value| ambiguous(value, &field.shape))
            }));
            let unfolded = unfold(&fold(&config, &shape.object), &shape.object);
            prop_assert_eq!(unfolded.map(|bag| property::bag_without_secrets(&bag)), Ok(Ok(config)));
        }
    }
}
