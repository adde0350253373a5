//! Asks a provider process how it is: gRPC's health service, which every go-plugin server has.

use isthmus_proto::health::HealthCheckRequest;
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_client::HealthClient;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// A provider's word on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answers calls.
    Serving,
    /// It is up and does not answer calls.
    NotServing,
    /// It answers, but has no word on this.
    Unknown,
}

/// The name under which go-plugin registers the whole process.
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
