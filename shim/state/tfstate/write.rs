//! Writing of a state file in the layout of Terraform and OpenTofu.

use std::collections::BTreeMap;

use base64::Engine as _;
use isthmus_cty::json::Json;

use super::read::VERSION;
use super::{Attributes, Instance, TfState, paths};
use crate::addresses::{
    InstanceKey, ObjectAddress, ProviderConfigAddress, ResourceAddress, ResourceMode, modules_text,
};
use crate::saved::Status;

/// Two objects have the same address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two objects have the address {address}{}", .address.deposed.as_ref().map_or(String::new(), |key| format!(" (deposed {})", key.as_str())))]
pub struct Collision {
    /// Its address.
    pub address: Box<ObjectAddress>,
}

impl TfState {
    /// The file's text.
    ///
    /// # Errors
    /// When two objects have the same address.
    pub fn write(&self) -> Result<String, Collision> {
        let number = |number: u64| Json::Number(number.to_string());
        let mut out = Vec::new();
        let mut member = |name: &str, value| out.push((name.to_owned(), value));
        member("version", number(VERSION));
        member("terraform_version", Json::String(self.terraform_version.clone()));
        member("serial", number(self.serial));
        member("lineage", Json::String(self.lineage.clone()));
        member("outputs", self.outputs.clone());
        member("resources", Json::Array(resources(&self.instances)?));
        member("check_results", self.check_results.clone());
        Ok(Json::Object(out).to_pretty() + "\n")
    }
}

fn resources(instances: &[Instance]) -> Result<Vec<Json>, Collision> {
    // In Terraform's order: by module, mode, type and name, data before managed.
    let mut by_resource = BTreeMap::<_, (&ResourceAddress, Vec<&Instance>)>::new();
    for instance in instances {
        let resource = &instance.address.resource;
        let mode = mode(resource.mode);
        let place = (modules_text(&resource.module), mode, &resource.type_name, &resource.name);
        by_resource.entry(place).or_insert_with(|| (resource, Vec::new())).1.push(instance);
    }
    by_resource.into_values().map(|(address, instances)| resource(address, instances)).collect()
}

fn resource(address: &ResourceAddress, mut instances: Vec<&Instance>) -> Result<Json, Collision> {
    instances.sort_by(|one, other| {
        let place = |instance: &Instance| (instance.address.key.clone(), instance.address.deposed.clone());
        place(one).cmp(&place(other))
    });
    if let Some(pair) = instances.windows(2).find(|pair| pair[0].address == pair[1].address) {
        return Err(Collision { address: Box::new(pair[0].address.clone()) });
    }
    // The provider that all share is at the resource; OpenTofu writes instances' own at each.
    let common = instances.first().map(|first| &first.provider).filter(|common| {
        let has_key =
            |text: &str| text.parse::<ProviderConfigAddress>().is_ok_and(|provider| provider.key.is_some());
        !has_key(common) && instances.iter().all(|instance| instance.provider == **common)
    });
    let mut out = Vec::new();
    let mut member = |name: &str, value| out.push((name.to_owned(), value));
    if !address.module.is_empty() {
        member("module", Json::String(modules_text(&address.module)));
    }
    member("mode", Json::String(mode(address.mode).to_owned()));
    member("type", Json::String(address.type_name.clone()));
    member("name", Json::String(address.name.clone()));
    if let Some(provider) = common {
        member("provider", Json::String(provider.clone()));
    }
    let instances = instances.into_iter().map(|one| instance(one, common.is_some())).collect();
    member("instances", Json::Array(instances));
    Ok(Json::Object(out))
}

fn instance(instance: &Instance, is_provider_common: bool) -> Json {
    let text = |text: &str| Json::String(text.to_owned());
    let mut out = Vec::new();
    let mut member = |name: &str, value| out.push((name.to_owned(), value));
    match &instance.address.key {
        None => {}
        Some(InstanceKey::Number(number)) => member("index_key", Json::Number(number.to_string())),
        Some(InstanceKey::Text(key)) => member("index_key", text(key)),
    }
    if instance.status == Status::Damaged {
        member("status", text("tainted"));
    }
    if let Some(deposed) = &instance.address.deposed {
        member("deposed", text(deposed.as_str()));
    }
    if !is_provider_common {
        member("provider", text(&instance.provider));
    }
    member("schema_version", Json::Number(instance.schema_version.max(0).to_string()));
    match &instance.attributes {
        Attributes::Json(attributes) => member("attributes", attributes.clone()),
        Attributes::Flat(flat) => {
            let members = flat.iter().map(|(name, value)| (name.clone(), text(value)));
            member("attributes_flat", Json::Object(members.collect()));
        }
    }
    member("sensitive_attributes", paths::write(&instance.sensitive_paths));
    if !instance.private.is_empty() {
        let private = base64::engine::general_purpose::STANDARD.encode(&instance.private);
        member("private", Json::String(private));
    }
    if !instance.dependencies.is_empty() {
        let dependencies = instance.dependencies.iter().map(|address| text(address));
        member("dependencies", Json::Array(dependencies.collect()));
    }
    for (name, flag) in
        [("create_before_destroy", instance.create_before_destroy), ("skip_destroy", instance.skip_destroy)]
    {
        if flag {
            member(name, Json::Bool(true));
        }
    }
    if let Some(identity) = &instance.identity {
        member("identity", identity.json.clone());
        member("identity_schema_version", Json::Number(identity.schema_version.max(0).to_string()));
    }
    Json::Object(out)
}

fn mode(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Managed => "managed",
        ResourceMode::Data => "data",
    }
}
