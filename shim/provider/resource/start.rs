//! The start of a plan: an object, or the plan that requires its replacement.

use bytes::Bytes;
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;

use super::Object;

/// Data from the plan that requires a replacement for the plan of the new object.
#[derive(Clone, Debug)]
pub struct Handover {
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
}

impl Handover {
    /// Memory size in bytes.
    pub fn size(&self) -> usize {
        let identity = self.identity.as_ref().and_then(|identity| identity.identity_data.as_ref());
        size_of::<Self>()
            + self.private.len()
            + identity.map_or(0, |identity| identity.msgpack.len() + identity.json.len())
    }
}

/// The start of a plan.
pub(super) struct Start {
    pub(super) value: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
    /// Whether it is the second plan of a replacement. Terraform checks only the first against the
    /// configuration.
    pub(super) is_second: bool,
}

impl Start {
    pub(super) fn at(prior: Option<&Object>) -> Self {
        Self {
            value: prior.map_or(Value::Null, |object| object.value.clone()),
            private: prior.map(|object| object.private.clone()).unwrap_or_default(),
            identity: prior.and_then(|object| object.identity.clone()),
            is_second: false,
        }
    }

    pub(super) fn after(handover: &Handover) -> Self {
        Self {
            value: Value::Null,
            private: handover.private.clone(),
            identity: handover.identity.clone(),
            is_second: true,
        }
    }
}
