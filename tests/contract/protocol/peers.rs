//! Who may use the daemon: its own user and root.
//!
//! Another user is a thread that has become one: on Linux each thread has a user of its own, and a socket belongs to the
//! user of the thread that opens it. Only root may do that; other users run what they can and say what they left out.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::harness::host::make_executable;
use crate::harness::processes::Signal;
use isthmus_proto::lumirpc;
use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient as LumiClient;
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient as PulumiClient;
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, GetSchemaRequest, InvokeRequest,
    ParameterizeRequest, PluginAttach, ProviderHandshakeRequest, ReadRequest, parameterize_request,
};

use crate::harness::host::channel;
use crate::harness::{Code, Host, Outcome, PATIENCE, Protocol, Setup, Status, json};

/// `nobody` on most systems.
pub(crate) const STRANGER: u32 = 65534;

const URN: &str = "urn:pulumi:test::contract::sandbox:index/note:Note::note";

/// Nothing: a thread of Windows becomes another user by a password only.
#[cfg(windows)]
pub(crate) async fn as_stranger<T, Doing>(_: impl FnOnce() -> Doing + Send + 'static) -> Option<T>
where
    Doing: Future<Output = T>,
{
    None
}

/// Does something as another user. `None` where this one may not become another.
#[cfg(unix)]
pub(crate) async fn as_stranger<T, Doing>(work: impl FnOnce() -> Doing + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    Doing: Future<Output = T>,
{
    use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let thread = std::thread::spawn(move || {
        let (user, group) = (Uid::from_raw(STRANGER), Gid::from_raw(STRANGER));
        set_thread_groups(&[]).ok()?;
        set_thread_res_gid(group, group, group).expect("root may");
        set_thread_res_uid(user, user, user).expect("root may");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        // Whatever it opens is opened by this thread.
        Some(runtime.block_on(async { tokio::time::timeout(PATIENCE, work()).await.expect("an answer") }))
    });
    let done = tokio::task::spawn_blocking(|| thread.join()).await.expect("waiting does not panic");
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[expect(clippy::print_stdout, reason = "the test runner shows it")]
pub(crate) fn left_out(what: &str) {
    println!("left out, because this user may not become another: {what}");
}

/// A provider that leaves a trace when it is run, and the trace.
fn script(host: &Host, name: &str) -> (String, PathBuf) {
    let directory = host.directory().join(name);
    std::fs::create_dir(&directory).expect("a directory");
    let (script, trace) = (directory.join("terraform-provider-trace"), directory.join("trace"));
    std::fs::write(&script, format!("#!/bin/sh\necho run >'{}'\n", trace.display())).expect("a file");
    let script = make_executable(&script);
    (script.to_str().expect("a path in UTF-8").to_owned(), trace)
}

fn parameters(provider: &str) -> ParameterizeRequest {
    let args = parameterize_request::ParametersArgs { args: vec![provider.to_owned()] };
    ParameterizeRequest { parameters: Some(parameterize_request::Parameters::Args(args)) }
}

fn note() -> Struct {
    [("title", Value::from("Hello"))].into()
}

pub(crate) type Answers = Vec<(&'static str, Result<(), Status>)>;

/// Each call of today's service that could do or tell something.
async fn calls_of_today(port: u16, provider: String) -> Answers {
    let mut client = PulumiClient::new(channel(port).await);
    let (urn, properties) = (URN.to_owned(), Some(note()));
    let handshake = ProviderHandshakeRequest::default();
    let check = CheckRequest { urn: urn.clone(), news: properties.clone(), ..Default::default() };
    let create = CreateRequest { urn: urn.clone(), properties: properties.clone(), ..Default::default() };
    let read = ReadRequest { id: "1".to_owned(), urn: urn.clone(), ..Default::default() };
    let delete = DeleteRequest { id: "1".to_owned(), urn, properties, ..Default::default() };
    vec![
        ("Handshake", client.handshake(handshake).await.map(drop)),
        ("Attach", client.attach(PluginAttach { address: "127.0.0.1:1".to_owned() }).await.map(drop)),
        ("Parameterize", client.parameterize(parameters(&provider)).await.map(drop)),
        ("GetPluginInfo", client.get_plugin_info(()).await.map(drop)),
        ("GetSchema", client.get_schema(GetSchemaRequest::default()).await.map(drop)),
        ("Configure", client.configure(ConfigureRequest::default()).await.map(drop)),
        ("Invoke", client.invoke(InvokeRequest::default()).await.map(drop)),
        ("Check", client.check(check).await.map(drop)),
        ("Create", client.create(create).await.map(drop)),
        ("Read", client.read(read).await.map(drop)),
        ("Delete", client.delete(delete).await.map(drop)),
        ("Cancel", client.cancel(()).await.map(drop)),
    ]
}

/// Each call of the legacy service.
async fn legacy_calls(port: u16) -> Answers {
    let mut client = LumiClient::new(channel(port).await);
    let (r#type, properties, id) = ("sandbox:note:Note".to_owned(), Some(note()), "1".to_owned());
    let name = lumirpc::NameRequest { r#type: r#type.clone(), properties: properties.clone() };
    let check = lumirpc::CheckRequest { r#type: r#type.clone(), properties: properties.clone() };
    let create = lumirpc::CreateRequest { r#type: r#type.clone(), properties: properties.clone() };
    let get = lumirpc::GetRequest { id: id.clone(), r#type: r#type.clone() };
    let delete = lumirpc::DeleteRequest { id, r#type, properties };
    vec![
        ("Name", client.name(name).await.map(drop)),
        ("Check", client.check(check).await.map(drop)),
        ("Create", client.create(create).await.map(drop)),
        ("Get", client.get(get).await.map(drop)),
        ("Delete", client.delete(delete).await.map(drop)),
    ]
}

#[track_caller]
pub(crate) fn assert_refused(answers: &Answers) {
    assert!(!answers.is_empty());
    for (call, answer) in answers {
        let status = answer.as_ref().expect_err(call);
        assert_eq!(status.code(), Code::PermissionDenied, "{call}: {status}");
        let own = isthmus_platform::process::User::current();
        let whole = format!("belongs to user {STRANGER}, and this daemon serves only user {own} and root");
        assert!(status.message().contains(&whole), "{call}: {status}");
        assert!(status.message().contains("help: run a daemon for each user"), "{call}: {status}");
    }
}

#[tokio::test]
async fn another_user_is_refused_by_both_services_and_the_own_one_is_served() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).attachable().start().await;
    let own = host.session().await?;
    let before = host.call_names();
    let (provider, trace) = script(&host, "of-a-stranger");
    let port = host.port();
    let todays = as_stranger(move || calls_of_today(port, provider)).await;
    let legacy = as_stranger(move || legacy_calls(port)).await;
    match (todays, legacy) {
        (Some(todays), Some(legacy)) => {
            assert_refused(&todays);
            assert_refused(&legacy);
        }
        _ => left_out("the calls of another user"),
    }
    assert!(!trace.exists(), "the stranger's provider was run");
    assert_eq!(host.call_names(), before, "the provider was asked for something");
    let made = own.note().make(&json!({"title": "Hello"})).await?;
    own.note().delete(&made).await
}

/// What a client sends that creates a note with this title, to its end.
async fn bytes_of_create(title: &'static str) -> Vec<u8> {
    let recorder = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = recorder.local_addr().expect("an address").port();
    let properties = Some([("title", Value::from(title))].into());
    let request = lumirpc::CreateRequest { r#type: "sandbox:note:Note".to_owned(), properties };
    let calling = tokio::spawn(async move { LumiClient::new(channel(port).await).create(request).await });
    let (mut connection, _) = recorder.accept().await.expect("a connection");
    let mut sent = Vec::new();
    while !ends_with_a_call(&sent) {
        let more = tokio::io::AsyncReadExt::read_buf(&mut connection, &mut sent);
        assert_ne!(tokio::time::timeout(PATIENCE, more).await.expect("a call").expect("bytes"), 0);
    }
    calling.abort();
    sent
}

/// Whether there is a frame of data that ends a stream, after HTTP/2's preface.
fn ends_with_a_call(sent: &[u8]) -> bool {
    const PREFACE: usize = 24;
    let mut rest = sent.get(PREFACE..).unwrap_or_default();
    while let Some((header, after)) = rest.split_first_chunk::<9>() {
        let [a, b, c, kind, flags, ..] = *header;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let Some(next) = after.get(length..) else { return false };
        if kind == 0 && flags & 1 != 0 {
            return true;
        }
        rest = next;
    }
    false
}

/// Sends the bytes to a daemon that stands still, so that all of them are there before it looks.
fn send(host: &Host, bytes: &[u8]) -> TcpStream {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, host.port())).expect("a connection");
    connection.write_all(bytes).expect("the system takes a few bytes");
    connection
}

/// The kernel shows such a connection with user 0 and inode 0: it would be root's. A change goes to its end even if its connection
/// does not.
#[tokio::test]
async fn a_change_whose_connection_was_closed_at_once_is_not_made() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).named("lumi-resource-sandbox").start().await;
    let (closed, open) = (bytes_of_create("closed").await, bytes_of_create("left open").await);
    host.signal(Signal::STOP);
    drop(send(&host, &closed));
    // The same on a connection that stays, and that comes later, shows that these bytes are a call.
    let connection = send(&host, &open);
    host.signal(Signal::CONT);
    host.provider_is_in("ApplyResourceChange", 1).await;
    // It is answered after all that came before.
    let mut own = LumiClient::new(host.channel().await);
    let r#type = "sandbox:note:Note".to_owned();
    own.create(lumirpc::CreateRequest { r#type, properties: Some(note()) }).await?;
    drop(connection);
    let titles = host.objects().iter().map(|object| object["title"].clone()).collect::<Vec<_>>();
    assert!(titles.contains(&json!("Hello")) && !titles.contains(&json!("closed")), "{titles:?}");
    Ok(())
}

#[tokio::test]
async fn many_connections_of_another_user_take_little_and_hold_up_no_other() -> Outcome {
    const MANY: usize = 100;
    let host = Setup::sandbox(Protocol::V6).attachable().start().await;
    let own = host.session().await?;
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", host.process())).expect("it runs").count();
    let before = descriptors();
    let port = host.port();
    let closed_and_open = as_stranger(move || async move {
        let connect = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        let connections: Vec<TcpStream> = (0..MANY).map(connect).collect();
        // All but a few are closed at once; those say nothing and wait.
        let mut closed = 0;
        while closed < MANY - 16 {
            closed = connections.iter().filter(|connection| is_closed(connection)).count();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (closed, connections)
    });
    let Some((closed, connections)) = closed_and_open.await else {
        left_out("many connections of another user");
        return Ok(());
    };
    assert!(descriptors() <= before + 16, "{} descriptors, {before} before, {closed} closed", descriptors());
    let made = own.note().make(&json!({"title": "Hello"})).await?;
    own.note().delete(&made).await?;
    host.session().await?;
    drop(connections);
    Ok(())
}

fn is_closed(mut connection: &TcpStream) -> bool {
    connection.set_nonblocking(true).expect("a socket");
    let mut buffer = [0; 1024];
    loop {
        match connection.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}
