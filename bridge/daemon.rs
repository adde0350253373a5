//! The daemon: sessions with engines, and the provider processes beneath them.

mod autonames;
mod calls;
mod installation;
mod instance;
mod leases;
mod listings;
mod log_file;
mod open_intents;
mod progress_reporter;
mod provider_log;
mod provider_slot;
mod reattach;
mod resolve;
mod rpc_log;
mod session;
mod start;
mod unconfirmed;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use dashmap::DashMap;
use isthmus_provider::schema_cache::SchemaCache;
use isthmus_state::{EncryptedStore, LazyEncryptedStore};
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use crate::engine::{EngineLog, LogLine, Severity};
use crate::home::{self, OpenStoreError, PlaceError};
use crate::resource::FailedDeletes;
use crate::settings::{InvalidSettings, Settings};

pub(crate) use calls::{Call, CallSnapshot, Calls};
pub(crate) use installation::{Installation, InstallationError};
pub(crate) use instance::Instance;
pub(crate) use leases::{Leases, MOST_LEASES, NoRoom};
pub(crate) use listings::{Listings, Paused};
pub(crate) use progress_reporter::ProgressReporter;
pub(crate) use provider_log::CALL_MARK;
pub(crate) use resolve::ResolveError;
pub(crate) use session::{Session, SessionError};
pub(crate) use start::{ProviderSource, StartError, start, unverified};
pub(crate) use unconfirmed::UnconfirmedCreations;

/// One process that serves engines.
#[derive(Debug)]
pub(crate) struct Daemon {
    /// Where sessions log before their engine has introduced itself.
    log: EngineLog,
    /// The version of this plugin as packages refer to it.
    plugin_version: semver::Version,
    /// The connections that are open.
    sessions: DashMap<u64, Weak<Session>>,
    next_session: AtomicU64,
    /// What the environment configures.
    settings: Arc<Settings>,
    /// What of it is not understood: then no call is served.
    invalid_settings: Option<InvalidSettings>,
    /// The provider of every session that has chosen none of its own.
    only_instance: OnceLock<Arc<Instance>>,
    /// The store of objects and the journal, opened when they are first needed.
    state_store: Result<Arc<LazyEncryptedStore>, PlaceError>,
    /// Whether the user was told what there is to know of how the store is kept.
    state_store_complained: AtomicBool,
    /// What failed deletions have left.
    failed_deletes: FailedDeletes,
    /// What was made by earlier processes that may not have told their engine.
    unconfirmed: UnconfirmedCreations,
    /// What providers have said of themselves before.
    schemas: Option<SchemaCache>,
    /// Whether somebody was told that nothing can be added to it.
    schemas_complained: AtomicBool,
    /// Everything that must be over before the process may end: changes under way, providers shutting down.
    tasks: TaskTracker,
}

impl Daemon {
    /// A daemon without sessions.
    pub(crate) fn new(
        log: EngineLog,
        plugin_version: semver::Version,
        configured: Result<Settings, InvalidSettings>,
    ) -> Arc<Self> {
        let (settings, invalid_settings) = match configured {
            Ok(settings) => (settings, None),
            Err(invalid) => (Settings::default(), Some(invalid)),
        };
        let state_store = home::state_store(&settings).map(Arc::new);
        Arc::new(Self {
            log,
            plugin_version,
            sessions: DashMap::new(),
            next_session: AtomicU64::new(0),
            only_instance: OnceLock::new(),
            failed_deletes: FailedDeletes::new(state_store.clone()),
            unconfirmed: UnconfirmedCreations::default(),
            state_store,
            state_store_complained: AtomicBool::new(false),
            schemas: home::schema_cache(&settings),
            settings: Arc::new(settings),
            invalid_settings,
            schemas_complained: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        })
    }

    /// Shows a warning that concerns no resource.
    pub(crate) fn warn(&self, message: String) {
        self.log.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
    }

    /// A session for a new connection.
    pub(crate) fn open_session(self: &Arc<Self>) -> Arc<Session> {
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(Session::new(Arc::clone(self), number));
        self.sessions.insert(number, Arc::downgrade(&session));
        session
    }

    /// A session's connection is gone.
    fn forget_session(&self, number: u64) {
        self.sessions.remove(&number);
    }

    /// Asks every call of every session to come to an end.
    pub(crate) async fn cancel(&self) {
        let mut asking = JoinSet::new();
        for session in self.open_sessions() {
            asking.spawn(async move { session.cancel().await });
        }
        // At once, because a provider may take its time to answer.
        asking.join_all().await;
    }

    /// Sees to it that whoever waits for a call is told what is known of it by now, and waits no longer.
    pub(crate) async fn break_off(&self) {
        if let Some(instance) = self.only_instance.get() {
            instance.calls.close();
        }
        for session in self.open_sessions() {
            session.break_off().await;
        }
    }

    /// Collected first: no entry of the table may be held while waiting.
    fn open_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.iter().filter_map(|entry| entry.value().upgrade()).collect()
    }

    /// What the environment configures.
    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// What of the environment is not understood.
    pub(crate) fn invalid_settings(&self) -> Option<&InvalidSettings> {
        self.invalid_settings.as_ref()
    }

    /// How long a call that was asked to end may take.
    pub(crate) fn stop_grace_period(&self) -> Duration {
        self.settings.stop_grace_period
    }

    /// The version of this plugin as packages refer to it.
    pub(crate) fn plugin_version(&self) -> &semver::Version {
        &self.plugin_version
    }

    /// Gives every session a provider from the start: a process that was started for one package has no other. Only the
    /// first call has an effect.
    pub(crate) fn serve_only(&self, instance: Arc<Instance>) {
        let _ = self.only_instance.set(instance);
    }

    /// The store of objects that an engine cannot hold itself.
    pub(crate) async fn state_store(&self) -> Result<&EncryptedStore, OpenStoreError> {
        let state_store = self.state_store.as_ref().map_err(PlaceError::clone)?.open().await?;
        if !self.state_store_complained.swap(true, Ordering::Relaxed) {
            for message in state_store.warnings() {
                self.log.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
            }
        }
        Ok(state_store)
    }

    /// What was made by earlier processes that may not have told their engine, as far as it was found.
    pub(crate) fn unconfirmed(&self) -> &UnconfirmedCreations {
        &self.unconfirmed
    }

    /// What failed deletions have left, which an engine cannot be told.
    pub(crate) fn failed_deletes(&self) -> &FailedDeletes {
        &self.failed_deletes
    }

    /// Whether a fault of the memory of schemas is to be told: each session would find the same one.
    fn complain_of_cache_once(&self) -> bool {
        !self.schemas_complained.swap(true, Ordering::Relaxed)
    }

    /// Waits until every change is finished and every provider has ended. New sessions must not come any more.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(instance) = self.only_instance.get() {
            instance.end(self.stop_grace_period()).await;
        }
        self.log.flush().await;
    }

    /// Runs what must not be broken off when the engine goes away: a change that a provider has begun goes to its end,
    /// whoever still listens.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.tasks.spawn(future)
    }
}
