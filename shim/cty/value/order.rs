//! Equality of values, and go-cty's order of a set's elements.
//!
//! The order determines the encoding of sets, which must equal Terraform's, and comparisons of
//! sets, which are element by element.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::Value;
use crate::is_printable_in_go;

impl Value {
    /// A set: sorted in go-cty's order, without duplicates. Elements that are not wholly known are
    /// equal to nothing, so each is preserved.
    pub fn set(elements: impl IntoIterator<Item = Self>) -> Self {
        let mut elements: Vec<Self> = elements.into_iter().collect();
        sort_set(&mut elements);
        Self::Set(elements)
    }
}

/// Sorts elements in go-cty's order and removes duplicates.
///
/// Strings are ordered by bytes, numbers by value, `false` before `true`; then unknowns, then
/// nulls. Composite elements are ordered by go-cty's text of them; those with equal texts by their
/// parts.
fn sort_set(elements: &mut Vec<Value>) {
    if elements.len() < 2 {
        return;
    }
    let simple = |element: &Value| {
        matches!(
            element,
            Value::Null | Value::Unknown(_) | Value::Bool(_) | Value::Number(_) | Value::String(_)
        )
    };
    if elements.iter().all(simple) {
        elements.sort();
    } else {
        let mut keyed: Vec<(Vec<u8>, Value)> = elements
            .drain(..)
            .map(|element| {
                let mut text = Vec::new();
                if !matches!(element.inner(), Value::Null | Value::Unknown(_)) {
                    append_sort_text(&element, &mut text);
                }
                (text, element)
            })
            .collect();
        keyed.sort_by(|(left_text, left), (right_text, right)| {
            let last = |value: &Value| match value.inner() {
                Value::Unknown(_) => 1,
                Value::Null => 2,
                _ => 0,
            };
            last(left).cmp(&last(right)).then_with(|| left_text.cmp(right_text)).then_with(|| left.cmp(right))
        });
        elements.extend(keyed.into_iter().map(|(_, element)| element));
    }
    elements.dedup_by(|later, earlier| later == earlier && earlier.is_wholly_known());
}

/// The rank of a value's kind: unknowns after all knowns, nulls last.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Number(_) => 1,
        Value::String(_) => 2,
        Value::List(_) => 3,
        Value::Set(_) => 4,
        Value::Map(_) => 5,
        Value::Object(_) => 6,
        Value::Tuple(_) => 7,
        Value::Dynamic(_) => 8,
        Value::Unknown(_) => 9,
        Value::Null => 10,
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::Unknown(_), Self::Unknown(_)) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::String(left), Self::String(right)) => left == right,
            (Self::List(left), Self::List(right))
            | (Self::Set(left), Self::Set(right))
            | (Self::Tuple(left), Self::Tuple(right)) => left == right,
            (Self::Map(left), Self::Map(right)) | (Self::Object(left), Self::Object(right)) => left == right,
            (Self::Dynamic(left), Self::Dynamic(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A total order consistent with equality; go-cty's for strings, numbers, booleans, unknowns and
/// nulls.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Number(left), Self::Number(right)) => left.cmp(right),
            (Self::String(left), Self::String(right)) => left.cmp(right),
            (Self::List(left), Self::List(right))
            | (Self::Set(left), Self::Set(right))
            | (Self::Tuple(left), Self::Tuple(right)) => left.cmp(right),
            (Self::Map(left), Self::Map(right)) | (Self::Object(left), Self::Object(right)) => {
                left.cmp(right)
            }
            (Self::Dynamic(left), Self::Dynamic(right)) => left.cmp(right),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        rank(self).hash(state);
        match self {
            Self::Null | Self::Unknown(_) => {}
            Self::Bool(value) => value.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::List(elements) | Self::Set(elements) | Self::Tuple(elements) => elements.hash(state),
            Self::Map(elements) | Self::Object(elements) => elements.hash(state),
            Self::Dynamic(both) => both.hash(state),
        }
    }
}

/// Appends the text by which go-cty sorts a value.
fn append_sort_text(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Unknown(_) => text.push(b'?'),
        Value::Null => text.push(b'~'),
        Value::Bool(value) => text.push(if *value { b'T' } else { b'F' }),
        Value::Number(number) => number.append_sort_text(text),
        Value::String(string) => append_quoted(string, text),
        Value::Map(elements) => {
            text.push(b'{');
            for (key, element) in elements {
                append_quoted(key, text);
                text.push(b':');
                append_sort_text(element, text);
                text.push(b';');
            }
            text.push(b'}');
        }
        Value::List(elements) | Value::Set(elements) => append_sequence(b'[', elements, b']', text),
        Value::Object(attributes) => append_sequence(b'<', attributes.values(), b'>', text),
        Value::Tuple(elements) => append_sequence(b'<', elements, b'>', text),
        Value::Dynamic(both) => append_sort_text(&both.1, text),
    }
}

fn append_sequence<'a>(open: u8, values: impl IntoIterator<Item = &'a Value>, close: u8, text: &mut Vec<u8>) {
    text.push(open);
    for value in values {
        append_sort_text(value, text);
        text.push(b';');
    }
    text.push(close);
}

/// Appends a string in Go's quotes (`%q`).
fn append_quoted(string: &str, text: &mut Vec<u8>) {
    text.push(b'"');
    for character in string.chars() {
        let code = u32::from(character);
        match character {
            '"' => text.extend_from_slice(b"\\\""),
            '\\' => text.extend_from_slice(b"\\\\"),
            '\u{7}' => text.extend_from_slice(b"\\a"),
            '\u{8}' => text.extend_from_slice(b"\\b"),
            '\u{c}' => text.extend_from_slice(b"\\f"),
            '\n' => text.extend_from_slice(b"\\n"),
            '\r' => text.extend_from_slice(b"\\r"),
            '\t' => text.extend_from_slice(b"\\t"),
            '\u{b}' => text.extend_from_slice(b"\\v"),
            ' '..='~' => text.push(character as u8),
            '\0'..='\u{1f}' | '\u{7f}' => text.extend_from_slice(format!("\\x{code:02x}").as_bytes()),
            _ if is_printable_in_go(character) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '\0'..='\u{ffff}' => text.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
            _ => text.extend_from_slice(format!("\\U{code:08x}").as_bytes()),
        }
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;
    use crate::{Number, Refinements};

    fn hash(value: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn sets_have_no_order_and_keep_unknowns_apart() {
        let forward = Value::set(["b".into(), Value::unknown(), "a".into(), Value::Null, "b".into()]);
        let backward = Value::set([Value::Null, "a".into(), "b".into(), Value::unknown()]);
        assert_eq!(forward, backward);
        assert_eq!(hash(&forward), hash(&backward));
        assert_eq!(format!("{forward:?}"), r#"{"a", "b", ?, null}"#);
        let unknowns = |count: usize| Value::set(vec![Value::unknown(); count]);
        assert_ne!(unknowns(1), unknowns(2));
    }

    #[test]
    fn composite_elements_are_in_the_order_of_go_which_escapes_what_its_unicode_does_not_have() {
        // A hieroglyph of Unicode 16, which begins with a backslash there.
        let set = Value::set([Value::list(["é".into()]), Value::list(["\u{13600}".into()])]);
        assert_eq!(format!("{set:?}"), "{[\"\u{13600}\"], [\"é\"]}");
    }

    #[test]
    fn elements_with_unknown_parts_are_equal_to_nothing_in_a_set() {
        let element = || Value::object([("a", Value::unknown()), ("b", 1.into())]);
        assert_eq!(Value::set([element(), element()]).elements().unwrap().len(), 2);
    }

    #[test]
    fn refinements_do_not_count_for_equality() {
        let refined =
            Value::Unknown(Some(Box::new(Refinements { null: Some(false), ..Refinements::default() })));
        assert_eq!(refined, Value::unknown());
        assert_eq!(hash(&refined), hash(&Value::unknown()));
    }

    #[test]
    fn a_double_and_its_decimal_are_one_element() {
        let double = Value::Number(Number::from_f64_exact(0.1).unwrap());
        let decimal = Value::Number(Number::from_decimal("0.1").unwrap());
        assert_eq!(Value::set([double, decimal]).elements().unwrap().len(), 1);
    }

    #[test]
    fn elements_with_parts_go_by_go_ctys_text() {
        let text = |value: Value| {
            let mut text = Vec::new();
            append_sort_text(&value, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(
            text(Value::object([("a", "x\"\u{301}\u{200b}\u{7}".into()), ("b", true.into())])),
            "<\"x\\\"\u{301}\\u200b\\a\";T;>"
        );
        assert_eq!(text(Value::list([Value::Null, Value::unknown()])), "[~;?;]");
        assert_eq!(text(Value::map([("k", Value::tuple([1.into()]))])), "{\"k\":<1;>;}");
        for (decimal, expected) in [
            ("10000000000", "1e+10"),
            ("9999999999", "9999999999"),
            ("12345678901", "1.23456789e+10"),
            ("99999999995", "1e+11"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("-1.5", "-1.5"),
            ("3.14159265358979", "3.141592654"),
            ("1e100", "1e+100"),
            ("0", "0"),
        ] {
            assert_eq!(text(Value::Number(Number::from_decimal(decimal).unwrap())), expected, "{decimal}");
        }
    }
}
