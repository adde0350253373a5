//! `isthmus state import`: objects from Terraform and OpenTofu.
//!
//! Each object is upgraded by its provider once, which determines whether it is usable, its id, and
//! its sensitive paths. A failure of one object does not affect the others; repeating the command
//! is safe, because existing objects stay unchanged.

mod providers;
mod stack;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use isthmus_common::{TERRAFORM_VERSION, listed, printable};
use isthmus_known_secrets::KnownSecrets;
use isthmus_state::stacks::{ComponentObject, Kind, SequenceError, SequenceFile, StacksPlan, StacksState};
use isthmus_state::tfstate::TfState;
use isthmus_state::{EncryptedStore, ObjectAddress, ProviderConfigAddress, ResourceMode, SavedObject};
use prost_types::Any;

use super::error::StateError;
use super::export::pair;
use super::{open_state_store, read_file};
use crate::cli::consent::Consent;
use crate::cli::output::{Outcome, print, warn};
use crate::cli::table::in_one_line;
use crate::cli::unknown_provider::warn_of_unknown;
use isthmus_context::settings::Settings;
use isthmus_operations::resource::{Target, describe};
use isthmus_package::catalogue::TokenError;
use isthmus_services::lumirpc::stored_resource::{
    Conflicts, Foreign, ImportOutcome, StoredResource, StoredResourceError,
};
use isthmus_session::daemon::Instance as Provider;
use providers::{Providers, Unavailable};
use stack::import_records;

const EXAMPLES: &str = "\
Examples:
  isthmus state import terraform.tfstate
  tofu state pull | isthmus state import -
  isthmus state import old.tfstate --provider acme=./terraform-provider-acme --package acme=corp

isthmus starts every provider of the state once, from --provider, from the plugin cache, or as terraform-provider-TYPE from PATH. It lists
providers that only the state names, and starts them after your confirmation or with --yes. You need not confirm providers of --provider,
of the lock file in the working directory, or of development overrides. isthmus does not configure providers, and changes no real object.
It imports managed resources only. The id that it prints for each object is the one for the engine: if several objects have the same id,
it adds a number to the later ones.

isthmus also imports a file of length-delimited tfstackdata1 records: the state of a stack, or the prior state of its plan. EXPERIMENTAL:
Terraform documents the format as private and may change it. Objects keep their components. isthmus stores components, inputs, outputs,
and unknown records that are to be preserved unchanged. A store has the records of one stack: if they differ from the file's, isthmus
imports nothing, unless you pass --on-conflict. It lists discarded records on standard error, if their keys require it to discard them.

The exit code is 1 if isthmus could not import an object. It leaves objects alone that the store already has, so you can repeat the
command.";

/// Import objects from a terraform.tfstate or from stack records.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Import {
    /// State file of version 4, or stack records (`-`: standard input).
    file: PathBuf,
    /// Provider binary, by the provider's type or source address.
    #[arg(long, value_name = "TYPE=FILE", value_parser = pair)]
    provider: Vec<(String, String)>,
    /// Package name, by the provider's type or source address (default: the type).
    #[arg(long, value_name = "TYPE=PACKAGE", value_parser = pair)]
    package: Vec<(String, String)>,
    #[command(flatten)]
    consent: Consent,
    /// Terraform version of the plan of a stack.
    #[arg(long, value_name = "VERSION", default_value = TERRAFORM_VERSION)]
    terraform_version: String,
    /// Handling of an object that the store has in another form, and of the other records of a stack.
    #[arg(long, value_enum, default_value_t = OnConflict::Refuse)]
    on_conflict: OnConflict,
}

/// Handling of an object that the store has in another form, and of the other records of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnConflict {
    /// Report the conflict and keep the object in the store; if other records differ, import nothing.
    Refuse,
    /// Replace the object in the store, and all other records.
    Replace,
    /// Keep both, unless their addresses show that they are the same object; add missing other records.
    Both,
}

/// Why an object is not imported.
#[derive(Debug, thiserror::Error)]
enum ObjectError {
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("the provider has no such resource type")]
    Type(#[from] TokenError),
    #[error(transparent)]
    Store(#[from] StoredResourceError),
}

impl ObjectError {
    /// The text for the user. An operation's errors contain their causes.
    fn message(&self) -> String {
        match self {
            Self::Store(StoredResourceError::Operation(error)) => error.to_string(),
            error => isthmus_common::error_chain(error),
        }
    }
}

impl Import {
    pub(super) async fn run(&self, settings: &Arc<Settings>) -> Result<Outcome, StateError> {
        let (objects, others) = self.contents(read_file(&self.file)?)?;
        let mut providers = Providers::new(&self.provider, &self.package, settings);
        let managed = objects.iter().filter(|foreign| is_managed(&foreign.object));
        let configs = managed.filter_map(|foreign| foreign.object.provider.parse().ok());
        let addresses: BTreeSet<String> =
            configs.map(|config: ProviderConfigAddress| config.provider).collect();
        warn_of_unknown("--provider", &self.provider, &addresses);
        warn_of_unknown("--package", &self.package, &addresses);
        self.consent.to(&providers.only_of_state(addresses.iter().map(String::as_str)))?;
        let state_store = open_state_store(settings).await?;
        import_records(&self.file, others, self.conflicts(), &state_store).await?;
        let outcome = self.take_all(objects, &state_store, &mut providers).await;
        providers.end().await;
        outcome
    }

    /// The objects in a file of any supported format, and the other records of a stack.
    fn contents(&self, bytes: Vec<u8>) -> Result<(Vec<Foreign>, BTreeMap<String, Any>), StateError> {
        let Some(kind) = SequenceFile::kind_of(&bytes) else {
            let state = TfState::parse(&bytes)
                .map_err(|error| StateError::TfState { file: self.file.clone(), error })?;
            let foreign = state.instances.into_iter().map(|instance| {
                let (object, flat) = instance.into_saved();
                Foreign { object, flat }
            });
            return Ok((foreign.collect(), BTreeMap::new()));
        };
        let state = self
            .stack(bytes.into(), kind)
            .map_err(|error| StateError::Sequence { file: self.file.clone(), error: Box::new(error) })?;
        warn("experimental: Terraform documents the format of stack records as private and may change it");
        if !state.discarded.is_empty() {
            let keys = listed(state.discarded.iter().map(|key| in_one_line(key)));
            warn(&format!("discarded, as their keys require: {keys}"));
        }
        let objects = state.objects.into_iter().map(|ComponentObject { component, object }| Foreign {
            object: SavedObject { component: Some(component), ..object },
            flat: None,
        });
        Ok((objects.collect(), state.records))
    }

    fn stack(&self, bytes: bytes::Bytes, kind: Kind) -> Result<StacksState, SequenceError> {
        match SequenceFile::read(&bytes, kind)? {
            SequenceFile::State(records) => StacksState::read(records),
            SequenceFile::Plan(records) => {
                StacksPlan::read(records, Some(&self.terraform_version)).map(|plan| plan.prior_state)
            }
        }
    }

    async fn take_all(
        &self,
        objects: Vec<Foreign>,
        state_store: &EncryptedStore,
        providers: &mut Providers<'_>,
    ) -> Result<Outcome, StateError> {
        let mut counts = Counts::default();
        for foreign in objects {
            // Every object of a state has an address.
            let Some(address) = foreign.object.address.clone() else { continue };
            if address.resource.mode == ResourceMode::Data {
                counts.data += 1;
                continue;
            }
            let name = name(&address);
            let config: ProviderConfigAddress = foreign
                .object
                .provider
                .parse()
                .map_err(|error| StateError::ProviderConfig { address: name.clone(), error })?;
            let outcome =
                self.take(foreign, &address.resource.type_name, &config, state_store, providers).await;
            counts.count(&name, outcome, providers.secrets());
        }
        print(&counts.summary());
        Ok(if counts.failed > 0 { Outcome::Incomplete } else { Outcome::Done })
    }

    async fn take(
        &self,
        foreign: Foreign,
        type_name: &str,
        config: &ProviderConfigAddress,
        state_store: &EncryptedStore,
        providers: &mut Providers<'_>,
    ) -> Result<ImportOutcome, ObjectError> {
        let provider = providers.of(&config.provider).await?;
        let handle = provider.provider();
        let stored_resource = stored_resource(&provider, &handle, type_name, state_store)?;
        let outcome = stored_resource.import_object(foreign, self.conflicts()).await;
        for warning in &stored_resource.target.warnings.take().diagnostics {
            warn(&providers.secrets().redact(&describe(warning, &stored_resource.target.shape.object)));
        }
        Ok(outcome?)
    }

    fn conflicts(&self) -> Conflicts {
        match self.on_conflict {
            OnConflict::Refuse => Conflicts::Refuse,
            OnConflict::Replace => Conflicts::Replace,
            OnConflict::Both => Conflicts::KeepBoth,
        }
    }
}

fn is_managed(object: &SavedObject) -> bool {
    object.address.as_ref().is_some_and(|address| address.resource.mode == ResourceMode::Managed)
}

/// The operations on resources of a type.
fn stored_resource<'a>(
    provider: &'a Provider,
    handle: &'a isthmus_provider::Provider,
    type_name: &str,
    state_store: &'a EncryptedStore,
) -> Result<StoredResource<'a>, TokenError> {
    let package = provider.package.identity();
    Ok(StoredResource {
        target: Target {
            keep_secrets: false,
            ..Target::new(handle, provider.package.resource(type_name)?, package)
        },
        state_store,
        subject: String::new(),
        package: &package.name,
        unconfirmed: None,
        withhold_sensitive: false,
    })
}

fn name(address: &ObjectAddress) -> String {
    match &address.deposed {
        None => address.to_string(),
        Some(key) => format!("{address} (deposed {})", key.as_str()),
    }
}

/// Results of all objects.
#[derive(Debug, Default)]
struct Counts {
    added: usize,
    same: usize,
    replaced: usize,
    failed: usize,
    data: usize,
}

impl Counts {
    fn count(&mut self, name: &str, outcome: Result<ImportOutcome, ObjectError>, secrets: &KnownSecrets) {
        match outcome {
            Ok(ImportOutcome::Added { id }) => {
                self.added += 1;
                print(&printable(&format!("{name}: added, id {id:?}\n")));
            }
            Ok(ImportOutcome::Same { id }) => {
                self.same += 1;
                print(&printable(&format!("{name}: in the store already, id {id:?}\n")));
            }
            Ok(ImportOutcome::Replaced { id }) => {
                self.replaced += 1;
                print(&printable(&format!("{name}: replaced, id {id:?}\n")));
            }
            Ok(ImportOutcome::Conflict { id, number, is_certain }) => {
                self.failed += 1;
                let otherwise = if is_certain { "" } else { ", or keep both with --on-conflict both" };
                warn(&format!(
                    "{name}: not imported, because record {} has other values for id {id:?}; inspect it with `isthmus \
                     state show {}`, and put this one in its place with --on-conflict replace{otherwise}",
                    number.0, number.0
                ));
            }
            Err(error) => {
                self.failed += 1;
                warn(&format!("{name}: not imported: {}", secrets.redact(&error.message())));
            }
        }
    }

    fn summary(&self) -> String {
        let Self { added, same, replaced, failed, data } = self;
        let mut text =
            format!("{added} added, {same} already there, {replaced} replaced, {failed} not imported");
        if *data > 0 {
            text.push_str(&format!("; {data} from data sources, which are only read, left out"));
        }
        text + "\n"
    }
}
