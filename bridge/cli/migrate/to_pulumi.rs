//! `isthmus migrate --to pulumi`: a stack export and a program from a state.

mod adopted;
mod carried;
mod project_files;
mod provider_configurations;
mod relative_paths;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use isthmus_common::{Environment, Secret, counted};
use isthmus_cty::json::Json;
use isthmus_proto::property::Value as Property;
use isthmus_state::tfstate::{Attributes, TfState};
use isthmus_state::{ModuleStep, ObjectAddress, ProviderConfigAddress, ResourceMode};

use super::error::MigrateError;
use super::losses::Losses;
use super::providers::Providers;
use super::{Migrate, Runtime, configuration, files};
use crate::cli::output::{inform, print};
use crate::cli::state::read_file;
use crate::cli::unknown_provider::warn_of_unknown;
use adopted::{Adopted, adopt_all, place};
use carried::Carried;
use isthmus_context::project::names_file::NamesFile;
use isthmus_context::settings::Settings;
use isthmus_migrate::configuration::Configuration;
use isthmus_migrate::deployment::StackName;
use isthmus_migrate::hcl_names::{Component, components, resource_name};
use isthmus_migrate::names::{Name, names, sanitized};
use isthmus_migrate::secrets_provider::{PassphraseCrypter, SecretsProvider, StackSettings};
use isthmus_migrate::shown::{is_shown, state_of_shown};
use project_files::{ProjectFiles, project_files, settings_file};
use provider_configurations::StackProviders;
use relative_paths::RelativePaths;

/// The passphrase of stacks, and the file that it may be in: variables of the Pulumi CLI.
const PASSPHRASE: &str = "PULUMI_CONFIG_PASSPHRASE";
/// The longest name of a project or stack that the Pulumi CLI takes, in characters.
const LONGEST_NAME: usize = 100;

const PASSPHRASE_FILE: &str = "PULUMI_CONFIG_PASSPHRASE_FILE";

impl Migrate {
    pub(super) async fn to_pulumi(&self, settings: &Arc<Settings>) -> Result<Losses, MigrateError> {
        let stack = self.stack_name()?;
        let mut losses = Losses::default();
        let configuration = match (&self.from_config, self.runtime) {
            (Some(directory), _) => configuration::read(directory)?,
            (None, Runtime::Yaml) => Configuration::default(),
            (None, Runtime::Hcl) => return Err(MigrateError::NoConfiguration),
        };
        let state = self.state()?;
        let outputs = match self.runtime {
            Runtime::Yaml => outputs_of(&state, &mut losses),
            // The configuration has them.
            Runtime::Hcl => BTreeMap::new(),
        };
        let count = state.instances.len();
        let is_shown = state.lineage.is_empty();
        let state = managed(state);
        let data = count - state.instances.len();
        let names = NamesFile::around(&self.output)?;
        let mut providers = Providers::new(&self.provider, &self.file, names, settings);
        let configs = state.instances.iter().filter_map(|instance| instance.provider.parse().ok());
        let addresses: BTreeSet<String> =
            configs.map(|config: ProviderConfigAddress| config.provider).collect();
        warn_of_unknown("--provider", &self.provider, &addresses);
        self.consent.to(&providers.only_of_state(addresses.iter().map(String::as_str)))?;
        let mut paths = RelativePaths::new(match &self.from_config {
            Some(directory) => directory,
            None => self.file.parent().unwrap_or(Path::new("")),
        });
        for instance in &state.instances {
            if let Attributes::Json(attributes) = &instance.attributes {
                paths.search(&place(&instance.address), attributes);
            }
        }
        let naming = Naming { runtime: self.runtime, configuration: &configuration };
        let adopted = adopt_all(state.instances, is_shown, naming, &mut providers, &mut losses).await;
        providers.end().await;
        let (resources, stack_providers) = adopted?;
        let secrets = self.secrets_provider(&stack)?;
        let carried = match self.runtime {
            Runtime::Yaml => Some(Carried::of(&configuration, &resources, &outputs)),
            Runtime::Hcl => None,
        };
        let is_carried =
            |name: &str| carried.as_ref().is_none_or(|carried| carried.outputs.contains_key(name));
        for name in outputs.keys().filter(|name| !is_carried(name)) {
            let reason =
                "an output is an expression, of which a state has only the value: define it in the program";
            losses.add(format!("output.{name}"), reason);
        }
        let files = project_files(&stack, &secrets, &resources, &stack_providers, carried, &mut losses);
        files::write(&self.output, &files.files, self.force)?;
        losses.report();
        paths.report(&self.output);
        if self.from_config.is_none() {
            inform(
                "the program lacks what providers may compute and no plan needs: with `--from-config` it has what \
                 the configuration sets",
            );
        }
        print(&self.summary(&resources, &stack_providers, data, &files, &secrets));
        Ok(losses)
    }

    fn stack_name(&self) -> Result<StackName, MigrateError> {
        let of_directory = || {
            let directory = std::path::absolute(&self.output).unwrap_or_else(|_| self.output.clone());
            directory.file_name().map(|name| sanitized(&name.to_string_lossy()))
        };
        let project = self.project.clone().or_else(of_directory).unwrap_or_default();
        let is_name = |name: &str| {
            let is_part = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
            (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_part)
        };
        if !is_name(&project) {
            return Err(MigrateError::Name { what: "project name", name: project, option: "--project" });
        }
        if !is_name(&self.stack) {
            let name = self.stack.clone();
            return Err(MigrateError::Name { what: "stack name", name, option: "--stack" });
        }
        Ok(StackName { project, stack: self.stack.clone() })
    }

    /// The secrets provider of the stack: that of its settings, or else a passphrase in the
    /// environment, by the variables of the Pulumi CLI.
    fn secrets_provider(&self, stack: &StackName) -> Result<SecretsProvider, MigrateError> {
        let file = self.output.join(settings_file(stack));
        if file.exists() {
            let text = read_file(&file)?;
            let text = String::from_utf8_lossy(&text);
            let settings: StackSettings = serde_saphyr::from_str(&text)
                .map_err(|error| MigrateError::Settings { file, error: error.into() })?;
            return Ok(SecretsProvider::of_settings(&settings, &stack.project, &stack.stack));
        }
        let environment = Environment::current();
        // An empty one is a passphrase for the CLI, too.
        let set = environment.iter().find(|(name, _)| *name == OsStr::new(PASSPHRASE));
        let passphrase = match set.and_then(|(_, value)| value.to_str()) {
            Some(passphrase) => Some(passphrase.to_owned()),
            None => match environment.path(PASSPHRASE_FILE) {
                Some(file) => Some(String::from_utf8_lossy(&read_file(&file)?).trim_end().to_owned()),
                None => None,
            },
        };
        Ok(match passphrase {
            Some(passphrase) => SecretsProvider::Passphrase(PassphraseCrypter::new(&Secret::new(passphrase))),
            None => SecretsProvider::of_settings(&StackSettings::default(), &stack.project, &stack.stack),
        })
    }

    /// Reads the state, or the output of `tofu show -json`.
    fn state(&self) -> Result<TfState, MigrateError> {
        let file = || self.file.clone();
        let bytes = read_file(&self.file)?;
        let document = Json::parse(&bytes).map_err(|error| MigrateError::Syntax { file: file(), error })?;
        if document.member("deployment").is_some() {
            return Err(MigrateError::StackExport(file()));
        }
        if is_shown(&document) {
            return state_of_shown(&document).map_err(|error| MigrateError::Shown { file: file(), error });
        }
        TfState::parse(&bytes).map_err(|error| MigrateError::TfState { file: file(), error })
    }

    fn summary(
        &self,
        resources: &[Adopted],
        providers: &StackProviders,
        data: usize,
        files: &ProjectFiles,
        secrets: &SecretsProvider,
    ) -> String {
        let directory = self.output.display();
        let mut text = format!(
            "wrote {} of {}, and the program for them, to {directory}\n",
            counted(resources.len(), "resource"),
            counted(providers.len(), "provider")
        );
        if data > 0 {
            text.push_str(&format!("left out, because only read: {}\n", counted(data, "data source")));
        }
        if resources.is_empty() {
            return text;
        }
        // Written again with `--force`, it is there.
        text.push_str(&format!("next, in {directory}:\n"));
        if self.runtime == Runtime::Hcl {
            // It makes the SDKs, by the configuration's required_providers.
            text.push_str("  pulumi install\n");
        }
        text.push_str(&format!("  pulumi stack select --create {}\n", self.stack));
        if secrets.is_of_the_cloud() {
            text.push_str(&format!(
                "  unless the stack is in Pulumi Cloud, run this command again with --force: then there is a Pulumi.{}.yaml\n  \
                 with the secrets provider of the stack\n",
                self.stack
            ));
        }
        if files.secrets > 0 {
            text.push_str(
                "  for file in secrets/*; do pulumi config set --secret --raw \"${file#secrets/}\" < \"$file\"; done\n",
            );
        }
        text.push_str("  pulumi stack import --file stack.json\n  pulumi preview\n");
        if !matches!(secrets, SecretsProvider::Passphrase(_)) {
            text.push_str(&format!(
                "stack.json{} secrets in the clear: delete {} after the import\n",
                if files.secrets > 0 { " and secrets/ have" } else { " may have" },
                if files.secrets > 0 { "them" } else { "it" },
            ));
        }
        text
    }
}

/// A state without its data sources.
fn managed(mut state: TfState) -> TfState {
    state.instances.retain(|instance| instance.address.resource.mode == ResourceMode::Managed);
    state
}

/// The root module's outputs that are texts, numbers or booleans; others are lost, as is what a
/// state has besides its objects.
fn outputs_of(state: &TfState, losses: &mut Losses) -> BTreeMap<String, Property> {
    if state.lineage.is_empty() {
        let reason = "the output of `show -json` lacks private data and aliases of providers; `tofu state pull` has them";
        losses.add("the state", reason);
    }
    if matches!(&state.check_results, Json::Array(results) if !results.is_empty()) {
        losses.add("check blocks", "Pulumi programs have none");
    }
    let Json::Object(outputs) = &state.outputs else { return BTreeMap::new() };
    let value = |output: &Json| match output.member("value") {
        Some(Json::String(text)) => Property::from(text.as_str()),
        Some(Json::Number(text)) => text.parse().map_or(Property::Null, Property::Number),
        Some(Json::Bool(value)) => Property::Bool(*value),
        _ => Property::Null,
    };
    outputs.iter().map(|(name, output)| (name.clone(), value(output))).collect()
}

/// How resources are named, and what programs set.
#[derive(Clone, Copy)]
struct Naming<'a> {
    runtime: Runtime,
    configuration: &'a Configuration,
}

impl Naming<'_> {
    fn names<'a>(
        self,
        addresses: impl IntoIterator<Item = &'a ObjectAddress>,
    ) -> HashMap<ObjectAddress, Name> {
        match self.runtime {
            Runtime::Yaml => names(addresses),
            Runtime::Hcl => {
                let current =
                    addresses.into_iter().map(|address| ObjectAddress { deposed: None, ..address.clone() });
                let named = current.map(|address| {
                    let name = resource_name(&address);
                    (address, Name { key: name.clone(), name })
                });
                named.collect()
            }
        }
    }

    /// The components of an instance of a module; `None` if they are not known.
    fn parents(self, module: &[ModuleStep]) -> Option<Vec<Component>> {
        match self.runtime {
            Runtime::Yaml => Some(Vec::new()),
            Runtime::Hcl => components(module, self.configuration),
        }
    }
}
