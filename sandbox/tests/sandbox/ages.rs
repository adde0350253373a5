//! Imitation of other protocol minors.

use isthmus_proto::tfplugin5::provider_client::ProviderClient;
use isthmus_proto::tfplugin5::{get_functions, get_provider_schema, get_resource_identity_schemas};
use isthmus_sandbox::{Minor, Misbehaviour, Protocol};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

use crate::harness::InProcess;

/// A response as of a client that only knows unknown fields.
#[derive(Clone, PartialEq, prost::Message)]
struct FromTheFuture {
    #[prost(uint64, tag = "31337")]
    number: u64,
    #[prost(string, tag = "31338")]
    text: String,
}

async fn of_age(minor: u8) -> (InProcess, ProviderClient<tonic::transport::Channel>) {
    let switches = Misbehaviour { minor: Minor::Numbered(minor), ..Misbehaviour::default() };
    let server = InProcess::start(Protocol::V5, switches).await;
    let client = ProviderClient::new(server.channel.clone());
    (server, client)
}

#[tokio::test]
async fn an_old_provider_leaves_later_calls_unimplemented() {
    let (_server, mut client) = of_age(3).await;

    let functions = client.get_functions(get_functions::Request {}).await;
    assert_eq!(functions.expect_err("5.3 has no functions").code(), tonic::Code::Unimplemented);
    let identities = client.get_resource_identity_schemas(get_resource_identity_schemas::Request {}).await;
    assert_eq!(identities.expect_err("5.3 has no identities").code(), tonic::Code::Unimplemented);
    client.get_schema(get_provider_schema::Request {}).await.expect("5.3 has schemas");
}

#[tokio::test]
async fn capabilities_come_with_age() {
    let (_server, mut client) = of_age(0).await;
    let schema = client.get_schema(get_provider_schema::Request {}).await.expect("a schema").into_inner();
    assert_eq!(schema.server_capabilities, None);
    assert!(schema.functions.is_empty(), "{:?}", schema.functions);

    let (_server, mut client) = of_age(4).await;
    let schema = client.get_schema(get_provider_schema::Request {}).await.expect("a schema").into_inner();
    let capabilities = schema.server_capabilities.expect("capabilities");
    assert!(capabilities.plan_destroy && capabilities.get_provider_schema_optional, "{capabilities:?}");
    assert!(!capabilities.move_resource_state, "{capabilities:?}");
}

#[tokio::test]
async fn the_future_writes_fields_that_no_contract_has() {
    let switches = Misbehaviour { minor: Minor::Future, ..Misbehaviour::default() };
    let server = InProcess::start(Protocol::V5, switches).await;
    let mut client = Grpc::new(server.channel.clone());
    client.ready().await.expect("a connection");

    let path = PathAndQuery::from_static("/tfplugin5.Provider/GetSchema");
    let request = tonic::Request::new(get_provider_schema::Request {});
    let codec = ProstCodec::<get_provider_schema::Request, FromTheFuture>::default();
    let answer = client.unary(request, path, codec).await.expect("an answer").into_inner();

    assert_eq!(answer, FromTheFuture { number: 1, text: "future".to_owned() });
}
