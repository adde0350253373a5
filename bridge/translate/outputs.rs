//! Translation of Terraform values to property bags.

use isthmus_cty::json::to_json;
use isthmus_cty::{AttributePath, Number, Type, Value};
use isthmus_proto::property::{Struct, Value as Property};
use thiserror::Error;

use super::attribute_paths::tuple_property;
use super::property;
use super::property_path::{PropertyPath, PropertyStep};
use super::secret_paths::SecretPaths;
use isthmus_package::shape::{Field, IdRule, ObjectShape, ResourceShape, Shape};

/// Maximum depth of a dynamic value. Other values are limited by the schema.
const MAXIMUM_DYNAMIC_DEPTH: usize = 200;

/// Options of the translation.
#[derive(Clone, Copy, Debug)]
pub struct OutputOptions<'a> {
    /// Mark secrets; an engine that does not accept secrets gets plain values.
    pub keep_secrets: bool,
    /// Paths that are secret beyond the schema: the inputs' secrets.
    pub secrets: &'a [AttributePath],
    /// Whether values may be unknown, as in previews.
    pub unknowns: bool,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OutputError {
    #[error("the provider returned no object where one was expected")]
    NoObject,
    /// A value is unknown after the apply.
    #[error(
        "the provider returned an unknown value for `{path}` after the operation; this is a bug in the provider: please report it to its maintainers"
    )]
    Unknown { path: PropertyPath },
    /// A flattened block occurs several times.
    #[error(
        "the provider returned {count} blocks at `{path}`, where its schema allows one; this is a bug in the provider: please report it to its maintainers"
    )]
    TooMany { path: PropertyPath, count: usize },
    /// The value does not have the schema's type.
    #[error("the value at `{path}` does not have the type that the provider's schema says")]
    Mismatch { path: PropertyPath },
    #[error("the value at `{path}` is nested too deeply")]
    TooDeep { path: PropertyPath },
}

/// The properties of a resource in `state` (or planned state), ordered by name.
///
/// Null attributes are left out; null elements of lists and maps are included. A flattened block that
/// is absent is null: hosts in which blocks are lists see that there is none. Numbers are the
/// nearest doubles, or decimal strings beyond their range. Write-only attributes are left out.
///
/// # Errors
/// If the value is unknown where that is not allowed, or not of the schema's type.
pub fn outputs_from_state(
    state: &Value,
    shape: &ResourceShape,
    options: OutputOptions<'_>,
) -> Result<Struct, OutputError> {
    outputs_from_object(state, &shape.object, options)
}

/// The properties of any object with a schema: a data source's result, a provider's configuration.
///
/// # Errors
/// As [`outputs_from_state`].
pub(crate) fn outputs_from_object(
    object: &Value,
    shape: &ObjectShape,
    options: OutputOptions<'_>,
) -> Result<Struct, OutputError> {
    let secrets = SecretPaths::new(if options.keep_secrets { options.secrets } else { &[] });
    let mut writer = Writer { options, path: Vec::new() };
    match object {
        Value::Object(_) => writer.object(object, shape, Some(&secrets)),
        _ => Err(OutputError::NoObject),
    }
}

/// One value as a property, such as a function's result.
///
/// # Errors
/// As [`outputs_from_state`].
pub fn property_from_value(
    value: &Value,
    shape: &Shape,
    options: OutputOptions<'_>,
) -> Result<Property, OutputError> {
    let secrets = SecretPaths::new(if options.keep_secrets { options.secrets } else { &[] });
    Writer { options, path: Vec::new() }.value(value, shape, Some(&secrets))
}

/// The id of the resource in `state`, if its attribute `id` has a value: a string as it is, a
/// number or boolean in canonical form, other types as JSON.
pub fn id_from_state(state: &Value, shape: &ResourceShape) -> Option<String> {
    let attribute = match &shape.id {
        IdRule::Missing => return None,
        IdRule::Computed => "id",
        IdRule::Property(name) | IdRule::Perhaps(name) => &*shape.object.pulumi(name)?.terraform,
    };
    let Value::Object(attributes) = state else { return None };
    let own = shape.object.terraform(attribute).map_or(&Type::String, |field| &field.implied_type);
    let text = id_text(attributes.get(attribute)?, own)?;
    (!text.is_empty()).then_some(text)
}

fn id_text(value: &Value, own: &Type) -> Option<String> {
    match value {
        Value::Null | Value::Unknown(_) => None,
        Value::String(text) => Some(str::to_owned(text)),
        Value::Number(number) => Some(number.to_decimal_text()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Dynamic(typed) => id_text(&typed.1, &typed.0),
        Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Object(_) | Value::Tuple(_) => {
            to_json(value, own).ok()
        }
    }
}

struct Writer<'a> {
    options: OutputOptions<'a>,
    path: Vec<PropertyStep>,
}

impl Writer<'_> {
    fn object(
        &mut self,
        object: &Value,
        shape: &ObjectShape,
        secrets: Option<&SecretPaths>,
    ) -> Result<Struct, OutputError> {
        let Value::Object(attributes) = object else { return Err(self.mismatch()) };
        let mut properties = Vec::with_capacity(attributes.len());
        for field in &shape.fields {
            let Some(value) = attributes.get(&field.terraform) else { continue };
            let is_flattened = matches!(field.shape, Shape::FlattenedList(_) | Shape::FlattenedSet(_));
            if (matches!(value, Value::Null) && !is_flattened) || field.write_only {
                continue;
            }
            let secrets = secrets.and_then(|secrets| secrets.name(&field.terraform));
            self.path.push(PropertyStep::Name(field.pulumi.clone()));
            let property = self.field(value, field, secrets)?;
            self.path.pop();
            if !property.is_null() || is_flattened {
                properties.push((field.pulumi.clone(), property));
            }
        }
        properties.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(properties.into_iter().collect())
    }

    fn field(
        &mut self,
        value: &Value,
        field: &Field,
        secrets: Option<&SecretPaths>,
    ) -> Result<Property, OutputError> {
        let property = self.value(value, &field.shape, secrets)?;
        let known = !matches!(value, Value::Unknown(_)) && !property.is_null();
        // `value` handles paths of the inputs.
        let marked = secrets.is_some_and(|secrets| secrets.secret);
        Ok(if field.sensitive && known && !marked && self.options.keep_secrets {
            property::secret(property)
        } else {
            property
        })
    }

    fn value(
        &mut self,
        value: &Value,
        shape: &Shape,
        secrets: Option<&SecretPaths>,
    ) -> Result<Property, OutputError> {
        let property = match (shape, value) {
            (_, Value::Unknown(_)) if self.options.unknowns => return Ok(property::unknown()),
            (_, Value::Unknown(_)) => return Err(OutputError::Unknown { path: self.place() }),
            (_, Value::Null) => return Ok(Property::Null),
            (Shape::Dynamic, Value::Dynamic(typed)) => self.open(&typed.1, secrets, 0)?,
            (Shape::Dynamic, value) => self.open(value, secrets, 0)?,
            // A block with dynamic parts has its own type.
            (_, Value::Dynamic(typed)) => return self.value(&typed.1, shape, secrets),
            (Shape::Bool, Value::Bool(value)) => Property::Bool(*value),
            (Shape::Number, Value::Number(number)) => number_property(number),
            (Shape::String, Value::String(text)) => Property::String(str::to_owned(text)),
            (Shape::List(element), Value::List(elements) | Value::Tuple(elements)) => {
                self.elements(elements, element, secrets)?
            }
            (Shape::Set(element), Value::Set(elements) | Value::List(elements)) => {
                self.elements(elements, element, None)?
            }
            (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
                let mut properties = Struct::new();
                for (key, entry) in entries {
                    self.path.push(PropertyStep::Name(str::to_owned(key)));
                    let secrets = secrets.and_then(|secrets| secrets.name(key));
                    properties.insert(&**key, self.value(entry, element, secrets)?);
                    self.path.pop();
                }
                Property::Struct(properties)
            }
            (Shape::Object(object), value) => Property::Struct(self.object(value, object, secrets)?),
            (
                Shape::FlattenedList(element) | Shape::FlattenedSet(element),
                Value::List(elements) | Value::Set(elements) | Value::Tuple(elements),
            ) => match elements.as_slice() {
                [] => return Ok(Property::Null),
                [only] => self.value(only, element, secrets.and_then(|secrets| secrets.index(0)))?,
                several => return Err(OutputError::TooMany { path: self.place(), count: several.len() }),
            },
            (Shape::Tuple(shapes), Value::Tuple(elements)) if shapes.len() == elements.len() => {
                let mut properties = Struct::new();
                for (index, (element, shape)) in elements.iter().zip(shapes).enumerate() {
                    let name = tuple_property(index);
                    self.path.push(PropertyStep::Name(name.clone()));
                    let secrets = secrets.and_then(|secrets| secrets.index(index));
                    properties.insert(name, self.value(element, shape, secrets)?);
                    self.path.pop();
                }
                Property::Struct(properties)
            }
            _ => return Err(self.mismatch()),
        };
        Ok(marked(property, secrets))
    }

    fn elements(
        &mut self,
        elements: &[Value],
        shape: &Shape,
        secrets: Option<&SecretPaths>,
    ) -> Result<Property, OutputError> {
        let mut properties = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            self.path.push(PropertyStep::Index(index));
            properties.push(self.value(element, shape, secrets.and_then(|secrets| secrets.index(index)))?);
            self.path.pop();
        }
        Ok(Property::List(properties))
    }

    /// A dynamic value: names are unchanged, and tuples are lists.
    fn open(
        &mut self,
        value: &Value,
        secrets: Option<&SecretPaths>,
        depth: usize,
    ) -> Result<Property, OutputError> {
        if depth > MAXIMUM_DYNAMIC_DEPTH {
            return Err(OutputError::TooDeep { path: self.place() });
        }
        let property = match value {
            Value::Unknown(_) if self.options.unknowns => return Ok(property::unknown()),
            Value::Unknown(_) => return Err(OutputError::Unknown { path: self.place() }),
            Value::Null => return Ok(Property::Null),
            Value::Dynamic(typed) => return self.open(&typed.1, secrets, depth + 1),
            Value::Bool(value) => Property::Bool(*value),
            Value::Number(number) => number_property(number),
            Value::String(text) => Property::String(str::to_owned(text)),
            Value::List(elements) | Value::Tuple(elements) | Value::Set(elements) => {
                let mut properties = Vec::with_capacity(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    self.path.push(PropertyStep::Index(index));
                    let secrets = secrets.and_then(|secrets| secrets.index(index));
                    properties.push(self.open(element, secrets, depth + 1)?);
                    self.path.pop();
                }
                Property::List(properties)
            }
            Value::Map(entries) | Value::Object(entries) => {
                let mut properties = Struct::new();
                for (name, entry) in entries {
                    self.path.push(PropertyStep::Name(str::to_owned(name)));
                    let secrets = secrets.and_then(|secrets| secrets.name(name));
                    properties.insert(&**name, self.open(entry, secrets, depth + 1)?);
                    self.path.pop();
                }
                Property::Struct(properties)
            }
        };
        // `value` marks the outermost.
        Ok(if depth == 0 { property } else { marked(property, secrets) })
    }

    fn mismatch(&self) -> OutputError {
        OutputError::Mismatch { path: self.place() }
    }

    fn place(&self) -> PropertyPath {
        PropertyPath(self.path.clone())
    }
}

fn marked(property: Property, secrets: Option<&SecretPaths>) -> Property {
    if secrets.is_some_and(|secrets| secrets.secret) { property::secret(property) } else { property }
}

/// The nearest double; a decimal string where that would be infinite, which JSON cannot express.
/// The state format identifies strings that represent numbers.
pub fn number_property(number: &Number) -> Property {
    let double = number.as_f64();
    if double.is_finite() { Property::Number(double) } else { Property::String(number.to_decimal_text()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::property::secret;
    use crate::testing::{
        attribute, attribute_path, bag, block, computed, list, nested, object, object_value, path, resource,
        sensitive,
    };

    const FINAL: OutputOptions<'_> = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
    const PREVIEW: OutputOptions<'_> = OutputOptions { unknowns: true, ..FINAL };

    fn list_type(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    fn thing() -> ResourceShape {
        let inner = block(
            vec![attribute("inner_name", Type::String), sensitive(attribute("key", Type::String))],
            vec![],
        );
        resource(
            block(
                vec![
                    computed(attribute("id", Type::String)),
                    attribute("count_of", Type::Number),
                    attribute("on", Type::Bool),
                    attribute("name", list_type(Type::String)),
                    attribute("label", Type::Map(Arc::new(Type::String))),
                    attribute("open", Type::Dynamic),
                    sensitive(attribute("password", Type::String)),
                    attribute("tuple", Type::Tuple([Type::Bool, Type::String].into())),
                    isthmus_provider::schema::Attribute {
                        write_only: true,
                        ..attribute("once", Type::String)
                    },
                ],
                vec![
                    nested("one", BlockNesting::List, 1, inner.clone()),
                    nested("set_of", BlockNesting::Set, 0, inner),
                ],
            ),
            IdRule::Computed,
        )
    }

    fn with(fields: &[(&str, Value)]) -> Value {
        let shape = thing();
        let mut all: BTreeMap<Arc<str>, Value> =
            shape.object.fields.iter().map(|field| (Arc::clone(&field.terraform), Value::Null)).collect();
        all.extend(fields.iter().map(|(name, value)| (Arc::from(*name), value.clone())));
        Value::Object(all)
    }

    fn number(text: &str) -> Value {
        Value::Number(Number::from_decimal(text).unwrap())
    }

    #[test]
    fn properties_are_named_sorted_and_without_nulls() {
        let block = object_value(&[("inner_name", Value::string("i")), ("key", Value::string("k"))]);
        let state = with(&[
            ("id", Value::string("x-1")),
            ("count_of", number("1.5")),
            ("on", Value::Bool(false)),
            ("name", Value::List(vec![Value::string("a"), Value::Null])),
            ("label", Value::Map([(Arc::from("snake_key"), Value::Null)].into())),
            ("password", Value::string("p")),
            ("once", Value::string("never shown")),
            ("tuple", Value::Tuple(vec![Value::Bool(true), Value::string("t")])),
            ("one", Value::List(vec![block.clone()])),
            ("set_of", Value::Set(vec![block])),
        ]);
        let inner = object(&[("innerName", Property::from("i")), ("key", secret(Property::from("k")))]);
        let expected = bag(&[
            ("countOf", Property::Number(1.5)),
            ("id", Property::from("x-1")),
            ("label", object(&[("snake_key", Property::Null)])),
            ("names", list(&[Property::from("a"), Property::Null])),
            ("on", Property::Bool(false)),
            ("one", inner.clone()),
            ("password", secret(Property::from("p"))),
            ("setOfs", list(&[inner])),
            ("tuple", object(&[("t0", Property::Bool(true)), ("t1", Property::from("t"))])),
        ]);
        let outputs = outputs_from_state(&state, &thing(), FINAL).unwrap();
        assert_eq!(outputs.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert_eq!(outputs, expected);
    }

    #[test]
    fn an_absent_block_that_pulumi_sees_alone_is_null() {
        for none in [Value::Null, Value::List(vec![])] {
            let state = with(&[("one", none), ("set_of", Value::Set(vec![]))]);
            let outputs = outputs_from_state(&state, &thing(), FINAL).unwrap();
            assert_eq!(outputs, bag(&[("one", Property::Null), ("setOfs", list(&[]))]));
        }
    }

    #[test]
    fn numbers_are_the_nearest_doubles() {
        for (text, expected) in [
            ("9007199254740993", Property::Number(9_007_199_254_740_992.0)),
            ("0.1", Property::Number(0.1)),
            ("1e400", Property::String(format!("1{}", "0".repeat(400)))),
        ] {
            let outputs = outputs_from_state(&with(&[("count_of", number(text))]), &thing(), FINAL).unwrap();
            assert_eq!(outputs, bag(&[("countOf", expected), ("one", Property::Null)]), "{text}");
        }
    }

    #[test]
    fn dynamic_values_keep_their_keys_and_tuples_are_lists() {
        let value = object_value(&[
            ("snake_key", Value::Tuple(vec![Value::Bool(true), Value::Null])),
            ("map", Value::Map([(Arc::from("k"), number("2"))].into())),
        ]);
        let state = with(&[("open", Value::Dynamic(Box::new((Type::Dynamic, value))))]);
        let expected = object(&[
            ("snake_key", list(&[Property::Bool(true), Property::Null])),
            ("map", object(&[("k", Property::Number(2.0))])),
        ]);
        let expected = bag(&[("one", Property::Null), ("open", expected)]);
        assert_eq!(outputs_from_state(&state, &thing(), FINAL).unwrap(), expected);
    }

    #[test]
    fn unknown_values_are_sentinels_in_previews_and_errors_afterwards() {
        let state = with(&[
            ("password", Value::Unknown(None)),
            ("name", Value::List(vec![Value::Unknown(None)])),
            ("one", Value::List(vec![Value::Unknown(None)])),
            ("open", Value::Unknown(None)),
        ]);
        let unknown = property::unknown();
        let expected = bag(&[
            ("names", list(std::slice::from_ref(&unknown))),
            ("one", unknown.clone()),
            ("open", unknown.clone()),
            ("password", unknown),
        ]);
        assert_eq!(outputs_from_state(&state, &thing(), PREVIEW).unwrap(), expected);
        let error =
            outputs_from_state(&with(&[("name", Value::List(vec![Value::Unknown(None)]))]), &thing(), FINAL);
        assert_eq!(error, Err(OutputError::Unknown { path: path("names[0]") }));
    }

    #[test]
    fn what_the_inputs_had_marked_is_secret_in_the_outputs() {
        let block = object_value(&[("inner_name", Value::string("i")), ("key", Value::Null)]);
        let state = with(&[
            ("name", Value::List(vec![Value::string("a"), Value::string("b")])),
            ("password", Value::string("p")),
            ("open", Value::List(vec![Value::Bool(true)])),
            ("one", Value::List(vec![block.clone()])),
            ("set_of", Value::Set(vec![block])),
        ]);
        let secrets =
            ["name.1", "password", "open.0", "one.0.inner_name", "set_of", "on"].map(attribute_path);
        let options = OutputOptions { secrets: &secrets, ..FINAL };
        let expected = bag(&[
            ("names", list(&[Property::from("a"), secret(Property::from("b"))])),
            ("one", object(&[("innerName", secret(Property::from("i")))])),
            ("open", list(&[secret(Property::Bool(true))])),
            ("password", secret(Property::from("p"))),
            ("setOfs", secret(list(&[object(&[("innerName", Property::from("i"))])]))),
        ]);
        assert_eq!(outputs_from_state(&state, &thing(), options).unwrap(), expected);

        let plain = OutputOptions { keep_secrets: false, ..options };
        let outputs = Property::Struct(outputs_from_state(&state, &thing(), plain).unwrap());
        assert!(!property::contains_secret(&outputs).unwrap());
    }

    #[test]
    fn values_that_do_not_fit_their_schema_are_errors() {
        let one = object_value(&[("inner_name", Value::Null), ("key", Value::Null)]);
        for (state, error) in [
            (Value::Null, OutputError::NoObject),
            (with(&[("on", Value::string("x"))]), OutputError::Mismatch { path: path("on") }),
            (
                with(&[("one", Value::List(vec![one.clone(), one]))]),
                OutputError::TooMany { path: path("one"), count: 2 },
            ),
        ] {
            assert_eq!(outputs_from_state(&state, &thing(), FINAL), Err(error));
        }
        let mut deep = Value::Null;
        for _ in 0..400 {
            deep = Value::Tuple(vec![deep]);
        }
        let error = outputs_from_state(&with(&[("open", deep)]), &thing(), FINAL).unwrap_err();
        assert!(matches!(error, OutputError::TooDeep { .. }), "{error:?}");
    }

    #[test]
    fn ids_come_from_where_the_shape_says() {
        for (value, expected) in [
            (Value::string("x-1"), Some("x-1")),
            (number("9007199254740993"), Some("9007199254740993")),
            (Value::Bool(true), Some("true")),
            (Value::Null, None),
            (Value::string(""), None),
            (Value::Unknown(None), None),
        ] {
            assert_eq!(id_from_state(&with(&[("id", value)]), &thing()).as_deref(), expected);
        }
        for renamed in [IdRule::Property("countOf".to_owned()), IdRule::Perhaps("countOf".to_owned())] {
            let renamed = ResourceShape { id: renamed, ..thing() };
            assert_eq!(id_from_state(&with(&[("count_of", number("7"))]), &renamed).as_deref(), Some("7"));
            assert_eq!(id_from_state(&with(&[]), &renamed), None);
        }
        let missing = ResourceShape { id: IdRule::Missing, ..thing() };
        assert_eq!(id_from_state(&with(&[("id", Value::string("x"))]), &missing), None);
    }

    #[test]
    fn ids_that_are_no_text_are_written_as_json() {
        let parts = || Type::object([("number", Type::Number), ("zone", Type::String)]);
        let value = || object_value(&[("number", number("9007199254740993")), ("zone", Value::Null)]);
        let json = r#"{"number":9007199254740993,"zone":null}"#;
        for (of, value, expected) in [
            (parts(), value(), json.to_owned()),
            (Type::list(parts()), Value::List(vec![value()]), format!("[{json}]")),
            (Type::map(Type::Bool), Value::map([("k", Value::Bool(true))]), r#"{"k":true}"#.to_owned()),
            (
                Type::set(Type::String),
                Value::set([Value::string("b"), Value::string("a")]),
                r#"["a","b"]"#.to_owned(),
            ),
            (Type::Dynamic, Value::dynamic(Type::String, Value::string("x")), "x".to_owned()),
            (Type::Dynamic, Value::dynamic(parts(), value()), json.to_owned()),
        ] {
            let block = block(vec![attribute("id", of)], vec![]);
            let shape = resource(block, IdRule::Property("id".to_owned()));
            // A list's property is plural.
            let shape =
                ResourceShape { id: IdRule::Property(shape.object.fields[0].pulumi.clone()), ..shape };
            assert_eq!(id_from_state(&object_value(&[("id", value)]), &shape), Some(expected));
        }
    }
}
