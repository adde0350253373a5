//! Numbers that a property cannot represent.
//!
//! Properties have doubles, Terraform has decimal numbers. Outputs have the nearest double, as
//! generated SDKs expect; the state has the exact number beside it (`raw_state`). But an input may
//! be a numeric string, so where properties become inputs (an import, a refresh, `ignoreChanges`),
//! a number that its double would change becomes a string: the provider then gets its own value and
//! plans no change.
//!
//! A number of more than fifteen digits in a program has been rounded before it arrives here, for
//! which there is only a warning.

use isthmus_cty::{Number, Value};
use isthmus_proto::property::{Struct, Value as Property};

use super::property::{self, PropertyView, SIGNATURE_KEY, VALUE_KEY};
use super::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{ObjectShape, Shape};

/// The setting that chooses the form.
pub const EXACT_NUMBERS: &str = "ISTHMUS_EXACT_NUMBERS";

/// What stands in outputs and results for a number that no double holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberForm {
    /// The nearest double, with a warning.
    #[default]
    Number,
    /// A decimal string.
    String,
}

/// A number that a program gets with other digits.
#[derive(Clone, Debug, PartialEq)]
pub struct LostDigits {
    /// The resource type, data source or function.
    of: String,
    path: PropertyPath,
    /// The number and the double that stands for it; `None` where they are secret.
    numbers: Option<(String, f64)>,
    /// Whether it has another form, which the setting chooses.
    has_other_form: bool,
}

/// Replaces the numbers in `properties`, which were translated from `state`, by decimal strings if
/// doubles would change them. Properties that do not match `state` any more, by order or schema,
/// are unchanged.
///
/// Numbers in dynamic values stay, too: a string would be one for the provider.
pub fn with_exact_numbers(mut properties: Struct, state: &Value, shape: &ObjectShape) -> Struct {
    Exact::new(NumberForm::String).object(&mut properties, state, shape);
    properties
}

/// Gives the numbers in `properties`, which were translated from `state`, a form; returns those that
/// lose digits, a few at most.
pub fn form_numbers(
    properties: &mut Struct,
    state: &Value,
    shape: &ObjectShape,
    form: NumberForm,
    of: &str,
) -> Vec<LostDigits> {
    let mut exact = Exact { of, ..Exact::new(form) };
    exact.object(properties, state, shape);
    exact.lost
}

/// As [`form_numbers`], for one property.
pub fn form_number(
    property: &mut Property,
    value: &Value,
    shape: &Shape,
    form: NumberForm,
    of: &str,
) -> Vec<LostDigits> {
    let mut exact = Exact { of, ..Exact::new(form) };
    exact.value(property, value, shape);
    exact.lost
}

/// The paths of numbers in dynamic values of `properties`, which were translated from `state`, that
/// have lost digits: as an input, each is another number.
pub fn inexact_in_dynamic(properties: &Struct, state: &Value, shape: &ObjectShape) -> Vec<PropertyPath> {
    let mut exact = Exact { maximum: usize::MAX, ..Exact::new(NumberForm::String) };
    exact.object(&mut properties.clone(), state, shape);
    exact.lost.into_iter().map(|lost| lost.path).collect()
}

/// The paths in `inputs` of integers that may have been rounded, a few at most.
pub fn doubtful_numbers(inputs: &Struct, shape: &ObjectShape) -> Vec<PropertyPath> {
    let mut doubts = Doubts::default();
    doubts.object(inputs, shape);
    doubts.found
}

const MAXIMUM_DOUBTS: usize = 5;

#[derive(Default)]
struct Doubts {
    path: Vec<PropertyStep>,
    found: Vec<PropertyPath>,
}

impl Doubts {
    fn object(&mut self, inputs: &Struct, shape: &ObjectShape) {
        for (name, input) in inputs.iter() {
            if let Some(field) = shape.pulumi(name) {
                self.within(PropertyStep::Name(name.to_owned()), input, &field.shape);
            }
        }
    }

    fn within(&mut self, step: PropertyStep, input: &Property, shape: &Shape) {
        self.path.push(step);
        self.value(input, shape);
        self.path.pop();
    }

    fn value(&mut self, input: &Property, shape: &Shape) {
        let Ok((view, _)) = property::unwrap(input) else { return };
        match (shape, view) {
            (Shape::Number | Shape::String, PropertyView::Number(number))
                if is_doubtful(number) && self.found.len() < MAXIMUM_DOUBTS =>
            {
                self.found.push(PropertyPath(self.path.clone()));
            }
            (Shape::FlattenedList(element) | Shape::FlattenedSet(element), _) => self.value(input, element),
            (Shape::List(element) | Shape::Set(element), PropertyView::List(inputs)) => {
                for (index, input) in inputs.iter().enumerate() {
                    self.within(PropertyStep::Index(index), input, element);
                }
            }
            (Shape::Map(element), PropertyView::Object(inputs)) => {
                for (key, input) in inputs.iter() {
                    self.within(PropertyStep::Name(key.to_owned()), input, element);
                }
            }
            (Shape::Object(object), PropertyView::Object(inputs)) => self.object(inputs, object),
            _ => {}
        }
    }
}

/// Whether an integer is beyond 2^53 and not round: 1e20 is intended, 123456789012345680 hardly is.
fn is_doubtful(number: f64) -> bool {
    const ROUND_DIGITS: usize = 15;
    let whole = number.is_finite() && number.fract() == 0.0 && number.abs() >= 9_007_199_254_740_992.0;
    whole && format!("{:e}", number.abs()).bytes().take_while(|byte| *byte != b'e').count() > ROUND_DIGITS + 1
}

struct Exact<'a> {
    form: NumberForm,
    of: &'a str,
    path: Vec<PropertyStep>,
    is_secret: bool,
    maximum: usize,
    lost: Vec<LostDigits>,
}

impl Exact<'_> {
    fn new(form: NumberForm) -> Self {
        Self { form, of: "", path: Vec::new(), is_secret: false, maximum: MAXIMUM_DOUBTS, lost: Vec::new() }
    }

    fn object(&mut self, properties: &mut Struct, value: &Value, shape: &ObjectShape) {
        let Value::Object(attributes) = value else { return };
        for field in &shape.fields {
            if let (Some(property), Some(value)) =
                (properties.get_mut(&field.pulumi), attributes.get(&field.terraform))
            {
                self.at(PropertyStep::Name(field.pulumi.clone()), field.sensitive, |exact| {
                    exact.value(property, value, &field.shape);
                });
            }
        }
    }

    fn value(&mut self, property: &mut Property, value: &Value, shape: &Shape) {
        if let Property::Struct(members) = property
            && members.contains_key(SIGNATURE_KEY)
        {
            // A secret: states contain no other special values.
            if let Some(inner) = members.get_mut(VALUE_KEY) {
                let around = std::mem::replace(&mut self.is_secret, true);
                self.value(inner, value, shape);
                self.is_secret = around;
            }
            return;
        }
        match (shape, property, value) {
            (Shape::Number, property @ Property::Number(_), Value::Number(number)) => {
                let Property::Number(double) = *property else { return };
                if changes(number, double) {
                    match self.form {
                        NumberForm::String => *property = Property::String(number.to_decimal_text()),
                        NumberForm::Number => self.lose(number, double, true),
                    }
                }
            }
            (
                Shape::List(element) | Shape::Set(element),
                Property::List(properties),
                Value::List(values) | Value::Set(values) | Value::Tuple(values),
            ) if properties.len() == values.len() => {
                for (index, (property, value)) in properties.iter_mut().zip(values).enumerate() {
                    self.at(PropertyStep::Index(index), false, |exact| exact.value(property, value, element));
                }
            }
            (
                Shape::FlattenedList(element) | Shape::FlattenedSet(element),
                property,
                Value::List(values) | Value::Set(values) | Value::Tuple(values),
            ) => {
                if let [only] = values.as_slice() {
                    self.value(property, only, element);
                }
            }
            (Shape::Map(element), Property::Struct(entries), Value::Map(values) | Value::Object(values)) => {
                for (key, value) in values {
                    if let Some(property) = entries.get_mut(key) {
                        self.at(PropertyStep::Name(str::to_owned(key)), false, |exact| {
                            exact.value(property, value, element);
                        });
                    }
                }
            }
            (Shape::Object(shape), Property::Struct(properties), value) => {
                self.object(properties, value, shape);
            }
            (Shape::Dynamic, property, value) => {
                self.dynamic(property, value);
            }
            _ => {}
        }
    }

    fn dynamic(&mut self, property: &Property, value: &Value) {
        match (property, value) {
            (property, Value::Dynamic(typed)) => self.dynamic(property, &typed.1),
            (Property::Number(double), Value::Number(number)) if changes(number, *double) => {
                // Text would be text for the provider.
                self.lose(number, *double, false);
            }
            (Property::List(properties), Value::List(values) | Value::Set(values) | Value::Tuple(values)) => {
                for (index, (property, value)) in properties.iter().zip(values).enumerate() {
                    self.at(PropertyStep::Index(index), false, |exact| exact.dynamic(property, value));
                }
            }
            (Property::Struct(properties), Value::Map(values) | Value::Object(values)) => {
                for (key, value) in values {
                    if let Some(property) = properties.get(key) {
                        self.at(PropertyStep::Name(str::to_owned(key)), false, |exact| {
                            exact.dynamic(property, value);
                        });
                    }
                }
            }
            _ => {}
        }
    }

    fn lose(&mut self, number: &Number, double: f64, has_other_form: bool) {
        if self.lost.len() < self.maximum {
            let numbers = (!self.is_secret).then(|| (number.to_decimal_text(), double));
            let (of, path) = (self.of.to_owned(), PropertyPath(self.path.clone()));
            self.lost.push(LostDigits { of, path, numbers, has_other_form });
        }
    }

    fn at(&mut self, step: PropertyStep, is_secret: bool, walk: impl FnOnce(&mut Self)) {
        let around = self.is_secret;
        self.is_secret |= is_secret;
        self.path.push(step);
        walk(self);
        self.path.pop();
        self.is_secret = around;
    }
}

impl LostDigits {
    /// The same without the numbers.
    pub fn hidden(self) -> Self {
        Self { numbers: None, ..self }
    }

    /// Where it is.
    pub fn place(&self) -> String {
        let Self { of, path, .. } = self;
        if path.0.is_empty() { format!("the result of {of}") } else { format!("`{path}` of {of}") }
    }

    pub fn warning(&self) -> String {
        let place = self.place();
        let what = match &self.numbers {
            Some((exact, shown)) => format!("is {exact}, and a program gets {shown:?}"),
            None => "has more digits than a program gets".to_owned(),
        };
        let remedy = if self.has_other_form {
            format!("; with {}=string it gets such numbers as strings", EXACT_NUMBERS)
        } else {
            String::new()
        };
        format!("{place} {what}, because numbers of programs hold about 16 digits{remedy}")
    }
}

/// Whether `double`, the representation of `number`, would be another number as an input.
pub(super) fn changes(number: &Number, double: f64) -> bool {
    number.as_f64() == double
        && Number::from_f64_shortest(double).as_ref() != Some(number)
        && Number::from_f64_exact(double).as_ref() != Some(number)
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::inputs::{Unknowns, config_from_inputs};
    use crate::outputs::{OutputOptions, outputs_from_state};
    use crate::property::{bag_without_secrets, secret};
    use crate::raw_state::{raw_state, raw_state_delta, recover};
    use crate::testing::{attribute, bag, block, list, nested, object, object_value, resource, sensitive};
    use isthmus_package::shape::{IdRule, ResourceShape};

    const FINAL: OutputOptions<'_> = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };

    /// Numbers that no double represents, as strings.
    const NUMBERS: [&str; 7] = [
        "18446744073709551615",
        "9007199254740993",
        "-9007199254740993",
        "170141183460469231731687303715884105727",
        "0.1000000000000000000000000001",
        "-123456789012345678901234567890.5",
        "3.14159265358979323846264338327950288",
    ];

    fn thing() -> ResourceShape {
        let inner = || block(vec![attribute("n", Type::Number)], vec![]);
        resource(
            block(
                vec![
                    attribute("top", Type::Number),
                    sensitive(attribute("hidden", Type::Number)),
                    attribute("item", Type::list(Type::Number)),
                    attribute("unique", Type::set(Type::Number)),
                    attribute("by_name", Type::map(Type::Number)),
                    attribute("deep", Type::list(Type::object([("n", Type::map(Type::Number))]))),
                    attribute("open", Type::Dynamic),
                ],
                vec![
                    nested("one", BlockNesting::List, 1, inner()),
                    nested("many", BlockNesting::Set, 0, inner()),
                ],
            ),
            IdRule::Missing,
        )
    }

    #[test]
    fn numbers_of_dynamic_type_that_no_double_has_are_found() {
        let big = Value::Number(Number::from_decimal("12345678901234567890.5").expect("a number"));
        let half = Value::Number(Number::from_decimal("0.5").expect("a number"));
        let open = Value::Dynamic(Box::new((Type::Dynamic, Value::Tuple(vec![half, big]))));
        let properties = bag(&[(
            "open",
            secret(list(&[Property::Number(0.5), Property::Number(12_345_678_901_234_567_000.0)])),
        )]);
        let found = inexact_in_dynamic(&properties, &object_value(&[("open", open)]), &thing().object);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["open[1]"]);
    }

    fn state_of(number: &Value) -> Value {
        let n = || object_value(&[("n", number.clone())]);
        let zero = Value::Number(Number::ZERO);
        object_value(&[
            ("top", number.clone()),
            ("hidden", number.clone()),
            ("item", Value::List(vec![Value::Null, number.clone()])),
            ("unique", Value::set([zero, number.clone()])),
            ("by_name", Value::map([("k", number.clone())])),
            ("deep", Value::List(vec![object_value(&[("n", Value::map([("k", number.clone())]))])])),
            ("open", Value::Null),
            ("one", Value::List(vec![n()])),
            ("many", Value::set([n()])),
        ])
    }

    #[test]
    fn numbers_are_exact_wherever_they_stand() {
        for text in NUMBERS {
            let state = state_of(&Value::Number(Number::from_decimal(text).unwrap()));
            let outputs = outputs_from_state(&state, &thing(), FINAL).unwrap();
            let exact = with_exact_numbers(outputs, &state, &thing().object);
            let text = Property::from(text);
            let n = || object(&[("n", text.clone())]);
            assert_eq!(exact.get("top"), Some(&text));
            assert_eq!(exact.get("hidden"), Some(&secret(text.clone())));
            assert_eq!(exact.get("items"), Some(&list(&[Property::Null, text.clone()])));
            assert_eq!(exact.get("byName"), Some(&object(&[("k", text.clone())])));
            assert_eq!(exact.get("deeps"), Some(&list(&[object(&[("n", object(&[("k", text.clone())]))])])));
            assert_eq!(exact.get("one"), Some(&n()));
            assert_eq!(exact.get("manies"), Some(&list(&[n()])));

            // As inputs, they result in the same state.
            let shape = thing();
            let config =
                config_from_inputs(&exact, &shape.object, &shape.schema.block, Unknowns::Reject).unwrap();
            assert_eq!(config.value, state);
        }
    }

    #[test]
    fn numbers_that_a_double_holds_stay_numbers() {
        for text in ["0", "-0.5", "0.1", "9007199254740992", "1e21", "18446744073709552000"] {
            let state = state_of(&Value::Number(Number::from_decimal(text).unwrap()));
            let outputs = outputs_from_state(&state, &thing(), FINAL).unwrap();
            assert_eq!(with_exact_numbers(outputs.clone(), &state, &thing().object), outputs, "{text}");
        }
    }

    #[test]
    fn numbers_in_dynamic_values_stay_numbers_and_are_exact_in_what_is_stored() {
        for text in NUMBERS {
            let number = Value::Number(Number::from_decimal(text).unwrap());
            let open = Value::dynamic(Type::list(Type::Number), Value::List(vec![number.clone()]));
            let Value::Object(mut attributes) = state_of(&number) else { panic!("it is an object") };
            attributes.insert("open".into(), open);
            let state = Value::Object(attributes);
            let shape = thing();
            let outputs = outputs_from_state(&state, &shape, FINAL).unwrap();
            let exact = with_exact_numbers(outputs.clone(), &state, &shape.object);
            assert_eq!(exact.get("open"), outputs.get("open"));

            let delta = raw_state_delta(&outputs, &state, &shape, true).unwrap().unwrap();
            assert_eq!(recover(&outputs, &delta).unwrap(), raw_state(&state, &shape).unwrap(), "{text}");
        }
    }

    #[test]
    fn numbers_that_a_program_may_have_meant_otherwise_are_told() {
        let doubtful = || Property::Number(123_456_789_012_345_680.0);
        let round = || Property::Number(1e20);
        let inputs = bag(&[
            ("top", doubtful()),
            ("hidden", secret(doubtful())),
            ("items", list(&[round(), doubtful(), Property::Number(9_007_199_254_740_991.0)])),
            ("byName", object(&[("k", Property::Number(-18_446_744_073_709_552_000.0)), ("r", round())])),
            ("one", object(&[("n", doubtful())])),
            ("open", doubtful()),
            ("manies", list(&[object(&[("n", Property::from("123456789012345678"))])])),
        ]);
        let found = doubtful_numbers(&inputs, &thing().object);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["top", "hidden", "items[1]", "byName.k", "one.n"]);
        let many = bag(&[("items", Property::List(vec![doubtful(); 100]))]);
        assert_eq!(doubtful_numbers(&many, &thing().object).len(), MAXIMUM_DOUBTS);
    }

    #[test]
    fn properties_that_do_not_match_the_state_stay_as_they_are() {
        let state = state_of(&Value::Number(Number::from_decimal(NUMBERS[0]).unwrap()));
        let odd = bag(&[
            ("top", Property::from("text")),
            ("items", list(&[Property::Number(1.0)])),
            ("byName", Property::Null),
            ("one", list(&[])),
            ("unheard", Property::Number(2.0)),
        ]);
        assert_eq!(with_exact_numbers(odd.clone(), &state, &thing().object), odd);
        let plain = bag_without_secrets(&odd).unwrap();
        assert_eq!(with_exact_numbers(plain.clone(), &Value::Null, &thing().object), plain);
    }
}
