//! One provider process with one configuration.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use isthmus_common::TERRAFORM_VERSION;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::tfplugin6;
use tokio::sync::{Mutex, OnceCell};

use super::answered::Answered;
use super::caller::{Caller, SchemaUpdate};
use super::chunks::Chunks;
use super::deferral::DeferralSupport;
use super::diagnostics::errors_of;
use super::limit::{InFlight, Limit};
use super::{CallObserver, Client, Deferral, Diagnostic, ProviderError, Rpc, dynamic};
use crate::plugin::{Level, Plugin, ProtocolVersion};
use crate::rules::{self, Violation};
use crate::schema::{Catalogue, Schema};
use isthmus_known_secrets::{KnownSecrets, Retention};

/// Identity schemas by resource type.
type Identities = std::collections::BTreeMap<String, tfplugin6::ResourceIdentitySchema>;

/// How long the schema of a program holds whose processes need not be called for it.
const SCHEMA_HOLDS: Duration = Duration::from_secs(24 * 60 * 60);

/// Limit of logged violations: paths may contain keys of maps, so their number is unbounded.
const MAXIMUM_TOLERATED: usize = 10_000;

/// A running provider.
///
/// It is configured at most once, as by Terraform. This is a handle: [`Provider::within`] creates
/// another one of the same process, with its own limit, and [`Provider::of_user`] one for another user of it.
#[derive(Clone, Debug)]
pub struct Provider {
    pub(super) shared: Arc<Shared>,
    user: Arc<User>,
    limit: Limit,
}

/// What each user of a process has of its own.
#[derive(Debug)]
struct User {
    secrets: KnownSecrets,
    observer: CallObserver,
}

/// What is known of the schema of a process that starts.
#[derive(Clone, Copy, Debug)]
pub enum KnownSchema<'a> {
    /// Nothing.
    Nothing,
    /// An earlier response, such as one of the cache.
    Earlier(&'a Arc<Catalogue>),
    /// That of an earlier process of the same program, environment and working directory, and when
    /// one was called for it ([`Provider::schema_time`]).
    Confirmed(&'a Arc<Catalogue>, SystemTime),
}

impl<'a> KnownSchema<'a> {
    fn catalogue(self) -> Option<&'a Arc<Catalogue>> {
        match self {
            Self::Nothing => None,
            Self::Earlier(catalogue) | Self::Confirmed(catalogue, _) => Some(catalogue),
        }
    }

    /// The schema that a process need not be called for, and when one was.
    fn holding(self) -> Option<(&'a Arc<Catalogue>, SystemTime)> {
        let Self::Confirmed(catalogue, asked) = self else { return None };
        // No age can be said of what is from the future.
        let is_recent = asked.elapsed().is_ok_and(|age| age < SCHEMA_HOLDS);
        (catalogue.capabilities().get_provider_schema_optional && is_recent).then_some((catalogue, asked))
    }
}

/// Shared by all handles of a process.
#[derive(Debug)]
pub(super) struct Shared {
    name: String,
    plugin: Plugin,
    client: Client,
    catalogue: Arc<Catalogue>,
    /// When a process was called for the schema.
    asked: SystemTime,
    configured: Mutex<bool>,
    /// Whether it has answered a call, besides those that a start makes.
    has_answered: AtomicBool,
    /// Whether an error was about credentials.
    has_refused_credentials: AtomicBool,
    /// What the first failed call does.
    on_failure: OnFailure,
    stops: AtomicU64,
    pub(super) answered: Answered,
    /// The configured `provider_meta`, if any.
    pub(super) meta: OnceLock<Value>,
    in_flight: Arc<InFlight>,
    /// Operation, resource type and path of each logged violation.
    tolerated: StdMutex<HashSet<(&'static str, String, AttributePath)>>,
    /// Identity schemas, requested with the first identity.
    pub(super) identities: OnceCell<Identities>,
}

/// What is to be done once.
#[derive(Default)]
struct OnFailure(StdMutex<Option<Box<dyn FnOnce() + Send>>>);

impl fmt::Debug for OnFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OnFailure").finish_non_exhaustive()
    }
}

impl Provider {
    /// Requests the schema of a process: older providers initialize themselves then. It is compared
    /// with the known one.
    ///
    /// As in Terraform, it is not requested from each of several processes of a program, if the
    /// provider says that this is optional. Terraform's response holds for its run, ours for a day:
    /// the libraries of providers say so also for schemas that depend on what is no part of the program.
    ///
    /// # Errors
    /// When the provider does not respond, or responds with errors or an invalid schema.
    pub async fn start(
        name: impl Into<String>,
        plugin: Plugin,
        observer: CallObserver,
        known: KnownSchema<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(Self, SchemaUpdate), ProviderError> {
        let name = name.into();
        let client = Client::new(plugin.channel(), plugin.protocol());
        let in_flight = Arc::new(InFlight::default());
        let (catalogue, news, asked) = if let Some((catalogue, asked)) = known.holding() {
            (Arc::clone(catalogue), SchemaUpdate::AsKnown, asked)
        } else {
            let (name, plugin, asked) = (&name, &plugin, SystemTime::now());
            let (client, observer, in_flight, limit) = (&client, &observer, &in_flight, &Limit::default());
            let caller = Caller { name, plugin, client, observer, in_flight, limit };
            let (catalogue, news) = caller.schema(known.catalogue(), warnings).await?;
            (catalogue, news, asked)
        };
        let user = User { secrets: plugin.secrets().clone(), observer };
        let shared = Shared {
            name,
            plugin,
            client,
            catalogue,
            asked,
            configured: Mutex::new(false),
            has_answered: AtomicBool::new(false),
            has_refused_credentials: AtomicBool::new(false),
            on_failure: OnFailure::default(),
            stops: AtomicU64::new(0),
            answered: Answered::default(),
            meta: OnceLock::new(),
            in_flight,
            tolerated: StdMutex::default(),
            identities: OnceCell::new(),
        };
        Ok((Self { shared: Arc::new(shared), user: Arc::new(user), limit: Limit::default() }, news))
    }

    /// The same provider for another user of its process, whose calls are observed apart.
    #[must_use]
    pub fn of_user(&self, secrets: KnownSecrets, observer: CallObserver) -> Self {
        secrets.also_known_to(self.shared.plugin.secrets());
        let user = Arc::new(User { secrets, observer });
        Self { shared: Arc::clone(&self.shared), user, limit: self.limit.clone() }
    }

    /// The same provider with this limit of its calls.
    #[must_use]
    pub fn within(&self, limit: &Limit) -> Self {
        Self { shared: Arc::clone(&self.shared), user: Arc::clone(&self.user), limit: limit.clone() }
    }

    /// The limit of this handle's calls.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its schemas.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.shared.catalogue
    }

    /// When a process of this program was called for the schema.
    pub fn schema_time(&self) -> SystemTime {
        self.shared.asked
    }

    /// Whether it has answered a call, besides those that a start makes: for its schema, and to
    /// configure it.
    pub fn has_answered(&self) -> bool {
        self.shared.has_answered.load(Ordering::Relaxed)
    }

    /// Does something with the first failure, such as to doubt a schema that the process was not called for.
    pub fn on_failure(&self, act: impl FnOnce() + Send + 'static) {
        *self.shared.on_failure.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
    }

    /// Notes a failure that the provider has no part in, unless its schema is another than the known one.
    pub fn note_failure(&self) {
        let act = self.shared.on_failure.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(act) = act {
            act();
        }
    }

    /// Its protocol version.
    pub fn protocol(&self) -> ProtocolVersion {
        self.shared.client.version()
    }

    /// Waits for what must be before the provider is configured, within the limit of this handle.
    ///
    /// # Errors
    /// When the limit comes first.
    pub async fn waits_for<T>(&self, preparation: impl Future<Output = T>) -> Result<T, ProviderError> {
        tokio::select! {
            biased;
            prepared = preparation => Ok(prepared),
            cut = self.limit.comes() => Err(self.caller().cut(Rpc::ConfigureProvider, false, cut)),
        }
    }

    /// Whether it was told to stop its calls: a provider may then refuse all later ones.
    pub fn was_stopped(&self) -> bool {
        self.shared.in_flight.was_stopped()
    }

    /// Whether an error has looked as if its credentials were wrong or had expired.
    pub fn has_refused_credentials(&self) -> bool {
        self.shared.has_refused_credentials.load(Ordering::Relaxed)
    }

    /// The known secrets among the values of this handle's calls.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.user.secrets
    }

    /// Records secrets in a value before the provider can quote them.
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

    /// Validates a configuration of the provider. Errors are returned as
    /// [`ProviderError::Diagnostics`].
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
        // Protocol 5 also returns a prepared configuration, which Terraform ignores; protocol 6's
        // message skips it.
        let response: tfplugin6::validate_provider_config::Response =
            self.call(rpc, tfplugin6::validate_provider_config::Request { config }).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)
    }

    /// Configures the provider. A second call has no effect.
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
            // The response has no field for a deferral; the following calls return it.
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

    /// Client capabilities in a call. Stored planned private data is not announced, because a
    /// preview and the following update are separate processes.
    pub(crate) fn client_capabilities(
        &self,
        support: DeferralSupport,
    ) -> Option<tfplugin6::ClientCapabilities> {
        Some(tfplugin6::ClientCapabilities {
            deferral_allowed: support == DeferralSupport::Allowed,
            write_only_attributes_allowed: true,
            // Protocol 5 has no such blocks.
            computed_blocks_allowed: self.protocol() == ProtocolVersion::V6,
            ..tfplugin6::ClientCapabilities::default()
        })
    }

    /// Sends StopProvider. Calls in progress still return, usually with an error; plans made before
    /// are not applied any more. Later calls are unaffected.
    ///
    /// # Errors
    /// When the provider does not respond at once, or returns an error.
    pub async fn stop(&self) -> Result<(), ProviderError> {
        self.shared.stops.fetch_add(1, Ordering::SeqCst);
        self.caller().stop().await
    }

    /// How often the provider was stopped.
    pub(super) fn stops(&self) -> u64 {
        self.shared.stops.load(Ordering::SeqCst)
    }

    /// Stops the process, and kills it after two seconds.
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
        let answer = self.caller().call(rpc, request).await.inspect_err(|_| self.note_failure())?;
        if rpc != Rpc::ConfigureProvider {
            self.shared.has_answered.store(true, Ordering::Relaxed);
        }
        Ok(answer)
    }

    /// Makes a call with a streamed response.
    pub(super) async fn stream<Request, Piece>(
        &self,
        rpc: Rpc,
        request: Request,
    ) -> Result<Chunks<Piece>, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Piece: prost::Message + Default + Send + Sync + 'static,
    {
        let chunks = self.caller().stream(rpc, request).await.inspect_err(|_| self.note_failure())?;
        self.shared.has_answered.store(true, Ordering::Relaxed);
        Ok(chunks)
    }

    pub(super) fn refuse_errors(
        &self,
        rpc: Rpc,
        diagnostics: Vec<tfplugin6::Diagnostic>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let diagnostics = self.errors_of(diagnostics, warnings);
        if diagnostics.is_empty() {
            return Ok(());
        }
        Err(ProviderError::Diagnostics { operation: self.operation(rpc), diagnostics })
    }

    /// Splits diagnostics: warnings are added to `warnings`, errors are returned.
    pub(super) fn errors_of(
        &self,
        diagnostics: Vec<tfplugin6::Diagnostic>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Vec<Diagnostic> {
        let errors = errors_of(diagnostics, warnings);
        if !errors.is_empty() {
            self.note_failure();
        }
        if errors.iter().any(Diagnostic::is_about_credentials) {
            self.shared.has_refused_credentials.store(true, Ordering::Relaxed);
        }
        errors
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
        self.note_failure();
        ProviderError::InvalidAnswer {
            provider: self.shared.name.clone(),
            operation: self.operation(rpc),
            type_name: type_name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// The method's name in the protocol in use.
    pub(super) fn operation(&self, rpc: Rpc) -> &'static str {
        rpc.name(self.shared.client.version())
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        let Shared { name, plugin, client, in_flight, .. } = &*self.shared;
        Caller { name, plugin, client, observer: &self.user.observer, in_flight, limit: &self.limit }
    }
}

/// The result of reading a data source.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSourceAnswer {
    /// Wholly known.
    Read(Value),
    /// Deferred by the provider.
    Deferred(Deferral),
}

impl DataSourceAnswer {
    /// The value.
    ///
    /// # Errors
    /// When it was deferred.
    pub fn read(self, provider: &Provider, type_name: &str) -> Result<Value, ProviderError> {
        match self {
            Self::Read(value) => Ok(value),
            Self::Deferred(deferral) => Err(provider.deferred("read", type_name, deferral)),
        }
    }
}

#[cfg(test)]
mod tests;
