//! A plugin that answers at once: it has the schema of isthmus, makes up ids, and has made whatever isthmus has made once.
//!
//! So the state of a stack is as large as that of isthmus: with state in files, the CLI writes all of it before and after each step.
//!
//! This program is that plugin when it is started by a plugin's name.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc::diff_response::DiffChanges;
use isthmus_proto::pulumirpc::resource_provider_server::{ResourceProvider, ResourceProviderServer};
use isthmus_proto::pulumirpc::{
    CheckRequest, CheckResponse, ConfigureRequest, ConfigureResponse, CreateRequest, CreateResponse,
    DeleteRequest, DiffRequest, DiffResponse, GetSchemaRequest, GetSchemaResponse, ParameterizeRequest,
    ParameterizeResponse, PluginInfo, ProviderHandshakeRequest, ProviderHandshakeResponse, ReadRequest,
    ReadResponse,
};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::tools::PLUGIN_VERSION;

/// The package's schema, beside the plugin.
pub(crate) const SCHEMA: &str = "schema.json";

/// The outputs of a resource, as a message, beside the plugin.
pub(crate) const OUTPUTS: &str = "outputs";

/// The plugin.
#[derive(Debug)]
struct Null {
    schema: String,
    name: String,
    version: String,
    outputs: Struct,
    made: AtomicUsize,
}

/// Serves until the engine ends it.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let schema = std::fs::read_to_string(program.with_file_name(SCHEMA)).context("there is no schema")?;
    let document: serde_json::Value = serde_json::from_str(&schema).context("the schema is not JSON")?;
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let outputs = std::fs::read(program.with_file_name(OUTPUTS)).context("there are no outputs")?;
    let outputs = Struct::decode(&*outputs).context("the outputs are no message")?;
    let null =
        Null { name: text("name"), version: text("version"), schema, outputs, made: AtomicUsize::new(0) };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port")?;
    println!("{}", listener.local_addr().context("no address")?.port());
    let connections = TcpListenerStream::new(listener).map(|connection| {
        let connection = connection?;
        connection.set_nodelay(true)?;
        std::io::Result::Ok(connection)
    });
    let server = tonic::transport::Server::builder().add_service(ResourceProviderServer::new(null));
    server.serve_with_incoming(connections).await.context("the plugin failed")
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ResourceProvider for Null {
    async fn handshake(&self, _: Request<ProviderHandshakeRequest>) -> Answer<ProviderHandshakeResponse> {
        Ok(Response::new(ProviderHandshakeResponse {
            accept_secrets: true,
            accept_resources: true,
            ..ProviderHandshakeResponse::default()
        }))
    }

    async fn get_plugin_info(&self, _: Request<()>) -> Answer<PluginInfo> {
        Ok(Response::new(PluginInfo { version: PLUGIN_VERSION.to_owned() }))
    }

    async fn parameterize(&self, _: Request<ParameterizeRequest>) -> Answer<ParameterizeResponse> {
        let (name, version) = (self.name.clone(), self.version.clone());
        Ok(Response::new(ParameterizeResponse { name, version }))
    }

    async fn get_schema(&self, _: Request<GetSchemaRequest>) -> Answer<GetSchemaResponse> {
        Ok(Response::new(GetSchemaResponse { schema: self.schema.clone() }))
    }

    async fn check_config(&self, request: Request<CheckRequest>) -> Answer<CheckResponse> {
        self.check(request).await
    }

    async fn diff_config(&self, request: Request<DiffRequest>) -> Answer<DiffResponse> {
        self.diff(request).await
    }

    async fn configure(&self, _: Request<ConfigureRequest>) -> Answer<ConfigureResponse> {
        Ok(Response::new(ConfigureResponse {
            accept_secrets: true,
            supports_preview: true,
            accept_resources: true,
            ..ConfigureResponse::default()
        }))
    }

    async fn check(&self, request: Request<CheckRequest>) -> Answer<CheckResponse> {
        Ok(Response::new(CheckResponse { inputs: request.into_inner().news, ..CheckResponse::default() }))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Answer<DiffResponse> {
        let request = request.into_inner();
        let is_same = request.old_inputs == request.news;
        let changes = if is_same { DiffChanges::DiffNone } else { DiffChanges::DiffSome };
        Ok(Response::new(DiffResponse { changes: changes.into(), ..DiffResponse::default() }))
    }

    async fn create(&self, request: Request<CreateRequest>) -> Answer<CreateResponse> {
        let request = request.into_inner();
        let (id, properties) = if request.preview {
            (String::new(), request.properties.unwrap_or_default())
        } else {
            let id = self.made.fetch_add(1, Ordering::Relaxed).to_string();
            let mut outputs = self.outputs.clone();
            outputs.insert("id", Value::from(id.as_str()));
            (id, outputs)
        };
        Ok(Response::new(CreateResponse { id, properties: Some(properties), ..CreateResponse::default() }))
    }

    async fn read(&self, request: Request<ReadRequest>) -> Answer<ReadResponse> {
        let ReadRequest { id, properties, inputs, .. } = request.into_inner();
        Ok(Response::new(ReadResponse { id, properties, inputs, ..ReadResponse::default() }))
    }

    async fn delete(&self, _: Request<DeleteRequest>) -> Answer<()> {
        Ok(Response::new(()))
    }

    async fn cancel(&self, _: Request<()>) -> Answer<()> {
        Ok(Response::new(()))
    }
}
