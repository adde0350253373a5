//! A provider process together with its package.
//!
//! What a session remembers besides, such as the names that were generated, is passed on to the
//! process that replaces one that has ended; what belongs to the process ends with it.

use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};
use std::time::Duration;

use isthmus_cty::Value;
use isthmus_provider::plugin::Exit;
use isthmus_provider::{Diagnostic, Provider, ProviderError};
use tokio::sync::{Mutex, OwnedSemaphorePermit};

use super::autonames::Autonames;
use super::pool::{Configuration, Placement, PoolUse};
use super::{CallSnapshot, Calls, Leases, Listings, ProviderSource, StartError};
use isthmus_context::settings::{PROVIDER_META, Settings};
use isthmus_operations::resource::{OperationError, PlanMemory, WriteOnlyValues};
use isthmus_package::catalogue::Package;

/// Pause before StopProvider is repeated.
const STOP_AGAIN: Duration = Duration::from_secs(1);

/// The process of a provider.
#[derive(Clone, Debug)]
pub enum ProviderProcess {
    /// Of one session.
    Own(Arc<OwnProcess>),
    /// Of the pool.
    Shared(Arc<PoolUse>),
}

/// A process that only one session uses. In a shared daemon it takes a place among the others all the same.
#[derive(Debug)]
pub struct OwnProcess {
    provider: Provider,
    /// Its place in a shared daemon, until it has ended.
    room: StdMutex<Option<OwnedSemaphorePermit>>,
}

impl OwnProcess {
    pub(super) fn placed(provider: Provider, room: Option<OwnedSemaphorePermit>) -> Arc<Self> {
        Arc::new(Self { provider, room: StdMutex::new(room) })
    }

    pub(super) fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Ends it, which makes room for another one.
    async fn end(&self) {
        self.provider.shutdown().await;
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A provider is not configured.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The process for this configuration does not start.
    #[error(transparent)]
    Start(#[from] Box<StartError>),
}

impl ProviderProcess {
    pub(super) fn provider(&self) -> &Provider {
        match self {
            Self::Own(own) => own.provider(),
            Self::Shared(used) => used.provider(),
        }
    }

    /// Ends the process, unless other sessions use it; no further one will. The session does not use it any more, so that it
    /// makes room for the one that replaces it.
    pub(super) async fn give_up(&self) {
        if let Self::Shared(used) = self {
            used.retire();
        }
        self.release().await;
    }

    /// The same, but further sessions may use the process.
    pub(super) async fn release(&self) {
        match self {
            Self::Own(own) => own.end().await,
            Self::Shared(used) => used.release(),
        }
    }
}

/// A running provider, its package and its configuration.
#[derive(Debug)]
pub struct Instance {
    pub package: Arc<Package>,
    process: RwLock<ProviderProcess>,
    /// The calls in progress.
    pub calls: Calls,
    /// The resources with generated names.
    pub autonames: Arc<Autonames>,
    /// Paused list streams.
    pub listings: Listings,
    /// Write-only values, if the engine is not to store them.
    pub write_only: Arc<WriteOnlyValues>,
    /// The open ephemeral resources.
    pub leases: Leases,
    /// Earlier plans.
    pub plans: Arc<PlanMemory>,
    source: ProviderSource,
    settings: Arc<Settings>,
    /// How the process ended that this one replaces, if it ended by itself.
    predecessor: Option<Exit>,
    /// The configuration that was applied.
    config: Mutex<Option<Value>>,
    /// The configuration that was checked last, used before one is applied.
    checked: Arc<StdMutex<Option<Value>>>,
    /// The calls that were stopped last.
    stopping: StdMutex<Option<CallSnapshot>>,
}

impl Instance {
    pub fn new(
        package: Arc<Package>,
        process: ProviderProcess,
        source: ProviderSource,
        calls: Calls,
        settings: Arc<Settings>,
    ) -> Self {
        Self {
            source,
            settings,
            predecessor: None,
            package,
            process: RwLock::new(process),
            calls,
            autonames: Arc::default(),
            listings: Listings::default(),
            write_only: Arc::default(),
            leases: Leases::default(),
            plans: Arc::default(),
            config: Mutex::new(None),
            checked: Arc::default(),
            stopping: StdMutex::default(),
        }
    }

    /// This with another process of the same program, which is configured as this one was.
    ///
    /// # Errors
    /// When the new process refuses the configuration, or ends.
    pub(super) async fn replaced_by(
        &self,
        process: ProviderProcess,
        predecessor: Option<Exit>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Self, ConfigureError> {
        let replacement = Self {
            autonames: Arc::clone(&self.autonames),
            write_only: Arc::clone(&self.write_only),
            plans: Arc::clone(&self.plans),
            checked: Arc::clone(&self.checked),
            predecessor,
            ..Self::new(
                Arc::clone(&self.package),
                process,
                self.source.clone(),
                self.calls.clone(),
                Arc::clone(&self.settings),
            )
        };
        if let Some(config) = self.configured().await {
            replacement.configure(&replacement.provider(), config, warnings).await?;
        }
        Ok(replacement)
    }

    /// A handle of the provider.
    pub fn provider(&self) -> Provider {
        self.process().provider().clone()
    }

    /// The process, if it is of this session alone.
    pub(super) fn own_process(&self) -> Option<Provider> {
        match self.process() {
            ProviderProcess::Own(own) => Some(own.provider().clone()),
            ProviderProcess::Shared(_) => None,
        }
    }

    fn process(&self) -> ProviderProcess {
        self.process.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives the process up: it ends, unless other sessions use it.
    pub(super) async fn give_up_process(&self) {
        self.process().give_up().await;
    }

    /// Lets others have the process, or its place if it is of this session alone.
    pub(super) async fn release_process(&self) {
        self.process().release().await;
    }

    /// Whether something is open in the process between two calls, which would end with it.
    pub(super) fn is_in_use(&self) -> bool {
        self.leases.are_open() || self.listings.are_paused()
    }

    pub(super) fn source(&self) -> &ProviderSource {
        &self.source
    }

    /// How the process ended that this one replaces, if it ended by itself.
    pub(super) fn predecessor(&self) -> Option<&Exit> {
        self.predecessor.as_ref()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Configures the provider now, by a handle of it.
    pub async fn configure(
        &self,
        provider: &Provider,
        config: Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ConfigureError> {
        let mut slot = self.config.lock().await;
        match self.process() {
            ProviderProcess::Own(_) => self.apply(provider, &config, warnings).await?,
            ProviderProcess::Shared(used) => {
                let used = self.configured_process(&used, provider, &config, warnings).await?;
                *self.process.write().unwrap_or_else(PoisonError::into_inner) =
                    ProviderProcess::Shared(Arc::new(used));
            }
        }
        *slot = Some(config);
        Ok(())
    }

    /// A process of the pool with this configuration.
    async fn configured_process(
        &self,
        used: &PoolUse,
        provider: &Provider,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<PoolUse, ConfigureError> {
        let configuration =
            Configuration { config: config.clone(), meta: self.settings.provider_meta.clone() };
        let configuration = Arc::new(configuration);
        // Another session may be configuring a process for as long as it likes.
        let claim = match provider.waits_for(used.place(&configuration)).await? {
            Placement::Configured(used) => return Ok(used),
            Placement::Claimed(claim) => claim,
            Placement::New(planned) => used.launch_another(planned, &configuration, warnings).await?,
        };
        self.apply(&claim.provider().within(provider.limit()), config, warnings).await?;
        Ok(claim.succeeded())
    }

    async fn apply(
        &self,
        provider: &Provider,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let identity = self.package.identity();
        let meta = self.settings.provider_meta.of(&identity.provider_address(), &identity.provider_type);
        if let Some((name, meta)) = meta {
            provider.take_meta(meta, PROVIDER_META.name, name, warnings)?;
        }
        provider.configure(config, warnings).await
    }

    /// The configuration that was applied, if any.
    pub async fn configured(&self) -> Option<Value> {
        self.config.lock().await.clone()
    }

    /// Records a configuration that was checked.
    pub fn last_checked(&self, config: Value) {
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// The configuration that was applied, or else checked last.
    pub async fn known_config(&self) -> Option<Value> {
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.configured().await.or_else(checked)
    }

    /// Checks that the provider is configured, before a call that needs it; waits for a Configure
    /// in progress. An empty configuration is no substitute: the credentials of the environment may
    /// belong to another account.
    ///
    /// # Errors
    /// [`OperationError::NotConfigured`].
    pub async fn require_configured(&self) -> Result<(), OperationError> {
        match &*self.config.lock().await {
            Some(_) => Ok(()),
            None => Err(OperationError::NotConfigured { package: self.package.identity().name.clone() }),
        }
    }

    /// Records that `calls` are stopped, and returns those of the previous time.
    pub(super) fn replace_stopping(&self, calls: &CallSnapshot) -> Option<CallSnapshot> {
        self.stopping.lock().unwrap_or_else(PoisonError::into_inner).replace(calls.clone())
    }

    /// Stops `calls` if any is in progress.
    pub async fn stop(&self, calls: &CallSnapshot) -> Result<(), ProviderError> {
        if calls.are_running() { self.stop_provider().await } else { Ok(()) }
    }

    /// Sends StopProvider, which stops all calls of a process: only where no other session uses it.
    async fn stop_provider(&self) -> Result<(), ProviderError> {
        match self.process() {
            ProviderProcess::Shared(used) if !used.is_alone() => Ok(()),
            process => process.provider().stop().await,
        }
    }

    /// Waits until `calls` have ended, and repeats StopProvider until then: it does not affect a
    /// call whose request arrives after it.
    pub async fn stopped(&self, calls: &CallSnapshot) {
        while tokio::time::timeout(STOP_AGAIN, calls.ended()).await.is_err() {
            // Its result does not matter: the calls' own results show how they end.
            let _ = self.stop_provider().await;
        }
    }

    /// Ends the provider. Calls in progress are stopped first and interrupted after
    /// `stop_grace_period`; leases are closed after them.
    pub async fn end(&self, stop_grace_period: Duration) {
        let calls = self.calls.snapshot();
        self.listings.drop_all();
        let stopping = async {
            // A provider that does not answer is ended too.
            let _ = self.stop(&calls).await;
            self.stopped(&calls).await;
        };
        if tokio::time::timeout(stop_grace_period, stopping).await.is_err() {
            calls.interrupt();
            // Bounds the wait for calls that block outside the provider.
            let _ = tokio::time::timeout(stop_grace_period, calls.ended()).await;
        }
        // A provider that does not close its leases is ended too.
        let _ = tokio::time::timeout(stop_grace_period, self.leases.end()).await;
        // One of the pool is free for others when this is dropped.
        if let ProviderProcess::Own(own) = self.process() {
            own.end().await;
        }
    }
}
