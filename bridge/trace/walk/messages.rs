//! Messages, walked by their descriptors, with values and stored states decoded by their schemas.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{Type, decode_dynamic, msgpack};
use isthmus_proto::DESCRIPTOR_SET;
use isthmus_proto::property::Struct;
use isthmus_provider::Rpc;
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::schema::{Catalogue, Schema};
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, ReflectMessage as _, Value,
};

use super::{SecretPaths, Traced, ValueWalk};

/// Bytes of a provider that hold no value of a user: types of attributes and parameters.
const TYPE: &str = "type";

/// The same of an engine: the parameter of a package, and the seed of generated names.
const OPEN_BYTES: [&str; 2] = ["value", "randomSeed"];

/// Texts that are secret: settings of the engine's project, in which nothing is marked.
const SETTINGS: [&str; 2] = ["variables", "config"];

/// State from before Terraform 0.12, whose texts are values.
const FLATMAP: &str = "flatmap";

/// The messages of a method.
#[derive(Clone, Debug)]
pub struct Method {
    pub request: MessageDescriptor,
    pub response: MessageDescriptor,
}

/// The methods of all services by path, such as `/tfplugin6.Provider/ReadResource`.
pub static METHODS: LazyLock<HashMap<String, Method>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DESCRIPTOR_SET).expect("the contracts were compiled to this");
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let methods = methods.map(|method| {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        (path, Method { request: method.input(), response: method.output() })
    });
    methods.collect()
});

/// The name of an engine's method in its contract, by its name in code: `CheckConfig` of `check_config`.
pub fn rpc_name(method: &str) -> String {
    let words = method.split('_').filter_map(|word| word.split_at_checked(1));
    words.map(|(first, rest)| first.to_ascii_uppercase() + rest).collect()
}

/// Decodes a message.
pub(crate) fn decode(message: &MessageDescriptor, bytes: &[u8]) -> Option<DynamicMessage> {
    DynamicMessage::decode(message.clone(), bytes).ok()
}

/// A message in which values are withheld, because no schema is at hand.
pub fn without_values(message: Option<&MessageDescriptor>, bytes: &[u8]) -> Traced {
    let walk = MessageWalk {
        subject: Subject::Unknown,
        paths: &SecretPaths::none(),
        is_unmarked: true,
        are_states_marked: true,
    };
    walk.encoded(message, bytes)
}

/// The resource type, or the like, that a request is about.
pub(crate) fn type_name(request: &DynamicMessage) -> Option<String> {
    let fields = ["type_name", "target_type_name"].into_iter();
    fields
        .filter_map(|name| request.get_field_by_name(name))
        .find_map(|value| value.as_str().map(str::to_owned))
}

/// Bytes of a message.
pub(crate) fn bytes_of(message: &DynamicMessage, field: &str) -> Bytes {
    let value = message.get_field_by_name(field);
    value.and_then(|value| value.as_bytes().cloned()).unwrap_or_default()
}

/// The schemas that values are decoded by.
#[derive(Clone, Copy, Debug)]
pub struct Schemas<'a>(pub &'a Catalogue);

impl Schemas<'_> {
    /// The schema of a value in a message, by the method and the type that it is about; `None` if the value must be
    /// withheld.
    pub(crate) fn of(self, method: &str, field: &str, type_name: &str) -> Option<Arc<Schema>> {
        let catalogue = self.0;
        if field == "provider_meta" {
            return catalogue.provider_meta();
        }
        match rpc_of(method)? {
            Rpc::ConfigureProvider | Rpc::ValidateProviderConfig => catalogue.provider().ok(),
            Rpc::ReadDataSource | Rpc::ValidateDataResourceConfig => catalogue.data_source(type_name).ok(),
            Rpc::ApplyResourceChange
            | Rpc::GenerateResourceConfig
            | Rpc::ImportResourceState
            | Rpc::MoveResourceState
            | Rpc::PlanResourceChange
            | Rpc::ReadResource
            | Rpc::UpgradeResourceState
            | Rpc::ValidateResourceConfig => catalogue.resource(type_name).ok(),
            // Their values are withheld.
            Rpc::CallFunction
            | Rpc::CloseEphemeralResource
            | Rpc::GetProviderSchema
            | Rpc::GetResourceIdentitySchemas
            | Rpc::InvokeAction
            | Rpc::ListResource
            | Rpc::OpenEphemeralResource
            | Rpc::PlanAction
            | Rpc::RenewEphemeralResource
            | Rpc::StopProvider
            | Rpc::UpgradeResourceIdentity
            | Rpc::ValidateActionConfig
            | Rpc::ValidateEphemeralResourceConfig
            | Rpc::ValidateListResourceConfig => None,
        }
    }
}

/// A provider's method, by its name in either protocol.
pub(crate) fn rpc_of(method: &str) -> Option<Rpc> {
    let versions = [ProtocolVersion::V6, ProtocolVersion::V5];
    let is_named = |rpc: &&Rpc| versions.iter().any(|version| rpc.name(*version) == method);
    Rpc::ALL.iter().find(is_named).copied()
}

/// Whose message it is, and what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    Engine,
    Provider {
        method: &'a str,
        type_name: &'a str,
        schemas: Schemas<'a>,
    },
    /// A message of a provider without schemas.
    Unknown,
}

/// Walks messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageWalk<'a> {
    pub(crate) subject: Subject<'a>,
    /// To what the program has marked.
    pub(crate) paths: &'a SecretPaths,
    /// Whether all values may be secret: those of a provider's configuration before its marks are known.
    pub(crate) is_unmarked: bool,
    /// Whether secrets in stored states are marked by paths, and where their schema is older too. The marks of a request are
    /// those of what a state goes to.
    pub(crate) are_states_marked: bool,
}

impl MessageWalk<'_> {
    /// A message that is encoded; what cannot be decoded is withheld.
    pub(crate) fn encoded(self, message: Option<&MessageDescriptor>, bytes: &[u8]) -> Traced {
        let decoded = message.and_then(|message| decode(message, bytes));
        decoded.map_or(Traced::Withheld(bytes.len()), |message| self.message(&message))
    }

    pub(crate) fn message(self, message: &DynamicMessage) -> Traced {
        let fields = message.fields();
        Traced::Object(
            fields.map(|(field, value)| (field.name().to_owned(), self.field(&field, value))).collect(),
        )
    }

    fn field(self, field: &FieldDescriptor, value: &Value) -> Traced {
        match value {
            Value::List(elements) => {
                Traced::List(elements.iter().map(|element| self.field(field, element)).collect())
            }
            Value::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let traced = match value {
                        Value::String(text) if field.name() == FLATMAP => Traced::Withheld(text.len()),
                        Value::String(text) if SETTINGS.contains(&field.name()) => {
                            Traced::Secret(Box::new(Traced::Text(text.clone())))
                        }
                        value => self.field(field, value),
                    };
                    (key_text(key), traced)
                });
                let mut entries: Vec<_> = entries.collect();
                // Protobuf's maps have no order.
                entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                Traced::Entries(entries)
            }
            Value::Message(message) => match (message.descriptor().name(), self.subject) {
                ("Struct", Subject::Engine) => self.bag(message),
                ("DynamicValue", Subject::Provider { method, type_name, schemas }) => {
                    let schema = || schemas.of(method, field.name(), type_name);
                    self.dynamic_value(field.name(), message, schema)
                }
                ("RawState", Subject::Provider { method, type_name, schemas }) => {
                    self.raw_state(message, schemas.of(method, field.name(), type_name))
                }
                ("AttributePath", _) => Traced::Path(Box::new(self.message(message))),
                _ => self.message(message),
            },
            Value::EnumNumber(number) => {
                let kind = field.kind();
                let name = kind.as_enum().and_then(|kind| Some(kind.get_value(*number)?.name().to_owned()));
                Traced::Enum(name, *number)
            }
            Value::Bytes(bytes) if field.name().contains("private") => Traced::Private(bytes.clone()),
            Value::Bytes(bytes) if self.are_open(field.name()) => Traced::Open(bytes.clone()),
            Value::Bytes(bytes) => Traced::Withheld(bytes.len()),
            Value::String(text) => Traced::Text(text.clone()),
            Value::Bool(value) => Traced::Bool(*value),
            Value::I32(number) => Traced::Number(number.to_string()),
            Value::I64(number) => Traced::Number(number.to_string()),
            Value::U32(number) => Traced::Number(number.to_string()),
            Value::U64(number) => Traced::Number(number.to_string()),
            Value::F32(number) => Traced::Number(number.to_string()),
            Value::F64(number) => Traced::Number(number.to_string()),
        }
    }

    fn are_open(self, field: &str) -> bool {
        match self.subject {
            Subject::Engine => OPEN_BYTES.contains(&field),
            Subject::Provider { .. } | Subject::Unknown => field == TYPE,
        }
    }

    fn bag(self, message: &DynamicMessage) -> Traced {
        let encoded = message.encode_to_vec();
        Struct::decode(encoded.as_slice()).map_or(Traced::Withheld(encoded.len()), Traced::Bag)
    }

    fn dynamic_value(
        self,
        field: &str,
        message: &DynamicMessage,
        schema: impl FnOnce() -> Option<Arc<Schema>>,
    ) -> Traced {
        let [msgpack, json] = ["msgpack", "json"].map(|name| bytes_of(message, name));
        let withheld = Traced::Withheld(msgpack.len() + json.len());
        let walk = ValueWalk::new(self.paths);
        if field == "identity_data" {
            // Terraform shows identities, and they have no sensitive attributes.
            let Ok(value) = msgpack::decode_untyped(&msgpack) else { return withheld };
            return Traced::Identity(Box::new(walk.plain(&value, &Type::Dynamic)), msgpack);
        }
        let Some(schema) = schema() else { return withheld };
        // The operation reports why a value cannot be decoded.
        let Ok(value) = decode_dynamic(&msgpack, &json, &schema.block.implied_type) else { return withheld };
        Traced::Value(Box::new(if self.is_unmarked {
            walk.secret(&value, &schema.block.implied_type)
        } else {
            walk.value(&value, &schema.block)
        }))
    }

    fn raw_state(self, message: &DynamicMessage, schema: Option<Arc<Schema>>) -> Traced {
        let json = bytes_of(message, "json");
        let Some((stored, schema)) = Json::parse(&json).ok().zip(schema) else {
            return Traced::Withheld(json.len());
        };
        let none = SecretPaths::none();
        let walk = ValueWalk::new(if self.are_states_marked { self.paths } else { &none });
        Traced::State(Box::new(walk.state(&stored, &schema.block, self.are_states_marked)))
    }
}

/// A key of a protobuf map.
fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::String(key) => key.clone(),
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use isthmus_package::testing::{attribute, package_with, schema};
    use isthmus_proto::tfplugin6::{DynamicValue, RawState};

    use super::*;

    #[test]
    fn values_and_states_of_an_unknown_method_are_withheld() {
        let known = schema(vec![attribute("size", r#""number""#)], vec![]);
        let package = package_with(schema(vec![], vec![]), vec![("test_thing", known)], vec![], vec![]);
        let value = DynamicValue { msgpack: b"\x81\xa4size\x01".to_vec().into(), ..DynamicValue::default() };
        let state = RawState { json: br#"{"size":1}"#.to_vec().into(), ..RawState::default() };
        let is_withheld = |method: &str, message: &str, field: &str, encoded: Vec<u8>| {
            let message = &METHODS[&format!("/tfplugin6.Provider/{message}")].request;
            let mut request = DynamicMessage::new(message.clone());
            let own = message.get_field_by_name(field).expect(field);
            let own = own.kind().as_message().cloned().expect("a message");
            let part = decode(&own, &encoded).expect("a message of that field");
            request.set_field_by_name(field, Value::Message(part));
            let schemas = Schemas(package.catalogue());
            let subject = Subject::Provider { method, type_name: "test_thing", schemas };
            let paths = &SecretPaths::none();
            let walk = MessageWalk { subject, paths, is_unmarked: false, are_states_marked: true };
            let Traced::Object(fields) = walk.message(&request) else { panic!("a message has fields") };
            matches!(fields[..], [(_, Traced::Withheld(_))])
        };
        for method in ["ReadResource", "AMethodOfTomorrow", "CallFunction", "ListResource"] {
            let is_known = method == "ReadResource";
            assert_eq!(
                is_withheld(method, "ReadResource", "current_state", value.encode_to_vec()),
                !is_known
            );
            assert_eq!(
                is_withheld(method, "UpgradeResourceState", "raw_state", state.encode_to_vec()),
                !is_known
            );
        }
    }
}
