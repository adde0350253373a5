//! The daemon: sessions with engines, and the provider processes that they use.

mod autonames;
mod calls;
mod chosen;
mod documentation;
mod documents;
mod installation;
mod instance;
mod inventory;
mod leases;
mod listings;
mod log_file;
mod memory;
mod open_intents;
mod open_package;
mod packages;
mod pool;
mod process_log;
mod provider_log;
mod provider_slot;
mod reattach;
mod resolve;
mod rpc_log;
mod session;
mod session_log;
mod sessions;
mod start;
mod weak_table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_provider::schema_cache::SchemaCache;
use isthmus_state::{EncryptedStore, LazyEncryptedStore};
use tokio_util::task::TaskTracker;

use crate::engine::EngineLog;
use crate::observe::{LogTap, Observation};
use crate::process_context::{ProcessContext, StartedBy};
use isthmus_context::home::{self, OpenStoreError, StateDirectoryError};
use isthmus_context::settings::{InvalidSettings, Settings};
use isthmus_operations::resource::{OperationJournal, Operations};
use isthmus_trace::recording;
use packages::Packages;

pub use calls::{Call, CallSnapshot, Calls};
pub use chosen::Chosen;
pub use documents::Text;
pub use installation::{Installation, InstallationError, ProgressReporter};
pub use instance::{ConfigureError, Instance, ProviderProcess};
pub use inventory::{Inventory, ProcessView, SessionView};
pub use leases::{Leases, MOST_LEASES, NoRoom};
pub use listings::{Listings, Paused};
pub use memory::MemoryReleaser;
pub use open_intents::UnconfirmedCreations;
pub use open_package::{OpenPackageError, open_package};
pub use pool::Pool;
pub use provider_log::CALL_MARK;
pub use resolve::ResolveError;
pub use session::{ClientSide, Session, SessionError};
pub use sessions::{SessionGuard, Sessions};
pub use start::{Program, ProviderSource, StartError, start, unverified};

/// What all sessions share.
#[derive(Debug)]
pub struct Daemon {
    /// Log of sessions whose engine is not attached yet.
    log: EngineLog,
    /// This process's.
    context: Arc<ProcessContext>,
    /// The settings that cannot be parsed; no call is served then.
    invalid_settings: Option<InvalidSettings>,
    /// The provider of every session without one of its own, until sessions are served.
    only_instance: Mutex<Option<Arc<Instance>>>,
    /// The state store and the journal, opened on first use.
    state_store: Result<Arc<LazyEncryptedStore>, StateDirectoryError>,
    /// Whether the store's warnings were shown.
    state_store_warned: AtomicBool,
    /// The operations of today's engines that are not settled.
    operations: Operations,
    /// Creations by earlier processes whose answers are not confirmed.
    unconfirmed: UnconfirmedCreations,
    /// The schema cache.
    schemas: Option<SchemaCache>,
    /// Whether a failure of the schema cache was reported.
    schema_cache_warned: AtomicBool,
    /// What must complete before the process ends: changes in progress, providers shutting down.
    tasks: TaskTracker,
    memory: MemoryReleaser,
    /// What is immutable of the providers of sessions.
    packages: Packages,
    /// The processes that sessions share; each session has its own without it.
    pool: Option<Pool>,
    /// What a shared daemon counts.
    observation: Option<Arc<Observation>>,
}

impl Daemon {
    pub fn new(
        log: EngineLog,
        started_by: StartedBy,
        configured: Result<Settings, InvalidSettings>,
    ) -> Arc<Self> {
        let (settings, invalid_settings) = match configured {
            Ok(settings) => (settings, None),
            Err(invalid) => (Settings::default(), Some(invalid)),
        };
        Self::with(log, ProcessContext::own(started_by, Arc::new(settings)), invalid_settings, None)
    }

    /// A daemon of a process with this context.
    pub fn with_context(log: EngineLog, context: ProcessContext) -> Arc<Self> {
        Self::with(log, context, None, None)
    }

    /// A daemon whose sessions share the processes of a pool. Its settings are valid.
    pub fn shared(
        log: EngineLog,
        context: ProcessContext,
        pool: Pool,
        observation: Arc<Observation>,
    ) -> Arc<Self> {
        Self::with(log, context, None, Some((pool, observation)))
    }

    fn with(
        log: EngineLog,
        context: ProcessContext,
        invalid_settings: Option<InvalidSettings>,
        shared: Option<(Pool, Arc<Observation>)>,
    ) -> Arc<Self> {
        let settings = context.settings();
        let state_store = home::state_store(settings).map(Arc::new);
        let (pool, observation) = shared.unzip();
        let tap = |observation| LogTap::new(Arc::clone(observation), context.identity().clone(), None);
        let log = log.tapped(observation.as_ref().map(tap));
        Arc::new(Self {
            log,
            only_instance: Mutex::default(),
            operations: Operations::new(OperationJournal::configured(settings, &state_store)),
            unconfirmed: UnconfirmedCreations::default(),
            state_store,
            state_store_warned: AtomicBool::new(false),
            schemas: home::schema_cache(settings),
            invalid_settings,
            schema_cache_warned: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            memory: MemoryReleaser::default(),
            packages: Packages::default(),
            pool,
            observation,
            context: Arc::new(context),
        })
    }

    /// The processes that sessions share.
    pub fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    /// What a shared daemon counts.
    pub fn observation(&self) -> Option<&Arc<Observation>> {
        self.observation.as_ref()
    }

    /// The memory that calls and tasks use.
    pub fn memory(&self) -> &MemoryReleaser {
        &self.memory
    }

    /// Shows a warning that concerns no resource.
    pub fn warn(&self, message: String) {
        self.log.warn(message);
    }

    /// This process's context.
    pub fn context(&self) -> &Arc<ProcessContext> {
        &self.context
    }

    pub fn settings(&self) -> &Arc<Settings> {
        self.context.settings()
    }

    /// The settings that cannot be parsed.
    pub fn invalid_settings(&self) -> Option<&InvalidSettings> {
        self.invalid_settings.as_ref()
    }

    /// Time that a stopped call has to finish.
    pub fn stop_grace_period(&self) -> Duration {
        self.settings().stop_grace_period
    }

    /// Time that calls have to end by themselves when the process ends; `None` where they are stopped at once, because they are
    /// those of one engine, which has ended or cancelled.
    pub fn drain_period(&self) -> Option<Duration> {
        self.pool.as_ref().map(|_| self.settings().drain_period)
    }

    /// Sets the provider of every session: a process that is started for one package has no other.
    pub fn serve_only(&self, instance: Arc<Instance>) {
        *self.only_instance.lock().unwrap_or_else(PoisonError::into_inner) = Some(instance);
    }

    /// The provider of [`Self::serve_only`], once.
    fn take_only(&self) -> Option<Arc<Instance>> {
        self.only_instance.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The state store, opened on first use.
    pub async fn state_store(&self) -> Result<&EncryptedStore, OpenStoreError> {
        let state_store = self.state_store.as_ref().map_err(StateDirectoryError::clone)?.open().await?;
        if !self.state_store_warned.swap(true, Ordering::Relaxed) {
            for message in state_store.warnings() {
                self.log.warn(message);
            }
        }
        Ok(state_store)
    }

    /// Creations by earlier processes whose answers are not confirmed.
    pub fn unconfirmed(&self) -> &UnconfirmedCreations {
        &self.unconfirmed
    }

    /// The operations of today's engines that are not settled.
    pub fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Returns `true` once, as each session would report the same failure of the schema cache.
    fn should_report_cache_failure(&self) -> bool {
        !self.schema_cache_warned.swap(true, Ordering::Relaxed)
    }

    /// Waits until every change has completed. The caller accepts no sessions any more.
    async fn changes_end(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Waits until every change has completed and every provider has ended; [`Sessions::finish`]
    /// does so where there are sessions.
    pub async fn finish(&self) {
        self.changes_end().await;
        if let Some(instance) = self.take_only() {
            instance.end(self.stop_grace_period()).await;
        }
        if let Some(pool) = &self.pool {
            pool.end().await;
        }
        self.operations.write().await;
        self.log.flush().await;
    }

    /// Runs what must complete even if the engine disconnects: a change that a provider has
    /// started.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let memory = self.memory.used();
        if self.context.recording().is_some() {
            return self.tasks.spawn(recording::continued(async move {
                let _memory = memory;
                future.await
            }));
        }
        self.tasks.spawn(async move {
            let _memory = memory;
            future.await
        })
    }
}
