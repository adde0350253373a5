//! Providers in the test's own process, which the daemon joins as it would one in a debugger; and one of them that can next to
//! nothing: it describes itself and takes a configuration, and everything else it has never heard of, as providers that are
//! older than a call.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_proto::tfplugin5::provider_server::{Provider as Provider5, ProviderServer as Server5};
use isthmus_proto::tfplugin6::provider_server::{Provider as Provider6, ProviderServer as Server6};
use isthmus_proto::{tfplugin5, tfplugin6};
use isthmus_sandbox::Protocol;
use prost::Message;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// A service that is served as a provider. It ends with this.
#[derive(Debug)]
pub(crate) struct Served {
    server: tokio::task::JoinHandle<()>,
    entry: Json,
}

impl Served {
    pub(crate) async fn start(protocol: Protocol, provider: impl Provider5 + Provider6) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let mut builder = tonic::transport::Server::builder();
        let (router, version) = match protocol {
            Protocol::V5 => (builder.add_service(Server5::new(provider)), 5),
            Protocol::V6 => (builder.add_service(Server6::new(provider)), 6),
        };
        let server = tokio::spawn(async move {
            router.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the provider serves");
        });
        let entry = json!({
            "Protocol": "grpc", "ProtocolVersion": version, "Pid": 0, "Test": true,
            "Addr": {"Network": "tcp", "String": address},
        });
        Self { server, entry }
    }

    /// The value of `TF_REATTACH_PROVIDERS` that leads to it under each of these keys.
    pub(crate) fn reattach_as(&self, keys: &[&str]) -> String {
        keys.iter().map(|key| ((*key).to_owned(), self.entry.clone())).collect::<Json>().to_string()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A message of one protocol as that of the other: what is used of them in these tests is the same on the wire.
pub(crate) fn translated<To: Message + Default>(from: &impl Message) -> To {
    To::decode(&*from.encode_to_vec()).expect("the messages are alike")
}

/// A running provider of the type `ancient`, with the resource `ancient_thing`.
#[derive(Debug)]
pub(crate) struct Ancient(Served);

impl Ancient {
    /// Serves a protocol.
    pub(crate) async fn start(protocol: Protocol) -> Self {
        Self(Served::start(protocol, Nothing { has_configuration: true }).await)
    }

    /// Serves a protocol, without a schema of the provider's own configuration.
    pub(crate) async fn without_configuration(protocol: Protocol) -> Self {
        Self(Served::start(protocol, Nothing { has_configuration: false }).await)
    }

    /// The value of `TF_REATTACH_PROVIDERS` that leads to it.
    pub(crate) fn reattach(&self) -> String {
        self.reattach_as(&["ancient"])
    }

    /// The value of such a variable that leads to it under each of these keys.
    pub(crate) fn reattach_as(&self, keys: &[&str]) -> String {
        self.0.reattach_as(keys)
    }
}

#[derive(Clone, Copy, Debug)]
struct Nothing {
    has_configuration: bool,
}

impl Nothing {
    fn schema(self) -> tfplugin6::get_provider_schema::Response {
        let attribute = |name: &str, required| tfplugin6::schema::Attribute {
            name: name.to_owned(),
            r#type: Bytes::from_static(br#""string""#),
            required,
            computed: !required,
            ..Default::default()
        };
        let block = tfplugin6::schema::Block {
            attributes: vec![attribute("id", false), attribute("name", true)],
            ..Default::default()
        };
        let thing = tfplugin6::Schema { version: 0, block: Some(block) };
        tfplugin6::get_provider_schema::Response {
            provider: self
                .has_configuration
                .then(|| tfplugin6::Schema { version: 0, block: Some(Default::default()) }),
            resource_schemas: HashMap::from([("ancient_thing".to_owned(), thing.encode_to_vec().into())]),
            ..Default::default()
        }
    }
}

#[tonic::async_trait]
impl Provider5 for Nothing {
    async fn get_schema(
        &self,
        _: Request<tfplugin5::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin5::get_provider_schema::Response>, Status> {
        Ok(Response::new(translated(&self.schema())))
    }

    async fn configure(
        &self,
        _: Request<tfplugin5::configure::Request>,
    ) -> Result<Response<tfplugin5::configure::Response>, Status> {
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl Provider6 for Nothing {
    async fn get_provider_schema(
        &self,
        _: Request<tfplugin6::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin6::get_provider_schema::Response>, Status> {
        Ok(Response::new(self.schema()))
    }

    async fn configure_provider(
        &self,
        _: Request<tfplugin6::configure_provider::Request>,
    ) -> Result<Response<tfplugin6::configure_provider::Response>, Status> {
        Ok(Response::new(Default::default()))
    }
}
