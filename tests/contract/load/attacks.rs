//! A peer that takes what it can get: calls without end, messages that never arrive, connections. Others are served meanwhile.
//!
//! It writes HTTP/2 itself, so that no library keeps it within limits.

use std::time::Duration;

use isthmus_platform::local::Stream;
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{CheckRequest, GetSchemaRequest, GetSchemaResponse};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tonic::Request;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Endpoint;

use super::figures::Usage;
use crate::harness::session::Transcript;
use crate::harness::{Host, Outcome, Protocol, Session, Setup, json};

/// Calls of an attack. A connection has some thousands at a time.
const CALLS: u32 = 100_000;

/// Resident memory in KiB that they may take: 10 for each of 4,096, and what the heap grows by besides.
const MEMORY_OF_CALLS: u64 = 96 * 1024;

/// Messages that are announced and do not arrive: on one connection, all of the room that it has, and ten times that.
const MESSAGES: u32 = 100;
const ANNOUNCED: u32 = 100 << 20;

/// Bytes of each that are sent: less than the window of a stream.
const SENT: usize = 60_000;

/// Resident memory in KiB that these may take: what is sent, twice.
const MEMORY_OF_MESSAGES: u64 = 2 * (MESSAGES as u64 * SENT as u64) / 1024 + 16 * 1024;

/// The largest message, and connections that announce one each: of twenty times the room of all.
const LARGEST: u32 = 400 << 20;
const ANNOUNCING: usize = 100;

/// Schemas that are asked for on a connection and not read. Some of them at a time are sent.
const SCHEMAS: usize = 100;

/// Connections of an attack on a process that may have [`DESCRIPTORS`].
const CONNECTIONS: usize = 700;
const DESCRIPTORS: usize = 600;

const CREATE: &str = "/pulumirpc.ResourceProvider/Create";
const OPEN: &str = "/isthmus.daemon.v1.Daemon/Open";

/// How long a call of another peer may take meanwhile.
const PATIENCE: Duration = Duration::from_secs(20);

/// An HTTP/2 connection without a library.
struct Attacker<Io> {
    writing: WriteHalf<Io>,
    /// Reads what is answered, so that the answers do not hold up the attack.
    _reading: JoinHandle<()>,
    next: u32,
}

impl<Io: AsyncRead + AsyncWrite + Send + 'static> Attacker<Io> {
    async fn on(stream: Io) -> Self {
        let (mut reading, mut writing) = split(stream);
        writing.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.expect("it is accepted");
        writing.write_all(&frame(4, 0, 0, &[])).await.expect("it is accepted");
        // What it sends before the server has given its room would end the connection.
        while kind_of_frame(&mut reading).await != WINDOW_UPDATE {}
        Self { writing, _reading: tokio::spawn(drain(reading)), next: 1 }
    }

    /// Begins calls, of each of which this much of a message is sent. False if the connection has ended.
    async fn call(&mut self, count: u32, path: &str, message: &[u8]) -> bool {
        let mut head = vec![0x83, 0x86, 0x04, u8::try_from(path.len()).expect("it is short")];
        head.extend_from_slice(path.as_bytes());
        head.extend_from_slice(b"\x0f\x10\x10application/grpc");
        for _ in 0..count {
            let mut bytes = frame(1, 4, self.next, &head);
            for part in message.chunks(16_000) {
                bytes.extend_from_slice(&frame(0, 0, self.next, part));
            }
            self.next += 2;
            if self.writing.write_all(&bytes).await.is_err() {
                return false;
            }
        }
        true
    }
}

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("it is short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(content);
    frame
}

const WINDOW_UPDATE: u8 = 8;

/// Reads a frame.
async fn kind_of_frame(stream: &mut (impl AsyncRead + Unpin)) -> u8 {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.expect("the connection is served");
    let mut content = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    stream.read_exact(&mut content).await.expect("the connection is served");
    head[3]
}

async fn drain(mut stream: ReadHalf<impl AsyncRead>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}

/// The beginning of a large message.
fn beginning(announced: u32) -> Vec<u8> {
    let mut message = vec![0];
    message.extend_from_slice(&announced.to_be_bytes());
    message.resize(SENT, 0);
    message
}

fn setup() -> Setup {
    Setup::sandbox(Protocol::V6).without_a_record()
}

async fn of_engine(host: &Host) -> Attacker<TcpStream> {
    Attacker::on(TcpStream::connect(("127.0.0.1", host.port())).await.expect("it listens")).await
}

async fn of_plugin(host: &Host) -> Attacker<Stream> {
    Attacker::on(Stream::connect(host.daemon().socket()).await.expect("it listens")).await
}

/// Makes a resource, in time.
async fn served(session: &Session) -> Outcome {
    let made = async { session.note().make(&json!({"title": "meanwhile"})).await };
    tokio::time::timeout(PATIENCE, made).await.expect("it is answered meanwhile").map(drop)
}

/// Checks a resource with a megabyte, in time.
async fn served_with_large_message(host: &Host) -> Outcome {
    let body = Value::from("x".repeat(1 << 20));
    let request = CheckRequest {
        urn: "urn:pulumi:test::load::sandbox:index/note:Note::large".to_owned(),
        olds: Some(Struct::new()),
        news: Some([("title", Value::from("large")), ("body", body)].into()),
        ..Default::default()
    };
    let channel = host.channel().await;
    let mut client = ResourceProviderClient::new(channel).max_decoding_message_size(usize::MAX);
    // Its connection has no session with a provider, which it is told once its message was read.
    let status =
        tokio::time::timeout(PATIENCE, client.check(request)).await.expect("it is answered meanwhile");
    let status = status.expect_err("there is no provider");
    assert!(status.message().contains("Parameterize") || status.message().contains("provider"), "{status}");
    Ok(())
}

/// The memory that a process has grown by, in KiB.
fn growth(process: u32, before: Usage) -> u64 {
    Usage::of(process).peak.saturating_sub(before.memory)
}

#[tokio::test]
async fn calls_without_end_on_the_port_of_a_plugin_take_little_and_disturb_no_engine() -> Outcome {
    let (host, session) = setup().session().await?;
    served(&session).await?;
    let before = Usage::of(host.process());
    let mut attacker = of_engine(&host).await;
    attacker.call(CALLS, CREATE, &[]).await;
    served(&session).await?;
    let mut patient = of_engine(&host).await;
    patient.call(4_000, CREATE, &[]).await;
    served(&session).await?;
    let grown = growth(host.process(), before);
    assert!(grown <= MEMORY_OF_CALLS, "{grown} KiB");
    Ok(())
}

#[tokio::test]
async fn calls_without_end_on_the_socket_of_a_daemon_take_little_and_disturb_no_plugin() -> Outcome {
    let host = setup().with_daemon().start().await;
    let session = host.session().await?;
    served(&session).await?;
    let before = Usage::of(host.daemon().process());
    of_plugin(&host).await.call(CALLS, OPEN, &[]).await;
    let mut attackers = Vec::new();
    for _ in 0..4 {
        let mut attacker = of_plugin(&host).await;
        attacker.call(4_000, OPEN, &[]).await;
        attackers.push(attacker);
    }
    served(&session).await?;
    let later = host.session().await?;
    served(&later).await?;
    let grown = growth(host.daemon().process(), before);
    assert!(grown <= 2 * MEMORY_OF_CALLS, "{grown} KiB");
    Ok(())
}

/// Others are served, and what was announced has taken little.
async fn goes_on(host: &Host, session: &Session, before: Usage) -> Outcome {
    served(session).await?;
    served_with_large_message(host).await?;
    let grown = growth(host.process(), before);
    assert!(grown <= MEMORY_OF_MESSAGES, "{grown} KiB");
    Ok(())
}

#[tokio::test]
async fn messages_that_do_not_arrive_take_little_and_hold_up_no_others() -> Outcome {
    let (host, session) = setup().session().await?;
    served(&session).await?;
    let before = Usage::of(host.process());
    let mut attacker = of_engine(&host).await;
    assert!(attacker.call(MESSAGES, CREATE, &beginning(ANNOUNCED)).await, "its connection goes on");
    goes_on(&host, &session, before).await
}

#[tokio::test]
async fn messages_that_are_announced_on_many_connections_hold_up_no_others() -> Outcome {
    let (host, session) = setup().session().await?;
    let before = Usage::of(host.process());
    let mut attackers = Vec::new();
    for _ in 0..ANNOUNCING {
        let mut attacker = of_engine(&host).await;
        attacker.call(2, CREATE, &beginning(LARGEST)[..1000]).await;
        attackers.push(attacker);
    }
    goes_on(&host, &session, before).await
}

#[tokio::test]
async fn schemas_that_are_not_read_are_made_some_at_a_time_and_hold_up_no_others() -> Outcome {
    let (host, session) = setup().session().await?;
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", host.port())).expect("an address");
    // Less than a schema has.
    let channel = endpoint.initial_stream_window_size(1000).connect().await.expect("it listens");
    let attacker = Session::new(channel.clone(), Transcript::default());
    attacker.handshake(host.engine.address()).await?;
    attacker.parameterize(&[&host.provider()]).await?;
    let mut calls = JoinSet::new();
    for _ in 0..SCHEMAS {
        let mut client = tonic::client::Grpc::new(channel.clone());
        calls.spawn(async move {
            client.ready().await.expect("it is connected");
            let codec = tonic_prost::ProstCodec::<GetSchemaRequest, GetSchemaResponse>::default();
            let path = PathAndQuery::from_static("/pulumirpc.ResourceProvider/GetSchema");
            client.server_streaming(Request::new(GetSchemaRequest::default()), path, codec).await
        });
    }
    // They begin to be answered, and nobody reads them.
    let mut answers = vec![calls.join_next().await.expect("there are many").expect("no panic")?];
    let schema = tokio::time::timeout(PATIENCE, session.schema()).await.expect("it is answered meanwhile")?;
    assert!(schema.is_object());
    while let Some(answer) = calls.try_join_next() {
        answers.push(answer.expect("no panic")?);
    }
    assert!(answers.len() < SCHEMAS / 2, "{} are answered at once", answers.len());
    Ok(())
}

#[tokio::test]
async fn connections_with_half_a_call_leave_descriptors_to_others() -> Outcome {
    super::floods::allow_connections();
    let host = setup().after(&format!("ulimit -n {DESCRIPTORS}")).start().await;
    let first = host.session().await?;
    served(&first).await?;
    let mut attackers = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut attacker = of_engine(&host).await;
        attacker.call(1, CREATE, &beginning(ANNOUNCED)[..100]).await;
        attackers.push(attacker);
    }
    served(&first).await?;
    // It needs descriptors for its connection, and for a provider of its own.
    let later = tokio::time::timeout(PATIENCE, host.session()).await.expect("it is accepted")?;
    served(&later).await?;
    let descriptors = Usage::of(host.process()).descriptors;
    assert!(descriptors < DESCRIPTORS as u64, "{descriptors}");
    Ok(())
}
