//! `isthmus migrate --to terraform`: a state and import blocks from a stack export.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use isthmus_cty::json::Json;
use isthmus_install::ProviderAddress;
use isthmus_state::tfstate::{Instance as StateInstance, TfState};
use isthmus_state::{ObjectAddress, ProviderConfigAddress};

use super::Migrate;
use super::error::MigrateError;
use super::files::{self, OutputFile};
use super::losses::Losses;
use super::providers::{Providers, target};
use crate::cli::output::print;
use crate::cli::random_uuid::random_uuid;
use crate::cli::state::read_file;
use crate::daemon::Instance;
use crate::migrate::addresses::Addresses;
use crate::migrate::dependencies::without_keys;
use crate::migrate::deployment::{ReadExport, ReadProvider, ReadResource, read_export};
use crate::migrate::property_json::ExportedValueError;
use crate::package::parameters::Parameter;
use crate::resource::{Released, release};
use crate::settings::Settings;

const STATE_FILE: &str = "terraform.tfstate";
const IMPORTS_FILE: &str = "imports.tf";

/// A resource that a state can hold.
struct Object<'a> {
    resource: &'a ReadResource,
    type_name: String,
    provider: String,
    released: Released,
}

impl Migrate {
    pub(super) async fn to_terraform(&self, settings: &Arc<Settings>) -> Result<Losses, MigrateError> {
        let addresses = self.known_addresses()?;
        let bytes = read_file(&self.file)?;
        let export =
            read_export(&bytes).map_err(|error| MigrateError::Export { file: self.file.clone(), error })?;
        let is_encrypted = |resource: &ReadResource| resource.outputs == Err(ExportedValueError::Encrypted);
        if export.resources.iter().any(is_encrypted) {
            return Err(MigrateError::Encrypted(self.file.clone()));
        }
        let provider_addresses = self.provider_addresses()?;
        let mut losses = Losses::default();
        for component in &export.components {
            losses.add(component.clone(), "a component has no object: its resources go into the root module");
        }
        let mut providers = Providers::new(&self.provider, Path::new(""), settings);
        let objects = release_all(&export, &provider_addresses, &mut providers, &mut losses).await;
        providers.end().await;
        let state = self.new_state(&objects, &addresses);
        let files = [
            OutputFile::private(STATE_FILE, state.write()?),
            OutputFile::shared(IMPORTS_FILE, import_blocks(&objects, &state)),
        ];
        files::write(&self.output, &files, self.force)?;
        losses.report();
        let (count, directory) = (objects.len(), self.output.display());
        print(&format!(
            "wrote {count} resources to {directory}/{STATE_FILE}, and blocks that import them to {directory}/{IMPORTS_FILE}\n\
             next: use one of the two; the state as it is, or `tofu state push`\n"
        ));
        Ok(losses)
    }

    fn known_addresses(&self) -> Result<Addresses, MigrateError> {
        let Some(file) = &self.addresses else { return Ok(Addresses::default()) };
        let bytes = read_file(file)?;
        Addresses::read(&bytes).map_err(|error| MigrateError::Addresses { file: file.clone(), error })
    }

    /// The user's addresses of providers, by package.
    fn provider_addresses(&self) -> Result<HashMap<&str, String>, MigrateError> {
        let parsed = self.provider_address.iter().map(|(package, address)| {
            let address = ProviderAddress::parse(address).map_err(|error| MigrateError::ProviderAddress {
                option: format!("{package}={address}"),
                error,
            })?;
            Ok((package.as_str(), address.to_string()))
        });
        parsed.collect()
    }

    fn new_state(&self, objects: &[Object<'_>], addresses: &Addresses) -> TfState {
        let resources: Vec<(&str, &str, bool)> = objects
            .iter()
            .map(|object| {
                (object.resource.urn.as_str(), object.type_name.as_str(), object.resource.is_pending_deletion)
            })
            .collect();
        let addresses = addresses.of_all(&resources);
        let by_urn: HashMap<&str, &ObjectAddress> =
            objects.iter().map(|object| object.resource.urn.as_str()).zip(&addresses).collect();
        let mut state = TfState::new(self.lineage.clone().unwrap_or_else(random_uuid));
        state.serial = self.serial;
        for (object, address) in objects.iter().zip(&addresses) {
            let dependencies = object.resource.dependencies.iter();
            let dependencies: BTreeSet<String> =
                dependencies.filter_map(|urn| Some(without_keys(by_urn.get(urn.as_str())?))).collect();
            let mut saved = object.released.object.clone();
            saved.dependencies = dependencies.into_iter().collect();
            saved.provider.clone_from(&object.provider);
            let mut instance = StateInstance::new(address.clone(), saved);
            instance.skip_destroy = object.resource.retain_on_delete;
            state.instances.push(instance);
        }
        state
    }
}

/// Rebuilds the objects of all resources. What fails is a loss.
async fn release_all<'a>(
    export: &'a ReadExport,
    addresses: &HashMap<&str, String>,
    providers: &mut Providers<'_>,
    losses: &mut Losses,
) -> Vec<Object<'a>> {
    let by_reference: HashMap<&str, &ReadProvider> =
        export.providers.iter().map(|provider| (provider.reference.as_str(), provider)).collect();
    let mut objects = Vec::with_capacity(export.resources.len());
    for resource in &export.resources {
        match release_one(
            resource,
            by_reference.get(resource.provider.as_str()).copied(),
            addresses,
            providers,
        )
        .await
        {
            Ok(object) => objects.push(object),
            Err(reason) => losses.add(resource.urn.clone(), providers.redact(&reason)),
        }
    }
    objects
}

async fn release_one<'a>(
    resource: &'a ReadResource,
    provider: Option<&ReadProvider>,
    addresses: &HashMap<&str, String>,
    providers: &mut Providers<'_>,
) -> Result<Object<'a>, String> {
    let provider = provider.ok_or("its provider is not in the export")?;
    let value = provider.parameter.as_deref().ok_or("its provider is not one of Terraform's")?;
    let parameter = Parameter::decode(value).map_err(|error| isthmus_common::error_chain(&error))?;
    let opened = providers.of_parameter(value, &parameter).await;
    let package = opened.map_err(|error| isthmus_common::error_chain(&*error))?;
    let released = released(resource, &package)?;
    let identity = package.package.identity();
    let address =
        addresses.get(identity.name.as_str()).cloned().unwrap_or_else(|| identity.address_in_states());
    let mut config = ProviderConfigAddress::new(address);
    config.alias.clone_from(&provider.explicit);
    let type_name = package.package.resource_by_token(&resource.token);
    let type_name =
        type_name.map_err(|error| isthmus_common::error_chain(&error))?.terraform_type.to_string();
    Ok(Object { resource, type_name, provider: config.to_string(), released })
}

fn released(resource: &ReadResource, package: &Instance) -> Result<Released, String> {
    let properties = resource.outputs.as_ref().map_err(ToString::to_string)?;
    let shape = package.package.resource_by_token(&resource.token);
    let handle = package.provider();
    let target = target(&handle, package, shape.map_err(|error| isthmus_common::error_chain(&error))?);
    release(&target, properties).map_err(|error| isthmus_common::error_chain(&error))
}

/// Blocks that import the current objects into an empty state.
fn import_blocks(objects: &[Object<'_>], state: &TfState) -> String {
    let mut text = String::new();
    for (object, instance) in objects.iter().zip(&state.instances) {
        if instance.address.deposed.is_some() {
            continue;
        }
        let mut id = String::new();
        Json::String(object.resource.id.clone()).write(&mut id);
        // In HCL, `${` and `%{` begin templates.
        let id = id.replace("${", "$${").replace("%{", "%%{");
        text.push_str(&format!("import {{\n  to = {}\n  id = {id}\n}}\n\n", instance.address));
    }
    text
}
