//! What is kept of one resource, and how it is encrypted.

use bytes::Bytes;
use isthmus_proto::tfstackdata1::StateResourceInstanceObjectV1;

use super::record::{Beside, RecordError, SavedObject};

/// What is kept of one resource.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The object.
    pub object: SavedObject,
    /// What the owner of the resource keeps beside it; the state store does not look into it.
    pub companion: Bytes,
}

/// A digest of the properties that a call has sent.
pub type Sent = [u8; 32];

/// A record as it is encrypted: the object as Terraform writes it, and what that has no place for.
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
