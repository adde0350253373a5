//! Misbehaviour that clients hide: a client takes a value in JSON for the same as one in MessagePack, skips unknown fields, and
//! does without calls that an old provider lacks. Tests of isthmus would pass if the sandbox behaved. Any other misbehaviour has
//! a test of isthmus that fails without it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use isthmus_proto::tfplugin5::provider_client::ProviderClient;
use isthmus_proto::tfplugin5::{RawState, get_functions, get_provider_schema, upgrade_resource_state};
use isthmus_sandbox::MAGIC_COOKIE;
use tempfile::TempDir;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// The sandbox as a process that serves protocol 5 without TLS; killed on drop.
struct Sandbox {
    child: Child,
    _directory: TempDir,
}

impl Sandbox {
    async fn start(switch: &str, value: &str) -> (Self, Channel) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut child = Command::new(env!("CARGO_BIN_EXE_terraform-provider-sandbox"))
            .env_clear()
            .env(MAGIC_COOKIE.0, MAGIC_COOKIE.1)
            .env("PLUGIN_PROTOCOL_VERSIONS", "5")
            .env("PLUGIN_UNIX_SOCKET_DIR", directory.path())
            .env(switch, value)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the executable starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let sandbox = Self { child, _directory: directory };
        let socket = line.split('|').nth(3).unwrap_or_else(|| panic!("not a handshake: {line:?}"));
        let endpoint = Endpoint::from_shared(format!("unix:{socket}")).expect("an address");
        (sandbox, endpoint.connect().await.expect("a connection"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test]
async fn values_are_in_json_if_that_is_switched_on() {
    let (_sandbox, channel) = Sandbox::start("SANDBOX_ANSWER", "json").await;
    let stored = br#"{"id":"n1","title":"old","text":"words"}"#;
    let request = upgrade_resource_state::Request {
        type_name: "sandbox_note".to_owned(),
        version: 0,
        raw_state: Some(RawState { json: stored.as_slice().into(), ..Default::default() }),
    };

    let upgraded = ProviderClient::new(channel).upgrade_resource_state(request).await.expect("an answer");

    let state = upgraded.into_inner().upgraded_state.expect("a state");
    assert!(state.msgpack.is_empty() && state.json.starts_with(b"{"), "{state:?}");
}

#[tokio::test]
async fn an_old_provider_leaves_later_calls_unimplemented_and_capabilities_unset() {
    let (_sandbox, channel) = Sandbox::start("SANDBOX_MINOR", "5.0").await;
    let mut client = ProviderClient::new(channel);

    let functions = client.get_functions(get_functions::Request {}).await;
    assert_eq!(functions.expect_err("5.0 has no functions").code(), tonic::Code::Unimplemented);
    let schema = client.get_schema(get_provider_schema::Request {}).await.expect("a schema").into_inner();
    assert_eq!(schema.server_capabilities, None);
    assert!(schema.functions.is_empty(), "{:?}", schema.functions);
}

/// A response to a client that knows the fields of a later minor alone.
#[derive(Clone, PartialEq, prost::Message)]
struct FromTheFuture {
    #[prost(uint64, tag = "31337")]
    number: u64,
    #[prost(string, tag = "31338")]
    text: String,
}

#[tokio::test]
async fn a_provider_from_the_future_writes_fields_that_no_contract_has() {
    let (_sandbox, channel) = Sandbox::start("SANDBOX_MINOR", "future").await;
    let mut client = Grpc::new(channel);
    client.ready().await.expect("a connection");

    let path = PathAndQuery::from_static("/tfplugin5.Provider/GetSchema");
    let request = tonic::Request::new(get_provider_schema::Request {});
    let codec = ProstCodec::<get_provider_schema::Request, FromTheFuture>::default();
    let answer = client.unary(request, path, codec).await.expect("an answer").into_inner();

    assert_eq!(answer, FromTheFuture { number: 1, text: "future".to_owned() });
}
