//! Traces of a shared daemon, as a collector receives them: which call belongs to which, and what is in them.

use crate::harness::processes::Signal;
use isthmus_test_engine::{Collector, Span};
use tonic::Request;

use crate::harness::{Host, Outcome, PATIENCE, Protocol, Setup, json, on_one_protocol};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A daemon that exports to a collector.
async fn traced(setup: Setup, collector: &Collector) -> Host {
    let setup = setup.with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint());
    setup.with("OTEL_BSP_SCHEDULE_DELAY", "50").with_daemon().start().await
}

/// The spans, once there is one of each of these names, the daemon having ended.
async fn collected(mut host: Host, collector: Collector, names: &'static [&str]) -> Vec<Span> {
    host.daemon().signal(Signal::TERM);
    host.daemon_mut().ended().await;
    let waited = move || {
        collector.wait(PATIENCE, |spans| names.iter().all(|name| spans.iter().any(|span| span.name == *name)))
    };
    tokio::task::spawn_blocking(waited).await.expect("the spans come")
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} is not among {spans:#?}"))
}

on_one_protocol! {
    async fn a_call_of_an_engine_is_a_span_with_those_of_the_provider_below(protocol) {
        let collector = Collector::start();
        let setup = Setup::sandbox(protocol).with("TRACEPARENT", &format!("00-{TRACE}-{PARENT}-01"));
        let host = traced(setup, &collector).await;
        let session = host.parameterized().await?;
        session.configure(&json!({"token": "mark-of-configuration"})).await?;
        let inputs = json!({"title": "mark-of-title", "secretHint": "mark-of-secret"});
        session.resource("sandbox:index/note:Note", "mark-of-name").create(&inputs).await?;
        session.faulty().create(&json!({"mode": "error"})).await.expect_err("it fails as it is told");
        drop(session);
        let spans = collected(host, collector, &["Create", "Configure", "ApplyResourceChange"]).await;
        let create = named(&spans, "Create");
        // The trace of the engine's environment.
        assert_eq!((create.trace.as_str(), create.parent.as_str()), (TRACE, PARENT), "{create:#?}");
        let attributes = |name: &str| create.attributes.get(name).map(String::as_str);
        assert_eq!(attributes("isthmus.provider"), Some("local/sandbox"));
        assert_eq!(attributes("isthmus.resource_type"), Some("sandbox:index/note:Note"));
        assert_eq!(attributes("isthmus.outcome"), Some("OK"));
        assert_eq!(create.resource.get("service.name").map(String::as_str), Some("isthmus"));
        let below: Vec<&Span> = spans.iter().filter(|span| span.parent == create.id).collect();
        let apply = below.iter().find(|span| span.name == "ApplyResourceChange").expect("the provider's call");
        assert_eq!(apply.trace, create.trace);
        assert_eq!(apply.attributes.get("isthmus.outcome").map(String::as_str), Some("OK"));
        assert!(create.time.0 <= apply.time.0 && apply.time.1 <= create.time.1, "{create:#?} {apply:#?}");
        assert!(below.iter().any(|span| span.name == "PlanResourceChange"), "{below:#?}");
        let configure = named(&spans, "Configure");
        assert_eq!(named(&spans, "ConfigureProvider").parent, configure.id);
        assert!(spans.iter().any(|span| span.attributes.get("isthmus.outcome").is_some_and(|text| text == "ABORTED")));
        for span in &spans {
            assert!(!span.everything.contains("mark-of-"), "{span:#?}");
            assert_eq!(span.trace, TRACE, "{span:#?}");
        }
    }

    async fn what_a_request_names_comes_before_the_environment(protocol) {
        let collector = Collector::start();
        let setup = Setup::sandbox(protocol).with("TRACEPARENT", "00-11111111111111111111111111111111-1111111111111111-01");
        let host = traced(setup, &collector).await;
        let session = host.session().await?;
        let mut request = Request::new(());
        let parent = format!("00-{TRACE}-{PARENT}-01").parse().expect("a header");
        request.metadata_mut().insert("traceparent", parent);
        session.client().get_plugin_info(request).await?;
        drop(session);
        let spans = collected(host, collector, &["GetPluginInfo"]).await;
        let info = named(&spans, "GetPluginInfo");
        assert_eq!((info.trace.as_str(), info.parent.as_str()), (TRACE, PARENT), "{spans:#?}");
    }
}

#[tokio::test]
async fn the_standard_variables_are_honoured() -> Outcome {
    // Nothing is exported by these, and the daemon is not delayed by a collector that is not there.
    let nowhere = "http://127.0.0.1:9";
    for (name, value) in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let collector = Collector::start();
        let mut host = traced(Setup::sandbox(Protocol::V6).with(name, value), &collector).await;
        host.session().await?;
        host.daemon().signal(Signal::TERM);
        host.daemon_mut().ended().await;
        assert!(collector.spans().is_empty(), "{name}: {:#?}", collector.spans());
    }
    let setup = Setup::sandbox(Protocol::V6).with("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere).with_daemon();
    let mut host = setup.start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    host.daemon().signal(Signal::TERM);
    host.daemon_mut().ended().await;
    let setup = Setup::sandbox(Protocol::V6).with("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere);
    let host = setup.with("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf").with_daemon().start().await;
    host.daemon().said("only \"grpc\" is supported").await;
    let collector = Collector::start();
    let setup = Setup::sandbox(Protocol::V6).with("OTEL_SERVICE_NAME", "of-the-operator");
    let host = traced(setup, &collector).await;
    host.session().await?;
    let spans = collected(host, collector, &["Configure"]).await;
    assert!(spans.iter().all(|span| span.resource["service.name"] == "of-the-operator"), "{spans:#?}");
    Ok(())
}
