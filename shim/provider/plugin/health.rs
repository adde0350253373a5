//! Queries gRPC's health service, which every go-plugin server has.

use isthmus_grpc::Channel;
use isthmus_proto::health::HealthCheckRequest;
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_client::HealthClient;
use tonic::{Code, Status};

/// A provider's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It serves calls.
    Serving,
    /// It does not serve calls.
    NotServing,
    /// It has no status.
    Unknown,
}

/// go-plugin's service name for the whole process.
const SERVICE: &str = "plugin";

pub(super) async fn health(channel: &Channel) -> Result<Health, Status> {
    let request = HealthCheckRequest { service: SERVICE.to_owned() };
    match HealthClient::new(channel.clone()).check(request).await {
        Ok(answer) => Ok(match answer.into_inner().status() {
            ServingStatus::Serving => Health::Serving,
            ServingStatus::NotServing => Health::NotServing,
            ServingStatus::Unknown | ServingStatus::ServiceUnknown => Health::Unknown,
        }),
        Err(status) if matches!(status.code(), Code::Unimplemented | Code::NotFound) => Ok(Health::Unknown),
        Err(status) => Err(status),
    }
}
