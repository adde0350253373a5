//! The services that every go-plugin process has besides its own.

use std::sync::Arc;

use isthmus_proto::goplugin::grpc_broker_server::GrpcBroker;
use isthmus_proto::goplugin::grpc_controller_server::GrpcController;
use isthmus_proto::goplugin::grpc_stdio_server::GrpcStdio;
use isthmus_proto::goplugin::stdio_data::Channel;
use isthmus_proto::goplugin::{ConnInfo, Empty, StdioData};
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_server;
use isthmus_proto::health::{HealthCheckRequest, HealthCheckResponse};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_stream::{StreamExt as _, pending};
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::log::{self, Level};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::Shutdown;
use crate::stdio::{Printed, Stdio};

/// gRPC's health service, which go-plugin's clients query for `plugin`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Health;

/// The service that shuts the process down.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    /// Effect of a request.
    #[cfg(feature = "misbehaviour")]
    pub behaviour: Shutdown,
    /// Cancelled when the process should exit.
    pub ended: CancellationToken,
}

/// Streams standard output and error.
#[derive(Clone, Debug)]
pub(crate) struct Printer(pub Arc<Stdio>);

/// Would broker further connections. Terraform's providers have none, but clients open the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broker;

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.get_ref().service.as_str();
        if !matches!(service, "plugin" | "") {
            return Err(Status::not_found(format!("there is no service {service:?}")));
        }
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }
}

#[tonic::async_trait]
impl GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        log::write(Level::Debug, "asked to shut down", &[]);
        #[cfg(feature = "misbehaviour")]
        match self.behaviour {
            Shutdown::Clean => {}
            Shutdown::Refuse => {
                return Err(Status::failed_precondition("the sandbox was asked not to shut down"));
            }
            Shutdown::Hang => return std::future::pending().await,
        }
        self.ended.cancel();
        Ok(Response::new(Empty {}))
    }
}

#[tonic::async_trait]
impl GrpcStdio for Printer {
    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<BoxStream<StdioData>>, Status> {
        let Some(printed) = self.0.take() else {
            return Err(Status::unavailable("somebody reads what is printed already"));
        };
        let data = |printed: Printed| {
            let channel = if printed.error { Channel::Stderr } else { Channel::Stdout };
            Ok(StdioData { channel: channel.into(), data: printed.text.into() })
        };
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(printed).map(data))))
    }
}

#[tonic::async_trait]
impl GrpcBroker for Broker {
    async fn start_stream(
        &self,
        request: Request<Streaming<ConnInfo>>,
    ) -> Result<Response<BoxStream<ConnInfo>>, Status> {
        drop(request);
        Ok(Response::new(Box::pin(pending())))
    }
}
