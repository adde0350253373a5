//! A session: one connection of an engine, with at most one provider.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};

use isthmus_provider::KnownSecrets;
use tokio::sync::{Mutex, Notify};

use super::provider_slot::{ProviderSlot, StartFailure};
use super::resolve::{ResolveError, Resolved, resolve};
use super::{Daemon, Instance, StartError};
use crate::engine::{Engine, EngineError, EngineLog, Generation, LogLine, Severity};
use crate::package::catalogue::Package;
use crate::package::parameters::{
    AlreadyParameterized, Arguments, ArgumentsError, Parameter, ParameterError,
};
use crate::package::selection;
use crate::project::stale;

/// How many warnings are remembered as shown. Beyond that some may be shown again, rather than memory grow.
const REMEMBERED_WARNINGS: usize = 10_000;

/// One connection of an engine.
#[derive(Debug)]
pub(crate) struct Session {
    daemon: Arc<Daemon>,
    number: u64,
    log: RwLock<EngineLog>,
    secrets: KnownSecrets,
    keep_secrets: AtomicBool,
    outputs_of_invokes: AtomicBool,
    tells_previews: AtomicBool,
    shown_warnings: StdMutex<HashSet<(String, String)>>,
    /// Tells whoever is starting a provider to give up.
    cancelling: Notify,
    choice: Mutex<Option<Arc<ProviderSlot>>>,
}

/// A session cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// It has no provider yet.
    #[error("no Terraform provider chosen: Parameterize must precede this call")]
    NotParameterized,
    /// It has one already.
    #[error(transparent)]
    AlreadyParameterized(#[from] AlreadyParameterized),
    /// The words of the command line make no sense.
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    /// The bytes in an SDK make no sense.
    #[error("failed to parse parameterized value (generate the SDK again with `pulumi package add`)")]
    Parameter(#[from] ParameterError),
    /// What was asked for leads to no provider.
    #[error("{}", isthmus_common::error_chain(error.as_ref()))]
    Resolve {
        /// Why not. It is told by this error itself.
        error: Box<ResolveError>,
        /// What else the user should know, which may well be the reason. Nobody sees it otherwise.
        warnings: Vec<String>,
    },
    /// The provider cannot be had.
    #[error(transparent)]
    Start(Arc<StartError>),
    /// The engine did not want to wait for the provider any longer.
    #[error("the start of the provider {name} was cancelled")]
    Cancelled {
        /// What it is called.
        name: String,
    },
    /// The engine's address is none.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl SessionError {
    /// All of it for the user: what failed, why, what to do, and what there was to warn of.
    pub(crate) fn report(&self) -> String {
        let text = isthmus_common::error_chain(self);
        let Self::Resolve { error, warnings } = self else { return text };
        let mut text = isthmus_common::with_help(text, error.help());
        for warning in warnings {
            text.push_str("\nwarning: ");
            text.push_str(warning);
        }
        text
    }
}

impl Session {
    pub(super) fn new(daemon: Arc<Daemon>, number: u64) -> Self {
        // A provider that all sessions share has one set of secrets.
        let only = daemon.only_instance.get();
        let secrets = only.map(|instance| instance.provider.secrets().clone()).unwrap_or_default();
        let log = RwLock::new(daemon.log.clone().redacting(secrets.clone()));
        Self {
            daemon,
            number,
            log,
            secrets,
            keep_secrets: AtomicBool::new(false),
            outputs_of_invokes: AtomicBool::new(false),
            tells_previews: AtomicBool::new(false),
            shown_warnings: StdMutex::default(),
            cancelling: Notify::new(),
            choice: Mutex::new(None),
        }
    }

    /// The process that this session is part of.
    pub(crate) fn daemon(&self) -> &Arc<Daemon> {
        &self.daemon
    }

    /// Where this session's messages go.
    pub(crate) fn log(&self) -> EngineLog {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What may not be printed of the values that this session has seen.
    pub(crate) fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Learns where the engine is.
    pub(crate) fn attach_engine(&self, address: &str) -> Result<(), SessionError> {
        let engine = Engine::new(address, Generation::Today)?;
        let log = EngineLog::start(Some(engine)).redacting(self.secrets.clone());
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// Whether the engine takes secrets in answers.
    pub(crate) fn keeps_secrets(&self) -> bool {
        self.keep_secrets.load(Ordering::Relaxed)
    }

    /// Learns whether the engine takes secrets in answers.
    pub(crate) fn accept_secrets(&self, accepted: bool) {
        self.keep_secrets.store(accepted, Ordering::Relaxed);
    }

    /// Whether the engine takes outputs from an invoke.
    pub(crate) fn takes_outputs_of_invokes(&self) -> bool {
        self.outputs_of_invokes.load(Ordering::Relaxed)
    }

    /// Learns whether the engine takes outputs from an invoke.
    pub(crate) fn accept_outputs_of_invokes(&self, accepted: bool) {
        self.outputs_of_invokes.store(accepted, Ordering::Relaxed);
    }

    /// Whether the engine says of an invoke that it is part of a preview.
    pub(crate) fn tells_previews(&self) -> bool {
        self.tells_previews.load(Ordering::Relaxed)
    }

    /// Learns whether the engine says of an invoke that it is part of a preview.
    pub(crate) fn expect_previews_told(&self, told: bool) {
        self.tells_previews.store(told, Ordering::Relaxed);
    }

    /// The session's provider, which is started if it does not run yet.
    pub(crate) async fn instance(self: &Arc<Self>) -> Result<Arc<Instance>, SessionError> {
        let choice = self.choice.lock().await.clone();
        let Some(choice) = choice else {
            return self.daemon.only_instance.get().cloned().ok_or(SessionError::NotParameterized);
        };
        choice.instance(self).await.map_err(|failure| match failure {
            StartFailure::Failed(error) => SessionError::Start(error),
            StartFailure::Cancelled => {
                SessionError::Cancelled { name: choice.package().identity().provider_type.clone() }
            }
        })
    }

    /// The package that the session's provider is shown as, where one was chosen. The provider need not run for it.
    pub(crate) async fn package(&self) -> Option<Arc<Package>> {
        match self.choice.lock().await.as_ref() {
            Some(choice) => Some(choice.package()),
            None => self.daemon.only_instance.get().map(|instance| Arc::clone(&instance.package)),
        }
    }

    /// Chooses the provider by the words of a command line. Whoever wrote them is told what of them has no effect.
    pub(crate) async fn parameterize_by_arguments(
        &self,
        words: &[String],
    ) -> Result<Arc<Package>, SessionError> {
        let arguments = match Arguments::parse(words) {
            Ok(arguments) => arguments,
            Err(error) => {
                if error == ArgumentsError::Help {
                    self.say(Severity::Info, Arguments::usage(is_developer()), "");
                    self.settle(true).await;
                }
                return Err(error.into());
            }
        };
        let mut warnings = arguments.warnings();
        let package = self.parameterize(arguments).await?;
        warnings.extend(selection::warnings(&package));
        let has_warnings = !warnings.is_empty();
        for warning in warnings {
            self.warn(warning, "");
        }
        self.settle(has_warnings).await;
        Ok(package)
    }

    /// Chooses the provider by the bytes that an SDK remembers.
    pub(crate) async fn parameterize_by_value(&self, value: &[u8]) -> Result<Arc<Package>, SessionError> {
        self.parameterize(Parameter::decode(value)?.arguments()).await
    }

    async fn parameterize(&self, arguments: Arguments) -> Result<Arc<Package>, SessionError> {
        let mut slot = self.choice.lock().await;
        let mut cancelled = std::pin::pin!(self.cancelling.notified());
        let name = arguments.source.name().to_owned();
        let tell = |line| self.say(Severity::Info, line, "");
        let mut warnings = Vec::new();
        let resolved = tokio::select! {
            resolved = resolve(arguments, &self.daemon.settings, &tell, &mut warnings) => resolved,
            () = &mut cancelled => return Err(SessionError::Cancelled { name }),
        };
        if let Some(package) = slot.as_ref().map(|choice| choice.package()) {
            // Asking for the same again is answered; a session cannot have a second provider.
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
        let has_warnings = !warnings.is_empty();
        for warning in warnings {
            self.warn(warning, "");
        }
        self.settle(has_warnings).await;
        let choice = match ProviderSlot::remembered(&self.daemon, &source, &identity).await {
            Some(choice) => choice,
            None => {
                let name = source.name.clone();
                tokio::select! {
                    started = ProviderSlot::started(self, source, identity) => {
                        started.map_err(|error| SessionError::Start(Arc::new(error)))?
                    }
                    () = cancelled => return Err(SessionError::Cancelled { name }),
                }
            }
        };
        let package = choice.package();
        *slot = Some(Arc::new(choice));
        Ok(package)
    }

    /// Warns of an SDK in the project around the working directory that was left behind by the project file, where the session's
    /// package comes from it. An engine runs plugins in the directory of its project.
    pub(crate) async fn warn_of_stale_sdk(&self) {
        let Some(package) = self.package().await else { return };
        let stale = move || {
            let identity = package.identity();
            let here = std::env::current_dir().ok()?;
            stale::warning_of_package(&here, &identity.name, &identity.parameter)
        };
        // A panic there would be a bug, and none of the engine's concern.
        if let Ok(Some(warning)) = tokio::task::spawn_blocking(stale).await {
            self.warn(warning, "");
            self.settle(true).await;
        }
    }

    /// Sends one line to the engine.
    pub(crate) fn say(&self, severity: Severity, message: String, urn: &str) {
        self.log().send(LogLine { severity, message, urn: urn.to_owned() });
    }

    /// Shows a warning about a resource, unless it was shown already: a provider repeats itself when it validates, plans and
    /// applies the same resource.
    pub(crate) fn warn(&self, message: String, urn: &str) {
        let mut shown = self.shown_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() >= REMEMBERED_WARNINGS {
            shown.clear();
        }
        if shown.insert((urn.to_owned(), message.clone())) {
            self.say(Severity::Warning, message, urn);
        }
    }

    /// Delivers what a call has to say, if it is anything that must be there before the answer.
    pub(crate) async fn settle(&self, has_warnings: bool) {
        if has_warnings || self.daemon.settings.log_calls {
            self.log().flush().await;
        }
    }

    /// Asks calls under way to come to an end, without waiting until they have: the engine has only a few seconds for this,
    /// and waits for the calls themselves. What was asked before and has not ended is broken off after the grace; what is open is
    /// closed after the calls. The session goes on: an engine that is attached sends Cancel at the end of each of its runs.
    pub(crate) async fn cancel(&self) {
        // Before asking for the provider, which is there only once it has started.
        self.cancelling.notify_waiters();
        let choice = self.choice.lock().await.clone();
        let instance = match choice {
            Some(choice) => choice.interrupted(),
            None => self.daemon.only_instance.get().cloned(),
        };
        let Some(instance) = instance else { return };
        let calls = instance.calls.begun();
        let leases = instance.leases.until_now();
        if let Some(asked_twice) = instance.asked(&calls) {
            let stop_grace_period = self.daemon.stop_grace_period();
            self.daemon.spawn(async move { asked_twice.break_off_after(stop_grace_period).await });
        }
        if let Err(error) = instance.stop(&calls).await {
            self.say(Severity::Warning, format!("{error}; what it is busy with may take its time"), "");
            self.settle(true).await;
        }
        self.daemon.spawn(async move {
            instance.stopped(&calls).await;
            // They may have used what is open until now; nothing else will.
            leases.close();
        });
    }

    /// Sees to it that whoever waits for a call is told what is known of it by now. The daemon ends.
    pub(super) async fn break_off(&self) {
        if let Some(choice) = self.choice.lock().await.as_ref() {
            choice.calls().close();
        }
    }

    /// The connection is gone, and with it everybody who could use the provider.
    pub(crate) fn disconnected(self: &Arc<Self>) {
        self.daemon.forget_session(self.number);
        let session = Arc::clone(self);
        self.daemon.spawn(async move {
            let choice = session.choice.lock().await.take();
            if let Some(choice) = choice {
                choice.end(session.daemon.stop_grace_period()).await;
            }
        });
    }
}

/// Whether Pulumi's own variable for those who develop it is set.
fn is_developer() -> bool {
    std::env::var("PULUMI_DEV").is_ok_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
}
