//! The provider that a session has chosen, whether its process runs or not.
//!
//! An engine that only wants a package's schema is answered from what the provider said the last time; the process is
//! started by the first call that needs it. It is then asked for its schema all the same, and what it says counts from
//! there on: should it offer something else than is remembered, the package is made anew before any call is served, and the
//! provider is not remembered any more.
//!
//! A start belongs to no call: several may wait for it, and it goes on when they are gone. It ends with the session, or when
//! the engine cancels what is under way; the next call then starts the provider again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use isthmus_provider::schema::Catalogue;
use isthmus_provider::schema_cache::{LaunchContext, Program, SchemaCache};
use isthmus_provider::{KnownSchema, SchemaUpdate};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::start::{Program as ProviderProgram, start};
use super::{Calls, Daemon, Instance, ProviderSource, Session, StartError};
use crate::engine::{LogLine, Severity};
use crate::package::catalogue::{Identity, Package};

/// A provider and the package that it is shown as.
#[derive(Debug)]
pub(super) struct ProviderSlot {
    source: ProviderSource,
    calls: Calls,
    /// As it is known by now.
    package: RwLock<Arc<Package>>,
    process: Mutex<Process>,
}

/// The provider's process.
#[derive(Debug)]
enum Process {
    /// Not needed so far.
    Idle(Remembered),
    /// On its way.
    Starting(Starting),
    /// There.
    Running(Arc<Instance>),
    /// The session is over.
    Over,
}

/// What is known of a provider that does not run.
#[derive(Clone, Debug)]
struct Remembered {
    schema: KnownSchema,
    /// Of which it is known.
    program: Program,
}

#[derive(Clone, Debug)]
struct Starting {
    known: Remembered,
    given_up: CancellationToken,
    outcome: watch::Receiver<Option<Result<Arc<Instance>, StartFailure>>>,
}

/// A provider that is needed is not there. Everybody who waited for it is told the same.
#[derive(Clone, Debug)]
pub(super) enum StartFailure {
    /// It cannot be had.
    Failed(Arc<StartError>),
    /// Nobody wants it any more.
    Cancelled,
}

impl ProviderSlot {
    /// A provider that is known well enough to be shown as a package; none if its process has to be asked.
    pub(super) async fn remembered(
        daemon: &Arc<Daemon>,
        source: &ProviderSource,
        identity: &Identity,
    ) -> Option<Self> {
        let (cache, executable) = (daemon.schemas.clone()?, file_of(source)?);
        let find = move || {
            // What would not start must fail now, as it does when nothing is remembered.
            isthmus_provider::plugin::inspect(&executable).ok()?;
            let program = Program::look(&executable)?;
            let schema = cache.find(&program, &LaunchContext::of_child(&[])?)?;
            Some(Remembered { schema, program })
        };
        let known = tokio::task::spawn_blocking(find).await.ok()??;
        let package = Package::new(identity.clone(), Arc::clone(&known.schema.catalogue));
        Some(Self {
            source: source.clone(),
            calls: Calls::default(),
            package: RwLock::new(Arc::new(package)),
            process: Mutex::new(Process::Idle(known)),
        })
    }

    /// Starts a provider of which nothing is known.
    pub(super) async fn started(
        session: &Session,
        source: ProviderSource,
        identity: Identity,
    ) -> Result<Self, StartError> {
        let calls = Calls::default();
        let instance = launch(session, &source, &calls, None, |catalogue| Package::new(identity, catalogue));
        let instance = Arc::new(instance.await?);
        Ok(Self {
            source,
            calls,
            package: RwLock::new(Arc::clone(&instance.package)),
            process: Mutex::new(Process::Running(instance)),
        })
    }

    /// The package as it is known by now.
    pub(super) fn package(&self) -> Arc<Package> {
        Arc::clone(&self.package.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The running provider. It is started if it does not run; with several callers at once, one start serves them all.
    pub(super) async fn instance(
        self: &Arc<Self>,
        session: &Arc<Session>,
    ) -> Result<Arc<Instance>, StartFailure> {
        let mut outcome = {
            let mut process = self.process();
            match &*process {
                Process::Running(instance) => return Ok(Arc::clone(instance)),
                Process::Starting(starting) => starting.outcome.clone(),
                Process::Over => return Err(StartFailure::Cancelled),
                Process::Idle(known) => {
                    let (told, outcome) = watch::channel(None);
                    let given_up = CancellationToken::new();
                    let starting = Starting { known: known.clone(), given_up, outcome: outcome.clone() };
                    let start = Arc::clone(self).start(Arc::clone(session), starting.clone(), told);
                    session.daemon().spawn(start);
                    *process = Process::Starting(starting);
                    outcome
                }
            }
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            // The start broke off without an outcome, which only a runtime that goes down does.
            Ok(None) | Err(_) => Err(StartFailure::Cancelled),
        }
    }

    /// The provider, if its process runs; a start that is under way is given up.
    pub(super) fn interrupted(&self) -> Option<Arc<Instance>> {
        match &*self.process() {
            Process::Running(instance) => Some(Arc::clone(instance)),
            Process::Starting(starting) => {
                starting.given_up.cancel();
                None
            }
            Process::Idle(_) | Process::Over => None,
        }
    }

    /// What it is busy with.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Ends the process; there will be no other.
    pub(super) async fn end(&self, stop_grace_period: Duration) {
        let process = std::mem::replace(&mut *self.process(), Process::Over);
        match process {
            Process::Running(instance) => instance.end(stop_grace_period).await,
            // Whoever starts it ends it, should it be there by now.
            Process::Starting(starting) => starting.given_up.cancel(),
            Process::Idle(_) | Process::Over => {}
        }
    }

    async fn start(
        self: Arc<Self>,
        session: Arc<Session>,
        starting: Starting,
        told: watch::Sender<Option<Result<Arc<Instance>, StartFailure>>>,
    ) {
        let package = self.package();
        let identity = package.identity().clone();
        let anew = |catalogue| {
            let name = &identity.name;
            let text = format!(
                "the schema of the provider of package {name} differs from the cached one: the live schema is used"
            );
            session.say(Severity::Debug, text, "");
            Package::new(identity, catalogue)
        };
        let known = (&starting.known, package);
        let outcome = tokio::select! {
            outcome = launch(&session, &self.source, &self.calls, Some(known), anew) => {
                outcome.map(Arc::new).map_err(|error| StartFailure::Failed(Arc::new(error)))
            }
            () = starting.given_up.cancelled() => Err(StartFailure::Cancelled),
        };
        let too_late = {
            let mut process = self.process();
            match (&*process, &outcome) {
                (Process::Over, Ok(instance)) => Some(Arc::clone(instance)),
                (Process::Over, Err(_)) => None,
                (_, Ok(instance)) => {
                    let mut package = self.package.write().unwrap_or_else(PoisonError::into_inner);
                    *package = Arc::clone(&instance.package);
                    *process = Process::Running(Arc::clone(instance));
                    None
                }
                (_, Err(_)) => {
                    *process = Process::Idle(starting.known);
                    None
                }
            }
        };
        if let Some(instance) = too_late {
            instance.end(session.daemon().stop_grace_period()).await;
        }
        told.send_replace(Some(outcome));
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // Each change is one assignment, so a panic elsewhere leaves nothing half done.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the provider, sees to it that its schema is remembered, and makes a package of it where the known one does not
/// hold.
async fn launch(
    session: &Session,
    source: &ProviderSource,
    calls: &Calls,
    known: Option<(&Remembered, Arc<Package>)>,
    package: impl FnOnce(Arc<Catalogue>) -> Package,
) -> Result<Instance, StartError> {
    let looked = match session.daemon().schemas.clone().zip(file_of(source)) {
        // Before the start, so that a file that is replaced meanwhile is seen to have been.
        Some((cache, file)) => {
            tokio::task::spawn_blocking(move || Some((cache, Program::look(&file)?))).await.ok().flatten()
        }
        None => None,
    };
    let mut warnings = Vec::new();
    let known_schema = known.as_ref().map(|(known, _)| &known.schema);
    let settings = session.daemon().settings();
    let (provider, news) = start(source, settings, session.log(), calls, known_schema, &mut warnings).await?;
    for warning in &warnings {
        session.warn(warning.to_string(), "");
    }
    session.settle(!warnings.is_empty()).await;
    let (known_program, known_package) = known.map(|(known, package)| (&known.program, package)).unzip();
    let package = match known_package {
        Some(package) if matches!(news, SchemaUpdate::AsKnown) => package,
        Some(_) | None => Arc::new(package(Arc::clone(provider.catalogue()))),
    };
    if let Some((cache, program)) = looked {
        let was_known = known_program == Some(&program);
        remember(session.daemon(), session, cache, program, news, was_known);
    }
    Ok(Instance::new(package, provider, calls.clone(), Arc::clone(settings)))
}

/// The provider's file. One that is joined has none that could be looked at.
fn file_of(source: &ProviderSource) -> Option<PathBuf> {
    match &source.program {
        ProviderProgram::File(file) => Some(file.clone()),
        ProviderProgram::Running(_) => None,
    }
}

/// Writes down what the provider said, while the session goes on. If the same program `was_known`, something else than it said
/// before shows that its schema depends on more than it is remembered by.
fn remember(
    daemon: &Arc<Daemon>,
    session: &Session,
    cache: SchemaCache,
    program: Program,
    news: SchemaUpdate,
    was_known: bool,
) {
    let (daemon, log) = (Arc::clone(daemon), session.log());
    let kept = tokio::task::spawn_blocking(move || match (news, LaunchContext::of_child(&[])) {
        (SchemaUpdate::AsKnown, _) => Ok(()),
        (SchemaUpdate::New(_) | SchemaUpdate::Uncacheable, _) if was_known => cache.mark_variable(&program),
        (SchemaUpdate::New(answer), Some(context)) => cache.keep(&program, &context, &answer),
        (SchemaUpdate::Uncacheable, Some(context)) => {
            cache.forget(&program, &context);
            Ok(())
        }
        // The working directory is gone, and nothing will be looked for there again.
        (SchemaUpdate::New(_) | SchemaUpdate::Uncacheable, None) => Ok(()),
    });
    Arc::clone(&daemon).spawn(async move {
        if let Ok(Err(error)) = kept.await
            && daemon.complain_of_cache_once()
        {
            let message = format!(
                "schemas are not remembered from one start to the next: {}",
                isthmus_common::error_chain(&error)
            );
            log.send(LogLine { severity: Severity::Debug, message, urn: String::new() });
        }
    });
}
