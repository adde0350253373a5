//! What a failed call left behind.

use isthmus_proto::pulumirpc::ErrorResourceInitFailed;
use prost::Message as _;
use tonic::Status;

/// What a failed call left behind, if its status says so.
///
/// # Panics
/// When the status has details that are none.
pub fn half_made(status: &Status) -> Option<ErrorResourceInitFailed> {
    let status = isthmus_proto::rpc::Status::decode(status.details()).expect("details are a status");
    let name = "type.googleapis.com/pulumirpc.ErrorResourceInitFailed";
    let detail = status.details.into_iter().find(|detail| detail.type_url == name)?;
    Some(ErrorResourceInitFailed::decode(&*detail.value).expect("a detail of the type it says"))
}
