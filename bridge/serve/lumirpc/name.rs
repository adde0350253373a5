//! The name of a resource in an environment of 2017.
//!
//! A program gives it as `urnName`; before there was that, `name` served for both. For types whose programs give neither,
//! a setting may say which properties name a resource ([`NameProperties`]); without it they have one resource of the type,
//! which is called like its type. `urnName` and `name` are the engine's business, and only a provider that has a `name` of
//! its own gets to see one.

use std::ffi::OsString;

use isthmus_proto::property::{Struct, Value};
use isthmus_shim::cty::json::Json;

use crate::package::shape::ResourceShape;
use crate::settings::NAME_PROPERTIES;
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
    Unknown(String),
    /// The name is nothing that can be one.
    #[error("the property `{0}` names the resource, so it must be text that is not empty")]
    NoText(String),
    /// What the setting names is not there.
    #[error("the property `{0}` names the resource, as {setting} says, so it must be set; or give the resource a `urnName`", setting = NAME_PROPERTIES.name)]
    Missing(String),
}

/// The name of the resource of a type with these inputs. `configured` are the properties that name the type's resources
/// where a program does not; none for most.
pub(super) fn resource_name(
    type_token: &str,
    inputs: &Struct,
    configured: &[String],
) -> Result<String, NameError> {
    for property in [URN_NAME, NAME] {
        if let Some(name) = text(inputs, property)? {
            return Ok(name.to_owned());
        }
    }
    if configured.is_empty() {
        return Ok(type_token.rsplit(':').next().unwrap_or(type_token).to_owned());
    }
    let parts: Result<Vec<&str>, NameError> = configured
        .iter()
        .map(|property| text(inputs, property)?.ok_or_else(|| NameError::Missing(property.clone())))
        .collect();
    Ok(parts?.join(":"))
}

/// What a property says that is to be part of a name. `None`: it is not there.
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

/// The properties without those that only name the resource.
pub(super) fn without_names(properties: Option<Struct>, shape: &ResourceShape) -> Struct {
    let mut properties = properties.unwrap_or_default();
    properties.remove(URN_NAME);
    if shape.object.pulumi(NAME).is_none() {
        properties.remove(NAME);
    }
    properties
}

/// The setting cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {name} cannot be used: {0}", name = NAME_PROPERTIES.name)]
pub(super) struct NamePropertiesError(String);

/// The properties that name resources where their programs do not, by Terraform's types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameProperties(Vec<(String, Vec<String>)>);

impl NameProperties {
    /// What the environment says.
    pub(super) fn read() -> Result<Self, NamePropertiesError> {
        NAME_PROPERTIES.read().map_or_else(|| Ok(Self::default()), |text| Self::parse(&text))
    }

    fn parse(text: &OsString) -> Result<Self, NamePropertiesError> {
        let json =
            Json::parse(text.as_encoded_bytes()).map_err(|error| NamePropertiesError(error.to_string()))?;
        let Json::Object(types) = json else {
            return Err(NamePropertiesError(
                "it must be a JSON object, with Terraform's types for names".to_owned(),
            ));
        };
        let read = types.into_iter().map(|(type_name, properties)| match property_names(properties) {
            Some(properties) => Ok((type_name, properties)),
            None => Err(NamePropertiesError(format!(
                "{type_name:?} must be the name of a property, or a list of names"
            ))),
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Whether nothing is set, so that nobody need know which type is meant.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of a type.
    pub(super) fn of(&self, terraform_type: &str) -> &[String] {
        let found = self.0.iter().find(|(type_name, _)| type_name == terraform_type);
        found.map_or(&[], |(_, properties)| properties)
    }
}

/// One name or several; `None` for anything else.
fn property_names(json: Json) -> Option<Vec<String>> {
    let name = |json| match json {
        Json::String(name) if !name.is_empty() => Some(name),
        _ => None,
    };
    match json {
        Json::Array(names) if !names.is_empty() => names.into_iter().map(name).collect(),
        one => Some(vec![name(one)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(properties: impl Into<Struct>) -> Result<String, NameError> {
        resource_name("random:index/pet:Pet", &properties.into(), &[])
    }

    #[test]
    fn a_resource_without_a_name_is_called_by_what_is_configured_for_its_type() {
        let setting =
            NameProperties::parse(&r#"{"random_pet": ["zone", "kind"], "local_file": "filename"}"#.into());
        let setting = setting.expect("a setting");
        assert_eq!(setting.of("local_file"), ["filename"]);
        assert_eq!(setting.of("random_id"), &[] as &[String]);
        let named = |properties: &[(&str, Value)]| {
            let bag: Struct =
                properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            resource_name("random:pet:Pet", &bag, setting.of("random_pet"))
        };
        let (zone, kind) = (("zone", Value::from("eu")), ("kind", Value::from("cat")));
        assert_eq!(named(&[zone.clone(), kind.clone()]), Ok("eu:cat".to_owned()));
        assert_eq!(named(&[zone.clone(), kind, ("urnName", "own".into())]), Ok("own".to_owned()));
        assert_eq!(named(std::slice::from_ref(&zone)), Err(NameError::Missing("kind".to_owned())));
        assert_eq!(
            named(&[zone.clone(), ("kind", Value::from(7.0))]),
            Err(NameError::NoText("kind".to_owned()))
        );
        let unknown = crate::translate::property::unknown();
        assert_eq!(named(&[zone, ("kind", unknown)]), Err(NameError::Unknown("kind".to_owned())));
    }

    #[test]
    fn a_setting_that_names_no_properties_is_refused_with_the_reason() {
        for (text, words) in [
            ("filename", "invalid JSON at byte 0"),
            ("[]", "must be a JSON object"),
            (r#"{"local_file": 7}"#, "\"local_file\" must be the name of a property"),
            (r#"{"local_file": []}"#, "\"local_file\""),
            (r#"{"local_file": ["a", ""]}"#, "\"local_file\""),
        ] {
            let error = NameProperties::parse(&text.into()).expect_err(text).to_string();
            assert!(error.contains(words) && error.contains("ISTHMUS_NAME_PROPERTIES"), "{text}: {error}");
        }
        assert_eq!(NameProperties::parse(&"{}".into()), Ok(NameProperties::default()));
    }

    #[test]
    fn a_resource_is_called_by_its_urn_name_its_name_or_its_type() {
        assert_eq!(named([("urnName", Value::from("a")), ("name", "b".into())]), Ok("a".to_owned()));
        assert_eq!(named([("urnName", Value::Null), ("name", "b".into())]), Ok("b".to_owned()));
        assert_eq!(named([("length", Value::from(2.0))]), Ok("Pet".to_owned()));
        assert_eq!(resource_name("random:pet:Pet", &Struct::new(), &[]), Ok("Pet".to_owned()));
    }

    #[test]
    fn what_cannot_name_a_resource_is_refused_and_not_passed_over() {
        assert_eq!(named([("name", Value::from(7.0))]), Err(NameError::NoText("name".to_owned())));
        assert_eq!(
            named([("urnName", Value::from("")), ("name", "b".into())]),
            Err(NameError::NoText("urnName".to_owned()))
        );
        let unknown = crate::translate::property::unknown();
        assert_eq!(named([("name", unknown)]), Err(NameError::Unknown("name".to_owned())));
    }
}
