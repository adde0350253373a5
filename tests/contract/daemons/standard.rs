//! gRPC's own services on the socket of a shared daemon, without a session.

use crate::harness::processes::Signal;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::daemon::{OpenRequest, OverviewRequest, inspect_client};
use isthmus_proto::health::HealthCheckRequest;
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_client::HealthClient;
use tokio_stream::StreamExt as _;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::harness::{Code, Protocol, Setup, json};

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[tokio::test]
async fn the_services_are_listed_and_described() {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let mut client = ServerReflectionClient::new(host.daemon().channel().await);
    let requests = [
        MessageRequest::ListServices(String::new()),
        MessageRequest::FileContainingSymbol("isthmus.daemon.v1.Inspect".to_owned()),
    ];
    let requests = requests
        .map(|request| ServerReflectionRequest { host: String::new(), message_request: Some(request) });
    let answers = client.server_reflection_info(tokio_stream::iter(requests)).await.expect("it is served");
    let answers: Vec<_> = answers.into_inner().collect().await;
    let answers: Vec<_> =
        answers.into_iter().map(|answer| answer.expect("an answer").message_response).collect();
    let [
        Some(MessageResponse::ListServicesResponse(listed)),
        Some(MessageResponse::FileDescriptorResponse(described)),
    ] = &answers[..]
    else {
        panic!("a list and a description: {answers:?}");
    };
    let mut names: Vec<&str> = listed.service.iter().map(|service| service.name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "isthmus.daemon.v1.Daemon",
        "isthmus.daemon.v1.Inspect",
        "pulumirpc.ResourceProvider",
    ];
    assert_eq!(names, expected);
    assert!(!described.file_descriptor_proto.is_empty());
}

#[tokio::test]
async fn a_daemon_that_drains_reports_that_it_does_not_serve_and_opens_no_session() {
    let setup = Setup::sandbox(Protocol::V6)
        .with("ISTHMUS_DRAIN_PERIOD", "0")
        .with("ISTHMUS_STOP_GRACE_PERIOD", "5")
        .with_daemon();
    let mut host = setup.start().await;
    let mut client = HealthClient::new(host.daemon().channel().await);
    for service in ["", "pulumirpc.ResourceProvider", "isthmus.daemon.v1.Daemon"] {
        let health = client.check(of(service)).await.expect("it is served").into_inner();
        assert_eq!(health.status(), ServingStatus::Serving, "{service}");
    }
    let status = client.check(of("another")).await.expect_err("there is none");
    assert_eq!(status.code(), Code::NotFound);
    let mut watched = client.watch(of("")).await.expect("it is served").into_inner();
    assert_eq!(watched.message().await.expect("one").expect("one").status(), ServingStatus::Serving);

    let session = host.session().await.expect("a session");
    let (faulty, inputs) = (session.faulty(), json!({"mode": "hang-forever"}));
    let drained = async {
        host.provider_is_in("ApplyResourceChange", 1).await;
        host.daemon().signal(Signal::TERM);
        let drained = watched.message().await.expect("one").expect("one");
        assert_eq!(drained.status(), ServingStatus::NotServing);
        assert!(watched.message().await.expect("an end in order").is_none(), "the daemon would wait for it");
        // Those who come now are told so as well.
        let channel = host.daemon().channel().await;
        let health =
            HealthClient::new(channel.clone()).check(of("")).await.expect("it is served").into_inner();
        assert_eq!(health.status(), ServingStatus::NotServing);
        let open = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
        let status = DaemonClient::new(channel.clone()).open(open).await.expect_err("it ends");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let overview = inspect_client::InspectClient::new(channel).overview(OverviewRequest {}).await;
        assert!(overview.expect("operators still look").into_inner().draining);
    };
    let (created, ()) = tokio::join!(faulty.create(&inputs), drained);
    created.expect_err("it was broken off");
    host.daemon_mut().ended().await;
}
