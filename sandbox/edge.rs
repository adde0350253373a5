//! The edge of either protocol: messages in, calls of [`Provider`], messages out.
//!
//! This file and those below it are compiled twice, as modules of `protocol5.rs` and of `protocol6.rs`, each time with that
//! protocol's messages as `super::message`. The two families are different types with (nearly) the same names; what
//! differs stands in those two files. Fields are matched by name here, never by number, so the sandbox does not share an
//! assumption that a client may make about the two protocols' wire being the same.

#[path = "edge/actions.rs"]
mod actions;
#[path = "edge/broken.rs"]
mod broken;
#[path = "edge/generated.rs"]
mod generated;
#[path = "edge/lookups.rs"]
mod lookups;
#[path = "edge/objects.rs"]
mod objects;
#[path = "edge/values.rs"]
pub(super) mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use tokio::runtime::Handle;
use tonic::Status;

use values::{client_of, decode, diagnostic_messages, function_message, schema_message};

use super::message;
use crate::call::Call;
use crate::calls::CallRecord;
use crate::diagnostics::Diagnostic;
use crate::generated::Size;
use crate::protocol::Feature;
use crate::provider::Provider;
use crate::resource_entry::ResourceEntry;
use crate::schema::Schema;
use crate::switches::{Configure, SchemaAnswer, Stop};
use crate::{broadcast, token, wire};

/// The provider as one protocol sees it.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    provider: Arc<Provider>,
}

/// What every call is answered with.
type Answered<T> = Result<T, Status>;

impl Edge {
    /// The edge of a provider.
    pub(crate) const fn new(provider: Arc<Provider>) -> Self {
        Self { provider }
    }

    pub(super) fn metadata(&self, call: &str) -> message::get_metadata::Response {
        use message::get_metadata::{DataSourceMetadata, FunctionMetadata, ResourceMetadata, Response};
        self.provider.record(&CallRecord::of(call));
        let resources = self.provider.resources();
        let functions = self.provider.functions().iter();
        Response {
            server_capabilities: self.capabilities(),
            resources: resources
                .map(|(name, _)| name.to_owned())
                .chain(self.provider.switches().generated.into_iter().flat_map(Size::type_names))
                .map(|type_name| ResourceMetadata { type_name })
                .collect(),
            data_sources: vec![DataSourceMetadata { type_name: "sandbox_note".to_owned() }],
            functions: functions
                .map(|function| FunctionMetadata { name: function.name.to_owned() })
                .collect(),
            ..Response::default()
        }
    }

    pub(super) fn schema(&self, call: &str) -> message::get_provider_schema::Response {
        self.provider.record(&CallRecord::of(call));
        let minor = self.provider.minor();
        let encoded = |schema: &Schema| Bytes::from(schema_message(schema, minor).encode_to_vec());
        let resources = self.provider.resources();
        let lookup = self.provider.data_source("sandbox_note").into_iter();
        let kind = self.provider.switches().schema;
        if kind == SchemaAnswer::Refuse {
            let refusal = Diagnostic::error("The sandbox does not say what it offers", "It was asked to.");
            return message::get_provider_schema::Response {
                diagnostics: diagnostic_messages(refusal.into()),
                ..Default::default()
            };
        }
        let warning = (kind == SchemaAnswer::Warn)
            .then(|| Diagnostic::warning("The sandbox is not sure what it offers", "It was asked to warn."));
        #[allow(
            clippy::needless_update,
            reason = "in protocol 5 there is nothing else, in protocol 6 there is"
        )]
        let mut response = message::get_provider_schema::Response {
            diagnostics: warning
                .into_iter()
                .flat_map(|warning| diagnostic_messages(warning.into()))
                .collect(),
            provider: (kind != SchemaAnswer::Incomplete)
                .then(|| schema_message(self.provider.schema(), minor)),
            resource_schemas: resources
                .filter(|(name, _)| kind != SchemaAnswer::Changed || *name != "sandbox_secret")
                .map(|(name, entry)| (name.to_owned(), encoded(&entry.schema)))
                .chain(self.provider.switches().generated.into_iter().flat_map(generated::schemas))
                .collect(),
            data_source_schemas: lookup
                .map(|data| ("sandbox_note".to_owned(), encoded(&data.schema)))
                .collect(),
            functions: self.functions_by_name().into_iter().collect(),
            ephemeral_resource_schemas: minor
                .has(Feature::Ephemeral)
                .then(|| (token::TYPE_NAME.to_owned(), encoded(&self.provider.token().schema)))
                .into_iter()
                .collect(),
            list_resource_schemas: minor
                .has(Feature::Lists)
                .then(|| ("sandbox_note".to_owned(), encoded(&self.provider.search().schema)))
                .into_iter()
                .collect(),
            action_schemas: minor
                .has(Feature::Lists)
                .then(|| {
                    let schema = Some(schema_message(&self.provider.broadcast().schema, minor));
                    let action = message::ActionSchema { schema };
                    (broadcast::TYPE_NAME.to_owned(), action.encode_to_vec().into())
                })
                .into_iter()
                .collect(),
            provider_meta: self.provider.meta().map(|meta| schema_message(&meta.schema, minor)),
            server_capabilities: self.capabilities(),
            ..Default::default()
        };
        if self.provider.switches().broken {
            broken::add_to(&mut response);
        }
        response
    }

    pub(super) fn functions(&self, call: &str) -> message::get_functions::Response {
        self.provider.record(&CallRecord::of(call));
        let functions = self.functions_by_name().into_iter().collect();
        message::get_functions::Response { functions, diagnostics: Vec::new() }
    }

    pub(super) fn identity_schemas(&self, call: &str) -> message::get_resource_identity_schemas::Response {
        use message::resource_identity_schema::IdentityAttribute;
        self.provider.record(&CallRecord::of(call));
        let schema = |entry: &ResourceEntry| {
            let attributes = entry.identity_attributes().into_iter().map(|attribute| IdentityAttribute {
                name: attribute.name.to_owned(),
                r#type: wire::type_json(&attribute.implied_type()),
                required_for_import: true,
                optional_for_import: false,
                description: attribute.description.to_owned(),
            });
            message::ResourceIdentitySchema { version: 0, identity_attributes: attributes.collect() }
        };
        let resources = self.provider.resources();
        let identified = resources.filter(|(_, entry)| !entry.identity_attributes().is_empty());
        message::get_resource_identity_schemas::Response {
            identity_schemas: identified.map(|(name, entry)| (name.to_owned(), schema(entry))).collect(),
            diagnostics: Vec::new(),
        }
    }

    pub(super) fn validate_provider(
        &self,
        call: &str,
        config: Option<&message::DynamicValue>,
    ) -> Answered<Vec<message::Diagnostic>> {
        let config = decode(config, &self.provider.schema().block.implied_type())?;
        self.provider
            .record(&CallRecord { config_known: Some(config.is_wholly_known()), ..CallRecord::of(call) });
        Ok(diagnostic_messages(self.provider.validate_configuration(&config)))
    }

    pub(super) async fn configure_with(
        &self,
        call: &str,
        config: Option<&message::DynamicValue>,
        client: Option<message::ClientCapabilities>,
    ) -> Answered<Vec<message::Diagnostic>> {
        let config = decode(config, &self.provider.schema().block.implied_type())?;
        self.provider.record(&CallRecord {
            config_known: Some(config.is_wholly_known()),
            deferral_allowed: Some(client_of(client).deferral),
            ..CallRecord::of(call)
        });
        if self.provider.switches().configure == Configure::Hang {
            return std::future::pending().await;
        }
        Ok(diagnostic_messages(self.provider.configure(&config)))
    }

    /// Asks all calls to end; what is wrong with that, if anything.
    pub(super) async fn stop_calls(&self, call: &str) -> String {
        self.provider.record(&CallRecord::of(call));
        match self.provider.switches().stop {
            Stop::Obey => {
                self.provider.stop();
                String::new()
            }
            Stop::Refuse => "the sandbox was asked not to stop".to_owned(),
            Stop::Hang => std::future::pending().await,
        }
    }

    fn capabilities(&self) -> Option<message::ServerCapabilities> {
        let minor = self.provider.minor();
        minor.has(Feature::PlanDestroy).then(|| message::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: minor.has(Feature::SchemaOptional),
            move_resource_state: minor.has(Feature::Functions),
            generate_resource_config: false,
        })
    }

    fn functions_by_name(&self) -> BTreeMap<String, message::Function> {
        let functions = self.provider.functions().iter();
        functions.map(|function| (function.name.to_owned(), function_message(function))).collect()
    }

    /// Does a call about a resource on a thread that may block. The inner error is for a resource that there is not.
    async fn about_resource<T: Send + 'static>(
        &self,
        type_name: String,
        handler: impl FnOnce(&Provider, &ResourceEntry, &Call) -> Answered<T> + Send + 'static,
    ) -> Answered<Result<T, Diagnostic>> {
        self.blocking(move |provider, cancelled, runtime| match provider.resource(&type_name) {
            Ok(entry) => {
                let call = provider.call(&type_name, &entry.kind, cancelled, runtime);
                handler(provider, entry, &call).map(Ok)
            }
            Err(diagnostic) => Ok(Err(diagnostic)),
        })
        .await
    }

    /// Does something on a thread that may block, cancelled when the provider is stopped or the client goes away.
    async fn blocking<T: Send + 'static>(
        &self,
        handler: impl FnOnce(&Provider, tokio_util::sync::CancellationToken, Handle) -> Answered<T>
        + Send
        + 'static,
    ) -> Answered<T> {
        let provider = Arc::clone(&self.provider);
        let cancelled = provider.stopping();
        let _until_the_client_goes = cancelled.clone().drop_guard();
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || handler(&provider, cancelled, runtime)).await;
        done.unwrap_or_else(|_| Err(Status::internal("the sandbox has a defect: a handler panicked")))
    }
}
