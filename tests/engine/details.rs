//! What the details of a failed call say.

use isthmus_proto::pulumirpc::ErrorResourceInitFailed;
use prost::Message as _;
use tonic::Status;

/// What a failed call left behind, if its status says so.
///
/// # Panics
/// When the status has details that are none.
pub fn half_made(status: &Status) -> Option<ErrorResourceInitFailed> {
    let detail = detail(status, "ErrorResourceInitFailed")?;
    Some(ErrorResourceInitFailed::decode(&*detail).expect("a detail of the type it says"))
}

/// Whether the resource has to wait, and the engine goes on without it.
///
/// # Panics
/// When the status has details that are none.
pub fn is_awaited(status: &Status) -> bool {
    detail(status, "ErrorResourceAwaitFailed").is_some()
}

fn detail(status: &Status, name: &str) -> Option<Vec<u8>> {
    let status = isthmus_proto::rpc::Status::decode(status.details()).expect("details are a status");
    let name = format!("type.googleapis.com/pulumirpc.{name}");
    status.details.into_iter().find(|detail| detail.type_url == name).map(|detail| detail.value)
}
