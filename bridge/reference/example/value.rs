//! Made-up values for what a schema requires.

use std::sync::{Arc, LazyLock};

use isthmus_cty::Type;
use regex::Regex;

use super::call::Form;
use isthmus_package::function::FunctionShape;
use isthmus_package::names::casing::upper_first;
use isthmus_package::schema::TypeNames;
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// A value of an example. A collection has one element, from which its type follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(u32),
    Bool(bool),
    /// A text where any value is allowed.
    Any(String),
    List(Box<Self>),
    Map(Box<Self>),
    Object {
        /// The name of its type in SDKs.
        type_name: String,
        fields: Vec<Member>,
    },
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) value: Value,
    /// Required by the types of an SDK for Python, which are those of results, but not by the provider.
    pub(super) for_python: bool,
}

/// Makes arguments up.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// The names of the types of objects; those of a function's follow from their place.
    pub(super) types: Option<&'a TypeNames<'a>>,
    pub(super) form: Form,
}

impl Arguments<'_> {
    /// The required properties of an object. The engine names what is `autonamed`.
    pub(super) fn of_object(&self, object: &ObjectShape, autonamed: Option<&Field>) -> Vec<(String, Value)> {
        let autonamed = autonamed.map(|field| &field.terraform);
        let required =
            object.named().filter(|field| is_required(field) && Some(&field.terraform) != autonamed);
        required.map(|field| (field.pulumi.clone(), self.of_field(field, ""))).collect()
    }

    /// The required arguments of a function, in order.
    pub(super) fn of_function(&self, shape: &FunctionShape, name: &str) -> Vec<(String, Value)> {
        let last = shape.parameters.len();
        let required = shape.parameters.iter().enumerate().filter(|(_, parameter)| parameter.required);
        let arguments = required.map(|(index, parameter)| {
            let path = format!("{name}{}", upper_first(&parameter.pulumi));
            let origin = Origin { name: &parameter.terraform, description: &parameter.description };
            let one = self.value(&parameter.shape, &parameter.parameter_type, origin, &path);
            let is_rest = shape.variadic && index + 1 == last;
            (parameter.sdk_name.clone(), if is_rest { Value::List(Box::new(one)) } else { one })
        });
        arguments.collect()
    }

    fn of_field(&self, field: &Field, path: &str) -> Value {
        let path = format!("{path}{}", upper_first(&field.pulumi));
        let origin = Origin { name: &field.terraform, description: &field.description };
        self.value(&field.shape, &field.implied_type, origin, &path)
    }

    fn value(&self, shape: &Shape, plain: &Type, origin: Origin<'_>, path: &str) -> Value {
        let inner = match plain {
            Type::List(element) | Type::Set(element) | Type::Map(element) => element,
            other => other,
        };
        let within = |element: &Shape| Box::new(self.value(element, inner, origin, path));
        match shape {
            Shape::Bool => Value::Bool(true),
            Shape::Number => Value::Number(number(origin.name)),
            Shape::String => Value::Text(text(origin.name, origin.description)),
            Shape::Dynamic => Value::Any("example".to_owned()),
            Shape::List(element) | Shape::Set(element) => Value::List(within(element)),
            // Dynamic values in maps are strings in schemas.
            Shape::Map(element) if matches!(**element, Shape::Dynamic) => {
                Value::Map(Box::new(Value::Text("example".to_owned())))
            }
            Shape::Map(element) => Value::Map(within(element)),
            Shape::FlattenedList(element) | Shape::FlattenedSet(element) => *within(element),
            Shape::Tuple(_) => Value::List(Box::new(Value::Any("example".to_owned()))),
            Shape::Object(object) => self.object(object, plain, path),
        }
    }

    fn object(&self, object: &Arc<ObjectShape>, plain: &Type, path: &str) -> Value {
        // In a function's signature, attributes are required unless its type marks them as optional.
        let is_required = |field: &Field| match (self.types, plain) {
            (None, Type::Object(signature)) => !signature.optional.contains(&field.terraform),
            _ => is_required(field),
        };
        let declared = self.types.and_then(|types| types.name(object));
        let type_name = declared.map_or_else(|| upper_first(path), str::to_owned);
        let is_result = matches!(self.form, Form::Named { .. });
        let fields = object.named().filter_map(|field| {
            let for_python = is_result && field.computed && !is_required(field);
            (is_required(field) || for_python).then(|| Member {
                name: field.pulumi.clone(),
                value: self.of_field(field, path),
                for_python,
            })
        });
        Value::Object { type_name, fields: fields.collect() }
    }
}

/// What a value is made up from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    name: &'a str,
    description: &'a str,
}

fn is_required(field: &Field) -> bool {
    field.required && !field.computed
}

fn number(name: &str) -> u32 {
    if name.ends_with("port") { 8080 } else { 1 }
}

/// A value that the description lists, or one of the kind that the name promises.
fn text(name: &str, description: &str) -> String {
    if let Some(listed) = listed(description) {
        return listed.to_owned();
    }
    const KINDS: [(&str, &str); 12] = [
        ("duration", "1h"),
        ("cidr", "10.0.0.0/16"),
        ("email", "user@example.com"),
        ("url", "https://example.com"),
        ("uri", "https://example.com"),
        ("rfc3339", "2026-01-01T00:00:00Z"),
        ("timestamp", "2026-01-01T00:00:00Z"),
        ("ip_address", "192.0.2.1"),
        ("hostname", "example.com"),
        ("domain", "example.com"),
        ("json", "{}"),
        ("filename", "example.txt"),
    ];
    let kind = KINDS.iter().find(|(part, _)| name.contains(part));
    kind.map_or("example", |(_, value)| value).to_owned()
}

/// The first of the values that a description lists after words such as "Valid values are".
fn listed(description: &str) -> Option<&str> {
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?i-u:valid|allowed|supported|possible|accepted|acceptable|permitted)[- ](?i-u:values?|options?|algorithms?)[^`"'.]{0,60}[`"']([A-Za-z0-9][A-Za-z0-9_./:-]{0,60})[`"']|(?-u:\b)(?i-u:must be (?:one|any) of|one of|either)(?-u:[:\s(]{1,3})[`"']([A-Za-z0-9][A-Za-z0-9_./:-]{0,60})[`"']"#,
        )
        .expect("the pattern of this file is valid")
    });
    let found = LIST.captures(description)?;
    found.get(1).or_else(|| found.get(2)).map(|value| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_the_description_or_the_name_allows() {
        for (name, description, value) in [
            ("algorithm", "The algorithm. Currently-supported values are: `RSA`, `ECDSA`.", "RSA"),
            ("level", "Valid values: \"low\" and \"high\"", "low"),
            ("mode", "Must be one of `fast` or `slow`.", "fast"),
            ("cidr_block", "", "10.0.0.0/16"),
            ("name", "The supported values of others are many.", "example"),
            ("name", "one of ${var}", "example"),
        ] {
            assert_eq!(text(name, description), value, "{description}");
        }
    }
}
