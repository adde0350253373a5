//! gRPC's own services on the daemon's socket: health (`grpc.health.v1`) and reflection (`grpc.reflection.v1`), which need no
//! session.

use std::convert::Infallible;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use isthmus_grpc::{Incoming, unimplemented};
use isthmus_proto::daemon::{daemon_server, inspect_server};
use isthmus_proto::pulumirpc::resource_provider_server;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::codegen::Service as _;
use tonic::codegen::http::{Request, Response};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{self, HealthServer};
use tonic_health::server::{HealthReporter, HealthService};
use tower::util::BoxCloneSyncService;

/// The package of reflection.
const REFLECTION: &str = "grpc.reflection.v1.ServerReflection";

/// The services whose health is reported; the empty name is the daemon as a whole.
const SERVICES: [&str; 4] =
    ["", daemon_server::SERVICE_NAME, inspect_server::SERVICE_NAME, resource_provider_server::SERVICE_NAME];

type Reflection = BoxCloneSyncService<Request<Incoming>, Response<Body>, Infallible>;

/// The services. Clones share them.
#[derive(Clone)]
pub(super) struct StandardServices {
    reporter: HealthReporter,
    health: HealthServer<HealthService>,
    /// Made on first use, because all contracts are read for it. `None` if they cannot be.
    reflection: Arc<OnceLock<Option<Reflection>>>,
}

impl StandardServices {
    pub(super) async fn new() -> Self {
        let reporter = HealthReporter::new();
        set_all(&reporter, ServingStatus::Serving).await;
        let health = HealthServer::new(HealthService::from_health_reporter(reporter.clone()));
        Self { reporter, health, reflection: Arc::default() }
    }

    /// Reports that the daemon accepts no further calls, and ends the streams of those who watch that.
    pub(super) async fn drain(&mut self) {
        set_all(&self.reporter, ServingStatus::NotServing).await;
        // Watchers get that, and the end of their stream: the daemon waits for all streams.
        for service in SERVICES {
            self.reporter.clear_service_status(service).await;
        }
        set_all(&self.reporter, ServingStatus::NotServing).await;
    }

    /// Whether a service is one of these.
    pub(super) fn have(service: &str) -> bool {
        [health_server::SERVICE_NAME, REFLECTION].contains(&service)
    }

    /// Makes a call of one of these services.
    pub(super) fn call(&mut self, request: Request<Incoming>) -> BoxFuture<Response<Body>, Infallible> {
        if request.uri().path().split('/').nth(1) == Some(health_server::SERVICE_NAME) {
            return self.health.call(request);
        }
        match self.reflection.get_or_init(reflection).clone() {
            Some(mut reflection) => Box::pin(async move { reflection.call(request).await }),
            None => Box::pin(ready(Ok(unimplemented(request.uri().path())))),
        }
    }
}

async fn set_all(reporter: &HealthReporter, status: ServingStatus) {
    for service in SERVICES {
        reporter.set_service_status(service, status).await;
    }
}

/// Shows the services that the socket serves, of all contracts.
fn reflection() -> Option<Reflection> {
    let mut builder = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(isthmus_proto::DESCRIPTOR_SET);
    for service in SERVICES.into_iter().chain([health_server::SERVICE_NAME, REFLECTION]) {
        if !service.is_empty() {
            builder = builder.with_service_name(service);
        }
    }
    builder.build_v1().ok().map(BoxCloneSyncService::new)
}

impl fmt::Debug for StandardServices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StandardServices").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contracts_can_be_reflected() {
        assert!(reflection().is_some());
    }
}
