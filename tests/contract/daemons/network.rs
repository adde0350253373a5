//! A daemon at an address: whom it serves there.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use isthmus_platform::IS_WINDOWS;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::daemon::{OpenRequest, Variable};
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, GetSchemaRequest, InvokeRequest,
    ParameterizeRequest, ProviderHandshakeRequest, ReadRequest, UpdateRequest, parameterize_request,
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Status};

use super::losses::fallbacks;
use crate::harness::certificates::{Authority, private, tls};
use crate::harness::daemon::Daemon;
use crate::harness::host::channel;
use crate::harness::host::make_executable;
use crate::harness::{Code, Outcome, PATIENCE, Protocol, Session, Setup, json, processes};
use crate::protocol::peers::{Answers, as_stranger, left_out};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER_TOKEN: &str = "fedcba9876543210fedcba9876543210";

/// What one test's daemon and plugins have on disk.
struct Place {
    directory: Arc<TempDir>,
    authority: Authority,
    variables: Vec<(String, OsString)>,
}

impl Place {
    /// A daemon that serves over TLS, once it is started.
    fn new() -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let authority = Authority::new();
        let own = authority.issue(directory.path(), "localhost");
        let place = Self { variables: Vec::new(), authority, directory };
        place
            .with("ISTHMUS_LISTEN", "127.0.0.1:0")
            .with("ISTHMUS_TLS_CERTIFICATE", &own.certificate)
            .with("ISTHMUS_TLS_KEY", &own.key)
    }

    /// A daemon that serves on the loopback without TLS.
    fn without_tls() -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let place = Self { variables: Vec::new(), authority: Authority::new(), directory };
        place.with("ISTHMUS_LISTEN", "127.0.0.1:0")
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn with(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    fn with_authority(self) -> Self {
        let file = self.authority.file(self.path());
        self.with("ISTHMUS_TLS_CLIENT_AUTHORITIES", file)
    }

    fn with_tokens(self, lines: &str) -> Self {
        let file = self.path().join("tokens");
        private(&file, lines);
        self.with("ISTHMUS_TOKENS", file)
    }

    /// The files that were changed count from now on: they look as if nothing had been written to them for a while.
    fn is_written(&self) {
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(1);
        for entry in self.path().read_dir().expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let file = std::fs::File::options().append(true).open(&path).expect("it is ours");
                file.set_modified(before).expect("it is ours");
            }
        }
    }

    /// Starts the daemon, and says at which port it listens.
    async fn start(&self) -> (Daemon, u16) {
        let executable = Path::new(env!("CARGO_BIN_EXE_isthmus"));
        let daemon =
            Daemon::start(executable, self.path(), &self.variables).await.expect("none listens there");
        daemon.said("listening on 127.0.0.1:").await;
        let said = daemon.stderr();
        let (_, port) = said.split_once("listening on 127.0.0.1:").expect("it was waited for");
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        (daemon, digits.parse().expect("a port"))
    }

    /// A plugin of the daemon at a port.
    fn plugin(&self, port: u16) -> Setup {
        Setup::sandbox(Protocol::V6)
            .with("ISTHMUS_DAEMON", &format!("https://localhost:{port}"))
            .with_value("ISTHMUS_DAEMON_AUTHORITIES", self.authority.file(self.path()).as_os_str())
    }

    /// The same with a token.
    fn plugin_with_token(&self, port: u16, token: &str) -> Setup {
        let file = self.path().join("token-of-plugin");
        private(&file, token);
        self.plugin(port).with_value("ISTHMUS_DAEMON_TOKEN_FILE", file.as_os_str())
    }
}

/// Adds a token to each call.
#[derive(Clone)]
struct Bearer(&'static str);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let value = MetadataValue::try_from(format!("Bearer {}", self.0)).expect("visible characters");
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

fn open_request() -> OpenRequest {
    OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() }
}

/// Each call of a plugin and of its engine that could do or show something. It asks for a provider that would leave a trace.
async fn calls<Service>(channel: Service, provider: &str) -> Answers
where
    Service: tonic::client::GrpcService<tonic::body::Body> + Clone + Send,
    Service::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    Service::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    <Service::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    Service::Future: Send,
{
    let mut engine = ResourceProviderClient::new(channel.clone());
    let args = parameterize_request::ParametersArgs { args: vec![provider.to_owned()] };
    let parameters = Some(parameterize_request::Parameters::Args(args));
    vec![
        ("Open", DaemonClient::new(channel).open(open_request()).await.map(drop)),
        ("Handshake", engine.handshake(ProviderHandshakeRequest::default()).await.map(drop)),
        ("Parameterize", engine.parameterize(ParameterizeRequest { parameters }).await.map(drop)),
        ("GetPluginInfo", engine.get_plugin_info(()).await.map(drop)),
        ("GetSchema", engine.get_schema(GetSchemaRequest::default()).await.map(drop)),
        ("CheckConfig", engine.check_config(CheckRequest::default()).await.map(drop)),
        ("Configure", engine.configure(ConfigureRequest::default()).await.map(drop)),
        ("Invoke", engine.invoke(InvokeRequest::default()).await.map(drop)),
        ("Check", engine.check(CheckRequest::default()).await.map(drop)),
        ("Create", engine.create(CreateRequest::default()).await.map(drop)),
        ("Read", engine.read(ReadRequest::default()).await.map(drop)),
        ("Update", engine.update(UpdateRequest::default()).await.map(drop)),
        ("Delete", engine.delete(DeleteRequest::default()).await.map(drop)),
        ("Cancel", engine.cancel(()).await.map(drop)),
    ]
}

#[track_caller]
fn assert_all_refused(answers: &Answers, codes: &[Code], reason: &str) {
    for (call, answer) in answers {
        let status = answer.as_ref().expect_err(call);
        assert!(codes.contains(&status.code()), "{call}: {status}");
        assert!(status.message().contains(reason), "{call}: {status}");
    }
}

/// A provider that leaves a trace where it is run, and the trace.
fn traced(directory: &Path) -> (String, std::path::PathBuf) {
    let (script, trace) = (directory.join("terraform-provider-trace"), directory.join("trace"));
    std::fs::write(&script, format!("#!/bin/sh\necho run >'{}'\n", trace.display())).expect("a file");
    let script = make_executable(&script);
    (script.to_str().expect("a path in UTF-8").to_owned(), trace)
}

#[tokio::test]
async fn a_plugin_with_a_certificate_or_a_token_uses_a_daemon_over_tls() -> Outcome {
    let place = Place::new().with_authority().with_tokens(&format!("build {TOKEN}\n"));
    let (daemon, port) = place.start().await;
    let own = place.authority.issue(place.path(), "build.example.org");
    let certified = place
        .plugin(port)
        .with_value("ISTHMUS_DAEMON_CERTIFICATE", own.certificate.as_os_str())
        .with_value("ISTHMUS_DAEMON_KEY", own.key.as_os_str());
    for setup in [certified, place.plugin_with_token(port, TOKEN)] {
        let host = setup.start().await;
        let session = host.session().await?;
        let made = session.note().make(&json!({"title": "one"})).await?;
        session.note().delete(&made).await?;
        assert_eq!(fallbacks(&host), [""; 0], "{:?}", host.engine.lines());
        assert!(host.children().is_empty(), "the plugin has started no provider");
    }
    assert_eq!(processes::children(daemon.process()).len(), 2, "each identity has a provider of its own");
    Ok(())
}

#[tokio::test]
async fn what_identifies_nobody_is_refused_for_each_call_and_nothing_is_started() {
    let place = Place::new().with_authority().with_tokens(&format!("build {TOKEN}\n"));
    let (daemon, port) = place.start().await;
    let (provider, trace) = traced(place.path());
    let authority = place.authority.file(place.path());
    let denied = [Code::PermissionDenied];

    let (nobody, _) = tls(port, &authority, None).await.expect("TLS");
    assert_all_refused(&calls(nobody.clone(), &provider).await, &denied, "the call has no token");
    let wrong = InterceptedService::new(nobody, Bearer(OTHER_TOKEN));
    assert_all_refused(&calls(wrong, &provider).await, &denied, "not one of this daemon's");

    // One of an authority that the daemon does not know ends the handshake; TLS 1.3 says so after it.
    let foreign_directory = place.path().join("foreign");
    std::fs::create_dir(&foreign_directory).expect("a new directory");
    let foreign = Authority::new().issue(&foreign_directory, "build.example.org");
    if let Ok((foreign, _)) = tls(port, &authority, Some(&foreign)).await {
        let unavailable = [Code::Unavailable, Code::Unknown, Code::Cancelled, Code::Internal];
        assert_all_refused(&calls(foreign, &provider).await, &unavailable, "");
    }

    assert!(!trace.exists(), "a provider was run");
    assert!(processes::children(daemon.process()).is_empty(), "a process was started");
    assert!(!daemon.stderr().contains(TOKEN), "{}", daemon.stderr());
}

#[tokio::test]
async fn tokens_and_certificates_are_read_again_when_they_change() {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n"));
    let (daemon, port) = place.start().await;
    let authority = place.authority.file(place.path());
    let (channel, first) = tls(port, &authority, None).await.expect("TLS");
    let mut holder = ResourceProviderClient::new(InterceptedService::new(channel.clone(), Bearer(TOKEN)));
    let mut plugin = DaemonClient::new(InterceptedService::new(channel, Bearer(TOKEN)));
    plugin.open(open_request()).await.expect("it has a token");
    holder.get_plugin_info(()).await.expect("it has a session");

    // Withdrawn while the connection is open. What is being written does not count yet.
    private(&place.path().join("tokens"), &format!("build {OTHER_TOKEN}\n"));
    holder.get_plugin_info(()).await.expect("somebody may be writing to the file");
    place.is_written();
    let status = holder.get_plugin_info(()).await.expect_err("it has a token no more");
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");

    place.authority.issue(place.path(), "localhost");
    place.is_written();
    let (channel, second) = tls(port, &authority, None).await.expect("TLS");
    assert!(first != second, "the daemon shows the certificate that it has now");
    let mut plugin = DaemonClient::new(InterceptedService::new(channel, Bearer(OTHER_TOKEN)));
    plugin.open(open_request()).await.expect("its token was added");

    // What cannot be read permits nothing.
    let open = async || {
        let (channel, _) = tls(port, &authority, None).await.expect("TLS");
        DaemonClient::new(InterceptedService::new(channel, Bearer(OTHER_TOKEN))).open(open_request()).await
    };
    private(&place.path().join("tokens"), "build short");
    place.is_written();
    let status = open().await.expect_err("there are no tokens");
    assert!(status.message().contains("the daemon cannot read its tokens"), "{status}");
    daemon.said("has a token of fewer than 32 characters").await;
}

#[tokio::test]
async fn on_the_loopback_users_are_served_by_their_id_and_others_by_a_token() -> Outcome {
    let place = Place::without_tls();
    let (own, trace) = traced(place.path());
    let (daemon, port) = place.start().await;
    let provider = own.clone();
    match as_stranger(move || async move { calls(channel(port).await, &provider).await }).await {
        Some(answers) => {
            assert_all_refused(&answers, &[Code::PermissionDenied], "this daemon serves only user")
        }
        None => left_out("the calls of another user"),
    }
    assert!(!trace.exists() && processes::children(daemon.process()).is_empty(), "something was started");
    drop(daemon);

    let place = Place::without_tls().with_tokens(&format!("build {TOKEN}\n"));
    let (_daemon, port) = place.start().await;
    let stranger = as_stranger(move || async move {
        let mut plugin = DaemonClient::new(InterceptedService::new(channel(port).await, Bearer(TOKEN)));
        let opened = plugin.open(open_request()).await.map(drop);
        (opened, calls(channel(port).await, &own).await)
    });
    match stranger.await {
        Some((opened, answers)) => {
            opened?;
            assert_all_refused(&answers, &[Code::PermissionDenied], "the call has no token");
        }
        None => left_out("the calls of another user"),
    }
    Ok(())
}

#[tokio::test]
async fn an_engine_that_attaches_to_the_daemon_itself_has_a_session_without_a_plugin() -> Outcome {
    // What it names, as `PULUMI_DEBUG_PROVIDERS=terraform-provider:PORT` does, is the daemon's port.
    let place = Place::without_tls()
        .with("CLOUD_SECRET", "of-the-daemon")
        .with("CLOUD_REGION", "of-the-daemon")
        .with("https_proxy", "http://of.the.daemon:1")
        .with("ISTHMUS_PROVIDER_ENVIRONMENT", "CLOUD_REG*");
    let (daemon, port) = place.start().await;
    let beside = Setup::sandbox(Protocol::V6).start().await;
    let session = Session::new(channel(port).await, crate::harness::session::Transcript::default());
    session.attach(beside.engine.address()).await?;
    session.parameterize(&[&beside.provider()]).await?;
    session.configure(&json!({"directory": place.path()})).await?;
    let made = session.note().make(&json!({"title": "one"})).await?;
    session.note().delete(&made).await?;
    // Nobody has sent an environment: what only the daemon has is no run's, but for the machine's and what is named.
    let value = inherited(&daemon);
    assert_eq!(value("CLOUD_SECRET"), None);
    assert_eq!(value("CLOUD_REGION").as_deref(), Some("of-the-daemon"));
    assert_eq!(value("https_proxy").as_deref(), Some("http://of.the.daemon:1"));
    assert_eq!(value(isthmus_platform::HOME).as_deref(), place.path().to_str());
    Ok(())
}

#[tokio::test]
async fn a_plugin_uses_a_daemon_on_the_loopback_only_where_its_own_user_listens() -> Outcome {
    let place = Place::without_tls();
    let (daemon, port) = place.start().await;
    let address = format!("http://127.0.0.1:{port}");
    let host = Setup::sandbox(Protocol::V6).with("ISTHMUS_DAEMON", &address).start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    assert_eq!(fallbacks(&host), [""; 0], "{:?}", host.engine.lines());
    assert_eq!(processes::children(daemon.process()).len(), 1);

    // Another user's listener gets nothing.
    let (send, port) = tokio::sync::oneshot::channel();
    let reading = tokio::spawn(as_stranger(|| async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        send.send(listener.local_addr().expect("an address").port()).expect("it is waited for");
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut content = Vec::new();
        stream.read_to_end(&mut content).await.expect("it is closed");
        content
    }));
    let Ok(port) = port.await else {
        left_out("the listener of another user");
        return Ok(());
    };
    let address = format!("http://127.0.0.1:{port}");
    let host = Setup::sandbox(Protocol::V6).with("ISTHMUS_DAEMON", &address).start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    let [warning] = &fallbacks(&host)[..] else { panic!("{:?}", host.engine.lines()) };
    assert!(warning.contains("belongs to the user with uid 65534"), "{warning}");
    assert_eq!(reading.await.expect("no panic").as_deref(), Some(&b""[..]), "the plugin has sent something");
    Ok(())
}

#[tokio::test]
async fn a_daemon_whose_certificate_is_not_verified_gets_nothing() -> Outcome {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n"));
    let (daemon, port) = place.start().await;
    let directory = tempfile::tempdir().expect("a directory");
    let other = Authority::new().file(directory.path());
    let setup =
        place.plugin_with_token(port, TOKEN).with_value("ISTHMUS_DAEMON_AUTHORITIES", other.as_os_str());
    let host = setup.start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    let [warning] = &fallbacks(&host)[..] else { panic!("{:?}", host.engine.lines()) };
    assert!(warning.contains("its certificate is not verified"), "{warning}");
    assert!(processes::children(daemon.process()).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_replica_that_is_gone_is_passed_over() -> Outcome {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n"));
    let (daemon, port) = place.start().await;
    let gone =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    for addresses in [[gone, port], [port, gone]] {
        let addresses = addresses.map(|port| format!("https://localhost:{port}")).join(",");
        let host = place.plugin_with_token(port, TOKEN).with("ISTHMUS_DAEMON", &addresses).start().await;
        host.session().await?.note().make(&json!({"title": "one"})).await?;
        assert_eq!(fallbacks(&host), [""; 0], "{:?}", host.engine.lines());
    }
    assert!(!processes::children(daemon.process()).is_empty());
    Ok(())
}

#[tokio::test]
async fn connections_that_say_nothing_keep_no_one_else_out() -> Outcome {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n"));
    let (_daemon, port) = place.start().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("it listens"));
    }
    let host = place.plugin_with_token(port, TOKEN).start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    assert_eq!(fallbacks(&host), [""; 0], "{:?}", host.engine.lines());
    assert!(host.children().is_empty(), "the daemon has served the run");
    // Those that were there first have lost their places.
    let mut byte = [0];
    let read = tokio::time::timeout(PATIENCE, silent[0].read(&mut byte)).await.expect("it is closed");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    Ok(())
}

#[tokio::test]
async fn a_flood_of_connections_of_another_user_fails_no_call_of_the_owner() -> Outcome {
    let place = Place::without_tls();
    let (_daemon, port) = place.start().await;
    let (connected, called) =
        (tokio_util::sync::CancellationToken::new(), tokio_util::sync::CancellationToken::new());
    let (has_connected, until) = (connected.clone(), called.clone());
    let flood = as_stranger(move || async move {
        let mut open = std::collections::VecDeque::new();
        while !until.is_cancelled() {
            open.extend(tokio::net::TcpStream::connect(("127.0.0.1", port)).await);
            if open.len() > 200 {
                has_connected.cancel();
                open.pop_front();
            }
        }
    });
    let calls = async {
        connected.cancelled().await;
        for _ in 0..20 {
            ResourceProviderClient::new(channel(port).await).get_plugin_info(()).await?;
        }
        called.cancel();
        Ok::<_, Status>(())
    };
    let mut flood = std::pin::pin!(flood);
    tokio::select! {
        answered = calls => answered?,
        ended = &mut flood => assert!(ended.is_none(), "the flood goes on as long as there are calls"),
    }
    if !connected.is_cancelled() {
        left_out("a flood of another user");
    }
    Ok(())
}

#[tokio::test]
async fn the_address_is_handed_over_with_the_socket_and_refuses_no_connection_meanwhile() -> Outcome {
    let place = Place::without_tls();
    let (mut first, port) = place.start().await;
    let replaced = tokio_util::sync::CancellationToken::new();
    let calls = async {
        let mut answered = 0;
        while !replaced.is_cancelled() || answered == 0 {
            // A connection of its own for each call: any of them may wait in the queue while the listener changes hands.
            let mut client = ResourceProviderClient::new(channel(port).await);
            client.get_plugin_info(()).await?;
            answered += 1;
        }
        Ok::<_, Status>(answered)
    };
    let replacements = async {
        let mut daemons = Vec::new();
        for _ in 0..5 {
            let daemon = Daemon::replacing(place.path(), &place.variables).await;
            daemon.said(&format!("listening on 127.0.0.1:{port}")).await;
            daemons.push(daemon);
        }
        replaced.cancel();
        daemons
    };
    let (answered, mut daemons) = tokio::join!(calls, replacements);
    println!("{} calls were answered meanwhile", answered?);
    daemons.pop().expect("the last one");
    first.ended().await;
    for daemon in &mut daemons {
        daemon.ended().await;
    }
    Ok(())
}

/// A variable of the only provider process of a daemon.
fn inherited(daemon: &Daemon) -> impl Fn(&str) -> Option<String> + use<> {
    let [provider] = processes::children(daemon.process())[..] else { panic!("one provider") };
    let environment = std::fs::read(format!("/proc/{provider}/environ")).expect("it runs");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    move |name| {
        let mut variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
        variables.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
    }
}

#[tokio::test]
async fn a_plugin_on_another_machine_brings_its_variables_and_not_those_of_its_machine() -> Outcome {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n")).with("CLOUD_SECRET", "of-the-daemon");
    let (daemon, port) = place.start().await;
    let written = place.path().join("calls");
    let host = place
        .plugin_with_token(port, TOKEN)
        .with("CLOUD_REGION", "of-the-plugin")
        .with("LD_LIBRARY_PATH", "/of-the-plugin")
        .with_value("PULUMI_TF_DEBUG_GRPC", written.as_os_str())
        .start()
        .await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    let value = inherited(&daemon);
    assert_eq!(value("CLOUD_REGION").as_deref(), Some("of-the-plugin"));
    assert_eq!(value(isthmus_platform::HOME).as_deref(), place.path().to_str());
    assert!(!written.exists(), "the name of a file is that of the plugin's machine");
    for name in ["CLOUD_SECRET", "LD_LIBRARY_PATH", "ISTHMUS_TOKENS", "ISTHMUS_DAEMON_TOKEN_FILE"] {
        assert_eq!(value(name), None, "{name}");
    }
    Ok(())
}

/// A new file. On Windows, it is as the directory is: no mode is given back to one that was private.
fn readable_by_others(path: &Path, content: &str) {
    std::fs::write(path, content).expect("a file");
    isthmus_platform::files::set_mode(path, 0o644).expect("it is ours");
}

#[tokio::test]
async fn a_daemon_that_would_serve_anyone_does_not_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let own = Authority::new().issue(directory.path(), "localhost");
    let (certificate, key) = (own.certificate.to_str().expect("UTF-8"), own.key.to_str().expect("UTF-8"));
    let readable = directory.path().join("tokens");
    readable_by_others(&readable, &format!("build {TOKEN}\n"));
    let tokens = readable.to_str().expect("UTF-8");
    let pair = [("ISTHMUS_TLS_CERTIFICATE", certificate), ("ISTHMUS_TLS_KEY", key)];
    let refused = async |variables: &[(&str, &str)]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_isthmus"));
        command.arg("daemon").arg("--socket").arg(directory.path().join("daemon.sock")).env_clear();
        command.env(isthmus_platform::HOME, directory.path()).envs(variables.iter().copied());
        let output =
            tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").expect("a process");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&[("ISTHMUS_LISTEN", "0.0.0.0:0")]).await;
    assert!(said.contains("an address beyond this machine is served over TLS only"), "{said}");
    let said = refused(&[&[("ISTHMUS_LISTEN", "0.0.0.0:0")][..], &pair].concat()).await;
    assert!(said.contains("set ISTHMUS_TLS_CLIENT_AUTHORITIES or ISTHMUS_TOKENS"), "{said}");
    let said = refused(&[("ISTHMUS_LISTEN", "127.0.0.1:0"), ("ISTHMUS_TLS_CERTIFICATE", certificate)]).await;
    assert!(said.contains("both or neither must be set"), "{said}");
    let said = refused(&[("ISTHMUS_LISTEN", "127.0.0.1:0"), ("ISTHMUS_TOKENS", tokens)]).await;
    let permission = if IS_WINDOWS { "its access list" } else { "its mode 0644" };
    assert!(said.contains(&format!("{permission} lets other users read it")), "{said}");
    assert!(!said.contains(TOKEN), "{said}");
    let content = std::fs::read_to_string(&own.key).expect("a file");
    std::fs::remove_file(&own.key).expect("it is ours");
    readable_by_others(&own.key, &content);
    isthmus_platform::files::set_mode(&readable, 0o600).expect("it is ours");
    let variables = [&[("ISTHMUS_LISTEN", "127.0.0.1:0"), ("ISTHMUS_TOKENS", tokens)][..], &pair].concat();
    let said = refused(&variables).await;
    assert!(said.contains("the file that ISTHMUS_TLS_KEY names is refused"), "{said}");
    // Somebody relies on what these have restricted.
    for (name, value, instead) in [
        ("ISTHMUS_POLICY", tokens, "a daemon for each team"),
        ("ISTHMUS_ALLOW_USERS", "ci", "a daemon for each user"),
    ] {
        let said = refused(&[(name, value)]).await;
        assert!(said.contains(&format!("{name} is no longer a setting")) && said.contains(instead), "{said}");
    }
}

#[tokio::test]
async fn settings_of_the_daemon_are_its_own_whatever_a_plugin_sends() {
    let place = Place::new().with_tokens(&format!("build {TOKEN}\n"));
    let (_daemon, port) = place.start().await;
    let authority = place.authority.file(place.path());
    let (channel, _) = tls(port, &authority, None).await.expect("TLS");
    let variable =
        |name: &'static str, value: &'static str| Variable { name: name.into(), value: value.into() };
    let environment =
        vec![variable("ISTHMUS_POOL_AGE", "nonsense"), variable("ISTHMUS_STORE", "nonsense://")];
    let request = OpenRequest { environment, ..open_request() };
    let mut plugin = DaemonClient::new(InterceptedService::new(channel, Bearer(TOKEN)));
    plugin.open(request).await.expect("they do not count");
}
