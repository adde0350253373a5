//! The files that describe a resource: its inputs, the configuration of its provider, and its existing object.

use std::path::{Path, PathBuf};

use isthmus_proto::property::{Struct, Value as Property};
use serde_json::Value as Json;

use super::error::InspectError;
use crate::cli::state::read_file;
use isthmus_migrate::property_json::{ExportedValueError, bag_from_json};
use isthmus_translate::property::secret;

/// How a program in YAML marks a secret.
const SECRET_FUNCTION: &str = "fn::secret";

/// An existing object as an engine has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Prior {
    pub(super) inputs: Struct,
    pub(super) outputs: Struct,
    /// Whether these are properties alone: they are by the current schema, and nothing says so.
    pub(super) is_bare: bool,
}

/// A file with existing objects.
#[derive(Debug)]
pub(super) struct PriorFile {
    file: PathBuf,
    json: Json,
}

pub(super) fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads a property bag.
pub(super) fn read_bag(file: &Path) -> Result<Struct, InspectError> {
    bag(file, &read(file)?)
}

fn read(file: &Path) -> Result<Json, InspectError> {
    let bytes = read_file(file)?;
    let json: Json = serde_json::from_slice(&bytes)
        .map_err(|source| InspectError::Syntax { file: file.to_owned(), source })?;
    if json.is_object() { Ok(json) } else { Err(InspectError::NotAnObject(file.to_owned())) }
}

fn bag(file: &Path, json: &Json) -> Result<Struct, InspectError> {
    let mut bag = bag_from_json(json).map_err(|source| match source {
        ExportedValueError::Encrypted => InspectError::Encrypted(file.to_owned()),
        source => InspectError::Value { file: file.to_owned(), source },
    })?;
    let misplaced = || InspectError::MisplacedSecret(file.to_owned());
    if bag.get(SECRET_FUNCTION).is_some() {
        return Err(misplaced());
    }
    bag.iter_mut().try_for_each(|(_, value)| mark_secrets(value)).map_err(|Misplaced| misplaced())?;
    Ok(bag)
}

/// A call of `fn::secret` that is no value of its own.
struct Misplaced;

/// Replaces calls of `fn::secret` by secrets. The depth is bounded by that of JSON.
fn mark_secrets(value: &mut Property) -> Result<(), Misplaced> {
    match value {
        Property::List(elements) => elements.iter_mut().try_for_each(mark_secrets),
        Property::Struct(bag) => {
            bag.iter_mut().try_for_each(|(_, value)| mark_secrets(value))?;
            match bag.remove(SECRET_FUNCTION) {
                None => Ok(()),
                Some(_) if !bag.is_empty() => Err(Misplaced),
                Some(inner) => {
                    *value = secret(inner);
                    Ok(())
                }
            }
        }
        Property::Null | Property::Bool(_) | Property::Number(_) | Property::String(_) => Ok(()),
    }
}

impl PriorFile {
    pub(super) fn read(file: &Path) -> Result<Self, InspectError> {
        Ok(Self { file: file.to_owned(), json: read(file)? })
    }

    /// The object of this type: of a stack export the only one, or that of a URN.
    pub(super) fn find(&self, token: &str, urn: Option<&str>) -> Result<Prior, InspectError> {
        let Some(resources) = self.json.pointer("/deployment/resources") else {
            return if self.json.get("outputs").is_some_and(Json::is_object) {
                self.resource(&self.json)
            } else {
                Ok(Prior { inputs: Struct::new(), outputs: bag(&self.file, &self.json)?, is_bare: true })
            };
        };
        let is_meant = |resource: &&Json| {
            resource["type"] == token
                && resource["delete"] != true
                && urn.is_none_or(|urn| resource["urn"] == urn)
        };
        let resources: Vec<&Json> = resources.as_array().into_iter().flatten().filter(is_meant).collect();
        match (resources.as_slice(), urn) {
            ([only], _) => self.resource(only),
            ([], None) => Err(InspectError::NoResource { file: self.file.clone(), token: token.to_owned() }),
            ([], Some(urn)) => Err(InspectError::NoUrn {
                file: self.file.clone(),
                urn: urn.to_owned(),
                token: token.to_owned(),
            }),
            (several, _) => {
                let urns = several.iter().filter_map(|resource| resource["urn"].as_str());
                let urns = urns.map(str::to_owned).collect();
                Err(InspectError::Ambiguous { file: self.file.clone(), token: token.to_owned(), urns })
            }
        }
    }

    fn resource(&self, resource: &Json) -> Result<Prior, InspectError> {
        let bag = |member: &str| bag(&self.file, &resource[member]);
        Ok(Prior { inputs: bag("inputs")?, outputs: bag("outputs")?, is_bare: false })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prior(json: Json, urn: Option<&str>) -> Result<Prior, String> {
        let file = PriorFile { file: PathBuf::from("stack.json"), json };
        file.find("random:index/pet:Pet", urn).map_err(|error| error.to_string())
    }

    fn pet(urn: &str, length: u8) -> Json {
        json!({ "urn": urn, "type": "random:index/pet:Pet", "inputs": {}, "outputs": { "length": length } })
    }

    fn export(resources: &[Json]) -> Json {
        json!({ "version": 3, "deployment": { "resources": resources } })
    }

    fn length(prior: &Prior) -> Option<&Property> {
        prior.outputs.get("length")
    }

    #[test]
    fn an_object_is_found_in_each_form() {
        let two = Property::Number(2.0);
        for json in [json!({ "length": 2 }), pet("a", 2), export(&[pet("a", 2)])] {
            assert_eq!(length(&prior(json.clone(), None).expect("found")), Some(&two), "{json}");
        }
        let several = export(&[pet("a", 1), pet("b", 2)]);
        assert_eq!(length(&prior(several.clone(), Some("b")).expect("found")), Some(&two));
        let error = prior(several, None).expect_err("ambiguous");
        assert_eq!(
            error,
            "stack.json has several resources of type random:index/pet:Pet\nhelp: choose one with --urn: a, b"
        );
        let error = prior(export(&[]), None).expect_err("none");
        assert_eq!(error, "stack.json has no resource of type random:index/pet:Pet");
    }

    #[test]
    fn secrets_are_marked_as_in_a_program_and_as_in_an_export() {
        let sealed = json!({ "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": "\"p\"" });
        let read = bag(Path::new("x"), &json!({ "a": [{ "fn::secret": "p" }], "b": sealed })).expect("a bag");
        let secret = secret(Property::from("p"));
        assert_eq!(read, Struct::from([("a", Property::List(vec![secret.clone()])), ("b", secret)]));
    }
}
