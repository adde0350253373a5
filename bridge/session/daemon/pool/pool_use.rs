//! The use of a pool's process by a session, and the configuration that it has or gets.
//!
//! A session uses any process of its launch until it configures the provider. Then it takes one with the same configuration, waits
//! for one that is being configured so, claims one that no session has configured, or launches another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use isthmus_cty::Value;
use isthmus_provider::{Diagnostic, KnownSchema, Provider, SchemaUpdate};
use tokio::sync::watch;

use super::launcher::Launcher;
use super::{Pool, Process};
use crate::daemon::process_log::ProcessUser;
use crate::daemon::start::StartError;
use isthmus_context::settings::ProviderMeta;

/// A configuration of a provider: its arguments, and the metadata that goes with each call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) config: Value,
    pub(crate) meta: ProviderMeta,
}

impl Configuration {
    /// Whether sessions may share it: what is unknown may be different things.
    pub(super) fn is_shared(&self) -> bool {
        self.config.is_wholly_known()
    }
}

/// The use of a process by a session. The process is free for others when this is dropped.
#[derive(Debug)]
pub struct PoolUse {
    pool: Pool,
    process: Arc<Process>,
    provider: Provider,
    _user: Arc<ProcessUser>,
    launcher: Arc<Launcher>,
    is_released: AtomicBool,
}

/// The configuration of a process.
#[derive(Clone, Debug)]
pub(super) enum Configured {
    Not,
    Underway(Arc<Configuration>),
    At(Instant, Arc<Configuration>),
    /// It was refused: the process is retired.
    Failed,
}

/// A process with the wanted configuration that is not ready yet.
enum Launching {
    Planned(watch::Receiver<()>),
    Configuring(watch::Receiver<Configured>),
}

impl Launching {
    /// Waits until it is ready, or is not going to be. Errors mean that it is gone, which the next look shows.
    async fn ended(self) {
        match self {
            Self::Planned(mut planned) => drop(planned.changed().await),
            Self::Configuring(mut configuring) => {
                let ended = |configured: &Configured| !matches!(configured, Configured::Underway(_));
                drop(configuring.wait_for(ended).await);
            }
        }
    }
}

/// Where a session's configuration is to be applied.
#[derive(Debug)]
pub(crate) enum Placement {
    /// A process has it already.
    Configured(PoolUse),
    /// In this process, which no other session configures.
    Claimed(Claim),
    /// No process is free: a new one is needed. Others that want the same wait for it, until the sender is dropped.
    New(watch::Sender<()>),
}

impl Pool {
    /// The caller holds the lock of the state, so that a process is not ended meanwhile.
    pub(super) fn used(&self, process: &Arc<Process>, launcher: &Arc<Launcher>) -> PoolUse {
        process.sessions.fetch_add(1, Ordering::Relaxed);
        let user = launcher.user();
        let provider = user.handle(&process.provider);
        let user = process.log.add(user);
        let (process, launcher) = (Arc::clone(process), Arc::clone(launcher));
        let is_released = AtomicBool::new(false);
        PoolUse { pool: self.clone(), process, provider, _user: user, launcher, is_released }
    }
}

impl PoolUse {
    /// The session's handle of the process.
    pub(crate) fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Whether no other session uses the process.
    pub(crate) fn is_alone(&self) -> bool {
        self.process.sessions.load(Ordering::Relaxed) <= 1
    }

    /// Gives the process to no further session.
    pub(crate) fn retire(&self) {
        self.process.retire();
    }

    /// Finds the process for a configuration, which waits where one is being configured so.
    pub(crate) async fn place(&self, wanted: &Arc<Configuration>) -> Placement {
        loop {
            let launching = {
                let mut state = self.pool.state();
                let mut underway = None;
                let mut free = None;
                for process in state.processes.iter().filter(|process| process.key == self.process.key) {
                    if process.provider.has_refused_credentials() {
                        process.retire();
                    }
                    let configured = process.configured.borrow().clone();
                    match configured {
                        Configured::At(at, _) if at.elapsed() > self.pool.0.limits.age => process.retire(),
                        _ if !process.is_usable() => {}
                        Configured::At(_, known) if wanted.is_shared() && known == *wanted => {
                            return Placement::Configured(self.pool.used(process, &self.launcher));
                        }
                        Configured::Underway(known) if wanted.is_shared() && known == *wanted => {
                            underway = Some(process.configured.subscribe());
                        }
                        // The own one first: then no other has to change.
                        Configured::Not if Arc::ptr_eq(process, &self.process) => {
                            if wanted.is_shared() || self.is_alone() {
                                free = Some(Arc::clone(process));
                            }
                        }
                        Configured::Not if wanted.is_shared() && free.is_none() => {
                            free = Some(Arc::clone(process));
                        }
                        Configured::Not
                        | Configured::Underway(_)
                        | Configured::At(..)
                        | Configured::Failed => {}
                    }
                }
                match (underway, state.planned(&self.process.key, wanted), free) {
                    (Some(underway), _, _) => Launching::Configuring(underway),
                    (None, Some(planned), _) => Launching::Planned(planned),
                    (None, None, Some(process)) => {
                        let used = self.pool.used(&process, &self.launcher);
                        return Placement::Claimed(used.claim(wanted));
                    }
                    (None, None, None) => return Placement::New(state.plan(&self.process.key, wanted)),
                }
            };
            if let Launching::Planned(_) = launching {
                // So that the process that this session has can make room for the planned one.
                self.release();
            }
            launching.ended().await;
        }
    }

    /// Launches a planned process for a configuration. This one is not used meanwhile, so that it can make room.
    pub(crate) async fn launch_another(
        &self,
        planned: watch::Sender<()>,
        wanted: &Arc<Configuration>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Claim, Box<StartError>> {
        let (catalogue, asked) = (Arc::clone(self.provider.catalogue()), self.provider.schema_time());
        // The file may have been replaced.
        let program = self.launcher.key.program.clone();
        let known = if isthmus_common::blocking(move || program.is_unchanged()).await {
            KnownSchema::Confirmed(&catalogue, asked)
        } else {
            KnownSchema::Earlier(&catalogue)
        };
        self.release();
        let (used, update) = self.launcher.launch(known, warnings).await?;
        match update {
            SchemaUpdate::AsKnown => {
                let claim = used.claim(wanted);
                // Only now, so that those that wait find it.
                drop(planned);
                Ok(claim)
            }
            SchemaUpdate::New(_) | SchemaUpdate::Uncacheable => {
                used.retire();
                Err(Box::new(StartError::OtherSchema))
            }
        }
    }

    /// Says that the session does not use the process any more.
    pub(crate) fn release(&self) {
        if !self.is_released.swap(true, Ordering::Relaxed) {
            *self.process.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            self.process.sessions.fetch_sub(1, Ordering::Relaxed);
            self.pool.0.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }

    /// Claims a process that no session has configured, for a configuration.
    pub(crate) fn claim(self, wanted: &Arc<Configuration>) -> Claim {
        if !wanted.is_shared() {
            self.process.retire();
        }
        self.process.configured.send_replace(Configured::Underway(Arc::clone(wanted)));
        let process = Arc::clone(&self.process);
        Claim { used: self, outcome: Outcome { process, configured: Configured::Failed } }
    }
}

/// A process that is being configured. Without an outcome it is given to no other session.
#[derive(Debug)]
pub(crate) struct Claim {
    used: PoolUse,
    outcome: Outcome,
}

/// Tells those who wait for a configuration what became of it.
#[derive(Debug)]
struct Outcome {
    process: Arc<Process>,
    configured: Configured,
}

impl Claim {
    pub(crate) fn provider(&self) -> &Provider {
        self.used.provider()
    }

    /// The process is configured.
    pub(crate) fn succeeded(mut self) -> PoolUse {
        if let Configured::Underway(configuration) = &*self.used.process.configured.borrow() {
            self.outcome.configured = Configured::At(Instant::now(), Arc::clone(configuration));
        }
        self.used
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        let configured = std::mem::replace(&mut self.configured, Configured::Failed);
        if matches!(configured, Configured::Failed) {
            self.process.retire();
        }
        self.process.configured.send_replace(configured);
    }
}

impl Drop for PoolUse {
    fn drop(&mut self) {
        self.release();
    }
}
