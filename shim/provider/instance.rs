//! One provider process with one configuration.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use isthmus_common::TERRAFORM_VERSION;
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use tokio::sync::{Mutex, OnceCell};

use super::chunks::{Chunks, Watch};
use super::deferral::DeferralSupport;
use super::diagnostics::errors_of;
use super::limit::{Entered, InFlight, Limit};
use super::{
    CallMessages, CallObserver, CallReport, Client, Deferral, Diagnostic, Interruption, ProviderError,
    Resource, Rpc, dynamic,
};
use crate::plugin::{Plugin, ProtocolVersion};
use crate::rules;
use crate::schema::{Catalogue, Contents, Fingerprint, Schema, SchemaAnswer};
use crate::{KnownSecrets, Retention};

/// How long to wait for a process to be seen ending after its connection broke. A call that fails because the process died
/// fails a moment before the process can be waited for.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// How long a provider may take to answer that it stops. The answer does not wait for what is stopped.
const STOP_ANSWER: Duration = Duration::from_secs(2);

/// A running provider.
///
/// It is configured at most once: core never configures a process again, and providers do not expect it.
#[derive(Debug)]
pub struct Provider {
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
    /// What the identities of resources consist of, asked for when the first one turns up.
    pub(super) identities: OnceCell<std::collections::BTreeMap<String, tfplugin6::ResourceIdentitySchema>>,
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
            let caller = Caller { name, plugin, client: &client, observer: &observer, in_flight: &in_flight };
            caller.schema(known, warnings).await?
        };
        let provider = Self {
            name,
            plugin,
            client,
            observer,
            catalogue,
            configured: Mutex::new(false),
            stops: AtomicU64::new(0),
            meta: OnceLock::new(),
            in_flight,
            identities: OnceCell::new(),
        };
        Ok((provider, news))
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it offers.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The protocol that it speaks.
    pub fn protocol(&self) -> ProtocolVersion {
        self.client.version()
    }

    /// The secrets among the values that it was given and has given back.
    pub fn secrets(&self) -> &KnownSecrets {
        self.plugin.secrets()
    }

    /// Notes what of a value may not be printed, before the provider can quote it.
    pub(super) fn note_secrets(&self, schema: &Schema, value: &Value, retention: Retention) {
        rules::each_secret(&schema.block, value, &mut |part| self.secrets().learn_value(part, retention));
    }

    /// Its process.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Lets the provider judge a configuration of itself. Errors are returned as [`ProviderError::Diagnostics`].
    pub async fn validate_config(
        &self,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::ValidateProviderConfig;
        let schema = self.catalogue.provider()?;
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
        let mut configured = self.configured.lock().await;
        if *configured {
            return Ok(());
        }
        let rpc = Rpc::ConfigureProvider;
        let schema = self.catalogue.provider()?;
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

    /// The lifecycle of one resource type.
    pub fn resource(&self, type_name: &str) -> Result<Resource<'_>, ProviderError> {
        let schema = self.catalogue.resource(type_name)?;
        Ok(Resource::new(self, Arc::from(type_name), schema))
    }

    /// Reads a data source. `config` must be wholly known.
    pub async fn read_data_source(
        &self,
        type_name: &str,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<DataSourceAnswer, ProviderError> {
        let schema = self.catalogue.data_source(type_name)?;
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
        self.stops.fetch_add(1, Ordering::SeqCst);
        self.caller().stop().await
    }

    /// How often the provider was asked to stop.
    pub(super) fn stops(&self) -> u64 {
        self.stops.load(Ordering::SeqCst)
    }

    /// Ends the process: orderly first, by force after two seconds.
    pub async fn shutdown(&self) {
        self.plugin.shutdown().await;
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
            provider: self.name.clone(),
            operation: self.operation(rpc),
            type_name: type_name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// What a method is called in the protocol that is spoken.
    pub(super) fn operation(&self, rpc: Rpc) -> &'static str {
        rpc.name(self.client.version())
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        let (name, plugin, client) = (&self.name, &self.plugin, &self.client);
        Caller { name, plugin, client, observer: &self.observer, in_flight: &self.in_flight }
    }
}

/// What is known of a provider's schema before its process is asked.
#[derive(Clone, Debug)]
pub struct KnownSchema {
    /// What the provider offers.
    pub catalogue: Arc<Catalogue>,
    /// The answer that it was made of.
    pub fingerprint: Fingerprint,
}

/// What a started process said of its schema, beside what was known.
#[derive(Debug)]
pub enum SchemaUpdate {
    /// The same as was known; the provider goes by the known catalogue.
    AsKnown,
    /// Something else, or nothing was known.
    New(SchemaAnswer),
    /// Something that must not be remembered: it came with warnings, which whoever asks the next time must see as well.
    Uncacheable,
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

/// Makes calls and tells their failures apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    name: &'a str,
    plugin: &'a Plugin,
    client: &'a Client,
    observer: &'a CallObserver,
    in_flight: &'a Arc<InFlight>,
}

impl Caller<'_> {
    async fn schema(
        &self,
        known: Option<&KnownSchema>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(Arc<Catalogue>, SchemaUpdate), ProviderError> {
        let rpc = Rpc::GetProviderSchema;
        // The requests of both protocols are empty.
        let request = tfplugin6::get_provider_schema::Request::default();
        let shown = self.shown(&request);
        let bytes =
            self.watch(rpc, shown, self.client.call_encoded(rpc, request), |bytes| bytes.to_vec()).await?;
        let answer = SchemaAnswer { protocol: self.client.version(), bytes };
        if let Some(known) = known
            && answer.fingerprint() == known.fingerprint
        {
            return Ok((Arc::clone(&known.catalogue), SchemaUpdate::AsKnown));
        }
        let Contents { catalogue, diagnostics } =
            answer.decode().map_err(|error| ProviderError::InvalidSchema {
                provider: self.name.to_owned(),
                operation: rpc.name(self.client.version()),
                reason: error.to_string(),
            })?;
        let news = if diagnostics.is_empty() { SchemaUpdate::New(answer) } else { SchemaUpdate::Uncacheable };
        self.refuse_errors(rpc, diagnostics, warnings)?;
        Ok((Arc::new(catalogue), news))
    }

    async fn call<Request, Response>(&self, rpc: Rpc, request: Request) -> Result<Response, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Response: prost::Message + Default + Send + Sync + 'static,
    {
        let shown = self.shown(&request);
        self.watch(rpc, shown, self.client.call(rpc, request), Response::encode_to_vec).await
    }

    /// The request as it is sent, if the observer wants to see it.
    fn shown(&self, request: &impl prost::Message) -> Option<Vec<u8>> {
        self.observer.wants_messages().then(|| request.encode_to_vec())
    }

    /// Asks the provider to stop what it is doing.
    async fn stop(&self) -> Result<(), ProviderError> {
        let rpc = Rpc::StopProvider;
        let request = tfplugin6::stop_provider::Request::default();
        let shown = self.shown(&request);
        // It is for other calls, so it does not wait for them and is none of them.
        let limit = Limit::default().at_most(STOP_ANSWER);
        let call = self.client.call::<_, tfplugin6::stop_provider::Response>(rpc, request);
        let response = limit.within(self.make(rpc, shown, call, prost::Message::encode_to_vec, None)).await?;
        if response.error.is_empty() {
            return Ok(());
        }
        let (provider, operation) = (self.name.to_owned(), rpc.name(self.client.version()));
        Err(ProviderError::Refused { provider, operation, reason: response.error })
    }

    /// Makes a call that is prepared, unless the process is gone. With `shown`, the observer sees the messages.
    async fn watch<Answer>(
        &self,
        rpc: Rpc,
        shown: Option<Vec<u8>>,
        call: impl Future<Output = Result<Answer, tonic::Status>>,
        encode: impl FnOnce(&Answer) -> Vec<u8>,
    ) -> Result<Answer, ProviderError> {
        let entered = self.in_flight.enter().await;
        self.make(rpc, shown, call, encode, Some(&entered)).await
    }

    async fn make<Answer>(
        &self,
        rpc: Rpc,
        shown: Option<Vec<u8>>,
        call: impl Future<Output = Result<Answer, tonic::Status>>,
        encode: impl FnOnce(&Answer) -> Vec<u8>,
        entered: Option<&Entered>,
    ) -> Result<Answer, ProviderError> {
        let operation = rpc.name(self.client.version());
        let limit = Limit::current();
        self.require_time(rpc, &limit)?;
        self.require_alive(rpc)?;
        let begun = Instant::now();
        let (answer, broken_off) = match self.until(&limit, entered, call).await {
            Ok(answer) => (answer, None),
            Err(cut) => (Err(tonic::Status::cancelled("the call was broken off")), Some(cut)),
        };
        let answered = answer.is_ok();
        self.observer.report(CallReport { operation, elapsed: begun.elapsed(), answered });
        if let Some(request) = shown {
            let response = answer.as_ref().map(encode);
            let response = response.as_ref().map(Vec::as_slice).map_err(|status| *status);
            self.observer.show(CallMessages {
                path: rpc.path(self.client.version()),
                request: &request,
                response,
            });
        }
        match (answer, broken_off) {
            (Ok(response), _) => Ok(response),
            (Err(_), Some(reason)) => Err(self.cut(rpc, true, reason)),
            (Err(status), None) => Err(self.failure(rpc, status).await),
        }
    }

    /// Waits for a part of an answer that comes in parts, until the limit comes.
    pub(super) async fn part<Part>(
        &self,
        rpc: Rpc,
        part: impl Future<Output = Part>,
    ) -> Result<Part, ProviderError> {
        let limit = Limit::current();
        self.require_time(rpc, &limit)?;
        tokio::select! {
            biased;
            part = part => Ok(part),
            reason = limit.comes() => Err(self.cut(rpc, true, reason)),
        }
    }

    fn require_time(&self, rpc: Rpc, limit: &Limit) -> Result<(), ProviderError> {
        limit.has_passed().map_or(Ok(()), |reason| Err(self.cut(rpc, false, reason)))
    }

    fn cut(&self, rpc: Rpc, during: bool, cut: Interruption) -> ProviderError {
        let operation = rpc.name(self.client.version());
        ProviderError::Interruption { provider: self.name.to_owned(), operation, during, cut }
    }

    async fn stream<Request, Piece>(self, rpc: Rpc, request: Request) -> Result<Chunks<Piece>, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Piece: prost::Message + Default + Send + Sync + 'static,
    {
        let request_shown = self.shown(&request);
        self.require_alive(rpc)?;
        let entered = self.in_flight.enter().await;
        let mut watch = Watch::new(self.observer.clone(), self.client.version(), rpc, request_shown);
        match self.part(rpc, self.client.stream(rpc, request)).await {
            Ok(Ok(pieces)) => Ok(Chunks::new(pieces, watch, entered)),
            Ok(Err(status)) => {
                watch.end(Err(&status));
                Err(self.failure(rpc, status).await)
            }
            Err(cut) => {
                watch.end(Err(&tonic::Status::cancelled("the call was broken off")));
                Err(cut)
            }
        }
    }

    /// Nothing can be asked of a process that is gone.
    fn require_alive(&self, rpc: Rpc) -> Result<(), ProviderError> {
        let Some(exit) = self.plugin.exit() else { return Ok(()) };
        let operation = rpc.name(self.client.version());
        Err(ProviderError::Gone { provider: self.name.to_owned(), operation, during: false, exit })
    }

    /// What the failure of a call says of the provider.
    pub(super) async fn failure(&self, rpc: Rpc, status: tonic::Status) -> ProviderError {
        let operation = rpc.name(self.client.version());
        let provider = self.name.to_owned();
        if status.code() == tonic::Code::Unimplemented {
            return ProviderError::Unsupported { provider, operation };
        }
        if is_break(&status)
            && let Ok(exit) = tokio::time::timeout(EXIT_GRACE, self.plugin.exited()).await
        {
            return ProviderError::Gone { provider, operation, during: true, exit };
        }
        ProviderError::Call { provider, operation, status }
    }

    /// Waits for the answer to a call, until the limit comes. When time has run out, a provider that does nothing else is
    /// asked to stop, and may still answer. A call that is broken off ends on the provider's side as well.
    async fn until<Answer>(
        &self,
        limit: &Limit,
        entered: Option<&Entered>,
        call: impl Future<Output = Result<Answer, tonic::Status>>,
    ) -> Result<Result<Answer, tonic::Status>, Interruption> {
        let mut call = std::pin::pin!(call);
        let cut = tokio::select! {
            biased;
            answer = &mut call => return Ok(answer),
            cut = limit.comes() => cut,
        };
        let alone = match cut {
            Interruption::TimedOut(_) => entered.and_then(InFlight::hold_if_alone),
            Interruption::BrokenOff(_) => None,
        };
        let Some(held) = alone else { return Err(cut) };
        let stop = async move {
            // What it says to this has no bearing: if the call does not end now, it is broken off.
            let _ = Box::pin(self.stop()).await;
            drop(held);
        };
        let answer = async {
            tokio::select! {
                biased;
                answer = &mut call => Some(answer),
                () = limit.grace_is_over() => None,
            }
        };
        // Both to their end: a request to stop that is still on its way when the next call begins would stop that one.
        let ((), answer) = tokio::join!(stop, answer);
        match answer {
            Some(Ok(answer)) => Ok(Ok(answer)),
            Some(Err(status)) if is_break(&status) => Ok(Err(status)),
            // A provider that breaks off by itself says nothing of what it has done.
            Some(Err(_)) | None => Err(cut),
        }
    }

    fn refuse_errors(
        &self,
        rpc: Rpc,
        diagnostics: Vec<tfplugin6::Diagnostic>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let diagnostics = errors_of(diagnostics, warnings);
        if diagnostics.is_empty() {
            return Ok(());
        }
        Err(ProviderError::Diagnostics { operation: rpc.name(self.client.version()), diagnostics })
    }
}

/// Whether the connection broke. A status that the provider itself sent has no source: whoever answers is alive, and is not
/// waited for.
fn is_break(status: &tonic::Status) -> bool {
    status.code() == tonic::Code::Unavailable || std::error::Error::source(status).is_some()
}

#[cfg(test)]
mod tests;
