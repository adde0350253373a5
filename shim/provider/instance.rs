//! One provider process with one configuration.

mod deferrals;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError};

use isthmus_common::TERRAFORM_VERSION;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::tfplugin6;
use tokio::sync::{Mutex, OnceCell};

use super::caller::{Caller, KnownSchema, SchemaUpdate};
use super::chunks::Chunks;
use super::deferral::DeferralSupport;
use super::limit::{InFlight, Limit};
use super::{CallObserver, Client, Deferral, Diagnostic, ProviderError, Rpc, dynamic};
use crate::plugin::{Level, Plugin, ProtocolVersion};
use crate::rules::{self, Violation};
use crate::schema::{Catalogue, Schema};
use crate::{KnownSecrets, Retention};

/// The schemas of the identities of resources, by type.
type Identities = std::collections::BTreeMap<String, tfplugin6::ResourceIdentitySchema>;

/// How many tolerated violations are logged. Paths may contain keys of maps, so that there is no end to them.
const MAXIMUM_TOLERATED: usize = 10_000;

/// A running provider.
///
/// It is configured at most once: core never configures a process again, and providers do not expect it.
/// This is a handle: [`Provider::within`] makes another one of the same process, whose calls end by a limit.
#[derive(Clone, Debug)]
pub struct Provider {
    pub(super) shared: Arc<Shared>,
    limit: Limit,
}

/// What all handles of one process share.
#[derive(Debug)]
pub(super) struct Shared {
    name: String,
    plugin: Plugin,
    client: Client,
    observer: CallObserver,
    catalogue: Arc<Catalogue>,
    configured: Mutex<bool>,
    stops: AtomicU64,
    /// What is said to it of the program that uses it, if anything is.
    pub(super) meta: OnceLock<Value>,
    in_flight: Arc<InFlight>,
    /// Operations, resource types and paths of which a tolerated violation was logged.
    tolerated: StdMutex<HashSet<(&'static str, String, AttributePath)>>,
    /// What the identities of resources consist of, asked for when the first one turns up.
    pub(super) identities: OnceCell<Identities>,
}

impl Provider {
    /// Takes over a process and asks it for its schema. Core asks each process, because older providers set themselves up
    /// when asked. With `known`, the schema is compared with what was known before.
    ///
    /// # Errors
    /// When the provider does not answer, or answers with errors or with something unreadable.
    pub async fn start(
        name: impl Into<String>,
        plugin: Plugin,
        observer: CallObserver,
        known: Option<&KnownSchema>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(Self, SchemaUpdate), ProviderError> {
        let name = name.into();
        let client = Client::new(plugin.channel(), plugin.protocol());
        let in_flight = Arc::new(InFlight::default());
        let (catalogue, news) = {
            let (name, plugin) = (&name, &plugin);
            let (client, observer, in_flight, limit) = (&client, &observer, &in_flight, &Limit::default());
            let caller = Caller { name, plugin, client, observer, in_flight, limit };
            caller.schema(known, warnings).await?
        };
        let shared = Shared {
            name,
            plugin,
            client,
            observer,
            catalogue,
            configured: Mutex::new(false),
            stops: AtomicU64::new(0),
            meta: OnceLock::new(),
            in_flight,
            tolerated: StdMutex::default(),
            identities: OnceCell::new(),
        };
        Ok((Self { shared: Arc::new(shared), limit: Limit::default() }, news))
    }

    /// The same provider, whose calls end by this limit.
    #[must_use]
    pub fn within(&self, limit: &Limit) -> Self {
        Self { shared: Arc::clone(&self.shared), limit: limit.clone() }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What it offers.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.shared.catalogue
    }

    /// The protocol that it speaks.
    pub fn protocol(&self) -> ProtocolVersion {
        self.shared.client.version()
    }

    /// The secrets among the values that it was given and has given back.
    pub fn secrets(&self) -> &KnownSecrets {
        self.shared.plugin.secrets()
    }

    /// Notes what of a value may not be printed, before the provider can quote it.
    pub(super) fn note_secrets(&self, schema: &Schema, value: &Value, retention: Retention) {
        rules::each_secret(&schema.block, value, &mut |part| self.secrets().learn_value(part, retention));
    }

    /// Logs violations of Terraform's rules that are tolerated of the legacy type system, once an operation, resource type and path, as
    /// core does. They explain errors that they cause later.
    pub(super) fn log_tolerated(&self, operation: &'static str, type_name: &str, violations: &[Violation]) {
        if violations.is_empty() {
            return;
        }
        let mut logged = self.shared.tolerated.lock().unwrap_or_else(PoisonError::into_inner);
        for violation in violations {
            if logged.len() < MAXIMUM_TOLERATED
                && logged.insert((operation, type_name.to_owned(), violation.path.clone()))
            {
                let message = format!(
                    "{operation} of {type_name}: {violation}; this is tolerated, because the provider uses the legacy type system"
                );
                self.plugin().log(Level::Warn, message);
            }
        }
    }

    /// Its process.
    pub fn plugin(&self) -> &Plugin {
        &self.shared.plugin
    }

    /// Lets the provider judge a configuration of itself. Errors are returned as [`ProviderError::Diagnostics`].
    pub async fn validate_config(
        &self,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::ValidateProviderConfig;
        let schema = self.shared.catalogue.provider()?;
        self.note_secrets(&schema, config, Retention::Session);
        let config =
            dynamic::encode(config, &schema.block.implied_type, self.operation(rpc), "its configuration")?;
        // Protocol 5 also answers with a prepared configuration, which core ignores; protocol 6's message skips it.
        let response: tfplugin6::validate_provider_config::Response =
            self.call(rpc, tfplugin6::validate_provider_config::Request { config }).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)
    }

    /// Configures the provider. A second call does nothing.
    pub async fn configure(
        &self,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let mut configured = self.shared.configured.lock().await;
        if *configured {
            return Ok(());
        }
        let rpc = Rpc::ConfigureProvider;
        let schema = self.shared.catalogue.provider()?;
        self.note_secrets(&schema, config, Retention::Session);
        let config =
            dynamic::encode(config, &schema.block.implied_type, self.operation(rpc), "its configuration")?;
        let request = tfplugin6::configure_provider::Request {
            terraform_version: TERRAFORM_VERSION.to_owned(),
            config,
            // The answer itself has no place for a deferral: it is given in the calls that follow.
            client_capabilities: self.client_capabilities(DeferralSupport::Allowed),
        };
        let response: tfplugin6::configure_provider::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        *configured = true;
        Ok(())
    }

    /// Reads a data source. `config` must be wholly known.
    pub async fn read_data_source(
        &self,
        type_name: &str,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<DataSourceAnswer, ProviderError> {
        let schema = self.shared.catalogue.data_source(type_name)?;
        let value_type = &schema.block.implied_type;
        let rpc = Rpc::ValidateDataResourceConfig;
        self.note_secrets(&schema, config, Retention::Usual);
        let encoded = dynamic::encode(config, value_type, self.operation(rpc), type_name)?;
        let response: tfplugin6::validate_data_resource_config::Response = self
            .call(
                rpc,
                tfplugin6::validate_data_resource_config::Request {
                    type_name: type_name.to_owned(),
                    config: encoded.clone(),
                },
            )
            .await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;

        let rpc = Rpc::ReadDataSource;
        let request = tfplugin6::read_data_source::Request {
            type_name: type_name.to_owned(),
            config: encoded,
            provider_meta: self.provider_meta(rpc)?,
            client_capabilities: self.client_capabilities(DeferralSupport::Allowed),
        };
        let response: tfplugin6::read_data_source::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        if let Some(deferral) = self.deferral(rpc, type_name, response.deferred, DeferralSupport::Allowed)? {
            return Ok(DataSourceAnswer::Deferred(deferral));
        }
        let state = self.decode(rpc, type_name, response.state.as_ref(), value_type)?;
        self.note_secrets(&schema, &state, Retention::Usual);
        if state.is_null() {
            return Err(self.invalid_answer(rpc, type_name, "it returned no value where one was expected"));
        }
        if !state.is_wholly_known() {
            return Err(self.invalid_answer(rpc, type_name, "it returned values that are not known"));
        }
        Ok(DataSourceAnswer::Read(state))
    }

    /// Asks the provider to give up what it is doing. What is under way still answers, usually with an error; what is
    /// planned by now is not carried out any more. Later calls are as before.
    ///
    /// # Errors
    /// When the provider does not answer at once, or says that it cannot stop.
    pub async fn stop(&self) -> Result<(), ProviderError> {
        self.shared.stops.fetch_add(1, Ordering::SeqCst);
        self.caller().stop().await
    }

    /// How often the provider was asked to stop.
    pub(super) fn stops(&self) -> u64 {
        self.shared.stops.load(Ordering::SeqCst)
    }

    /// Ends the process: orderly first, by force after two seconds.
    pub async fn shutdown(&self) {
        self.shared.plugin.shutdown().await;
    }

    pub(super) async fn call<Request, Response>(
        &self,
        rpc: Rpc,
        request: Request,
    ) -> Result<Response, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Response: prost::Message + Default + Send + Sync + 'static,
    {
        self.caller().call(rpc, request).await
    }

    /// Makes a call that is answered in pieces.
    pub(super) async fn stream<Request, Piece>(
        &self,
        rpc: Rpc,
        request: Request,
    ) -> Result<Chunks<Piece>, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Piece: prost::Message + Default + Send + Sync + 'static,
    {
        self.caller().stream(rpc, request).await
    }

    pub(super) fn refuse_errors(
        &self,
        rpc: Rpc,
        diagnostics: Vec<tfplugin6::Diagnostic>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        self.caller().refuse_errors(rpc, diagnostics, warnings)
    }

    pub(super) fn decode(
        &self,
        rpc: Rpc,
        type_name: &str,
        message: Option<&tfplugin6::DynamicValue>,
        value_type: &isthmus_cty::Type,
    ) -> Result<Value, ProviderError> {
        dynamic::decode(message, value_type)
            .map_err(|error| self.invalid_answer(rpc, type_name, &isthmus_common::error_chain(&error)))
    }

    pub(super) fn invalid_answer(&self, rpc: Rpc, type_name: &str, reason: &str) -> ProviderError {
        ProviderError::InvalidAnswer {
            provider: self.shared.name.clone(),
            operation: self.operation(rpc),
            type_name: type_name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// What a method is called in the protocol that is spoken.
    pub(super) fn operation(&self, rpc: Rpc) -> &'static str {
        rpc.name(self.shared.client.version())
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        let Shared { name, plugin, client, observer, in_flight, .. } = &*self.shared;
        Caller { name, plugin, client, observer, in_flight, limit: &self.limit }
    }
}

/// What a data source was found to hold.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSourceAnswer {
    /// This, all of it known.
    Read(Value),
    /// The provider cannot tell yet.
    Deferred(Deferral),
}

impl DataSourceAnswer {
    /// What was read.
    ///
    /// # Errors
    /// When the provider could not tell yet.
    pub fn read(self, provider: &Provider, type_name: &str) -> Result<Value, ProviderError> {
        match self {
            Self::Read(value) => Ok(value),
            Self::Deferred(deferral) => Err(provider.deferred("read", type_name, deferral)),
        }
    }
}

#[cfg(test)]
mod tests;
