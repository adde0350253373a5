//! The provider of a session, whether its process runs or not.
//!
//! A package's schema is served from the schema cache; the first call that needs the provider
//! starts it. Its live schema is read then and is authoritative: if it differs from the cached one,
//! the package is built anew before any call is served, and the provider is removed from the cache.
//!
//! A start belongs to no call: several may wait for it, and it continues if they are cancelled. It
//! ends with the session or when the engine cancels; the next call then starts the provider again.
//!
//! A provider that has ended is replaced by the next call, in the same way: by a process of the same
//! program with the same schema and configuration. The call during which it ended has failed, and is
//! never repeated. A replacement that ends before it has answered a call is not replaced; nor is a
//! provider that isthmus attached to. One whose memory has grown beyond the configured limit is
//! replaced in the same way, once no call is in progress: every call holds the instance that it
//! uses, so an instance that only the slot holds is not in use.

mod launch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use isthmus_provider::plugin::Exit;
use isthmus_provider::schema::Catalogue;
use isthmus_provider::schema_cache::Program;
use isthmus_provider::{KnownSchema, SchemaUpdate};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::instance::ConfigureError;
use super::start::{Program as ProviderProgram, SessionScope};
use super::{Calls, Instance, ProviderSource, StartError};
use crate::engine::Severity;
use isthmus_context::settings::PROVIDER_MEMORY;
use isthmus_package::catalogue::{Identity, Package};
use launch::{file_of, launch, process};

/// Least time between two measurements of a provider's memory.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// How long a provider that uses too much memory is given to end its calls. New ones wait meanwhile.
const CALLS_END: Duration = Duration::from_secs(5);

/// How often that is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A provider and its package.
#[derive(Debug)]
pub(super) struct ProviderSlot {
    source: ProviderSource,
    calls: Calls,
    /// Replaced if the live schema differs from the cached one.
    package: RwLock<Arc<Package>>,
    process: Mutex<Process>,
    /// When the memory was measured last.
    measured: Mutex<Option<Instant>>,
}

#[derive(Debug)]
enum Process {
    /// Not started yet.
    Idle(Remembered),
    Starting(Starting),
    /// Its process may have ended.
    Running(Arc<Instance>),
    /// Its process, or the place of it, was lent to another session.
    Lent(Arc<Instance>),
    /// It has ended, and could not be replaced.
    Lost(Arc<StartError>),
    /// The session has ended.
    Over,
}

/// The cached schema of a provider that does not run.
#[derive(Clone, Debug)]
struct Remembered {
    catalogue: Arc<Catalogue>,
    /// The provider binary that it belongs to.
    program: Program,
    /// When a process was called for it.
    asked: SystemTime,
}

impl Remembered {
    /// What a process of `program` is known to have as its schema.
    fn of(&self, program: Option<&Program>) -> KnownSchema<'_> {
        if Some(&self.program) == program {
            KnownSchema::Confirmed(&self.catalogue, self.asked)
        } else {
            KnownSchema::Earlier(&self.catalogue)
        }
    }
}

/// What precedes the start of a process.
#[derive(Clone, Debug)]
enum Before {
    /// None was started.
    Idle(Remembered),
    /// One that has ended.
    Ended(Arc<Instance>, Exit),
    /// One that uses so many bytes of memory, which is too much.
    Grown(Arc<Instance>, u64),
    /// One that was lent.
    Lent(Arc<Instance>),
}

#[derive(Clone, Debug)]
struct Starting {
    /// Shared, so that it is held once.
    before: Arc<Before>,
    given_up: CancellationToken,
    outcome: watch::Receiver<Option<Result<Arc<Instance>, StartFailure>>>,
}

/// A provider did not start. All callers that wait for it get the same failure.
#[derive(Clone, Debug)]
pub(super) enum StartFailure {
    Failed(Arc<StartError>),
    /// The session ended or the engine cancelled.
    Cancelled,
}

impl ProviderSlot {
    /// Returns a slot for a provider with a cached schema; `None` if there is none.
    pub(super) async fn remembered(
        scope: &SessionScope,
        source: &ProviderSource,
        identity: &Identity,
    ) -> Option<Self> {
        let (cache, executable) = (scope.daemon.schemas.clone()?, file_of(source)?);
        let calls = scope.calls(identity);
        let (context, identity) = (Arc::clone(&scope.context), identity.clone());
        let daemon = Arc::clone(&scope.daemon);
        let find = move || {
            // A provider that would not start must fail now, as it does without a cached schema.
            isthmus_provider::plugin::inspect(&executable).ok()?;
            let program = Program::look(&executable)?;
            let (package, asked) =
                daemon.packages.cached(&cache, &program, &context.launch_context()?, identity)?;
            let catalogue = Arc::clone(package.catalogue());
            Some((package, Remembered { catalogue, program, asked }))
        };
        let found = isthmus_common::spawn_blocking(find).await.ok().flatten();
        if let Some(observation) = scope.daemon.observation() {
            observation.looked_for_schema(found.is_some());
        }
        let (package, known) = found?;
        Some(Self {
            source: source.clone(),
            calls,
            package: RwLock::new(package),
            process: Mutex::new(Process::Idle(known)),
            measured: Mutex::default(),
        })
    }

    /// Starts a provider without a cached schema.
    pub(super) async fn started(
        scope: &SessionScope,
        source: ProviderSource,
        identity: Identity,
    ) -> Result<Self, StartError> {
        let calls = scope.calls(&identity);
        let instance = launch(scope, &source, &calls, identity, None).await?;
        Ok(Self::running(Arc::new(instance)))
    }

    /// A slot of a provider that was started already.
    pub(super) fn running(instance: Arc<Instance>) -> Self {
        Self {
            source: instance.source().clone(),
            calls: instance.calls.clone(),
            package: RwLock::new(Arc::clone(&instance.package)),
            process: Mutex::new(Process::Running(instance)),
            measured: Mutex::default(),
        }
    }

    /// The package, by the newest known schema.
    pub(super) fn package(&self) -> Arc<Package> {
        Arc::clone(&self.package.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The running provider, started on demand, and again after it has ended; concurrent callers
    /// share one start.
    pub(super) async fn instance(
        self: &Arc<Self>,
        scope: &SessionScope,
    ) -> Result<Arc<Instance>, StartFailure> {
        let excess = self.excess(scope).await;
        let mut outcome = {
            let mut process = self.process();
            let before = match &*process {
                Process::Running(instance) => match instance.provider().plugin().exit() {
                    None => match excess {
                        Some(used) if !instance.is_in_use() => Ok(Before::Grown(Arc::clone(instance), used)),
                        Some(_) | None => return Ok(Arc::clone(instance)),
                    },
                    Some(exit) => Ok(self.replaceable(instance, exit)?),
                },
                Process::Lent(instance) => Ok(Before::Lent(Arc::clone(instance))),
                Process::Starting(starting) => Err(starting.outcome.clone()),
                Process::Lost(error) => return Err(StartFailure::Failed(Arc::clone(error))),
                Process::Over => return Err(StartFailure::Cancelled),
                Process::Idle(known) => Ok(Before::Idle(known.clone())),
            };
            match before {
                Err(outcome) => outcome,
                // The daemon ends.
                Ok(_) if self.calls.are_closed() => return Err(StartFailure::Cancelled),
                Ok(before) => {
                    let (sender, outcome) = watch::channel(None);
                    let given_up = CancellationToken::new();
                    let before = Arc::new(before);
                    let starting = Starting { before, given_up, outcome: outcome.clone() };
                    let start = Arc::clone(self).start(scope.clone(), starting.clone(), sender);
                    scope.daemon.spawn(start.in_current_span());
                    *process = Process::Starting(starting);
                    outcome
                }
            }
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            // The start ended without an outcome: the runtime is shutting down.
            Ok(None) | Err(_) => Err(StartFailure::Cancelled),
        }
    }

    /// Whether a process that has ended may be replaced.
    fn replaceable(&self, instance: &Arc<Instance>, exit: Exit) -> Result<Before, StartFailure> {
        let name = self.source.name.clone();
        let error = match (&self.source.program, instance.predecessor()) {
            (ProviderProgram::Running(_), _) => StartError::NotOurs { name, exit },
            (ProviderProgram::File(_), Some(first)) if !instance.provider().has_answered() => {
                StartError::EndedAgain { name, first: first.clone(), second: exit }
            }
            (ProviderProgram::File(_), _) => return Ok(Before::Ended(Arc::clone(instance), exit)),
        };
        Err(StartFailure::Failed(Arc::new(error)))
    }

    /// The provider if its process runs; cancels a start in progress.
    pub(super) fn interrupted(&self) -> Option<Arc<Instance>> {
        match &*self.process() {
            Process::Running(instance) => Some(Arc::clone(instance)),
            Process::Starting(starting) => {
                starting.given_up.cancel();
                match &*starting.before {
                    Before::Grown(instance, _) => Some(Arc::clone(instance)),
                    Before::Idle(_) | Before::Ended(..) | Before::Lent(_) => None,
                }
            }
            Process::Idle(_) | Process::Lent(_) | Process::Lost(_) | Process::Over => None,
        }
    }

    /// The provider if its process runs.
    pub(super) fn running_instance(&self) -> Option<Arc<Instance>> {
        match &*self.process() {
            Process::Running(instance) => Some(Arc::clone(instance)),
            Process::Starting(_) | Process::Idle(_) | Process::Lent(_) | Process::Lost(_) | Process::Over => {
                None
            }
        }
    }

    /// How long the provider was not used whose process runs, unless something is open in it.
    pub(super) fn unused_for(&self) -> Option<Duration> {
        self.unused(&self.process()).map(|(_, unused_for)| unused_for)
    }

    /// Lends the process to another session, if it was not used for so long. The next call gets one again.
    pub(super) async fn lend(&self, unused_for: Duration) {
        let instance = {
            let mut process = self.process();
            let unused = self.unused(&process).filter(|(_, found)| *found >= unused_for);
            let Some(instance) = unused.map(|(instance, _)| Arc::clone(instance)) else { return };
            *process = Process::Lent(Arc::clone(&instance));
            instance
        };
        instance.release_process().await;
    }

    fn unused<'a>(&self, process: &'a Process) -> Option<(&'a Arc<Instance>, Duration)> {
        match process {
            // Every call holds the instance that it uses.
            Process::Running(instance) if Arc::strong_count(instance) == 1 && !instance.is_in_use() => {
                match self.source.program {
                    ProviderProgram::File(_) => {
                        Some((instance, self.calls.idle_for(instance.provider().plugin().since())?))
                    }
                    ProviderProgram::Running(_) => None,
                }
            }
            _ => None,
        }
    }

    /// Interrupts all calls, as the daemon ends; no process is started any more.
    pub(super) fn close(&self) {
        self.calls.close();
        self.interrupted();
    }

    /// The calls in progress.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Ends the process; it is not started again.
    pub(super) async fn end(&self, stop_grace_period: Duration) {
        let process = std::mem::replace(&mut *self.process(), Process::Over);
        match process {
            Process::Running(instance) => instance.end(stop_grace_period).await,
            // The task of the start ends the process, if it was launched.
            Process::Starting(starting) => {
                starting.given_up.cancel();
                if let Before::Grown(instance, _) = &*starting.before {
                    instance.end(stop_grace_period).await;
                }
            }
            Process::Idle(_) | Process::Lent(_) | Process::Lost(_) | Process::Over => {}
        }
    }

    async fn start(
        self: Arc<Self>,
        scope: SessionScope,
        starting: Starting,
        sender: watch::Sender<Option<Result<Arc<Instance>, StartFailure>>>,
    ) {
        let launched = async {
            match &*starting.before {
                Before::Idle(known) => self.first(&scope, known).await.map(Arc::new),
                Before::Ended(instance, exit) => self.replacement(&scope, instance, exit).await.map(Arc::new),
                Before::Grown(instance, used) => self.smaller(&scope, instance, *used).await,
                Before::Lent(instance) => self.start_again(&scope, instance, None).await.map(Arc::new),
            }
        };
        let outcome = tokio::select! {
            outcome = launched => outcome.map_err(|error| StartFailure::Failed(Arc::new(error))),
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
                (_, Err(failure)) => {
                    *process = match (&*starting.before, failure) {
                        (Before::Idle(known), _) => Process::Idle(known.clone()),
                        (Before::Lent(instance), _) => Process::Lent(Arc::clone(instance)),
                        (
                            Before::Ended(instance, _) | Before::Grown(instance, _),
                            StartFailure::Cancelled,
                        ) => Process::Running(Arc::clone(instance)),
                        (Before::Ended(..) | Before::Grown(..), StartFailure::Failed(error)) => {
                            Process::Lost(Arc::clone(error))
                        }
                    };
                    None
                }
            }
        };
        if let Some(instance) = too_late {
            instance.end(scope.context.settings().stop_grace_period).await;
        }
        sender.send_replace(Some(outcome));
    }

    /// Starts the provider for the first time.
    async fn first(&self, scope: &SessionScope, known: &Remembered) -> Result<Instance, StartError> {
        let identity = self.package().identity().clone();
        launch(scope, &self.source, &self.calls, identity, Some(known)).await
    }

    /// Starts the provider again after it has ended, and says so.
    async fn replacement(
        &self,
        scope: &SessionScope,
        ended: &Instance,
        exit: &Exit,
    ) -> Result<Instance, StartError> {
        ended.give_up_process().await;
        let replaced = self.start_again(scope, ended, Some(exit)).await?;
        // Each time, and without the last output, which the failed call has shown.
        let text = format!(
            "the provider {} has ended ({}), and was started again with the same configuration",
            self.source.name, exit.ending
        );
        scope.log.send(Severity::Warning, text, "");
        scope.log.flush(true).await;
        Ok(replaced)
    }

    /// Replaces a provider that uses too much memory, unless its calls do not end in time.
    async fn smaller(
        &self,
        scope: &SessionScope,
        grown: &Arc<Instance>,
        used: u64,
    ) -> Result<Arc<Instance>, StartError> {
        let unused = async {
            // Nothing signals that an instance is released.
            while Arc::strong_count(grown) > 1 {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        if tokio::time::timeout(CALLS_END, unused).await.is_err() || grown.is_in_use() {
            return Ok(Arc::clone(grown));
        }
        grown.give_up_process().await;
        let replaced = self.start_again(scope, grown, None).await?;
        let text = format!(
            "the provider {} used {} MiB of memory, more than {} allows, and was started again with the same configuration",
            self.source.name,
            used >> 20,
            PROVIDER_MEMORY.name
        );
        scope.log.send(Severity::Info, text, "");
        scope.log.flush(true).await;
        Ok(Arc::new(replaced))
    }

    /// The bytes of memory that the provider uses, if they are too many. Measured at most once a
    /// second; a process that has not answered a call yet would not be smaller the next time.
    async fn excess(&self, scope: &SessionScope) -> Option<u64> {
        let limit = scope.context.settings().provider_memory?;
        let provider = match &*self.process() {
            Process::Running(instance) if instance.provider().has_answered() => instance.provider(),
            _ => return None,
        };
        {
            let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
            if measured.is_some_and(|measured| measured.elapsed() < MEASURED_EVERY) {
                return None;
            }
            *measured = Some(Instant::now());
        }
        let used = isthmus_common::blocking(move || provider.plugin().resident_memory()).await?;
        (used > limit).then_some(used)
    }

    /// Starts a process in place of one that has ended, and configures it alike.
    async fn start_again(
        &self,
        scope: &SessionScope,
        ended: &Instance,
        exit: Option<&Exit>,
    ) -> Result<Instance, StartError> {
        let mut warnings = Vec::new();
        let replaced = async {
            let known = ended.provider().catalogue().clone();
            let program = match file_of(&self.source) {
                Some(file) => isthmus_common::blocking(move || Program::look(&file)).await,
                None => None,
            };
            let known = KnownSchema::Earlier(&known);
            let (process, update) =
                process(scope, &self.source, &self.calls, program.as_ref(), known, &mut warnings).await?;
            if !matches!(update, SchemaUpdate::AsKnown) {
                process.give_up().await;
                return Err(StartError::OtherSchema);
            }
            match ended.replaced_by(process, exit.cloned(), &mut warnings).await {
                Ok(replaced) => Ok(replaced),
                Err(ConfigureError::Provider(error)) => Err(error.into()),
                Err(ConfigureError::Start(error)) => Err(*error),
            }
        };
        let replaced = replaced.await;
        for warning in &warnings {
            scope.log.warn(warning.to_string(), "");
        }
        scope.log.flush(!warnings.is_empty()).await;
        replaced.map_err(|error| match exit {
            Some(exit) => {
                let (name, exit) = (self.source.name.clone(), exit.clone());
                StartError::Replacement { name, exit, source: Box::new(error) }
            }
            None => error,
        })
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // Each change is one assignment, so a panic elsewhere leaves no partial change.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
