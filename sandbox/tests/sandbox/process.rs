//! The executable: handshake, TLS, signals, exit.

use std::process::Command;

use isthmus_proto::goplugin::Empty;
use isthmus_proto::goplugin::grpc_controller_client::GrpcControllerClient;
use isthmus_proto::health::HealthCheckRequest;
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_client::HealthClient;
use isthmus_proto::tfplugin6::provider_client::ProviderClient;
use isthmus_proto::tfplugin6::{DynamicValue, configure_provider, get_provider_schema};
use tonic::transport::Channel;

use crate::harness::{Process, Tls, executable};

async fn is_serving(channel: Channel) -> bool {
    let request = HealthCheckRequest { service: "plugin".to_owned() };
    let answer = HealthClient::new(channel).check(request).await.expect("an answer").into_inner();
    answer.status() == ServingStatus::Serving
}

async fn shut_down(channel: Channel) {
    // The process may exit before its response.
    drop(GrpcControllerClient::new(channel).shutdown(Empty {}).await);
}

#[test]
fn the_executable_started_by_hand_explains_that_it_is_a_plugin() {
    let output = executable().output().expect("the executable runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("This binary is a plugin."), "{text}");
}

#[tokio::test]
async fn with_a_clients_certificate_tls_is_spoken() {
    let mut process = Process::start(Tls::On, &[]);
    let line = process.handshake();
    assert_eq!(line.protocol, "6", "the highest that both speak");
    assert!(line.certificate.is_some());

    let channel = process.connect(&line).await;

    assert!(is_serving(channel.clone()).await);
    let schema = ProviderClient::new(channel).get_provider_schema(get_provider_schema::Request {}).await;
    assert!(schema.expect("a schema").into_inner().resource_schemas.contains_key("sandbox_note"));
}

#[tokio::test]
async fn another_client_is_refused() {
    let mut process = Process::start(Tls::On, &[]);
    let line = process.handshake();
    let stranger = crate::harness::ClientIdentity::generate();
    let certificate = line.certificate.clone().expect("TLS");

    let stream = tokio::net::UnixStream::connect(&line.socket).await.expect("a socket");
    let name = "localhost".try_into().expect("a name");
    let connected = stranger.connector(certificate).connect(name, stream).await;
    // In TLS 1.3 the client learns of the refusal with the first read.
    let refused = match connected {
        Err(error) => error,
        Ok(mut stream) => {
            let mut byte = [0_u8; 1];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut byte).await.expect_err("a refusal")
        }
    };
    assert!(refused.to_string().contains("alert"), "{refused}");

    assert!(is_serving(process.connect(&line).await).await, "the right client is still welcome");
}

#[tokio::test]
async fn the_handshake_can_announce_a_wrong_certificate() {
    let mut process = Process::start(Tls::On, &[("SANDBOX_HANDSHAKE", "wrong-certificate")]);
    let line = process.handshake();
    let certificate = line.certificate.clone().expect("TLS");
    let stream = tokio::net::UnixStream::connect(&line.socket).await.expect("a socket");
    let name = "localhost".try_into().expect("a name");

    let refused = process.client().connector(certificate).connect(name, stream).await.expect_err("a lie");

    assert!(refused.to_string().contains("another certificate than the handshake's"), "{refused}");
}

#[tokio::test]
async fn without_a_certificate_the_socket_is_plain() {
    let mut process = Process::start(Tls::Off, &[("SANDBOX_PROTOCOL", "5")]);
    let line = process.handshake();
    assert_eq!(line.protocol, "5");
    assert!(line.certificate.is_none());
    assert!(is_serving(process.connect(&line).await).await);
}

#[tokio::test]
async fn a_shutdown_request_ends_the_process_and_removes_its_socket() {
    let mut process = Process::start(Tls::On, &[]);
    let line = process.handshake();
    let channel = process.connect(&line).await;

    shut_down(channel).await;

    let socket = line.socket.clone();
    let (status, log) = process.wait();
    assert_eq!(status, Some(0), "{log}");
    assert!(!socket.exists());
}

#[tokio::test]
async fn an_interrupt_from_the_terminal_is_ignored() {
    let mut process = Process::start(Tls::Off, &[]);
    let line = process.handshake();
    let sent = Command::new("kill").args(["-INT", &process.child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());

    assert!(is_serving(process.connect(&line).await).await);
    shut_down(process.connect(&line).await).await;
    assert_eq!(process.wait().0, Some(0));
}

#[tokio::test]
async fn a_crash_looks_like_that_of_a_go_program() {
    let mut process = Process::start(Tls::Off, &[("SANDBOX_CONFIGURE", "crash")]);
    let line = process.handshake();
    let mut client = ProviderClient::new(process.connect(&line).await);

    let request = configure_provider::Request { config: Some(DynamicValue::default()), ..Default::default() };
    let error = client.configure_provider(request).await.expect_err("it crashes");

    let (status, log) = process.wait();
    assert_eq!(status, Some(2), "{error}");
    assert!(log.contains("panic: runtime error"), "{log}");
}

#[tokio::test]
async fn it_can_claim_not_to_serve() {
    let mut process = Process::start(Tls::Off, &[("SANDBOX_HEALTH", "not-serving")]);
    let line = process.handshake();
    assert!(!is_serving(process.connect(&line).await).await);
}

#[test]
fn handshakes_fail_as_configured() {
    let line = |handshake: &str| Process::start(Tls::On, &[("SANDBOX_HANDSHAKE", handshake)]).line();

    assert_eq!(line("garbage"), "hello, who is there?\n");
    assert_eq!(line("short"), "1|6|unix\n");
    assert!(line("core-version").starts_with("2|6|unix|"));
    assert!(line("application-version").starts_with("1|4|unix|"));
    assert_eq!(line("foreign-address"), "1|6|tcp|192.0.2.1:10000|grpc|\n");
    assert!(line("netrpc").ends_with("|netrpc|\n"));
    assert!(line("no-certificate").ends_with("|grpc|\n"));
    assert!(line("dead-socket").contains(".dead|grpc|"));
    assert_eq!(line("exit-before"), "");
}

#[test]
fn it_exits_around_the_handshake_if_configured() {
    let mut before = Process::start(Tls::Off, &[("SANDBOX_HANDSHAKE", "exit-before")]);
    assert_eq!(before.line(), "");
    let (status, text) = before.wait();
    assert_eq!(status, Some(3));
    assert!(text.contains("asked to exit before the handshake"), "{text}");

    let mut after = Process::start(Tls::Off, &[("SANDBOX_HANDSHAKE", "exit-after")]);
    after.handshake();
    assert_eq!(after.wait().0, Some(0));
}

#[test]
fn an_unknown_switch_is_refused() {
    let process = Process::start(Tls::Off, &[("SANDBOX_ANSWER", "yaml")]);
    let (status, text) = process.wait();
    assert_eq!(status, Some(1));
    assert_eq!(text, "SANDBOX_ANSWER is \"yaml\", but it must be msgpack or json\n");
}
