//! Both bridges as processes, and a pair of them that is asked the same.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use isthmus_proto::pulumirpc::ProviderHandshakeRequest;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_test_engine::{Engine, PATIENCE, Process, Severity};
use serde_json::Value as Json;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::call::Call;
use crate::tools::Cache;

/// Environment variables beside those that every process gets.
pub(crate) type Variables = Vec<(String, String)>;

/// The directory of a bridge's objects, in its own.
const OBJECTS: &str = "objects";

/// Both bridges, started alike.
#[derive(Debug)]
pub(crate) struct Pair {
    ours: Bridge,
    theirs: Bridge,
}

impl Pair {
    /// Starts both.
    pub(crate) async fn start(cache: &Cache, variables: &Variables) -> Self {
        let ours = own_program();
        let theirs = fixtures::tools::tool("go-bridge");
        let (ours, theirs) =
            tokio::join!(Bridge::start(&ours, cache, variables), Bridge::start(&theirs, cache, variables));
        Self { ours, theirs }
    }

    /// Makes the same call to both: our answer, and that of the Go bridge.
    pub(crate) async fn ask(&self, call: Call) -> (Json, Json) {
        tokio::join!(self.ours.ask(call.clone()), self.theirs.ask(call))
    }

    /// Removes all objects of the conformance provider.
    pub(crate) fn forget_objects(&self) {
        for bridge in [&self.ours, &self.theirs] {
            // There may be none.
            let _ = std::fs::remove_dir_all(bridge.objects());
            std::fs::create_dir(bridge.objects()).expect("a directory in a directory of our own");
        }
    }

    /// Changes members of an object of the conformance provider, which is made if there is none; removes it if there are no
    /// members.
    pub(crate) fn change_object(&self, path: &str, members: Option<&Json>) {
        for bridge in [&self.ours, &self.theirs] {
            let file = bridge.objects().join(path);
            let Some(members) = members.and_then(Json::as_object) else {
                std::fs::remove_file(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
                continue;
            };
            let mut object: serde_json::Map<_, _> = std::fs::read(&file)
                .map(|text| serde_json::from_slice(&text).expect("an object is JSON"))
                .unwrap_or_default();
            object.extend(members.clone());
            std::fs::create_dir_all(file.parent().expect("it has a kind")).expect("a directory");
            std::fs::write(&file, Json::Object(object).to_string()).expect("an object can be written");
        }
    }

    /// What an engine says first.
    pub(crate) async fn handshake(&self) -> (Json, Json) {
        tokio::join!(self.ours.handshake(), self.theirs.handshake())
    }
}

/// This program in a plugin directory of the Go bridge's release, so that both say the same version.
fn own_program() -> PathBuf {
    const DIRECTORY: &str =
        concat!(env!("CARGO_TARGET_TMPDIR"), "/oracle/resource-terraform-provider-v1.3.0");
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        std::fs::create_dir_all(DIRECTORY).expect("the directory of the build can be written");
        let file = Path::new(DIRECTORY).join("isthmus");
        // An earlier run's may be another program.
        let _ = std::fs::remove_file(&file);
        std::fs::hard_link(env!("CARGO_BIN_EXE_isthmus"), &file).expect("one file system");
        file
    });
    PROGRAM.clone()
}

/// A running bridge. It is killed with its provider when this goes.
#[derive(Debug)]
struct Bridge {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    process: Process,
    directory: TempDir,
}

impl Bridge {
    async fn start(executable: &Path, cache: &Cache, variables: &Variables) -> Self {
        let engine = Engine::start().await;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut variables = variables.clone();
        let path = cache.path().to_str().expect("a path in UTF-8").to_owned();
        variables.push(("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR".to_owned(), path));
        let objects = directory.path().join(OBJECTS).to_str().expect("a path in UTF-8").to_owned();
        variables.push(("CONFORMANCE_DIR".to_owned(), objects));
        // Whether there is a network must not matter: nothing listens here.
        variables.push(("HTTPS_PROXY".to_owned(), "http://127.0.0.1:1".to_owned()));
        let mut process = Process::start(executable, directory.path(), engine.address(), &variables);
        let client = process.client().await;
        Self { engine, client, process, directory }
    }

    /// The answer, and what was logged meanwhile for a user about a resource.
    async fn ask(&self, call: Call) -> Json {
        let (name, is_logged) = (call.name(), call.is_of_a_lifecycle());
        let before = self.engine.shown().len();
        let mut answer = tokio::time::timeout(PATIENCE, call.answer(self.client.clone()))
            .await
            .unwrap_or_else(|_| panic!("{name} is not answered by {}", self.process.said()));
        if is_logged {
            let mut lines = self.engine.shown().split_off(before);
            lines.sort_by(|one, other| one.message.cmp(&other.message));
            for (kind, severity) in [("warnings", Severity::Warning), ("errors", Severity::Error)] {
                let of_kind = lines.iter().filter(|line| line.severity == severity);
                answer[kind] = of_kind.map(|line| line.message.clone()).collect();
            }
        }
        answer
    }

    /// Where the conformance provider has its objects.
    fn objects(&self) -> PathBuf {
        self.directory.path().join(OBJECTS)
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
