//! The legacy engine's side: its calls of `lumirpc.ResourceProvider`, and the state store, which has what it cannot keep.
//!
//! That engine starts a process of the plugin for each command, a plan or a deployment, and kills it at the end. It keeps the
//! id, the inputs and the outputs of a resource, and calls Diff only where the inputs differ. A resource of a world has an
//! environment of its own: the first error would end the command for all others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, DeleteRequest, DiffRequest, GetRequest, NameRequest, UpdateRequest,
};
use isthmus_proto::property::{Struct, Value};
use isthmus_state::{EncryptedStore, Status};
use isthmus_test_engine::{Engine, Line, Process, isolate, json_of, provider_logging};
use tokio::process::Command;
use tonic::transport::{Channel, Endpoint};

use crate::daemon::{Failure, Named, Stored, in_time};
use crate::kinds::Provider;
use crate::providers::{Setting, link_providers, variables};
use crate::steps::Decision;
use crate::tofu::InState;

/// One process of the plugin, for one command. It is killed with its provider on drop.
#[derive(Debug)]
pub(crate) struct Plugin {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    process: Process,
}

impl Plugin {
    /// Starts one for this provider, whose variables the engine has.
    pub(crate) async fn start(
        provider: Provider,
        setting: Setting,
        configuration: &Struct,
        directory: &Path,
    ) -> Self {
        let home = home(provider, directory);
        let program = home.join(format!("lumi-resource-{}", provider.name()));
        if !program.exists() {
            std::fs::create_dir_all(directory.join("objects")).expect("a directory in a directory of ours");
            link_providers(&home);
            isthmus_platform::files::give_name(Path::new(env!("CARGO_BIN_EXE_isthmus")), &program)
                .expect("a name in a new directory");
        }
        let engine = Engine::start().await;
        engine.set_variables(&format!("{}:config/vars", provider.name()), json_of(configuration));
        let mut command = Command::new(program);
        isolate(&mut command, &home);
        command
            .arg(engine.address())
            .envs(provider_logging(&home))
            .envs(variables(setting, directory))
            // It finds the provider there by its name.
            .env("PATH", &home)
            .current_dir(&home);
        let mut process = Process::of(command).expect("the plugin starts");
        let port = process.port().await.unwrap_or_else(|fault| panic!("{fault}"));
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address");
        let channel = endpoint.connect().await.expect("the plugin listens on its port");
        Self { engine, client: ResourceProviderClient::new(channel), process }
    }

    /// Its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Its messages to the engine.
    pub(crate) fn shown(&self) -> Vec<Line> {
        self.engine.shown()
    }

    /// Name and Check: the inputs, or the failures.
    pub(crate) async fn check(&self, resource: &Named, news: &Struct) -> Result<Struct, String> {
        let mut inputs = overlaid(&[news]);
        inputs.insert("urnName", Value::from(resource.name.clone()));
        let (r#type, properties) = (resource.token.clone(), Some(inputs.clone()));
        let request = NameRequest { r#type: r#type.clone(), properties: properties.clone() };
        let name = in_time(self.client.clone().name(request)).await?.name;
        assert_eq!(name, resource.name, "the name of the resource in the environment");
        let checked = in_time(self.client.clone().check(CheckRequest { r#type, properties })).await?;
        // Programs set all names, so that there are no generated ones to keep.
        assert_eq!(checked.defaults, None, "defaults of {}", resource.token);
        match checked.failures.as_slice() {
            [] => Ok(inputs),
            failures => Err(format!("{failures:?}")),
        }
    }

    /// The engine's decision, and the answer to Diff, if there was one.
    pub(crate) async fn decide(
        &self,
        resource: &Named,
        stored: &Stored,
        inputs: &Struct,
    ) -> Result<(Decision, String), String> {
        if stored.inputs == *inputs {
            return Ok((Decision::Nothing, "the inputs are the same".to_owned()));
        }
        let request = DiffRequest {
            id: stored.id.clone(),
            r#type: resource.token.clone(),
            olds: Some(stored.inputs.clone()),
            news: Some(inputs.clone()),
        };
        let replaces = in_time(self.client.clone().diff(request)).await?.replaces;
        let decision = if replaces.is_empty() { Decision::Update } else { Decision::ReplaceCreatingFirst };
        Ok((decision, format!("replaces {replaces:?}")))
    }

    /// Create. The engine keeps nothing of a failed one.
    pub(crate) async fn create(&self, resource: &Named, inputs: &Struct) -> Result<Stored, Failure> {
        let request = CreateRequest { r#type: resource.token.clone(), properties: Some(inputs.clone()) };
        let created = in_time(self.client.clone().create(request)).await?;
        let outputs = created.properties.unwrap_or_default();
        Ok(Stored { id: created.id, inputs: inputs.clone(), outputs })
    }

    /// Update. After a failed one the engine has what it had before.
    pub(crate) async fn update(
        &self,
        resource: &Named,
        stored: &Stored,
        inputs: &Struct,
    ) -> Result<Stored, Failure> {
        let request = UpdateRequest {
            id: stored.id.clone(),
            r#type: resource.token.clone(),
            olds: Some(stored.inputs.clone()),
            news: Some(inputs.clone()),
        };
        let updated = in_time(self.client.clone().update(request)).await;
        let updated = updated.map_err(|reason| Failure { reason, half_made: Some(stored.clone()) })?;
        let outputs = updated.properties.unwrap_or_default();
        Ok(Stored { id: stored.id.clone(), inputs: inputs.clone(), outputs })
    }

    /// Delete, with all that the engine has.
    pub(crate) async fn delete(&self, resource: &Named, stored: &Stored) -> Result<(), String> {
        let request = DeleteRequest {
            id: stored.id.clone(),
            r#type: resource.token.clone(),
            properties: Some(overlaid(&[&stored.inputs, &stored.outputs])),
        };
        in_time(self.client.clone().delete(request)).await
    }

    /// Get: a program's look-up of a resource by its id. `None`: there is no such object.
    pub(crate) async fn get(&self, resource: &Named, id: &str) -> Result<Option<Struct>, String> {
        let request = GetRequest { id: id.to_owned(), r#type: resource.token.clone() };
        Ok(in_time(self.client.clone().get(request)).await?.properties)
    }
}

/// The objects in the state store of a provider's plugin, by the types and the ids of their resources.
pub(crate) async fn stored_states(
    provider: Provider,
    directory: &Path,
) -> BTreeMap<(String, String), InState> {
    let store = EncryptedStore::open(&home(provider, directory).join("isthmus"), None).await;
    let records = store.expect("the state store").list(None).await.expect("its records");
    let count = records.len();
    let states: BTreeMap<_, _> = records
        .into_iter()
        .map(|(_, key, saved)| {
            let object = saved.object;
            let state = InState {
                attributes: object.value,
                schema_version: object.schema_version,
                private: object.private.to_vec(),
                is_tainted: object.status == Status::Damaged,
            };
            ((key.type_name, key.id), state)
        })
        .collect();
    assert_eq!(states.len(), count, "records of one id");
    states
}

fn home(provider: Provider, directory: &Path) -> PathBuf {
    directory.join(format!("daemon-{}", provider.name()))
}

/// Bags over each other, without nulls, as the engine sends them.
fn overlaid(bags: &[&Struct]) -> Struct {
    let values = bags.iter().flat_map(|bag| bag.iter()).filter(|(_, value)| !value.is_null());
    values.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}
