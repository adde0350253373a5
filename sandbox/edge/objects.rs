//! RPCs of resources: validate, plan, apply, read, import, upgrade, move.

use isthmus_cty::Value;
use tonic::Status;

use super::message;
use super::provider::Edge;
use super::values::{
    Answered, client_of, decode, diagnostic_messages, encode, identity_data, identity_of, identity_of_answer,
    identity_type, meta_text, path_message, stored_json,
};
use crate::calls::CallRecord;
use crate::diagnostics::{Diagnostic, Diagnostics};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::{Generation, Ids, ImportAnswer, imports};
use crate::protocol::Deferrable;
use crate::provider::Provider;
#[cfg(feature = "misbehaviour")]
use crate::resource::Answer;
use crate::resource::Change;
use crate::wire::{self, explain};

impl Edge {
    pub(crate) async fn validate_resource(
        &self,
        name: &'static str,
        type_name: String,
        config: Option<message::DynamicValue>,
        client: Option<message::ClientCapabilities>,
    ) -> Answered<Vec<message::Diagnostic>> {
        let validated = self.about_resource(type_name, move |provider, entry, call| {
            let config = decode(config.as_ref(), &entry.kind)?;
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                config_known: Some(config.is_wholly_known()),
                ..CallRecord::of(name)
            });
            entry.validate(call, client_of(client), &config)
        });
        Ok(diagnostic_messages(validated.await?.unwrap_or_else(Diagnostics::from)))
    }

    pub(crate) async fn upgrade(
        &self,
        request: message::upgrade_resource_state::Request,
    ) -> Answered<message::upgrade_resource_state::Response> {
        use message::upgrade_resource_state::Response;
        let upgraded = self.about_resource(request.type_name, move |provider, entry, call| {
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                version: Some(request.version),
                ..CallRecord::of("UpgradeResourceState")
            });
            let outcome = entry.upgrade(call, request.version, &stored_json(request.raw_state))?;
            Ok(Response {
                upgraded_state: encode(provider, entry, outcome.state)?,
                diagnostics: diagnostic_messages(outcome.diagnostics),
            })
        });
        answered(upgraded.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn upgrade_identity(
        &self,
        request: message::upgrade_resource_identity::Request,
    ) -> Answered<message::upgrade_resource_identity::Response> {
        use message::upgrade_resource_identity::Response;
        let upgraded = self.about_resource(request.type_name, move |provider, entry, call| {
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                version: Some(request.version),
                ..CallRecord::of("UpgradeResourceIdentity")
            });
            let identity = wire::from_json(&stored_json(request.raw_identity), &identity_type(entry))
                .map_err(|error| Status::invalid_argument(explain(&error)))?;
            Ok(Response { upgraded_identity: identity_data(entry, &identity)?, diagnostics: Vec::new() })
        });
        answered(upgraded.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn read(
        &self,
        request: message::read_resource::Request,
    ) -> Answered<message::read_resource::Response> {
        use message::read_resource::Response;
        let read = self.about_resource(request.type_name, move |provider, entry, call| {
            let state = decode(request.current_state.as_ref(), &entry.kind)?;
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                prior_null: Some(matches!(state, Value::Null)),
                private: Some(String::from_utf8_lossy(&request.private).into_owned()),
                deferral_allowed: Some(client_of(request.client_capabilities).deferral),
                provider_meta: meta_text(provider, request.provider_meta.as_ref())?,
                ..CallRecord::of("ReadResource")
            });
            if let Some(reason) = provider.deferral(Deferrable::Read) {
                let deferred = Some(message::Deferred { reason });
                return Ok(Response { new_state: request.current_state, deferred, ..Response::default() });
            }
            let outcome = entry.read(call, &state, request.private)?;
            #[cfg(feature = "misbehaviour")]
            let outcome = imports::withheld(provider, entry, outcome, &state);
            Ok(Response {
                new_identity: identity_of_answer(provider, entry, &outcome.state, "ReadResource")?,
                new_state: encode(provider, entry, outcome.state)?,
                diagnostics: diagnostic_messages(outcome.diagnostics),
                private: outcome.private,
                ..Response::default()
            })
        });
        answered(read.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn plan(
        &self,
        request: message::plan_resource_change::Request,
    ) -> Answered<message::plan_resource_change::Response> {
        use message::plan_resource_change::Response;
        let planned = self.about_resource(request.type_name, move |provider, entry, call| {
            let change = Change {
                prior: decode(request.prior_state.as_ref(), &entry.kind)?,
                planned: decode(request.proposed_new_state.as_ref(), &entry.kind)?,
                config: decode(request.config.as_ref(), &entry.kind)?,
                private: request.prior_private,
            };
            let client = client_of(request.client_capabilities);
            provider.record(&CallRecord {
                deferral_allowed: Some(client.deferral),
                provider_meta: meta_text(provider, request.provider_meta.as_ref())?,
                ..CallRecord::of_change("PlanResourceChange", call.type_name(), &change)
            });
            let planned = entry.plan(call, client, &change, provider.plan_deferral(client, &change))?;
            let deferral = |reason| message::Deferred { reason };
            Ok(Response {
                planned_state: encode(provider, entry, planned.state)?,
                requires_replace: planned.requires_replace.iter().map(path_message).collect(),
                planned_private: change.private,
                diagnostics: diagnostic_messages(planned.diagnostics),
                legacy_type_system: is_legacy(provider),
                deferred: planned.deferred.map(deferral),
                planned_identity: identity_of(provider, entry, &change.prior, "PlanResourceChange")?,
            })
        });
        answered(planned.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn apply(
        &self,
        request: message::apply_resource_change::Request,
    ) -> Answered<message::apply_resource_change::Response> {
        use message::apply_resource_change::Response;
        let applied = self.about_resource(request.type_name, move |provider, entry, call| {
            let change = Change {
                prior: decode(request.prior_state.as_ref(), &entry.kind)?,
                planned: decode(request.planned_state.as_ref(), &entry.kind)?,
                config: decode(request.config.as_ref(), &entry.kind)?,
                private: request.planned_private,
            };
            provider.record(&CallRecord {
                provider_meta: meta_text(provider, request.provider_meta.as_ref())?,
                ..CallRecord::of_change("ApplyResourceChange", call.type_name(), &change)
            });
            #[cfg(feature = "misbehaviour")]
            if let Some(gate) = &provider.misbehaviour().gate {
                call.wait_for_file(gate)?;
            }
            #[cfg(feature = "misbehaviour")]
            let call = &match provider.misbehaviour().ids {
                Ids::Random => call.clone(),
                // `Debug` orders the attributes.
                Ids::Derived => call.seeded(&format!("{:?}", change.config)),
                Ids::Titles => match change.config_object().text("title") {
                    Some(title) => call.with_id(title),
                    None => call.clone(),
                },
            };
            let outcome = entry.apply(call, &change)?;
            Ok(Response {
                new_identity: identity_of_answer(provider, entry, &outcome.state, "ApplyResourceChange")?,
                new_state: encode(provider, entry, outcome.state)?,
                private: outcome.private,
                diagnostics: diagnostic_messages(outcome.diagnostics),
                legacy_type_system: is_legacy(provider),
            })
        });
        answered(applied.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn import(
        &self,
        request: message::import_resource_state::Request,
    ) -> Answered<message::import_resource_state::Response> {
        use message::import_resource_state::{ImportedResource, Response};
        let imported = self.about_resource(request.type_name, move |provider, entry, call| {
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                deferral_allowed: Some(client_of(request.client_capabilities).deferral),
                ..CallRecord::of("ImportResourceState")
            });
            if let Some(reason) = provider.deferral(Deferrable::Import) {
                let deferred = Some(message::Deferred { reason });
                return Ok(Response { deferred, ..Response::default() });
            }
            let outcome = match request.identity.and_then(|identity| identity.identity_data) {
                Some(identity) if request.id.is_empty() => {
                    let identity = decode(Some(&identity), &identity_type(entry))?;
                    entry.import_identity(call, &identity)?
                }
                _ => entry.import(call, &request.id)?,
            };
            if outcome.diagnostics.failed() {
                let diagnostics = diagnostic_messages(outcome.diagnostics);
                return Ok(Response { diagnostics, ..Response::default() });
            }
            let resource = ImportedResource {
                type_name: call.type_name().to_owned(),
                identity: identity_of_answer(provider, entry, &outcome.state, "ImportResourceState")?,
                state: encode(provider, entry, outcome.state)?,
                private: outcome.private,
            };
            let imported_resources = vec![resource];
            #[cfg(feature = "misbehaviour")]
            let imported_resources = match provider.misbehaviour().import {
                ImportAnswer::One => imported_resources,
                ImportAnswer::None => Vec::new(),
                ImportAnswer::Several => [imported_resources.clone(), imported_resources].concat(),
                ImportAnswer::Foreign => {
                    let foreign =
                        |resource| ImportedResource { type_name: "sandbox_elsewhere".to_owned(), ..resource };
                    imported_resources.into_iter().map(foreign).collect()
                }
            };
            Ok(Response {
                imported_resources,
                diagnostics: diagnostic_messages(outcome.diagnostics),
                deferred: None,
            })
        });
        answered(imported.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    #[cfg(feature = "misbehaviour")]
    pub(crate) async fn generate_config(
        &self,
        request: message::generate_resource_config::Request,
    ) -> Answered<message::generate_resource_config::Response> {
        use message::generate_resource_config::Response;
        let generated = self.about_resource(request.type_name, move |provider, entry, call| {
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                ..CallRecord::of("GenerateResourceConfig")
            });
            let state = decode(request.state.as_ref(), &entry.kind)?;
            let (config, diagnostics) = match provider.misbehaviour().generate {
                Generation::None => {
                    return Err(Status::unimplemented("unknown method GenerateResourceConfig"));
                }
                Generation::Config => (imports::config(&entry.schema.block, &state), Diagnostics::default()),
                Generation::Null => (Value::Null, Diagnostics::default()),
                Generation::Refuse => {
                    let detail = "The sandbox was asked not to.";
                    (Value::Null, Diagnostic::error("No configuration is generated", detail).into())
                }
            };
            Ok(Response {
                config: encode(provider, entry, Answer::State(config))?,
                diagnostics: diagnostic_messages(diagnostics),
            })
        });
        answered(generated.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }

    pub(crate) async fn move_state(
        &self,
        request: message::move_resource_state::Request,
    ) -> Answered<message::move_resource_state::Response> {
        use message::move_resource_state::Response;
        let taken = self.about_resource(request.target_type_name, move |provider, entry, call| {
            provider.record(&CallRecord {
                type_name: Some(call.type_name().to_owned()),
                private: Some(String::from_utf8_lossy(&request.source_private).into_owned()),
                version: Some(request.source_schema_version),
                source: Some(format!("{} {}", request.source_provider_address, request.source_type_name)),
                ..CallRecord::of("MoveResourceState")
            });
            let outcome = entry.move_state(&request.source_type_name, &stored_json(request.source_state));
            Ok(Response {
                target_identity: identity_of_answer(provider, entry, &outcome.state, "MoveResourceState")?,
                target_state: encode(provider, entry, outcome.state)?,
                diagnostics: diagnostic_messages(outcome.diagnostics),
                target_private: outcome.private,
            })
        });
        answered(taken.await?, |diagnostics| Response { diagnostics, ..Response::default() })
    }
}

/// The response, with the diagnostic on failure.
fn answered<T>(
    answer: Result<T, Diagnostic>,
    refused: impl FnOnce(Vec<message::Diagnostic>) -> T,
) -> Answered<T> {
    Ok(answer.unwrap_or_else(|diagnostic| refused(diagnostic_messages(diagnostic.into()))))
}

/// Whether the provider imitates one built on SDKv2.
const fn is_legacy(provider: &Provider) -> bool {
    #[cfg(feature = "misbehaviour")]
    return provider.misbehaviour().legacy;
    #[cfg(not(feature = "misbehaviour"))]
    {
        let _ = provider;
        false
    }
}
