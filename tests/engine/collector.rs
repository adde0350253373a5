//! A collector of traces, as OpenTelemetry's exporters find it: OTLP by gRPC. It has a thread and a runtime of its own, so that
//! tests with and without one can wait for spans.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// A span.
#[derive(Clone, Debug, Default)]
pub struct Span {
    pub name: String,
    /// Hexadecimal digits.
    pub trace: String,
    pub id: String,
    /// Empty for the first of a trace.
    pub parent: String,
    /// Begin and end, in nanoseconds since 1970.
    pub time: (u64, u64),
    pub attributes: BTreeMap<String, String>,
    /// Of the program that has exported it.
    pub resource: BTreeMap<String, String>,
    /// All that was received of it, for a search.
    pub everything: String,
}

#[derive(Debug, Default)]
struct Received {
    spans: Mutex<Vec<Span>>,
    more: Condvar,
}

/// A running collector.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    received: Arc<Received>,
}

impl Collector {
    /// Starts one on a port of the system's choice. It ends with the process.
    ///
    /// # Panics
    /// When no port can be opened.
    #[must_use]
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("its address");
        let received = Arc::<Received>::default();
        let service = Service(Arc::clone(&received));
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                let server = Server::builder().add_service(TraceServiceServer::new(service));
                server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("it serves");
            });
        });
        Self { address, received }
    }

    /// The value for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was received so far.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.received.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this holds of what was received, which is returned; this blocks.
    ///
    /// # Panics
    /// When it does not hold in time.
    #[must_use]
    pub fn wait(&self, patience: Duration, mut holds: impl FnMut(&[Span]) -> bool) -> Vec<Span> {
        let spans = self.received.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.received.more.wait_timeout_while(spans, patience, |spans| !holds(spans));
        let (spans, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "what is waited for is not among these spans: {spans:#?}");
        spans.clone()
    }
}

struct Service(Arc<Received>);

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut spans = self.0.spans.lock().unwrap_or_else(PoisonError::into_inner);
        for of_resource in request.into_inner().resource_spans {
            let resource =
                of_resource.resource.map(|resource| texts(&resource.attributes)).unwrap_or_default();
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                spans.push(Span {
                    everything: format!("{span:?}"),
                    name: span.name,
                    trace: hexadecimal(&span.trace_id),
                    id: hexadecimal(&span.span_id),
                    parent: hexadecimal(&span.parent_span_id),
                    time: (span.start_time_unix_nano, span.end_time_unix_nano),
                    attributes: texts(&span.attributes),
                    resource: resource.clone(),
                });
            }
        }
        self.0.more.notify_all();
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|value| value.value.clone()) {
        Some(Value::StringValue(text)) => text,
        other => format!("{other:?}"),
    };
    attributes.iter().map(|attribute| (attribute.key.clone(), text(attribute))).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
