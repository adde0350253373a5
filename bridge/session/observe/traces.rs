//! Traces by OpenTelemetry, from the call of an engine to the calls of the provider that it leads to.
//!
//! A call of an engine is a span of `tracing`, so that what happens in its task finds it; a call to a provider is a span within
//! that, made when it has ended. Spans have the method, the provider, the type of the resource and the outcome: no value, and
//! no name that a program has chosen.
//!
//! The standard variables in the daemon's environment configure it. Without an endpoint there is no subscriber, and a call costs
//! one comparison.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use isthmus_common::{Environment, error_chain};
use isthmus_provider::CallReport;
use isthmus_provider::plugin::ProtocolVersion;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{
    Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tonic::Code;
use tracing::field::Empty;
use tracing::{Level, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

use super::metrics::outcome;
use super::rpc::EngineRpc;

/// The target of the spans; those of libraries have others.
const TARGET: &str = "isthmus";

/// The attributes that are known when a call has begun.
const PROVIDER: &str = "isthmus.provider";
const RESOURCE_TYPE: &str = "isthmus.resource_type";
const OUTCOME: &str = "isthmus.outcome";
const STATUS: &str = "otel.status_code";

/// How long the last spans may take to be exported when the daemon ends.
const LAST_EXPORT: Duration = Duration::from_secs(5);

/// Why there are no traces although an endpoint is set.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    #[error("no traces are exported: OTEL_EXPORTER_OTLP_PROTOCOL is {0:?}, and only \"grpc\" is supported")]
    Protocol(String),
    #[error("no traces are exported: {}", error_chain(.0))]
    Exporter(ExporterBuildError),
    #[error("no traces are exported: this process has a subscriber already")]
    Subscriber,
}

/// The traces of a daemon.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl Traces {
    /// Starts to export, if the environment, which is this process's, names an endpoint. Must be called within the runtime.
    pub fn start(environment: &Environment) -> Result<Option<Arc<Self>>, TracesError> {
        let text = |name: &str| environment.text(name).map(str::trim).filter(|text| !text.is_empty());
        let either = |name: &str| {
            text(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| text(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let is_disabled = text("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || text("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if is_disabled || either("ENDPOINT").is_none() {
            return Ok(None);
        }
        if let Some(protocol) = either("PROTOCOL").filter(|protocol| *protocol != "grpc") {
            return Err(TracesError::Protocol(protocol.to_owned()));
        }
        let exporter = SpanExporter::builder().with_tonic().build().map_err(TracesError::Exporter)?;
        // Its detectors read OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let attributes = text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        if text("OTEL_SERVICE_NAME").is_none() && !attributes.contains("service.name=") {
            resource = resource.with_service_name(TARGET);
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer(TARGET);
        let spans = tracing_opentelemetry::layer()
            .with_tracer(tracer.clone())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false);
        let subscriber =
            tracing_subscriber::registry().with(Targets::new().with_target(TARGET, Level::INFO)).with(spans);
        tracing::subscriber::set_global_default(subscriber).map_err(|_| TracesError::Subscriber)?;
        Ok(Some(Arc::new(Self { provider, tracer, propagator: TraceContextPropagator::new() })))
    }

    /// The span of a call. Its parent is what the request names, or else the environment of the session.
    pub(super) fn call(
        &self,
        rpc: EngineRpc,
        session: u64,
        headers: &HeaderMap,
        environment: &Environment,
    ) -> Span {
        let span = tracing::info_span!(
            target: TARGET,
            "call",
            otel.name = rpc.name(),
            otel.kind = "server",
            otel.status_code = Empty,
            rpc.system = "grpc",
            rpc.method = rpc.name(),
            isthmus.session = session,
            isthmus.provider = Empty,
            isthmus.resource_type = Empty,
            isthmus.outcome = Empty,
        );
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let sources = [
            Source { parent: header("traceparent"), state: header("tracestate") },
            Source { parent: environment.text("TRACEPARENT"), state: environment.text("TRACESTATE") },
        ];
        // One that is invalid is none.
        let parents =
            sources.iter().map(|source| self.propagator.extract_with_context(&Context::new(), source));
        let parent = parents.into_iter().find(|parent| parent.span().span_context().is_valid());
        if let Some(parent) = parent {
            // It fails where the span is not sampled.
            let _ = span.set_parent(parent);
        }
        span
    }

    /// A call to a provider has ended, in the task of what has led to it.
    pub(super) fn provider_call(&self, report: CallReport, provider: &Arc<str>) {
        let end = SystemTime::now();
        let method = report.rpc.name(ProtocolVersion::V6);
        let attributes = [
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.method", report.operation),
            KeyValue::new(PROVIDER, Arc::clone(provider)),
            KeyValue::new(OUTCOME, outcome(report.code)),
        ];
        let span = self.tracer.span_builder(method).with_kind(SpanKind::Client);
        let span =
            span.with_start_time(end.checked_sub(report.elapsed).unwrap_or(end)).with_attributes(attributes);
        let mut span = span.start_with_context(&self.tracer, &Span::current().context());
        if report.code != Code::Ok {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(end);
    }

    /// Exports what is left, before the daemon ends.
    pub async fn end(&self) {
        let provider = self.provider.clone();
        // In another thread, because the export needs this one. What cannot be exported is lost.
        let _ = isthmus_common::blocking(move || provider.shutdown_with_timeout(LAST_EXPORT)).await;
    }
}

/// Notes in the span of the call in whose task this is what the call is about.
pub(super) fn note_resource_type(resource_type: &str) {
    if !resource_type.is_empty() {
        Span::current().record(RESOURCE_TYPE, resource_type);
    }
}

/// Notes how the call of a span has ended.
pub(super) fn note_end(span: &Span, provider: &str, code: Code) {
    span.record(PROVIDER, provider).record(OUTCOME, outcome(code));
    if code != Code::Ok {
        span.record(STATUS, "ERROR");
    }
}

/// Where the context of a trace comes from.
struct Source<'a> {
    parent: Option<&'a str>,
    state: Option<&'a str>,
}

impl Extractor for Source<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.parent,
            "tracestate" => self.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}
