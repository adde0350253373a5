//! A provider in the test's own process that can next to nothing: it describes itself and takes a configuration, and
//! everything else it has never heard of, as providers that are older than a call.
//!
//! The daemon joins it as it would one in a debugger.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_proto::{tfplugin5, tfplugin6};
use isthmus_sandbox::Protocol;
use prost::Message as _;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// A running provider of the type `ancient`, with the resource `ancient_thing`. It ends with this.
#[derive(Debug)]
pub(crate) struct Ancient {
    server: tokio::task::JoinHandle<()>,
    entry: Json,
}

impl Ancient {
    /// Serves a protocol.
    pub(crate) async fn start(protocol: Protocol) -> Self {
        Self::serve(protocol, Nothing { has_configuration: true }).await
    }

    /// Serves a protocol, without a schema of the provider's own configuration.
    pub(crate) async fn without_configuration(protocol: Protocol) -> Self {
        Self::serve(protocol, Nothing { has_configuration: false }).await
    }

    async fn serve(protocol: Protocol, provider: Nothing) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let mut builder = tonic::transport::Server::builder();
        let (router, version) = match protocol {
            Protocol::V5 => {
                (builder.add_service(tfplugin5::provider_server::ProviderServer::new(provider)), 5)
            }
            Protocol::V6 => {
                (builder.add_service(tfplugin6::provider_server::ProviderServer::new(provider)), 6)
            }
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

    /// The value of `TF_REATTACH_PROVIDERS` that leads to it.
    pub(crate) fn reattach(&self) -> String {
        self.reattach_as(&["ancient"])
    }

    /// The value of such a variable that leads to it under each of these keys.
    pub(crate) fn reattach_as(&self, keys: &[&str]) -> String {
        keys.iter().map(|key| ((*key).to_owned(), self.entry.clone())).collect::<Json>().to_string()
    }
}

impl Drop for Ancient {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Clone, Copy, Debug)]
struct Nothing {
    has_configuration: bool,
}

#[tonic::async_trait]
impl tfplugin5::provider_server::Provider for Nothing {
    async fn get_schema(
        &self,
        _: Request<tfplugin5::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin5::get_provider_schema::Response>, Status> {
        let attribute = |name: &str, required| tfplugin5::schema::Attribute {
            name: name.to_owned(),
            r#type: Bytes::from_static(br#""string""#),
            required,
            computed: !required,
            ..Default::default()
        };
        let block = tfplugin5::schema::Block {
            attributes: vec![attribute("id", false), attribute("name", true)],
            ..Default::default()
        };
        let thing = tfplugin5::Schema { version: 0, block: Some(block) };
        Ok(Response::new(tfplugin5::get_provider_schema::Response {
            provider: self
                .has_configuration
                .then(|| tfplugin5::Schema { version: 0, block: Some(Default::default()) }),
            resource_schemas: HashMap::from([("ancient_thing".to_owned(), thing.encode_to_vec().into())]),
            ..Default::default()
        }))
    }

    async fn configure(
        &self,
        _: Request<tfplugin5::configure::Request>,
    ) -> Result<Response<tfplugin5::configure::Response>, Status> {
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl tfplugin6::provider_server::Provider for Nothing {
    async fn get_provider_schema(
        &self,
        _: Request<tfplugin6::get_provider_schema::Request>,
    ) -> Result<Response<tfplugin6::get_provider_schema::Response>, Status> {
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
        Ok(Response::new(tfplugin6::get_provider_schema::Response {
            provider: self
                .has_configuration
                .then(|| tfplugin6::Schema { version: 0, block: Some(Default::default()) }),
            resource_schemas: HashMap::from([("ancient_thing".to_owned(), thing.encode_to_vec().into())]),
            ..Default::default()
        }))
    }

    async fn configure_provider(
        &self,
        _: Request<tfplugin6::configure_provider::Request>,
    ) -> Result<Response<tfplugin6::configure_provider::Response>, Status> {
        Ok(Response::new(Default::default()))
    }
}
