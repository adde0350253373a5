//! A provider process together with the package that it is shown as.

use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use isthmus_cty::Value;
use isthmus_provider::{Diagnostic, Provider, ProviderError};
use tokio::sync::Mutex;

use super::autonames::Autonames;
use super::{CallSnapshot, Calls, Leases, Listings};
use crate::package::catalogue::Package;
use crate::resource::{OperationError, PlanMemory, WriteOnlyValues};
use crate::settings::{PROVIDER_META, Settings};

/// How long a provider may take to stop before it is asked again.
const STOP_AGAIN: Duration = Duration::from_secs(1);

/// A running provider, its package and its configuration.
#[derive(Debug)]
pub(crate) struct Instance {
    /// How Pulumi sees it.
    pub package: Arc<Package>,
    /// The process.
    pub provider: Provider,
    /// What it is busy with.
    pub calls: Calls,
    /// The resources whose names are not their programs' own.
    pub autonames: Autonames,
    /// Lists of which an engine has seen the beginning.
    pub listings: Listings,
    /// Values that the engine does not store, if it is not to.
    pub write_only: WriteOnlyValues,
    /// The ephemeral resources that are open.
    pub leases: Leases,
    /// What it has planned so far.
    pub plans: PlanMemory,
    settings: Arc<Settings>,
    /// The configuration that was applied.
    config: Mutex<Option<Value>>,
    /// The configuration that was judged last: what is known before one is applied.
    checked: StdMutex<Option<Value>>,
    /// The calls that were asked to come to an end last.
    asked: StdMutex<Option<CallSnapshot>>,
}

impl Instance {
    /// Puts a running provider and its package together.
    pub(crate) fn new(
        package: Arc<Package>,
        provider: Provider,
        calls: Calls,
        settings: Arc<Settings>,
    ) -> Self {
        Self {
            settings,
            package,
            provider,
            calls,
            autonames: Autonames::default(),
            listings: Listings::default(),
            write_only: WriteOnlyValues::default(),
            leases: Leases::default(),
            plans: PlanMemory::default(),
            config: Mutex::new(None),
            checked: StdMutex::default(),
            asked: StdMutex::default(),
        }
    }

    /// Configures the provider now, by a handle of it.
    pub(crate) async fn configure(
        &self,
        provider: &Provider,
        config: Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let mut slot = self.config.lock().await;
        self.apply(provider, &config, warnings).await?;
        *slot = Some(config);
        Ok(())
    }

    async fn apply(
        &self,
        provider: &Provider,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let provider_type = &self.package.identity().provider_type;
        if let Some(meta) = self.settings.provider_meta.of(provider_type) {
            provider.take_meta(meta, PROVIDER_META.name, provider_type, warnings)?;
        }
        provider.configure(config, warnings).await
    }

    /// The configuration that was applied, if any was.
    pub(crate) async fn configured(&self) -> Option<Value> {
        self.config.lock().await.clone()
    }

    /// Remembers a configuration that was judged.
    pub(crate) fn last_checked(&self, config: Value) {
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// The configuration as far as it is known: the one that was applied, or else judged last.
    pub(crate) async fn known_config(&self) -> Option<Value> {
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.configured().await.or_else(checked)
    }

    /// Checks that the provider is configured, before a call that needs it; waits for a Configure that is under way. An empty
    /// configuration would not do instead: the credentials of the environment may belong to another account.
    ///
    /// # Errors
    /// [`OperationError::NotConfigured`].
    pub(crate) async fn require_configured(&self) -> Result<(), OperationError> {
        match &*self.config.lock().await {
            Some(_) => Ok(()),
            None => Err(OperationError::NotConfigured { package: self.package.identity().name.clone() }),
        }
    }

    /// Notes that `calls` are asked to come to an end, and returns those that were asked the time before.
    pub(super) fn asked(&self, calls: &CallSnapshot) -> Option<CallSnapshot> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).replace(calls.clone())
    }

    /// Asks `calls` to come to an end, if they have not.
    pub(crate) async fn stop(&self, calls: &CallSnapshot) -> Result<(), ProviderError> {
        if calls.are_running() { self.provider.stop().await } else { Ok(()) }
    }

    /// Waits until `calls` have come to an end, and asks again for as long as they have not. Once is not enough: a provider
    /// stops what it is doing when it is asked, and a call whose request was just on its way begins afterwards.
    pub(crate) async fn stopped(&self, calls: &CallSnapshot) {
        while tokio::time::timeout(STOP_AGAIN, calls.ended()).await.is_err() {
            // Whether it hears that has no bearing on anything: the calls' own answers tell how they end.
            let _ = self.provider.stop().await;
        }
    }

    /// Ends the provider. Calls under way are asked to come to an end first, and are broken off where they have not after
    /// `grace`; what is open is closed after them.
    pub(crate) async fn end(&self, stop_grace_period: Duration) {
        let calls = self.calls.begun();
        self.listings.drop_all();
        let asked = async {
            // A provider that cannot be asked any more is ended all the same.
            let _ = self.stop(&calls).await;
            self.stopped(&calls).await;
        };
        if tokio::time::timeout(stop_grace_period, asked).await.is_err() {
            calls.break_off();
            // What hangs elsewhere than in the provider does not keep it either.
            let _ = tokio::time::timeout(stop_grace_period, calls.ended()).await;
        }
        // A provider that does not close what is open is ended all the same.
        let _ = tokio::time::timeout(stop_grace_period, self.leases.end()).await;
        self.provider.shutdown().await;
    }
}
