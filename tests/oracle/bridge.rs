//! Both bridges as processes, and a pair of them that is asked the same.

use std::path::Path;

use isthmus_proto::pulumirpc::ProviderHandshakeRequest;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_test_engine::{Engine, PATIENCE, Process};
use serde_json::Value as Json;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::call::Call;
use crate::tools::Cache;

/// Environment variables beside those that every process gets.
pub(crate) type Variables = Vec<(String, String)>;

/// Both bridges, started alike.
#[derive(Debug)]
pub(crate) struct Pair {
    ours: Bridge,
    theirs: Bridge,
}

impl Pair {
    /// Starts both.
    pub(crate) async fn start(cache: &Cache, variables: &Variables) -> Self {
        let ours = Path::new(env!("CARGO_BIN_EXE_isthmus"));
        let theirs = fixtures::tools::tool("go-bridge");
        let (ours, theirs) =
            tokio::join!(Bridge::start(ours, cache, variables), Bridge::start(&theirs, cache, variables));
        Self { ours, theirs }
    }

    /// Makes the same call to both: our answer, and that of the Go bridge.
    pub(crate) async fn ask(&self, call: Call) -> (Json, Json) {
        tokio::join!(self.ours.ask(call.clone()), self.theirs.ask(call))
    }

    /// What an engine says first.
    pub(crate) async fn handshake(&self) -> (Json, Json) {
        tokio::join!(self.ours.handshake(), self.theirs.handshake())
    }
}

/// A running bridge. It is killed with its provider when this goes.
#[derive(Debug)]
struct Bridge {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    process: Process,
    _directory: TempDir,
}

impl Bridge {
    async fn start(executable: &Path, cache: &Cache, variables: &Variables) -> Self {
        let engine = Engine::start().await;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut variables = variables.clone();
        let path = cache.path().to_str().expect("a path in UTF-8").to_owned();
        variables.push(("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR".to_owned(), path));
        // Whether there is a network must not matter: nothing listens here.
        variables.push(("HTTPS_PROXY".to_owned(), "http://127.0.0.1:1".to_owned()));
        let mut process = Process::start(executable, directory.path(), engine.address(), &variables);
        let client = process.client().await;
        Self { engine, client, process, _directory: directory }
    }

    async fn ask(&self, call: Call) -> Json {
        let name = call.name();
        tokio::time::timeout(PATIENCE, call.answer(self.client.clone()))
            .await
            .unwrap_or_else(|_| panic!("{name} is not answered by {}", self.process.said()))
    }

    async fn handshake(&self) -> Json {
        let request = ProviderHandshakeRequest {
            engine_address: self.engine.address().to_owned(),
            configure_with_urn: true,
            supports_views: true,
            supports_refresh_before_update: true,
            invoke_with_preview: true,
            ..ProviderHandshakeRequest::default()
        };
        self.ask(Call::Handshake(request)).await
    }
}
