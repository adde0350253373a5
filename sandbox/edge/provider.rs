//! RPCs of the provider as a whole, and the parts that all RPCs share.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use tokio::runtime::Handle;
use tonic::Status;

#[cfg(feature = "misbehaviour")]
use super::fixtures;
use super::message;
use super::values::{Answered, client_of, decode, diagnostic_messages, schema_message};
use crate::call::Call;
use crate::calls::CallRecord;
use crate::diagnostics::Diagnostic;
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::Stop;
use crate::protocol::Feature;
use crate::provider::Provider;
use crate::resource_entry::ResourceEntry;
use crate::resources::note::NoteLookup;
use crate::schema::Schema;
use crate::wire;

/// The provider for one protocol version.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(super) provider: Arc<Provider>,
}

impl Edge {
    pub(crate) const fn new(provider: Arc<Provider>) -> Self {
        Self { provider }
    }

    pub(crate) fn metadata(&self, call: &str) -> message::get_metadata::Response {
        use message::get_metadata::{DataSourceMetadata, ResourceMetadata, Response};
        self.provider.record(&CallRecord::of(call));
        #[cfg_attr(not(feature = "misbehaviour"), expect(unused_mut, reason = "tests add to it"))]
        let mut response = Response {
            server_capabilities: self.capabilities(),
            resources: self
                .provider
                .resources()
                .map(|(name, _)| ResourceMetadata { type_name: name.to_owned() })
                .collect(),
            data_sources: vec![DataSourceMetadata { type_name: NoteLookup::TYPE_NAME.to_owned() }],
            ..Response::default()
        };
        #[cfg(feature = "misbehaviour")]
        fixtures::add_metadata(&self.provider, &mut response);
        response
    }

    pub(crate) fn schema(&self, call: &str) -> message::get_provider_schema::Response {
        self.provider.record(&CallRecord::of(call));
        let minor = self.provider.minor();
        let encoded = |schema: &Schema| Bytes::from(schema_message(schema, minor).encode_to_vec());
        let lookup = self.provider.data_source(NoteLookup::TYPE_NAME).into_iter();
        #[cfg_attr(not(feature = "misbehaviour"), expect(unused_mut, reason = "tests add to it"))]
        let mut response = message::get_provider_schema::Response {
            provider: Some(schema_message(self.provider.schema(), minor)),
            resource_schemas: self
                .provider
                .resources()
                .map(|(name, entry)| (name.to_owned(), encoded(&entry.schema)))
                .collect(),
            data_source_schemas: lookup
                .map(|data| (NoteLookup::TYPE_NAME.to_owned(), encoded(&data.schema)))
                .collect(),
            server_capabilities: self.capabilities(),
            ..Default::default()
        };
        #[cfg(feature = "misbehaviour")]
        fixtures::add_schemas(&self.provider, &mut response);
        response
    }

    pub(crate) fn identity_schemas(&self, call: &str) -> message::get_resource_identity_schemas::Response {
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

    pub(crate) fn validate_provider(
        &self,
        call: &str,
        config: Option<&message::DynamicValue>,
    ) -> Answered<Vec<message::Diagnostic>> {
        let config = decode(config, &self.provider.schema().block.implied_type())?;
        self.provider
            .record(&CallRecord { config_known: Some(config.is_wholly_known()), ..CallRecord::of(call) });
        Ok(diagnostic_messages(self.provider.validate_configuration(&config)))
    }

    pub(crate) async fn configure_with(
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
        #[cfg(feature = "misbehaviour")]
        tokio::time::sleep(self.provider.misbehaviour().configure_delay).await;
        Ok(diagnostic_messages(self.provider.configure(&config)))
    }

    /// Stops all calls; returns the error text of the response, or an empty one.
    pub(crate) async fn stop_calls(&self, call: &str) -> String {
        self.provider.record(&CallRecord::of(call));
        #[cfg(feature = "misbehaviour")]
        match self.provider.misbehaviour().stop {
            Stop::Obey => {}
            Stop::Refuse => return "the sandbox was asked not to stop".to_owned(),
            Stop::Hang => return std::future::pending().await,
        }
        self.provider.stop();
        String::new()
    }

    fn offers_generation(&self) -> bool {
        #[cfg(feature = "misbehaviour")]
        return !matches!(self.provider.misbehaviour().generate, crate::misbehaviour::Generation::None);
        #[cfg(not(feature = "misbehaviour"))]
        {
            let _ = self;
            false
        }
    }

    fn capabilities(&self) -> Option<message::ServerCapabilities> {
        let minor = self.provider.minor();
        minor.has(Feature::PlanDestroy).then(|| message::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: minor.has(Feature::SchemaOptional),
            move_resource_state: minor.has(Feature::Functions),
            generate_resource_config: minor.has(Feature::Lists) && self.offers_generation(),
        })
    }

    /// Runs a resource's handler on a blocking thread. The inner error: the resource does not
    /// exist.
    pub(super) async fn about_resource<T: Send + 'static>(
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

    /// Runs `work` on a blocking thread; it is cancelled when the provider is stopped or the client
    /// disconnects.
    pub(super) async fn blocking<T: Send + 'static>(
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
