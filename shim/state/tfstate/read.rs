//! Parsing of a state file. Every error has its position.

use std::collections::{BTreeMap, HashSet};

use base64::Engine as _;
use bytes::Bytes;
use isthmus_cty::StoredIdentity;
use isthmus_cty::json::Json;

use super::{Attributes, Instance, TfState, TfStateError, TfStateFault, paths};
use crate::addresses::{
    DeposedKey, InstanceKey, ObjectAddress, ProviderConfigAddress, ResourceAddress, ResourceMode,
    parse_modules,
};
use crate::saved::Status;

/// The only supported version.
pub(super) const VERSION: u64 = 4;

type Read<T> = Result<T, TfStateError>;

impl TfState {
    /// Parses a file.
    ///
    /// # Errors
    /// When it is no state of version 4.
    pub fn parse(bytes: &[u8]) -> Result<Self, TfStateError> {
        let document = Json::parse(bytes).map_err(TfStateFault::Syntax)?;
        let mut file = Members::of(document, "the object of a state")?;
        if file.take("encrypted_data").is_some() {
            return Err(TfStateFault::Encrypted.into());
        }
        match file.number("version")? {
            Some(VERSION) => {}
            Some(version @ 1..VERSION) => return Err(TfStateFault::Old(version).into()),
            Some(version) if version > VERSION => return Err(TfStateFault::New(version).into()),
            Some(_) | None => {
                return Err(TfStateFault::Expected("a state, which has a \"version\" of 4").into());
            }
        }
        let mut instances = Vec::new();
        let mut seen = HashSet::new();
        for (index, resource) in file.array("resources")?.into_iter().enumerate() {
            let place = format!("resources[{index}]");
            read_resource(resource, &mut instances, &mut seen).map_err(|error| error.inside(&place))?;
        }
        let outputs = match file.take("outputs") {
            None | Some(Json::Null) => Json::Object(Vec::new()),
            Some(outputs @ Json::Object(_)) => outputs,
            Some(_) => return Err(expected("an object").inside("outputs")),
        };
        Ok(Self {
            terraform_version: file.string("terraform_version")?.unwrap_or_default(),
            serial: file.number("serial")?.unwrap_or_default(),
            lineage: file.string("lineage")?.unwrap_or_default(),
            outputs,
            instances,
            check_results: file.take("check_results").unwrap_or(Json::Null),
        })
    }
}

fn read_resource(resource: Json, out: &mut Vec<Instance>, seen: &mut HashSet<ObjectAddress>) -> Read<()> {
    let mut resource = Members::of(resource, "an object")?;
    let module = match resource.string("module")?.filter(|module| !module.is_empty()) {
        None => Vec::new(),
        Some(module) => parse_modules(&module)
            .map_err(|error| TfStateError::from(TfStateFault::Address(error)).inside("module"))?,
    };
    let mode = match resource.string("mode")?.as_deref() {
        Some("managed") => ResourceMode::Managed,
        Some("data") => ResourceMode::Data,
        _ => return Err(expected("\"managed\" or \"data\"").inside("mode")),
    };
    let address =
        ResourceAddress { module, mode, type_name: resource.name("type")?, name: resource.name("name")? };
    let provider = resource.provider()?;
    for (index, instance) in resource.array("instances")?.into_iter().enumerate() {
        let place = format!("instances[{index}]");
        let instance = read_instance(instance, address.clone(), provider.as_deref())
            .map_err(|error| error.inside(&place))?;
        if !seen.insert(instance.address.clone()) {
            return Err(TfStateError::from(TfStateFault::Twice(instance.address.to_string())).inside(&place));
        }
        out.push(instance);
    }
    Ok(())
}

fn read_instance(instance: Json, resource: ResourceAddress, provider: Option<&str>) -> Read<Instance> {
    let mut instance = Members::of(instance, "an object")?;
    let deposed = match instance.string("deposed")?.filter(|key| !key.is_empty()) {
        None => None,
        Some(key) => match DeposedKey::parse(&key) {
            Some(key) => Some(key),
            None => return Err(TfStateError::from(TfStateFault::Deposed(key)).inside("deposed")),
        },
    };
    let address = ObjectAddress { resource, key: instance.index_key()?, deposed };
    let status = match instance.string("status")?.as_deref() {
        None | Some("") => Status::Ready,
        Some("tainted") => Status::Damaged,
        Some(other) => {
            return Err(TfStateError::from(TfStateFault::Status(other.to_owned())).inside("status"));
        }
    };
    let provider = match (instance.provider()?, provider) {
        (Some(own), _) => own,
        (None, Some(common)) => common.to_owned(),
        (None, None) => return Err(expected("the address of a provider").inside("provider")),
    };
    let sensitive = instance.take("sensitive_attributes").unwrap_or(Json::Null);
    Ok(Instance {
        address,
        attributes: instance.attributes()?,
        schema_version: instance.version("schema_version")?.unwrap_or_default(),
        private: instance.private()?,
        identity: instance.identity()?,
        status,
        sensitive_paths: paths::read(sensitive).map_err(|error| error.inside("sensitive_attributes"))?,
        dependencies: instance.dependencies()?,
        create_before_destroy: instance.flag("create_before_destroy")?,
        skip_destroy: instance.flag("skip_destroy")?,
        provider,
    })
}

fn expected(what: &'static str) -> TfStateError {
    TfStateFault::Expected(what).into()
}

/// The members of an object, each taken once. Which of two members with the same name counts is not
/// guessed: no program writes such a state.
struct Members(Vec<(String, Json)>);

impl Members {
    fn of(json: Json, what: &'static str) -> Read<Self> {
        match json {
            Json::Object(members) => {
                let mut names = HashSet::with_capacity(members.len());
                match members.iter().find(|(name, _)| !names.insert(name.as_str())) {
                    Some((name, _)) => Err(TfStateFault::Repeated(name.clone()).into()),
                    None => Ok(Self(members)),
                }
            }
            _ => Err(expected(what)),
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        let last = self.0.iter().rposition(|(member, _)| member == name)?;
        Some(self.0.swap_remove(last).1)
    }

    fn string(&mut self, name: &str) -> Read<Option<String>> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(expected("a string").inside(name)),
        }
    }

    fn number(&mut self, name: &str) -> Read<Option<u64>> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Number(text)) => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(TfStateError::from(TfStateFault::Number(text)).inside(name)),
            },
            Some(_) => Err(expected("a number").inside(name)),
        }
    }

    /// A schema version.
    fn version(&mut self, name: &str) -> Read<Option<i64>> {
        let Some(number) = self.number(name)? else { return Ok(None) };
        let too_large = |_| TfStateError::from(TfStateFault::Number(number.to_string())).inside(name);
        i64::try_from(number).map(Some).map_err(too_large)
    }

    fn flag(&mut self, name: &str) -> Read<bool> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(false),
            Some(Json::Bool(flag)) => Ok(flag),
            Some(_) => Err(expected("true or false").inside(name)),
        }
    }

    fn array(&mut self, name: &str) -> Read<Vec<Json>> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Array(elements)) => Ok(elements),
            Some(_) => Err(expected("an array").inside(name)),
        }
    }

    fn name(&mut self, name: &str) -> Read<String> {
        match self.string(name)? {
            Some(text) if ResourceAddress::is_name(&text) => Ok(text),
            Some(text) => Err(TfStateError::from(TfStateFault::Name(text)).inside(name)),
            None => Err(expected("a name").inside(name)),
        }
    }

    fn provider(&mut self) -> Read<Option<String>> {
        let Some(text) = self.string("provider")?.filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse::<ProviderConfigAddress>() {
            Ok(_) => Ok(Some(text)),
            Err(error) => Err(TfStateError::from(TfStateFault::Address(error)).inside("provider")),
        }
    }

    fn index_key(&mut self) -> Read<Option<InstanceKey>> {
        match self.take("index_key") {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(InstanceKey::Text(text))),
            Some(Json::Number(text)) => match text.parse() {
                Ok(number) => Ok(Some(InstanceKey::Number(number))),
                Err(_) => Err(TfStateError::from(TfStateFault::Number(text)).inside("index_key")),
            },
            Some(_) => Err(expected("a number or a string").inside("index_key")),
        }
    }

    fn attributes(&mut self) -> Read<Attributes> {
        match (self.take("attributes"), self.take("attributes_flat")) {
            (Some(attributes @ Json::Object(_)), _) => Ok(Attributes::Json(attributes)),
            (None | Some(Json::Null), Some(Json::Object(members))) => {
                let mut flat = BTreeMap::new();
                for (name, value) in members {
                    let Json::String(text) = value else {
                        return Err(expected("a string").inside(&name).inside("attributes_flat"));
                    };
                    flat.insert(name, text);
                }
                Ok(Attributes::Flat(flat))
            }
            (None | Some(Json::Null), None | Some(Json::Null)) => {
                // Terraform reads missing attributes as an empty object.
                Ok(Attributes::Json(Json::Object(Vec::new())))
            }
            (None | Some(Json::Null), Some(_)) => {
                Err(expected("an object of strings").inside("attributes_flat"))
            }
            (Some(_), _) => Err(expected("an object").inside("attributes")),
        }
    }

    fn private(&mut self) -> Read<Bytes> {
        let Some(text) = self.string("private")? else { return Ok(Bytes::new()) };
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|_| TfStateError::from(TfStateFault::Base64).inside("private"))?;
        Ok(Bytes::from(bytes))
    }

    fn identity(&mut self) -> Read<Option<StoredIdentity>> {
        let schema_version = self.version("identity_schema_version")?.unwrap_or_default();
        match self.take("identity") {
            None | Some(Json::Null) => Ok(None),
            Some(json @ Json::Object(_)) => Ok(Some(StoredIdentity { schema_version, json })),
            Some(_) => Err(expected("an object").inside("identity")),
        }
    }

    fn dependencies(&mut self) -> Read<Vec<String>> {
        let read_one = |(index, dependency)| match dependency {
            Json::String(text) => match text.parse::<ObjectAddress>() {
                Ok(_) => Ok(text),
                Err(error) => {
                    Err(TfStateError::from(TfStateFault::Address(error)).inside(&format!("[{index}]")))
                }
            },
            _ => Err(expected("a string").inside(&format!("[{index}]"))),
        };
        let dependencies = self.array("dependencies")?.into_iter().enumerate();
        dependencies.map(read_one).collect::<Read<_>>().map_err(|error| error.inside("dependencies"))
    }
}
