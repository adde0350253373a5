//! The name of a resource in a legacy environment.
//!
//! A program sets it as `urnName`; earlier programs used `name` for both. Of a type whose programs set
//! neither there is one resource, named after the type. Both properties are for the engine: a provider
//! sees `name` only if its schema has one.

use isthmus_proto::property::{Struct, Value};

use isthmus_package::shape::ResourceShape;
use isthmus_translate::inputs::canonical;
use isthmus_translate::property::is_unknown_sentinel;

/// The property that only names the resource.
const URN_NAME: &str = "urnName";
/// The earlier property, which may be the provider's too.
const NAME: &str = "name";

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    /// The name depends on an unknown value.
    #[error(
        "the property `{0}` names the resource, so it must be known while planning; give the resource a `urnName` that does not depend on other resources"
    )]
    Unknown(String),
    #[error("the property `{0}` names the resource, so it must be text that is not empty")]
    NoText(String),
}

/// Returns the name of a resource with these inputs.
pub(super) fn resource_name(type_token: &str, inputs: &Struct) -> Result<String, NameError> {
    for property in [URN_NAME, NAME] {
        if let Some(name) = text(inputs, property)? {
            return Ok(name.to_owned());
        }
    }
    Ok(type_token.rsplit(':').next().unwrap_or(type_token).to_owned())
}

/// A property's text; `None` if it is not set.
fn text<'a>(inputs: &'a Struct, property: &str) -> Result<Option<&'a str>, NameError> {
    match inputs.get(property) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_unknown_sentinel(text) => {
            Err(NameError::Unknown(property.to_owned()))
        }
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(NameError::NoText(property.to_owned())),
    }
}

/// The properties without those that only name the resource, in the canonical form.
pub(super) fn without_names(properties: Option<Struct>, shape: &ResourceShape) -> Struct {
    let mut properties = properties.unwrap_or_default();
    properties.remove(URN_NAME);
    if shape.object.pulumi(NAME).is_none() {
        properties.remove(NAME);
    }
    canonical(&mut properties, &shape.object);
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(properties: impl Into<Struct>) -> Result<String, NameError> {
        resource_name("random:index/pet:Pet", &properties.into())
    }

    #[test]
    fn a_resource_is_called_by_its_urn_name_its_name_or_its_type() {
        assert_eq!(named([("urnName", Value::from("a")), ("name", "b".into())]), Ok("a".to_owned()));
        assert_eq!(named([("urnName", Value::Null), ("name", "b".into())]), Ok("b".to_owned()));
        assert_eq!(named([("length", Value::from(2.0))]), Ok("Pet".to_owned()));
        assert_eq!(resource_name("random:pet:Pet", &Struct::new()), Ok("Pet".to_owned()));
    }

    #[test]
    fn what_cannot_name_a_resource_is_refused_and_not_passed_over() {
        assert_eq!(named([("name", Value::from(7.0))]), Err(NameError::NoText("name".to_owned())));
        assert_eq!(
            named([("urnName", Value::from("")), ("name", "b".into())]),
            Err(NameError::NoText("urnName".to_owned()))
        );
        let unknown = isthmus_translate::property::unknown();
        assert_eq!(named([("name", unknown)]), Err(NameError::Unknown("name".to_owned())));
    }
}
