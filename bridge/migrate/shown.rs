//! The output of `tofu show -json` (or `terraform show -json`) as a state.
//!
//! It has the values of all resources, but neither private data nor the aliases of providers.

use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep, StoredIdentity, Type};
use isthmus_state::tfstate::{Attributes, Instance, TfState};
use isthmus_state::{AddressSyntaxError, DeposedKey, ObjectAddress, ProviderConfigAddress, Status};

/// The output of `tofu show -json` is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ShownError {
    #[error("{place}: {what} is expected")]
    Expected { place: String, what: &'static str },
    #[error("an address cannot be read")]
    Address(#[from] AddressSyntaxError),
}

/// Whether a document is this output rather than a state.
pub fn is_shown(document: &Json) -> bool {
    document.member("format_version").is_some() && document.member("version").is_none()
}

/// Reads it.
///
/// # Errors
/// If it is of a plan, or invalid.
pub fn state_of_shown(document: &Json) -> Result<TfState, ShownError> {
    let mut state = TfState::new("");
    if document.member("planned_values").is_some() {
        let what = "the output for a state, not for a plan";
        return Err(ShownError::Expected { place: "planned_values".to_owned(), what });
    }
    let Some(values) = document.member("values") else { return Ok(state) };
    if let Some(outputs @ Json::Object(_)) = values.member("outputs") {
        state.outputs = outputs.clone();
    }
    if let Some(root) = values.member("root_module") {
        read_module(root, &mut state.instances)?;
    }
    Ok(state)
}

fn read_module(module: &Json, out: &mut Vec<Instance>) -> Result<(), ShownError> {
    // Documents are nested at most as deeply as the parser allows.
    for resource in array(module, "resources") {
        out.push(instance(resource)?);
    }
    array(module, "child_modules").iter().try_for_each(|child| read_module(child, out))
}

fn instance(resource: &Json) -> Result<Instance, ShownError> {
    let text = string(resource, "address")?;
    let expected = |member: &str, what| ShownError::Expected { place: format!("{text}.{member}"), what };
    let mut address: ObjectAddress = text.parse()?;
    address.deposed = match resource.member("deposed_key") {
        None | Some(Json::Null) => None,
        Some(Json::String(key)) => Some(
            DeposedKey::parse(key).ok_or_else(|| expected("deposed_key", "the key of a deposed object"))?,
        ),
        Some(_) => return Err(expected("deposed_key", "a string")),
    };
    let provider = ProviderConfigAddress::new(string(resource, "provider_name")?).to_string();
    let mut sensitive_paths = Vec::new();
    if let Some(marks) = resource.member("sensitive_values") {
        marked(marks, &mut Vec::new(), &mut sensitive_paths);
    }
    let identity = match resource.member("identity") {
        Some(json @ Json::Object(_)) => Some(StoredIdentity {
            schema_version: integer(resource, "identity_schema_version"),
            json: json.clone(),
        }),
        _ => None,
    };
    let dependencies = array(resource, "depends_on").iter().filter_map(|name| match name {
        Json::String(name) => Some(name.clone()),
        _ => None,
    });
    Ok(Instance {
        address,
        attributes: Attributes::Json(
            resource.member("values").cloned().unwrap_or_else(|| Json::Object(Vec::new())),
        ),
        schema_version: integer(resource, "schema_version"),
        private: bytes::Bytes::new(),
        identity,
        status: if resource.member("tainted") == Some(&Json::Bool(true)) {
            Status::Damaged
        } else {
            Status::Ready
        },
        sensitive_paths,
        dependencies: dependencies.collect(),
        create_before_destroy: false,
        skip_destroy: false,
        provider,
    })
}

/// Collects the paths of `true` in a document of the form of a value.
fn marked(marks: &Json, path: &mut Vec<PathStep>, out: &mut Vec<AttributePath>) {
    match marks {
        Json::Bool(true) => out.push(AttributePath(path.clone())),
        Json::Object(members) => {
            for (name, inner) in members {
                path.push(PathStep::attribute(name.as_str()));
                marked(inner, path, out);
                path.pop();
            }
        }
        // Elements of a list and of a set look alike here, so all of it is sensitive.
        Json::Array(elements) if elements.iter().any(has_mark) => out.push(AttributePath(path.clone())),
        _ => {}
    }
}

fn has_mark(marks: &Json) -> bool {
    match marks {
        Json::Bool(mark) => *mark,
        Json::Object(members) => members.iter().any(|(_, inner)| has_mark(inner)),
        Json::Array(elements) => elements.iter().any(has_mark),
        _ => false,
    }
}

fn array<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    match json.member(name) {
        Some(Json::Array(elements)) => elements,
        _ => &[],
    }
}

fn string(json: &Json, name: &'static str) -> Result<String, ShownError> {
    match json.member(name) {
        Some(Json::String(text)) => Ok(text.clone()),
        _ => Err(ShownError::Expected { place: name.to_owned(), what: "a string" }),
    }
}

fn integer(json: &Json, name: &str) -> i64 {
    match json.member(name) {
        Some(Json::Number(text)) => text.parse().unwrap_or_default(),
        _ => 0,
    }
}

/// The value as in a state, which has `{"value": …, "type": …}` in place of a value of a dynamic type, of which this output has
/// the value alone. The type is that of an expression that has the value: a list is a tuple, a map an object.
pub fn with_types(json: &Json, value_type: &Type) -> Json {
    match (value_type, json) {
        (_, Json::Null) => Json::Null,
        (Type::Dynamic, _) => {
            Json::Object(vec![("value".to_owned(), json.clone()), ("type".to_owned(), type_of(json))])
        }
        (Type::List(element) | Type::Set(element), Json::Array(elements)) => {
            Json::Array(elements.iter().map(|json| with_types(json, element)).collect())
        }
        (Type::Tuple(types), Json::Array(elements)) if types.len() == elements.len() => {
            Json::Array(elements.iter().zip(types.iter()).map(|(json, own)| with_types(json, own)).collect())
        }
        (Type::Map(element), Json::Object(members)) => {
            Json::Object(members.iter().map(|(key, json)| (key.clone(), with_types(json, element))).collect())
        }
        (Type::Object(object), Json::Object(members)) => {
            let member = |(name, json): &(String, Json)| {
                let own = object.attributes.get(&**name);
                (name.clone(), own.map_or_else(|| json.clone(), |own| with_types(json, own)))
            };
            Json::Object(members.iter().map(member).collect())
        }
        _ => json.clone(),
    }
}

fn type_of(json: &Json) -> Json {
    let name = |name: &str| Json::String(name.to_owned());
    match json {
        Json::Null => name("dynamic"),
        Json::Bool(_) => name("bool"),
        Json::Number(_) => name("number"),
        Json::String(_) => name("string"),
        Json::Array(elements) => {
            Json::Array(vec![name("tuple"), Json::Array(elements.iter().map(type_of).collect())])
        }
        Json::Object(members) => {
            let members = members.iter().map(|(name, json)| (name.clone(), type_of(json)));
            Json::Array(vec![name("object"), Json::Object(members.collect())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modules_are_read_with_marks_and_identities() {
        let text = r#"{"format_version":"1.0","terraform_version":"1.12.6","values":{
            "outputs":{"o":{"sensitive":false,"value":"v","type":"string"}},
            "root_module":{
                "resources":[{"address":"random_password.p[0]","mode":"managed","type":"random_password","name":"p",
                    "index":0,"provider_name":"registry.opentofu.org/hashicorp/random","schema_version":3,
                    "values":{"result":"x","list":["a"],"map":{"k":"v"}},
                    "sensitive_values":{"result":true,"list":[true],"map":{"k":true}},
                    "depends_on":["random_pet.a"],"tainted":true,
                    "identity":{"id":"1"},"identity_schema_version":2}],
                "child_modules":[{"address":"module.m","resources":[
                    {"address":"module.m.data.local_file.f","mode":"data","type":"local_file","name":"f",
                     "provider_name":"registry.opentofu.org/hashicorp/local","schema_version":0,"values":{}}]}]}}}"#;
        let document = Json::parse(text.as_bytes()).expect("JSON");
        assert!(is_shown(&document));
        let state = state_of_shown(&document).expect("a state");
        let [password, file] = state.instances.as_slice() else { panic!("{:?}", state.instances) };
        assert_eq!(password.address.to_string(), "random_password.p[0]");
        assert_eq!((password.schema_version, password.status), (3, Status::Damaged));
        assert_eq!(password.provider, r#"provider["registry.opentofu.org/hashicorp/random"]"#);
        let paths: Vec<String> = password.sensitive_paths.iter().map(ToString::to_string).collect();
        assert_eq!(paths.len(), 3, "{paths:?}");
        assert_eq!(password.identity.as_ref().map(|identity| identity.schema_version), Some(2));
        assert_eq!(password.dependencies, ["random_pet.a"]);
        assert_eq!(file.address.to_string(), "module.m.data.local_file.f");
    }

    #[test]
    fn a_plan_is_refused_and_no_resources_are_an_empty_state() {
        let read = |text: &str| state_of_shown(&Json::parse(text.as_bytes()).expect("JSON"));
        assert!(read(r#"{"format_version":"1.2","planned_values":{},"values":{}}"#).is_err());
        assert_eq!(read(r#"{"format_version":"1.0"}"#).expect("a state").instances, []);
    }
}
