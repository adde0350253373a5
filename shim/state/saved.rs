//! Saved objects: their form in memory, and in the format of Terraform's stacks.
//!
//! A [`Saved`] is an object with the caller's own data, and an [`Envelope`] is its encoding before
//! encryption; the row of a database is a `SealedRecord` (`store`). Terraform's message has fields for
//! all parts of a managed resource's object except its identity and its address in a state; these are
//! stored beside it ([`Beside`]). Messages equal Terraform's byte for byte. They are read without a
//! schema: value and identity are JSON.

use bytes::Bytes;
use isthmus_cty::StoredIdentity;
use isthmus_cty::json::{Json, JsonSyntaxError};
use isthmus_cty::msgpack;
use isthmus_cty::{AttributePath, PathStep, Type, Value};
use isthmus_proto::tfplan::{self, path::step::Selector};
use isthmus_proto::tfstackdata1::{
    StateResourceInstanceObjectV1, state_resource_instance_object_v1::Status as WireStatus,
};

use super::addresses::{ComponentAddress, DeposedKey, ObjectAddress};

/// An object with its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedObject {
    /// The value, by the schema version.
    pub value: Json,
    /// Never negative.
    pub schema_version: i64,
    /// The provider's private data.
    pub private: Bytes,
    /// The resource identity.
    pub identity: Option<StoredIdentity>,
    /// Its status.
    pub status: Status,
    /// Sensitive paths beyond the schema's.
    pub sensitive_paths: Vec<AttributePath>,
    /// Addresses of dependencies.
    pub dependencies: Vec<String>,
    /// Whether a replacement is created before this object is destroyed.
    pub create_before_destroy: bool,
    /// The provider, as `provider["registry.terraform.io/hashicorp/random"]`.
    pub provider: String,
    /// The object's address in a Terraform state, if known.
    pub address: Option<ObjectAddress>,
    /// The component of a stack that the address is relative to.
    pub component: Option<ComponentAddress>,
}

/// The saved form of one resource.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The object.
    pub object: SavedObject,
    /// Opaque data of the caller.
    pub companion: Bytes,
}

/// A digest of the properties in a request.
pub type Sent = [u8; 32];

/// Parts of an object that its message has no fields for.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Beside {
    /// The identity, a JSON object.
    #[prost(bytes = "bytes", optional, tag = "1")]
    identity: Option<Bytes>,
    #[prost(int64, tag = "2")]
    identity_version: i64,
    /// See [`SavedObject::address`]; empty if there is none.
    #[prost(string, tag = "3")]
    address: String,
    /// Empty: the current object.
    #[prost(string, tag = "4")]
    deposed: String,
    /// See [`SavedObject::component`]; empty: there is none.
    #[prost(string, tag = "5")]
    component: String,
}

/// Status of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Usable.
    Ready,
    /// An operation failed halfway: the object must be replaced (*tainted* in state files).
    Damaged,
}

/// A message is no saved object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The value is not JSON.
    #[error("the saved object's value is not JSON")]
    Value(#[source] JsonSyntaxError),
    /// The value is JSON, but no object.
    #[error("the saved object's value is not a JSON object")]
    NotAnObject,
    /// The version exceeds the range of schema versions.
    #[error("the saved object's schema version {0} is too large")]
    SchemaVersion(u64),
    /// Unknown status. Terraform refuses such objects too.
    #[error(
        "the saved object's status is {0}, but only 1 (ready) and 2 (damaged) are known; it was written by something newer"
    )]
    Status(i32),
    /// An invalid path.
    #[error("a sensitive path of the saved object cannot be read: {0}")]
    Path(&'static str),
    /// The identity is not JSON.
    #[error("the saved object's identity is not JSON")]
    Identity(#[source] JsonSyntaxError),
    /// The address is invalid.
    #[error("the saved object's address cannot be read")]
    Address(#[source] super::addresses::AddressSyntaxError),
    /// The deposed key is invalid.
    #[error("the saved object's deposed key is not eight hexadecimal digits")]
    Deposed,
}

impl SavedObject {
    /// Encodes the object, without its identity.
    ///
    /// The format cannot address elements of sets, so a path into a set is truncated at the set:
    /// all of it is sensitive then.
    pub(super) fn to_message(&self) -> StateResourceInstanceObjectV1 {
        StateResourceInstanceObjectV1 {
            value_json: Bytes::from(self.value.to_string()),
            sensitive_paths: self.sensitive_paths.iter().map(path_to_message).collect(),
            // Terraform counts schema versions from 0; a negative version of a provider becomes 0.
            schema_version: u64::try_from(self.schema_version).unwrap_or(0),
            status: match self.status {
                Status::Ready => WireStatus::Ready,
                Status::Damaged => WireStatus::Damaged,
            }
            .into(),
            dependencies: self.dependencies.clone(),
            create_before_destroy: self.create_before_destroy,
            provider_config_addr: self.provider.clone(),
            provider_specific_data: self.private.clone(),
        }
    }

    /// The parts that the message has no fields for.
    pub(super) fn beside(&self) -> Beside {
        let address = self.address.as_ref();
        Beside {
            identity: self.identity.as_ref().map(|identity| Bytes::from(identity.json.to_string())),
            identity_version: self.identity.as_ref().map_or(0, |identity| identity.schema_version),
            address: address.map(ToString::to_string).unwrap_or_default(),
            deposed: address
                .and_then(|address| address.deposed.as_ref())
                .map_or_else(String::new, |key| key.as_str().to_owned()),
            component: self.component.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Decodes an object from its message and the parts beside it.
    ///
    /// # Errors
    /// When they are invalid.
    pub(super) fn from_parts(
        message: StateResourceInstanceObjectV1,
        beside: Beside,
    ) -> Result<Self, RecordError> {
        let mut saved = Self::from_message(message)?;
        if let Some(json) = beside.identity {
            let json = Json::parse(&json).map_err(RecordError::Identity)?;
            saved.identity = Some(StoredIdentity { schema_version: beside.identity_version, json });
        }
        if !beside.address.is_empty() {
            let mut address: ObjectAddress = beside.address.parse().map_err(RecordError::Address)?;
            if !beside.deposed.is_empty() {
                address.deposed = Some(DeposedKey::parse(&beside.deposed).ok_or(RecordError::Deposed)?);
            }
            saved.address = Some(address);
        }
        if !beside.component.is_empty() {
            saved.component = Some(beside.component.parse().map_err(RecordError::Address)?);
        }
        Ok(saved)
    }

    /// Decodes an object from its message alone.
    ///
    /// # Errors
    /// When it is invalid.
    pub(super) fn from_message(message: StateResourceInstanceObjectV1) -> Result<Self, RecordError> {
        let status = match message.status() {
            WireStatus::Ready if message.status == WireStatus::Ready as i32 => Status::Ready,
            WireStatus::Damaged => Status::Damaged,
            _ => return Err(RecordError::Status(message.status)),
        };
        let value = Json::parse(&message.value_json).map_err(RecordError::Value)?;
        if !matches!(value, Json::Object(_)) {
            return Err(RecordError::NotAnObject);
        }
        let schema_version = i64::try_from(message.schema_version)
            .map_err(|_| RecordError::SchemaVersion(message.schema_version))?;
        Ok(Self {
            value,
            schema_version,
            private: message.provider_specific_data,
            identity: None,
            status,
            sensitive_paths: message
                .sensitive_paths
                .into_iter()
                .map(path_from_message)
                .collect::<Result<_, _>>()
                .map_err(RecordError::Path)?,
            dependencies: message.dependencies,
            create_before_destroy: message.create_before_destroy,
            provider: message.provider_config_addr,
            address: None,
            component: None,
        })
    }
}

pub(super) fn path_to_message(path: &AttributePath) -> tfplan::Path {
    let mut steps = Vec::with_capacity(path.len());
    for step in path {
        let selector = match step {
            PathStep::Attribute(name) => Selector::AttributeName(name.to_string()),
            PathStep::Key(key) => element_key(&Value::string(key), &Type::String),
            PathStep::Index(index) => {
                // An index is below the number of elements in memory, far below the limit.
                element_key(&Value::number(u64::try_from(*index).unwrap_or(u64::MAX)), &Type::Number)
            }
            PathStep::Element(_) => break,
        };
        steps.push(tfplan::path::Step { selector: Some(selector) });
    }
    tfplan::Path { steps }
}

fn element_key(key: &Value, key_type: &Type) -> Selector {
    let msgpack = msgpack::encode(key, key_type).expect("a string is a string, and a number a number");
    Selector::ElementKey(tfplan::DynamicValue { msgpack: msgpack.into() })
}

pub(super) fn path_from_message(path: tfplan::Path) -> Result<AttributePath, &'static str> {
    path.steps
        .into_iter()
        .map(|step| match step.selector {
            Some(Selector::AttributeName(name)) => Ok(PathStep::attribute(name)),
            Some(Selector::ElementKey(key)) => key_step(&key.msgpack),
            None => Err("a step is empty"),
        })
        .collect()
}

/// Keys are encoded without their type, so the first byte distinguishes strings from numbers.
/// (Terraform's own reader does not accept `bin` for strings here either.)
fn key_step(bytes: &[u8]) -> Result<PathStep, &'static str> {
    let invalid = "a key is neither text nor a number";
    match bytes.first() {
        Some(0xa0..=0xbf | 0xd9..=0xdb) => {
            let key = msgpack::decode(bytes, &Type::String).map_err(|_| invalid)?;
            key.as_str().map(PathStep::key).ok_or(invalid)
        }
        Some(0x00..=0x7f | 0xca..=0xd3 | 0xe0..=0xff) => {
            let key = msgpack::decode(bytes, &Type::Number).map_err(|_| invalid)?;
            key.as_number()
                .and_then(|number| usize::try_from(number.as_i64()?).ok())
                .map(PathStep::Index)
                .ok_or("an index is not a whole number from 0 on")
        }
        _ => Err(invalid),
    }
}

/// A record before encryption: the object as Terraform's message, and the parts without a field in
/// it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Envelope {
    #[prost(message, optional, tag = "1")]
    object: Option<StateResourceInstanceObjectV1>,
    #[prost(bytes = "bytes", tag = "2")]
    companion: Bytes,
    #[prost(message, optional, tag = "3")]
    beside: Option<Beside>,
}

impl From<&Saved> for Envelope {
    fn from(saved: &Saved) -> Self {
        Self {
            object: Some(saved.object.to_message()),
            companion: saved.companion.clone(),
            beside: Some(saved.object.beside()),
        }
    }
}

impl TryFrom<Envelope> for Saved {
    type Error = RecordError;

    fn try_from(envelope: Envelope) -> Result<Self, RecordError> {
        let (message, beside) = (envelope.object.unwrap_or_default(), envelope.beside.unwrap_or_default());
        let object = SavedObject::from_parts(message, beside)?;
        Ok(Self { object, companion: envelope.companion })
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    /// Encoded by Terraform's definition of the message.
    const READY: &str = "0a177b226964223a2261222c2274616773223a5b2278225d7d120f0a060a04746167730a0512030a010018012001\
        2a0f6e756c6c5f7265736f757263652e623a3070726f76696465725b2272656769737472792e7465727261666f726d2e696f2f68617368\
        69636f72702f6e756c6c225d42097b226b223a2276227d";
    const DAMAGED: &str = "0a027b7d2002";

    fn read(bytes: &[u8]) -> Result<SavedObject, RecordError> {
        SavedObject::from_message(StateResourceInstanceObjectV1::decode(bytes).expect("a message"))
    }

    fn tag(step: PathStep) -> AttributePath {
        AttributePath(vec![PathStep::attribute("tags"), step])
    }

    #[test]
    fn a_ready_object_of_terraforms_is_read_and_written_back_to_the_byte() {
        let bytes = hex::decode(READY).expect("hexadecimal");
        let saved = read(&bytes).expect("an object");
        assert_eq!(saved.status, Status::Ready);
        assert_eq!(saved.value.to_string(), r#"{"id":"a","tags":["x"]}"#);
        assert_eq!(saved.schema_version, 1);
        assert_eq!(saved.private, Bytes::from(r#"{"k":"v"}"#));
        assert_eq!(saved.sensitive_paths, [tag(PathStep::Index(0))]);
        assert_eq!(saved.dependencies, ["null_resource.b"]);
        assert_eq!(saved.provider, r#"provider["registry.terraform.io/hashicorp/null"]"#);
        assert_eq!(hex::encode(saved.to_message().encode_to_vec()), READY);
    }

    #[test]
    fn a_damaged_object_of_terraforms_is_read_and_written_back_to_the_byte() {
        let saved = read(&hex::decode(DAMAGED).expect("hexadecimal")).expect("an object");
        assert_eq!(saved.status, Status::Damaged);
        assert_eq!(hex::encode(saved.to_message().encode_to_vec()), DAMAGED);
    }

    #[test]
    fn what_is_kept_beside_an_object_comes_back() {
        let mut saved = read(&hex::decode(READY).expect("hexadecimal")).expect("an object");
        let json = Json::parse(br#"{"id":"a"}"#).expect("JSON");
        saved.identity = Some(StoredIdentity { schema_version: 2, json });
        let mut address: ObjectAddress = r#"module.m["k"].null_resource.a[1]"#.parse().expect("an address");
        address.deposed = DeposedKey::parse("0123cafe");
        saved.address = Some(address);
        let (message, beside) = (saved.to_message(), saved.beside());
        let beside = Beside::decode(&beside.encode_to_vec()[..]).expect("a message");
        assert_eq!(SavedObject::from_parts(message, beside).expect("an object"), saved);
    }

    #[test]
    fn what_is_wrong_beside_an_object_is_refused() {
        let wrong = [
            Beside { identity: Some("{".into()), ..Beside::default() },
            Beside { address: "null_resource".to_owned(), ..Beside::default() },
            Beside { address: "null_resource.a".to_owned(), deposed: "CAFE".to_owned(), ..Beside::default() },
        ];
        for beside in wrong {
            let message =
                StateResourceInstanceObjectV1::decode(&hex::decode(DAMAGED).expect("hexadecimal")[..]);
            SavedObject::from_parts(message.expect("a message"), beside).expect_err("not an object");
        }
    }

    #[test]
    fn an_object_of_unknown_status_is_refused() {
        for status in [0, 3, -1] {
            let message =
                StateResourceInstanceObjectV1 { value_json: "{}".into(), status, ..Default::default() };
            let error = SavedObject::from_message(message).expect_err("an unknown status");
            assert!(error.to_string().contains(&format!("status is {status}")), "{error}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for value in ["", "{", "[]", "null", "{}x"] {
            let message = StateResourceInstanceObjectV1 {
                value_json: value.into(),
                status: WireStatus::Ready.into(),
                ..Default::default()
            };
            SavedObject::from_message(message).expect_err(value);
        }
    }

    #[test]
    fn keys_of_maps_are_text_and_a_path_into_a_set_ends_at_the_set() {
        let mut saved = read(&hex::decode(DAMAGED).expect("hexadecimal")).expect("an object");
        saved.sensitive_paths =
            vec![tag(PathStep::key("k")), tag(PathStep::Element(Box::new(Value::string("hunter2"))))];
        let message = saved.to_message();
        let key = tfplan::DynamicValue { msgpack: vec![0xa1, b'k'].into() };
        assert_eq!(message.sensitive_paths[0].steps[1].selector, Some(Selector::ElementKey(key)));
        assert!(!format!("{message:?}").contains("hunter2"));
        let back = SavedObject::from_message(message).expect("an object");
        let set = AttributePath(vec![PathStep::attribute("tags")]);
        assert_eq!(back.sensitive_paths, [tag(PathStep::key("k")), set]);
    }

    #[test]
    fn keys_that_are_neither_text_nor_an_index_are_refused() {
        // bin "k", -1, 0.5, true, nil, an unknown value, an array, nothing.
        for key in ["c4016b", "ff", "cb3fe0000000000000", "c3", "c0", "d40000", "9100", ""] {
            let bytes = hex::decode(key).expect("hexadecimal");
            key_step(&bytes).expect_err(key);
        }
        assert_eq!(key_step(&[0xcd, 1, 0]), Ok(PathStep::Index(256)));
    }
}
