//! The name of a resource in an environment of 2017.
//!
//! A program gives it as `urnName`; before there was that, `name` served for both. Programs that give neither have one
//! resource of the type, which is called like its type. These properties are the engine's business, and only a provider
//! that has a `name` of its own gets to see one.

use isthmus_proto::property::{Struct, Value};

use crate::package::shape::ResourceShape;
use crate::translate::property::is_unknown_sentinel;

/// The property that names a resource, and does nothing else.
const URN_NAME: &str = "urnName";
/// The property that named resources before, and may be the provider's too.
const NAME: &str = "name";

/// A resource cannot be named.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    /// The name depends on something that is only known later.
    #[error(
        "the property `{0}` names the resource, so it must be known while planning; give the resource a `urnName` that does not depend on other resources"
    )]
    Unknown(&'static str),
    /// The name is nothing that can be one.
    #[error("the property `{0}` names the resource, so it must be text that is not empty")]
    NoText(&'static str),
}

/// The name of the resource of a type with these inputs.
pub(super) fn resource_name(type_token: &str, inputs: &Struct) -> Result<String, NameError> {
    for property in [URN_NAME, NAME] {
        match inputs.get(property) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if is_unknown_sentinel(text) => {
                return Err(NameError::Unknown(property));
            }
            Some(Value::String(text)) if !text.is_empty() => return Ok(text.clone()),
            Some(_) => return Err(NameError::NoText(property)),
        }
    }
    Ok(type_token.rsplit(':').next().unwrap_or(type_token).to_owned())
}

/// The properties without those that only name the resource.
pub(super) fn without_names(properties: Option<Struct>, shape: &ResourceShape) -> Struct {
    let mut properties = properties.unwrap_or_default();
    properties.remove(URN_NAME);
    if shape.object.pulumi(NAME).is_none() {
        properties.remove(NAME);
    }
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
        assert_eq!(named([("name", Value::from(7.0))]), Err(NameError::NoText("name")));
        assert_eq!(
            named([("urnName", Value::from("")), ("name", "b".into())]),
            Err(NameError::NoText("urnName"))
        );
        let unknown = crate::translate::property::unknown();
        assert_eq!(named([("name", unknown)]), Err(NameError::Unknown("name")));
    }
}
