//! A session: one connection of an engine, with at most one provider.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use isthmus_common::{blocking, fail_point, spawn_blocking};
use isthmus_known_secrets::KnownSecrets;
use isthmus_provider::Provider;
use tokio::sync::{Mutex, Notify, OnceCell};

use super::documentation::{Documentation, DocumentationError, DocumentationSource};
use super::provider_slot::{ProviderSlot, StartFailure};
use super::resolve::{ResolveError, Resolved, resolve};
use super::session_log::SessionLog;
use super::start::SessionScope;
use super::{Daemon, Instance, StartError};
use crate::engine::{Engine, EngineError, EngineLog, Generation, OfferedConnections, Severity};
use crate::error_code::of_start;
use crate::observe::ObservedSession;
use crate::process_context::{ProcessContext, StartedBy};
use isthmus_context::error_code::ErrorCode;
use isthmus_context::installed_plugins::warning_of_higher;
use isthmus_context::project::backend::Backend;
use isthmus_context::project::names_file::NamesFile;
use isthmus_context::project::stale;
use isthmus_context::settings::Settings;
use isthmus_operations::resource::Caller;
use isthmus_package::catalogue::Package;
use isthmus_package::parameters::{
    AlreadyParameterized, Arguments, ArgumentsError, Parameter, ParameterError, ParameterSource,
};
use isthmus_package::urn::Urn;
use isthmus_package::{plain_forms, selection, unused_choices};
use isthmus_trace::recording::SessionRecorder;

#[derive(Debug)]
pub struct Session {
    scope: SessionScope,
    /// The connections that the engine's plugin offers, if the plugin is another process.
    engine: Option<OfferedConnections>,
    /// The backend of the engine's stacks, found on first use.
    backend: OnceCell<Option<Backend>>,
    /// The provider of every session without one of its own.
    only_provider: Option<Arc<ProviderSlot>>,
    /// What is counted of it, in a shared daemon.
    observed: Option<Arc<ObservedSession>>,
    caller: Caller,
    /// The stack whose resources were worked on.
    stack: OnceLock<String>,
    /// Whether the engine was told of operations that are not settled.
    was_told: AtomicBool,
    /// Whether it was considered to warn of plain forms.
    considered_plain_forms: AtomicBool,
    secrets: KnownSecrets,
    recorder: Option<SessionRecorder>,
    keep_secrets: AtomicBool,
    outputs_of_invokes: AtomicBool,
    marks_previews: AtomicBool,
    /// Wakes starts of providers that are to be cancelled.
    cancelled: Notify,
    is_connected: AtomicBool,
    /// The session's provider, once it is chosen.
    slot: Mutex<Option<Arc<ProviderSlot>>>,
    documentation: OnceLock<Documentation>,
}

const NO_PAGES: &str = "the provider's repository has no pages in docs/ or website/docs/";

/// The engine at a connection of a shared daemon: behind a plugin that passes on its calls, or without one.
#[derive(Debug)]
pub struct ClientSide {
    pub context: ProcessContext,
    /// The connections to the engine that its plugin offers.
    pub engine: Option<OfferedConnections>,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("no Terraform provider chosen: Parameterize must precede this call")]
    NotParameterized,
    #[error(transparent)]
    AlreadyParameterized(#[from] AlreadyParameterized),
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    #[error("failed to parse parameterized value (generate the SDK again with `pulumi package add`)")]
    Parameter(#[from] ParameterError),
    /// The parameterization cannot be resolved.
    #[error("{}", isthmus_common::error_chain(error.as_ref()))]
    Resolve {
        /// Part of this error's text.
        error: Box<ResolveError>,
        /// Warnings that may explain the failure and are shown with it.
        warnings: Vec<String>,
    },
    #[error(transparent)]
    Start(Arc<StartError>),
    /// There is no file at the path in the state or the SDK.
    #[error(
        "{error}\nhelp: the path {path} comes from the stack's state or the SDK, relative to the directory of the project: put the \
         provider there, or a link to it\nhelp: or run `pulumi package add terraform-provider NEW_PATH`, and then `pulumi up`, after which \
         refresh and destroy use the new path"
    )]
    Moved {
        /// Part of this error's text.
        error: Arc<StartError>,
        path: String,
    },
    /// The provider's own documentation cannot be read.
    #[error(transparent)]
    Documentation(#[from] DocumentationError),
    #[error("the start of the provider {name} was cancelled")]
    Cancelled { name: String },
    /// The engine's address is invalid.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl SessionError {
    /// The text for the user: error chain, help and warnings.
    pub fn report(&self) -> String {
        let text = isthmus_common::error_chain(self);
        let (error, warnings) = match self {
            Self::Resolve { error, warnings } => (error, warnings),
            Self::Start(error) | Self::Moved { error, .. } => {
                return ErrorCode::named_in(text, of_start(error));
            }
            _ => return text,
        };
        let mut text = isthmus_common::with_help(text, error.help());
        for warning in warnings {
            text.push_str("\nwarning: ");
            text.push_str(warning);
        }
        text
    }
}

impl Session {
    pub(super) fn new(
        daemon: Arc<Daemon>,
        only_provider: Option<Arc<ProviderSlot>>,
        client: Option<ClientSide>,
        number: u64,
    ) -> Self {
        // A provider shared by all sessions has one set of secrets.
        let only = only_provider.as_ref();
        let secrets = only.map(|_| daemon.log.secrets().clone()).unwrap_or_default();
        let own = || (Arc::clone(daemon.context()), None);
        let (context, engine) = client.map_or_else(own, |client| (Arc::new(client.context), client.engine));
        let log = match &engine {
            Some(engine) if context.started_by() == StartedBy::Engine => {
                EngineLog::start(Some(Engine::offered(engine.clone())))
            }
            Some(_) | None => daemon.log.clone(),
        };
        let observed = daemon.observation();
        let observed = observed.map(|observation| {
            ObservedSession::new(Arc::clone(observation), context.identity().clone(), number)
        });
        let log = log.tapped(observed.as_ref().map(|observed| observed.log_tap()));
        let log = SessionLog::new(log.redacting(secrets.clone()), context.settings().log_calls);
        let recording = context.recording().map(Arc::clone);
        let recorder = recording.map(|recording| SessionRecorder::new(recording, secrets.clone()));
        Self {
            scope: SessionScope { daemon, context, log: Arc::new(log) },
            engine,
            backend: OnceCell::new(),
            only_provider,
            observed,
            caller: Caller::new(number),
            stack: OnceLock::new(),
            was_told: AtomicBool::new(false),
            considered_plain_forms: AtomicBool::new(false),
            secrets,
            recorder,
            keep_secrets: AtomicBool::new(false),
            outputs_of_invokes: AtomicBool::new(false),
            marks_previews: AtomicBool::new(false),
            cancelled: Notify::new(),
            is_connected: AtomicBool::new(true),
            slot: Mutex::new(None),
            documentation: OnceLock::new(),
        }
    }

    pub fn daemon(&self) -> &Arc<Daemon> {
        &self.scope.daemon
    }

    /// The context of the engine's plugin.
    pub fn context(&self) -> &Arc<ProcessContext> {
        &self.scope.context
    }

    pub fn settings(&self) -> &Settings {
        self.scope.context.settings()
    }

    /// The backend of the engine's stacks, if it can be found.
    async fn backend(&self) -> Option<Backend> {
        let context = Arc::clone(&self.scope.context);
        let find = async || spawn_blocking(move || context.backend()).await.unwrap_or_default();
        self.backend.get_or_init(find).await.clone()
    }

    /// What is counted of it, in a shared daemon.
    pub fn observed(&self) -> Option<&Arc<ObservedSession>> {
        self.observed.as_ref()
    }

    /// The process of its provider and the calls in progress, if it runs and is of this session alone.
    pub(super) fn own_process(&self) -> Option<(Provider, usize)> {
        let instance = self.provider_slot()?.running_instance()?;
        Some((instance.own_process()?, instance.calls.in_flight()))
    }

    /// Its provider, unless it is being chosen.
    pub(super) fn provider_slot(&self) -> Option<Arc<ProviderSlot>> {
        // Held while a provider starts.
        self.slot.try_lock().ok()?.clone()
    }

    /// What is known of the engine.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    pub fn log(&self) -> EngineLog {
        self.scope.log.to_engine()
    }

    /// Secrets among the values of this session, for redaction.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// What records it, if it is recorded.
    pub fn recorder(&self) -> Option<&SessionRecorder> {
        self.recorder.as_ref()
    }

    /// Sets the engine's address.
    pub fn attach_engine(&self, address: &str) -> Result<(), SessionError> {
        let engine = match &self.engine {
            Some(offered) => Engine::offered(offered.clone()),
            None => Engine::new(address, Generation::Today)?,
        };
        let tap = self.observed.as_ref().map(|observed| observed.log_tap());
        let log = EngineLog::start(Some(engine)).redacting(self.secrets.clone()).tapped(tap);
        self.scope.log.replace(log);
        Ok(())
    }

    /// Whether the engine accepts secrets in responses.
    pub fn accepts_secrets(&self) -> bool {
        self.keep_secrets.load(Ordering::Relaxed)
    }

    pub fn accept_secrets(&self, accepted: bool) {
        self.keep_secrets.store(accepted, Ordering::Relaxed);
    }

    /// Whether the user is to be warned that the plain form of a function fails: once, and only if programs are in Go.
    pub async fn warns_of_plain_forms(&self) -> bool {
        if self.considered_plain_forms.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.runtime().await.is_some_and(|runtime| runtime == plain_forms::RUNTIME)
    }

    /// The runtime of the project around the working directory, if there is one that can be read.
    pub async fn runtime(&self) -> Option<String> {
        let context = Arc::clone(&self.scope.context);
        blocking(move || context.runtime()).await
    }

    /// Whether the engine accepts outputs from an invoke.
    pub fn accepts_outputs_of_invokes(&self) -> bool {
        self.outputs_of_invokes.load(Ordering::Relaxed)
    }

    pub fn accept_outputs_of_invokes(&self, accepted: bool) {
        self.outputs_of_invokes.store(accepted, Ordering::Relaxed);
    }

    /// Whether the engine marks invokes of a preview.
    pub fn marks_previews(&self) -> bool {
        self.marks_previews.load(Ordering::Relaxed)
    }

    pub fn accept_preview_marks(&self, accepted: bool) {
        self.marks_previews.store(accepted, Ordering::Relaxed);
    }

    /// The session's provider, started on demand.
    pub async fn instance(&self) -> Result<Arc<Instance>, SessionError> {
        let choice = self.chosen().await.ok_or(SessionError::NotParameterized)?;
        choice.instance(&self.scope).await.map_err(|failure| match failure {
            StartFailure::Failed(error) => SessionError::Start(error),
            StartFailure::Cancelled => {
                SessionError::Cancelled { name: choice.package().identity().provider_type.clone() }
            }
        })
    }

    /// The provider's own documentation, if the package was asked for with it.
    pub fn documentation(&self) -> Option<&Documentation> {
        self.documentation.get()
    }

    /// The session's package, if it has one. The provider need not run.
    pub async fn package(&self) -> Option<Arc<Package>> {
        self.chosen().await.map(|choice| choice.package())
    }

    /// The session's provider, or else that of all sessions.
    async fn chosen(&self) -> Option<Arc<ProviderSlot>> {
        let own = self.slot.lock().await.clone();
        own.or_else(|| self.only_provider.clone())
    }

    /// Sets the provider by command line arguments.
    pub async fn parameterize_by_arguments(
        &self,
        arguments: &[String],
    ) -> Result<Arc<Package>, SessionError> {
        let arguments = match Arguments::parse(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                if error == ArgumentsError::Help {
                    self.send_log(Severity::Info, Arguments::usage(self.is_developer()), "");
                    self.flush_logs(true).await;
                }
                return Err(error.into());
            }
        };
        let mut warnings = Vec::new();
        let wanted = DocumentationSource::of(&arguments, self.scope.context.working_directory());
        let context = Arc::clone(&self.scope.context);
        let find = move || context.working_directory().map_or(Ok(None), NamesFile::around);
        let file = blocking(find)
            .await
            .map_err(|error| SessionError::Resolve { error: Box::new(error.into()), warnings: Vec::new() })?;
        let package = self.parameterize(arguments, file).await?;
        if let Some(wanted) = wanted {
            let reads_pages = wanted.reads_pages();
            let documentation = tokio::select! {
                documentation = wanted.read(&package) => documentation?,
                () = self.cancelled.notified() => {
                    return Err(SessionError::Cancelled { name: package.identity().provider_type.clone() });
                }
            };
            if reads_pages && documentation.documents.is_empty() {
                warnings.push(NO_PAGES.to_owned());
            }
            // The same arguments were given before.
            let _ = self.documentation.set(documentation);
        }
        warnings.extend(selection::warnings(&package));
        warnings.extend(unused_choices::warnings(&package));
        let is_chosen = self.settings().plain_results.is_some() || package.choices().plain_results.is_some();
        if !is_chosen && self.warns_of_plain_forms().await {
            let named = Arc::clone(&package);
            warnings.extend(blocking(move || plain_forms::warning_of_package(&named)).await);
        }
        let (context, named) = (Arc::clone(&self.scope.context), Arc::clone(&package));
        let compare = move || {
            let identity = named.identity();
            let directory = context.working_directory();
            let changed = directory
                .and_then(|directory| stale::change_of_names(directory, &identity.name, &identity.parameter));
            [changed, warning_of_higher(context.environment(), context.plugin_version())]
        };
        warnings.extend(blocking(compare).await.into_iter().flatten());
        self.warn_now(warnings).await;
        Ok(package)
    }

    /// Whether Pulumi's variable for its own developers is set.
    fn is_developer(&self) -> bool {
        let value = self.scope.context.environment().text("PULUMI_DEV");
        value.is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Sets the provider by the parameter value of an SDK.
    pub async fn parameterize_by_value(&self, value: &[u8]) -> Result<Arc<Package>, SessionError> {
        let parameter = Parameter::decode(value)?;
        let path = match &parameter.source {
            ParameterSource::Local { path } => Some(path.clone()),
            ParameterSource::Remote { .. } => None,
        };
        self.parameterize(parameter.arguments(), None).await.map_err(|error| match (error, path) {
            (SessionError::Start(error), Some(path)) if error.is_missing_file() => {
                SessionError::Moved { error, path }
            }
            (error, _) => error,
        })
    }

    async fn parameterize(
        &self,
        arguments: Arguments,
        file: Option<NamesFile>,
    ) -> Result<Arc<Package>, SessionError> {
        let mut slot = self.slot.lock().await;
        let mut cancelled = std::pin::pin!(self.cancelled.notified());
        let name = arguments.source.name().to_owned();
        let report = |line| self.send_log(Severity::Info, line, "");
        let mut warnings = Vec::new();
        let resolved = tokio::select! {
            resolved = resolve(arguments, file, &self.scope.context, &report, &mut warnings) => resolved,
            () = &mut cancelled => return Err(SessionError::Cancelled { name }),
        };
        if let Some(package) = slot.as_ref().map(|choice| choice.package()) {
            // Repeating the same parameterization is allowed; a second provider is not.
            let chosen = package.identity();
            if resolved.is_ok_and(|resolved| resolved.identity.parameter == chosen.parameter) {
                return Ok(package);
            }
            let name = chosen.provider_type.clone();
            return Err(AlreadyParameterized { name, version: chosen.version.to_string() }.into());
        }
        let Resolved { identity, source } = match resolved {
            Ok(resolved) => resolved,
            Err(error) => return Err(SessionError::Resolve { error: Box::new(error), warnings }),
        };
        self.warn_now(warnings).await;
        let choice = match ProviderSlot::remembered(&self.scope, &source, &identity).await {
            Some(choice) => choice,
            None => {
                let name = source.name.clone();
                tokio::select! {
                    started = ProviderSlot::started(&self.scope, source, identity) => {
                        started.map_err(|error| SessionError::Start(Arc::new(error)))?
                    }
                    () = cancelled => return Err(SessionError::Cancelled { name }),
                }
            }
        };
        let package = choice.package();
        if let (Some(session), Some(provider)) = (&self.observed, choice.calls().observed()) {
            session.chose(Arc::clone(provider));
        }
        *slot = Some(Arc::new(choice));
        Ok(package)
    }

    /// Warns of an SDK of the project around the working directory that does not match the project
    /// file, if the session's package comes from it. An engine runs plugins in the directory of its
    /// project.
    pub async fn warn_of_stale_sdk(&self) {
        let Some(package) = self.package().await else { return };
        let context = Arc::clone(&self.scope.context);
        let stale = move || {
            let identity = package.identity();
            stale::warning_of_package(context.working_directory()?, &identity.name, &identity.parameter)
        };
        // A panic there is a bug that must not fail the engine's call.
        if let Ok(Some(warning)) = spawn_blocking(stale).await {
            self.warn_now([warning]).await;
        }
    }

    /// Sends one line to the engine.
    pub fn send_log(&self, severity: Severity, message: String, urn: &str) {
        self.scope.log.send(severity, message, urn);
    }

    /// Shows a warning about a resource once.
    pub fn warn(&self, message: String, urn: &str) {
        self.scope.log.warn(message, urn);
    }

    /// Shows warnings that concern no resource, before the response.
    pub async fn warn_now(&self, warnings: impl IntoIterator<Item = String>) {
        self.scope.log.warn_now(warnings).await;
    }

    /// As [`Self::warn`], once a key, whatever the text is by then.
    pub fn warn_once(&self, key: String, message: String, urn: &str) {
        self.scope.log.warn_once(key, message, urn);
    }

    /// Flushes log lines that must arrive before the response.
    /// Returns whether none was lost.
    pub async fn flush_logs(&self, has_warnings: bool) -> bool {
        self.scope.log.flush(has_warnings).await
    }

    /// The provider is configured: learns what other processes have left in the journal, and tells the engine
    /// of it, if it says which stack it works on.
    pub async fn learn_operations(&self, package: &str, urn: Option<&str>) {
        self.caller.configured(urn, self.backend().await);
        self.scope.daemon.learn_operations(&self.log()).await;
        if let Some(stack) = urn.and_then(|urn| Urn(urn).stack()) {
            self.was_told.store(true, Ordering::Relaxed);
            self.scope.daemon.report_operations(package, stack, &self.caller, &self.log()).await;
        }
    }

    /// A call about a resource: its engine may not have said before which stack it works on.
    pub async fn works_on(&self, package: &str, urn: &str) {
        if self.stack.get().is_some() {
            return;
        }
        let Some(stack) = Urn(urn).stack() else { return };
        // Another call may have set it: all are about one stack.
        self.stack.set(stack.to_owned()).ok();
        if !self.was_told.swap(true, Ordering::Relaxed) {
            self.scope.daemon.report_operations(package, stack, &self.caller, &self.log()).await;
        }
    }

    /// The engine cancels: if no call is in progress, it has the answers to all, and its run has ended.
    pub async fn run_ended(&self) {
        // Held while a provider starts, before any call of it.
        let Ok(choice) = self.slot.try_lock() else { return };
        let choice = choice.as_ref().map(|choice| choice.calls().snapshot());
        if choice.is_some_and(|calls| !calls.are_running()) {
            self.scope
                .daemon
                .operations()
                .run_ended(&self.caller, self.stack.get().map(String::as_str))
                .await;
        }
    }

    /// Stops calls in progress without waiting for them: the engine allows only a few seconds for
    /// this, and waits for the calls themselves. Calls that a previous Cancel stopped are
    /// interrupted after the grace period; leases are closed after the calls. The session stays
    /// usable: an attached engine sends Cancel at the end of each run.
    pub async fn cancel(&self) {
        // First, because a provider that is starting holds the lock.
        self.cancelled.notify_waiters();
        let Some(instance) = self.chosen().await.and_then(|choice| choice.interrupted()) else { return };
        let calls = instance.calls.snapshot();
        let leases = instance.leases.until_now();
        if let Some(stopped_twice) = instance.replace_stopping(&calls) {
            let stop_grace_period = self.settings().stop_grace_period;
            self.scope.daemon.spawn(async move { stopped_twice.interrupt_after(stop_grace_period).await });
        }
        if let Err(error) = instance.stop(&calls).await {
            self.send_log(Severity::Warning, format!("{error}; calls in progress may take long"), "");
            self.flush_logs(true).await;
        }
        self.scope.daemon.spawn(async move {
            instance.stopped(&calls).await;
            // Only these calls may use the open leases.
            leases.close();
        });
    }

    /// Interrupts all calls, as the daemon ends.
    pub(super) async fn interrupt(&self) {
        if let Some(choice) = self.slot.lock().await.as_ref() {
            choice.close();
        }
    }

    /// Whether the connection is open, as far as this process knows.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// Ends the provider after the connection has closed.
    pub(super) fn disconnected(self: &Arc<Self>) {
        self.is_connected.store(false, Ordering::Relaxed);
        self.daemon().operations().session_ended(&self.caller);
        let session = Arc::clone(self);
        self.scope.daemon.spawn(async move {
            fail_point("disconnected");
            let choice = session.slot.lock().await.take();
            if let Some(choice) = choice {
                choice.end(session.settings().stop_grace_period).await;
            }
        });
    }
}
