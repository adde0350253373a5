//! Journal entries: two for each change, one before and one after the provider's call.

use isthmus_state::counting::JournalEntries;

use super::{Execution, counted};
use crate::sample::Sample;
use prost::Message as _;

const URN: &str = "urn:pulumi:production::website::cloud:index/serviceInstance:ServiceInstance::web-server";

/// The entry of an intent: encoded, encrypted and framed.
pub(super) fn intent() -> Execution {
    let entries = JournalEntries::default();
    counted(
        move || entries.intent("cloud", "cloud_service_instance", URN),
        |frame| assert!(frame.len() > URN.len()),
    )
}

/// The entry of a created object, with its properties.
pub(super) fn creation() -> Execution {
    let entries = JournalEntries::default();
    let object = Sample::small().stored.encode_to_vec();
    let length = object.len();
    counted(move || entries.creation("an id", &object), move |frame| assert!(frame.len() > length))
}
