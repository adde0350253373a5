//! The requests that the floor repeats, encoded once.
//!
//! They are learned from one life of a resource: what a provider planned and made is in the later requests. All resources
//! of a type then share them, which is no help to the provider: the ones at hand keep nothing between calls.

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use isthmus_cty::{Type, Value, decode_dynamic, json, msgpack};
use isthmus_proto::tfplugin6;
use isthmus_provider::Client;
use isthmus_provider::rules::proposed_new;
use isthmus_provider::schema::Schema;

use super::{apply, null, plan, sent, upgrade};
use crate::workload::{Case, Input, Scalar};

/// The requests of one resource type's life.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) validate: tfplugin6::validate_resource_config::Request,
    pub(super) validate_changed: tfplugin6::validate_resource_config::Request,
    pub(super) plan_create: tfplugin6::plan_resource_change::Request,
    pub(super) apply_create: tfplugin6::apply_resource_change::Request,
    pub(super) upgrade: tfplugin6::upgrade_resource_state::Request,
    pub(super) read: tfplugin6::read_resource::Request,
    pub(super) plan_same: tfplugin6::plan_resource_change::Request,
    pub(super) plan_changed: tfplugin6::plan_resource_change::Request,
    pub(super) apply_changed: tfplugin6::apply_resource_change::Request,
    pub(super) destroy: tfplugin6::apply_resource_change::Request,
}

impl Requests {
    /// Creates a resource, plans a change of it, and destroys it.
    pub(super) async fn learn(client: &Client, case: &Case, schema: &Schema) -> anyhow::Result<Self> {
        let block = &schema.block;
        let own = &block.implied_type;
        let type_name = case.type_name.to_owned();
        let config = attributes(schema, case.inputs)?;
        let changed = attributes(schema, case.changed)?;
        let validate_of = |config: &Value| {
            anyhow::Ok(tfplugin6::validate_resource_config::Request {
                type_name: type_name.clone(),
                config: Some(encode(config, own)?),
                client_capabilities: capabilities(),
            })
        };
        let plan_of = |prior: &Value, config: &Value, private: &Bytes| {
            anyhow::Ok(tfplugin6::plan_resource_change::Request {
                type_name: type_name.clone(),
                prior_state: Some(encode(prior, own)?),
                proposed_new_state: Some(encode(&proposed_new(block, prior, config), own)?),
                config: Some(encode(config, own)?),
                prior_private: private.clone(),
                client_capabilities: capabilities(),
                ..tfplugin6::plan_resource_change::Request::default()
            })
        };

        let plan_create = plan_of(&Value::Null, &config, &Bytes::new())?;
        let planned = plan(client, plan_create.clone()).await.context("planning to create")?;
        let apply_create = apply_of(&plan_create, planned)?;
        let created = apply(client, apply_create.clone()).await.context("creating")?;
        let state = sent(created.new_state, "state of what it created")?;
        let private = created.private;
        let value = decode_dynamic(&state.msgpack, &state.json, own).map_err(|error| anyhow!(error))?;

        let upgrade_request = tfplugin6::upgrade_resource_state::Request {
            type_name: type_name.clone(),
            version: schema.version,
            raw_state: Some(tfplugin6::RawState {
                json: json::to_json(&value, own)?.into(),
                ..tfplugin6::RawState::default()
            }),
        };
        upgrade(client, upgrade_request.clone()).await.context("upgrading")?;
        let read = tfplugin6::read_resource::Request {
            type_name: type_name.clone(),
            current_state: Some(state.clone()),
            private: private.clone(),
            client_capabilities: capabilities(),
            ..tfplugin6::read_resource::Request::default()
        };
        let plan_same = plan_of(&value, &config, &private)?;
        let plan_changed = plan_of(&value, &changed, &private)?;
        let planned = plan(client, plan_changed.clone()).await.context("planning a change")?;
        let apply_changed = apply_of(&plan_changed, planned)?;
        let destroy = tfplugin6::apply_resource_change::Request {
            type_name: type_name.clone(),
            prior_state: Some(state),
            planned_state: Some(null()?),
            config: Some(null()?),
            planned_private: private,
            ..tfplugin6::apply_resource_change::Request::default()
        };
        apply(client, destroy.clone()).await.context("destroying")?;
        Ok(Self {
            validate: validate_of(&config)?,
            validate_changed: validate_of(&changed)?,
            plan_create,
            apply_create,
            upgrade: upgrade_request,
            read,
            plan_same,
            plan_changed,
            apply_changed,
            destroy,
        })
    }
}

fn apply_of(
    request: &tfplugin6::plan_resource_change::Request,
    planned: tfplugin6::plan_resource_change::Response,
) -> anyhow::Result<tfplugin6::apply_resource_change::Request> {
    Ok(tfplugin6::apply_resource_change::Request {
        type_name: request.type_name.clone(),
        prior_state: request.prior_state.clone(),
        planned_state: Some(sent(planned.planned_state, "planned state")?),
        config: request.config.clone(),
        planned_private: planned.planned_private,
        ..tfplugin6::apply_resource_change::Request::default()
    })
}

fn capabilities() -> Option<tfplugin6::ClientCapabilities> {
    Some(tfplugin6::ClientCapabilities {
        write_only_attributes_allowed: true,
        ..tfplugin6::ClientCapabilities::default()
    })
}

/// A configuration with these attributes; all others are null, and there are no blocks.
pub(super) fn attributes(schema: &Schema, inputs: &[Input]) -> anyhow::Result<Value> {
    if !schema.block.blocks.is_empty() {
        return Err(anyhow!("types with nested blocks are beyond this workload"));
    }
    let given =
        |name: &str| match inputs.iter().find(|input| input.attribute == name).map(|input| input.value) {
            Some(Scalar::Number(number)) => Value::number(i64::from(number)),
            Some(Scalar::Text(text)) => Value::string(text),
            Some(Scalar::Truth(truth)) => Value::Bool(truth),
            None => Value::Null,
        };
    Ok(Value::object(
        schema.block.attributes.iter().map(|attribute| (&attribute.name, given(&attribute.name))),
    ))
}

/// A value as providers want it.
pub(super) fn encode(value: &Value, own: &Type) -> anyhow::Result<tfplugin6::DynamicValue> {
    let msgpack = msgpack::encode(value, own)?;
    Ok(tfplugin6::DynamicValue { msgpack: msgpack.into(), json: Bytes::new() })
}
