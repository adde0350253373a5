//! `__meta`: state of a resource besides its attributes.
//!
//! The Go bridge stores a JSON text under this key with two members, `private_state` (base64) and
//! `schema_version` (decimal text), and reads no others. What it has no place for (that the
//! resource is tainted or unrefreshed, its identity, the type that it was moved from, what an import
//! could not read, names of properties that are not the Go bridge's) is in an object under a name
//! of our own. So state can be used by both bridges; when the Go bridge rewrites it, only our
//! object is lost.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use isthmus_proto::property::{Struct, Value as Property};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use thiserror::Error;

use super::property::{self, PropertyView};
use super::unread::UnreadAttribute;
use isthmus_common::file_fault::FileFault;

/// The property of this name.
pub const META_KEY: &str = "__meta";

const PRIVATE_STATE: &str = "private_state";
const SCHEMA_VERSION: &str = "schema_version";
const OWN: &str = "isthmus";

/// State of a resource besides its attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The provider's private data.
    pub private: Bytes,
    /// Version of the schema that the state was written with; 0 if absent.
    pub schema_version: i64,
    /// The resource was created incompletely, and is to be replaced.
    pub tainted: bool,
    /// An update has failed, and what it left could not be read.
    pub unrefreshed: bool,
    /// The resource's identity, if its provider has identities.
    pub identity: Option<StoredIdentity>,
    /// The type that wrote the state; absent if it is the resource's current one.
    pub source: Option<Source>,
    /// Sensitive attributes that no read has returned since the resource was imported.
    pub unread: BTreeSet<UnreadAttribute>,
    /// The names of the properties, if the user has chosen some: a digest of the choices.
    pub names: Option<String>,
    /// Unknown members, which are preserved.
    pub extra: Map<String, Json>,
}

/// A resource's identity in its stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredIdentity {
    /// Version of the identity schema that it was written with.
    pub schema_version: i64,
    /// The identity object as JSON text, because its numbers may exceed doubles.
    pub json: String,
}

/// The type that wrote a state. A resource may get another type by an alias, whose provider must
/// know the type to move it from; and the error about a newer state names the version to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Terraform's resource type.
    pub resource_type: String,
    /// The provider's full address, such as `registry.opentofu.org/hashicorp/null`.
    pub provider: String,
    /// The provider's version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_version: Option<String>,
}

#[derive(Debug, Error)]
pub enum MetaError {
    #[error(
        "the state's `__meta` is not a JSON object; if it was edited by hand, restore it from a backup of the state"
    )]
    Syntax(#[source] FileFault),
    #[error(
        "the state's `__meta.schema_version` is not a decimal number from 0; if it was edited by hand, restore it"
    )]
    SchemaVersion,
    #[error("the state's `__meta.private_state` is not base64 text; if it was edited by hand, restore it")]
    PrivateState,
    #[error(
        "the state's `__meta.isthmus` cannot be read; a newer version of this program may have written it"
    )]
    Own(#[source] FileFault),
}

/// Our own object within the JSON.
#[derive(Default, Serialize, Deserialize)]
struct Own {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tainted: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unrefreshed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<StoredIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    unread: BTreeSet<UnreadAttribute>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names: Option<String>,
    #[serde(flatten)]
    extra: Map<String, Json>,
}

impl Meta {
    /// Reads it from a resource's properties. State without it, or with another type than a string,
    /// has none.
    ///
    /// # Errors
    /// If the text has neither bridge's form: partial data could lose what the provider relies on.
    pub fn from_properties(properties: &Struct) -> Result<Self, MetaError> {
        match properties.get(META_KEY).map(property::unwrap) {
            Some(Ok((PropertyView::String(text), _))) => Self::parse(text),
            _ => Ok(Self::default()),
        }
    }

    /// Parses the JSON text.
    ///
    /// # Errors
    /// As [`Self::from_properties`].
    pub fn parse(text: &str) -> Result<Self, MetaError> {
        let mut members: Map<String, Json> =
            serde_json::from_str(text).map_err(|error| MetaError::Syntax(error.into()))?;
        let private = match members.remove(PRIVATE_STATE) {
            None | Some(Json::Null) => Bytes::new(),
            Some(Json::String(text)) => BASE64.decode(text).map_err(|_| MetaError::PrivateState)?.into(),
            Some(_) => return Err(MetaError::PrivateState),
        };
        let schema_version = match members.remove(SCHEMA_VERSION) {
            None | Some(Json::Null) => 0,
            Some(Json::String(text)) if text.is_empty() => 0,
            Some(Json::String(text)) => text.parse().map_err(|_| MetaError::SchemaVersion)?,
            Some(Json::Number(number)) => number.as_i64().ok_or(MetaError::SchemaVersion)?,
            Some(_) => return Err(MetaError::SchemaVersion),
        };
        if schema_version < 0 {
            return Err(MetaError::SchemaVersion);
        }
        let own: Own = match members.remove(OWN) {
            None | Some(Json::Null) => Own::default(),
            Some(own) => serde_json::from_value(own).map_err(|error| MetaError::Own(error.into()))?,
        };
        let mut extra = members;
        if !own.extra.is_empty() {
            extra.insert(OWN.to_owned(), Json::Object(own.extra));
        }
        Ok(Self {
            private,
            schema_version,
            tainted: own.tainted,
            unrefreshed: own.unrefreshed,
            identity: own.identity,
            source: own.source,
            unread: own.unread,
            names: own.names,
            extra,
        })
    }

    /// The property to store; `None` if there is nothing to store.
    pub fn to_property(&self) -> Option<Property> {
        let mut members = self.extra.clone();
        let extra = match members.remove(OWN) {
            Some(Json::Object(extra)) => extra,
            _ => Map::new(),
        };
        let own = Own {
            tainted: self.tainted,
            unrefreshed: self.unrefreshed,
            identity: self.identity.clone(),
            source: self.source.clone(),
            unread: self.unread.clone(),
            names: self.names.clone(),
            extra,
        };
        if let Ok(Json::Object(own)) = serde_json::to_value(own)
            && !own.is_empty()
        {
            members.insert(OWN.to_owned(), Json::Object(own));
        }
        if !self.private.is_empty() {
            members.insert(PRIVATE_STATE.to_owned(), Json::String(BASE64.encode(&self.private)));
        }
        if self.schema_version != 0 {
            members.insert(SCHEMA_VERSION.to_owned(), Json::String(self.schema_version.to_string()));
        }
        (!members.is_empty()).then(|| Property::String(text(&members)))
    }
}

fn text(members: &Map<String, Json>) -> String {
    serde_json::to_string(members).expect("JSON has a text")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(meta: &Meta) -> Option<String> {
        meta.to_property().map(|property| property.as_str().unwrap().to_owned())
    }

    #[test]
    fn it_is_written_as_the_go_bridge_writes_it() {
        assert_eq!(printed(&Meta::default()), None);
        let meta = Meta { private: Bytes::from_static(b"{\"a\":1}"), schema_version: 3, ..Meta::default() };
        let text = r#"{"private_state":"eyJhIjoxfQ==","schema_version":"3"}"#;
        assert_eq!(printed(&meta).as_deref(), Some(text));
        assert_eq!(Meta::parse(text).unwrap(), meta);
        let only_version = Meta { schema_version: 1, ..Meta::default() };
        assert_eq!(printed(&only_version).as_deref(), Some(r#"{"schema_version":"1"}"#));
    }

    #[test]
    fn our_own_object_stands_beside_and_what_others_wrote_is_kept() {
        let text = concat!(
            r#"{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":600000000000},"#,
            r#""isthmus":{"later":1,"tainted":true},"schema_version":"2"}"#
        );
        let mut meta = Meta::parse(text).unwrap();
        assert!(meta.tainted);
        assert_eq!(printed(&meta).as_deref(), Some(text));
        (meta.tainted, meta.unrefreshed) = (false, true);
        meta.identity =
            Some(StoredIdentity { schema_version: 1, json: r#"{"n":12345678901234567890}"#.to_owned() });
        meta.source = Some(Source {
            resource_type: "old_thing".into(),
            provider: "example.com/a/b".into(),
            provider_version: Some("1.2.3".into()),
        });
        assert_eq!(Meta::parse(&printed(&meta).unwrap()).unwrap(), meta);
    }

    #[test]
    fn state_without_it_is_version_zero() {
        for properties in [
            Struct::new(),
            Struct::from([(META_KEY, Property::Null)]),
            Struct::from([(META_KEY, Property::from("{}"))]),
            Struct::from([(META_KEY, Property::from(r#"{"schema_version":"","private_state":""}"#))]),
        ] {
            assert_eq!(Meta::from_properties(&properties).unwrap(), Meta::default());
        }
        let secret =
            Struct::from([(META_KEY, property::secret(Property::from(r#"{"schema_version":"4"}"#)))]);
        assert_eq!(Meta::from_properties(&secret).unwrap().schema_version, 4);
    }

    #[test]
    fn what_neither_bridge_writes_is_an_error() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"schema_version":"x"}"#,
            r#"{"schema_version":"-1"}"#,
            r#"{"schema_version":1.5}"#,
            r#"{"private_state":"?"}"#,
            r#"{"private_state":1}"#,
            r#"{"isthmus":{"tainted":"yes"}}"#,
        ] {
            assert!(Meta::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn writing_and_reading_round_trip(
            private in prop::collection::vec(any::<u8>(), 0..40),
            schema_version in 0..i64::MAX,
            tainted: bool,
        ) {
            let meta = Meta { private: private.into(), schema_version, tainted, ..Meta::default() };
            let read = match printed(&meta) {
                Some(text) => Meta::parse(&text).unwrap(),
                None => Meta::default(),
            };
            prop_assert_eq!(read, meta);
        }
    }
}
