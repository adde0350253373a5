//! The saved form of one resource, and its encoding.

use bytes::Bytes;
use isthmus_proto::tfstackdata1::StateResourceInstanceObjectV1;

use super::record::{Beside, RecordError, SavedObject};

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
