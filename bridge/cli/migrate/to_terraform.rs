//! `isthmus migrate --to terraform`: a state and import blocks from a stack export.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use isthmus_common::counted;
use isthmus_cty::json::Json;
use isthmus_install::ProviderAddress;
use isthmus_proto::property::Value as Property;
use isthmus_state::tfstate::{Instance as StateInstance, TfState};
use isthmus_state::{ObjectAddress, ProviderConfigAddress};

use super::Migrate;
use super::error::MigrateError;
use super::files::{self, OutputFile};
use super::losses::Losses;
use super::providers::{Providers, target};
use crate::cli::output::print;
use crate::cli::state::read_file;
use isthmus_context::random_uuid::random_uuid;
use isthmus_context::settings::Settings;
use isthmus_migrate::addresses::Addresses;
use isthmus_migrate::dependencies::without_keys;
use isthmus_migrate::deployment::{ReadExport, ReadProvider, ReadResource, read_export};
use isthmus_migrate::property_json::ExportedValueError;
use isthmus_operations::resource::{Released, release};
use isthmus_package::parameters::Parameter;
use isthmus_session::daemon::Instance;
use isthmus_translate::property::{PropertyView, classify};

const STATE_FILE: &str = "terraform.tfstate";
const IMPORTS_FILE: &str = "imports.tf";

/// A resource that a state can hold.
struct Object<'a> {
    resource: &'a ReadResource,
    type_name: String,
    provider: String,
    package: String,
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
        if export.outputs == Err(ExportedValueError::Encrypted) {
            return Err(MigrateError::Encrypted(self.file.clone()));
        }
        let provider_addresses = self.provider_addresses()?;
        let mut losses = Losses::default();
        for (urn, kind) in &export.interrupted {
            let kind = if kind.is_empty() { "an operation" } else { kind };
            losses.add(
                urn.clone(),
                format!("{kind} was interrupted: run `pulumi refresh`, which finds its outcome"),
            );
        }
        for urn in &export.external {
            losses.add(urn.clone(), "it is only read, and not managed: write a data source");
        }
        for component in &export.components {
            losses.add(component.clone(), "a component has no object: its resources go into the root module");
        }
        let mut providers = Providers::new(&self.provider, Path::new(""), None, settings);
        let references: HashSet<&str> =
            export.resources.iter().map(|resource| resource.provider.as_str()).collect();
        let used =
            export.providers.iter().filter(|provider| references.contains(provider.reference.as_str()));
        let parameters = used.filter_map(|provider| provider.parameter.as_deref());
        self.consent.to(&providers.only_of_export(parameters))?;
        let objects = release_all(&export, &provider_addresses, &mut providers, &mut losses).await;
        providers.end().await;
        let mut state = self.new_state(&objects, &addresses);
        state.outputs = root_outputs(&export, &mut losses);
        note_unused(&objects, &provider_addresses, &mut losses);
        let files = [
            OutputFile::private(STATE_FILE, state.write()?),
            OutputFile::shared(IMPORTS_FILE, import_blocks(&objects, &state)),
        ];
        files::write(&self.output, &files, self.force)?;
        losses.report();
        let (written, directory) = (counted(objects.len(), "resource"), self.output.display());
        print(&format!(
            "wrote {written} to {directory}/{STATE_FILE}, and blocks that import them to {directory}/{IMPORTS_FILE}\n\
             next: use the state as it is, or `tofu state push`; the blocks are for an empty state\n\
             the state has secrets in the clear\n"
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
    let package = identity.name.clone();
    Ok(Object { resource, type_name, provider: config.to_string(), package, released })
}

fn released(resource: &ReadResource, package: &Instance) -> Result<Released, String> {
    let properties = resource.outputs.as_ref().map_err(ToString::to_string)?;
    let shape = package.package.resource_by_token(&resource.token);
    let handle = package.provider();
    let target = target(&handle, package, shape.map_err(|error| isthmus_common::error_chain(&error))?);
    release(&target, properties).map_err(|error| isthmus_common::error_chain(&error))
}

/// The outputs of the root module. Their types are those of their values, which is what an expression without a conversion has.
fn root_outputs(export: &ReadExport, losses: &mut Losses) -> Json {
    let outputs = match &export.outputs {
        Ok(outputs) => outputs,
        Err(error) => {
            losses.add("the outputs of the stack", error.to_string());
            return Json::Object(Vec::new());
        }
    };
    let mut members = Vec::new();
    for (name, value) in outputs.iter() {
        let is_identifier = name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_alphanumeric() || "_-".contains(character));
        match (is_identifier, output_value(value)) {
            (false, _) => {
                losses.add(format!("output {name:?}"), "it is not a valid name of an output in Terraform")
            }
            (true, None) => {
                losses.add(format!("output {name:?}"), "its value is of a kind that Terraform does not have")
            }
            (true, Some((json, json_type, sensitive))) => {
                let mut output = vec![("value".to_owned(), json), ("type".to_owned(), json_type)];
                if sensitive {
                    output.push(("sensitive".to_owned(), Json::Bool(true)));
                }
                members.push((name.to_owned(), Json::Object(output)));
            }
        }
    }
    Json::Object(members)
}

/// A value with its type, in JSON, and whether any of it is secret: an output is sensitive as a whole.
fn output_value(value: &Property) -> Option<(Json, Json, bool)> {
    let text = |name: &str| Json::String(name.to_owned());
    Some(match classify(value).ok()? {
        PropertyView::Null => (Json::Null, text("dynamic"), false),
        PropertyView::Bool(value) => (Json::Bool(value), text("bool"), false),
        PropertyView::Number(number) => {
            let decimal = isthmus_cty::Number::from_f64_shortest(number)?.to_decimal_text();
            (Json::Number(decimal), text("number"), false)
        }
        PropertyView::String(value) => (text(value), text("string"), false),
        PropertyView::Secret(inner) => {
            let (json, json_type, _) = output_value(inner)?;
            (json, json_type, true)
        }
        PropertyView::Output { value: Some(inner), secret, .. } => {
            let (json, json_type, sensitive) = output_value(inner)?;
            (json, json_type, sensitive || secret)
        }
        PropertyView::List(elements) => {
            let mut parts = (Vec::new(), Vec::new(), false);
            for element in elements {
                let (json, json_type, sensitive) = output_value(element)?;
                parts.0.push(json);
                parts.1.push(json_type);
                parts.2 |= sensitive;
            }
            let json_type = Json::Array(vec![text("tuple"), Json::Array(parts.1)]);
            (Json::Array(parts.0), json_type, parts.2)
        }
        PropertyView::Object(bag) => {
            let mut parts = (Vec::new(), Vec::new(), false);
            for (name, member) in bag.iter() {
                let (json, json_type, sensitive) = output_value(member)?;
                parts.0.push((name.to_owned(), json));
                parts.1.push((name.to_owned(), json_type));
                parts.2 |= sensitive;
            }
            let json_type = Json::Array(vec![text("object"), Json::Object(parts.1)]);
            (Json::Object(parts.0), json_type, parts.2)
        }
        PropertyView::Unknown
        | PropertyView::Output { value: None, .. }
        | PropertyView::Asset { .. }
        | PropertyView::Archive { .. }
        | PropertyView::ResourceReference { .. }
        | PropertyView::ByteString(_) => return None,
    })
}

/// Notes addresses of packages that no resource is of: their names are probably misspelt.
fn note_unused(objects: &[Object<'_>], provider_addresses: &HashMap<&str, String>, losses: &mut Losses) {
    for package in
        provider_addresses.keys().filter(|name| !objects.iter().any(|object| object.package == **name))
    {
        losses.add(
            format!("--provider-address {package}"),
            "no resource of the stack export is of this package",
        );
    }
}

/// The beginning of the file of import blocks.
const ABOUT_IMPORTS: &str = "\
# Blocks that import the objects into an empty state; with the state beside this file, they are not needed.
# Each id is the object's own. The provider's documentation shows whether it imports with that id: some cannot
# import, and some need another id.

";

/// Blocks that import the current objects into an empty state.
fn import_blocks(objects: &[Object<'_>], state: &TfState) -> String {
    let mut text = ABOUT_IMPORTS.to_owned();
    for (object, instance) in objects.iter().zip(&state.instances) {
        if instance.address.deposed.is_some() {
            continue;
        }
        if object.resource.id.is_empty() {
            text.push_str(&format!("# {} has no id.\n\n", instance.address));
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
