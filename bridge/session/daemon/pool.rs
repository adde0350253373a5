//! The provider processes that sessions share.
//!
//! A process is shared by sessions of the same user whose plugins have the same environment (but for the names that have no
//! meaning for a provider) and the same working directory, and that configure the provider alike. Until a session
//! configures its provider, any process of the same launch serves it, because validation needs no configuration.
//!
//! A process is not given to further sessions when its provider has complained of credentials, when it was configured too
//! long ago for them to be still valid, or when it uses too much memory; it ends with its last session. One that nothing
//! uses ends after a time. What a session asks to be logged in full has a process of its own, whose log is all its own.
//!
//! There is room for so many processes, those of one session included. Sessions that need one more wait in the order in which they
//! come: for a process that ends, that nothing uses, or whose sessions have made no call for a while, which start it again when
//! they make one.
//!
//! A plugin without a shared daemon has no pool: each of its sessions has its own process.

mod launcher;
mod pool_use;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use isthmus_provider::Provider;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::instance::OwnProcess;
use super::process_log::ProcessLog;
use super::weak_table::WeakTable;
use crate::authorization::Identity;
use crate::observe::ObservedProvider;
use isthmus_context::settings::PoolLimits;
pub(super) use launcher::{LaunchKey, Launcher};
use pool_use::Configured;
pub(crate) use pool_use::PoolUse;
pub(super) use pool_use::{Configuration, Placement};

/// The process of a session that makes no calls for so long is lent to one that waits for room. Short, so that a client that
/// makes a call now and then keeps no place for ever: starting the process again takes seconds.
const LENT_AFTER: Duration = Duration::from_secs(10);

/// How often processes that wait for their end are looked at, and the memory of all while one waits for room.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The processes of a daemon. Clones share them.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: PoolLimits,
    room: Arc<Semaphore>,
    state: Mutex<State>,
    /// What is locked during a launch: sessions that begin at once share one.
    launches: WeakTable<LaunchKey, tokio::sync::Mutex<()>>,
    /// Sessions that wait for room.
    waiting: watch::Sender<usize>,
    /// How often a process became free.
    changes: watch::Sender<u64>,
    /// The ends of processes that have begun.
    ends: TaskTracker,
    /// Whether a process ends as soon as nothing uses it.
    ends_idle: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    processes: Vec<Arc<Process>>,
    /// Processes of one session each, which take their places too.
    own: Vec<Weak<OwnProcess>>,
    /// Processes that are being launched for a configuration, which have no other yet.
    planned: Vec<Planned>,
}

/// A process that a session launches for its configuration.
#[derive(Debug)]
struct Planned {
    key: LaunchKey,
    configuration: Arc<Configuration>,
    /// Closed when the process is there, or was not started.
    launching: watch::Receiver<()>,
}

impl State {
    /// The launch of a process for this configuration, if one is under way.
    fn planned(&mut self, key: &LaunchKey, wanted: &Arc<Configuration>) -> Option<watch::Receiver<()>> {
        self.planned.retain(|planned| planned.launching.has_changed().is_ok());
        let found =
            self.planned.iter().find(|planned| planned.key == *key && planned.configuration == *wanted);
        found.map(|planned| planned.launching.clone())
    }

    /// Plans a process, which others wait for that want the same until the result is dropped.
    fn plan(&mut self, key: &LaunchKey, wanted: &Arc<Configuration>) -> watch::Sender<()> {
        let (sender, launching) = watch::channel(());
        if wanted.is_shared() {
            let (key, configuration) = (key.clone(), Arc::clone(wanted));
            self.planned.push(Planned { key, configuration, launching });
        }
        sender
    }
}

/// A session that waits for room, as long as this is held.
#[derive(Debug)]
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// A process of the pool.
#[derive(Debug)]
struct Process {
    /// A handle that belongs to no session.
    provider: Provider,
    observed: Option<Arc<ObservedProvider>>,
    key: LaunchKey,
    log: ProcessLog,
    configured: watch::Sender<Configured>,
    sessions: AtomicUsize,
    idle_since: Mutex<Instant>,
    /// It is given to no further session.
    is_retired: AtomicBool,
    /// Until it has ended.
    room: Mutex<Option<OwnedSemaphorePermit>>,
}

/// A process of the pool at some moment.
#[derive(Debug)]
pub(super) struct PooledProcess {
    pub(super) provider: Provider,
    pub(super) observed: Option<Arc<ObservedProvider>>,
    pub(super) identity: Identity,
    pub(super) sessions: usize,
    pub(super) in_flight: usize,
}

impl Process {
    fn is_usable(&self) -> bool {
        let provider = &self.provider;
        !self.is_retired.load(Ordering::Relaxed)
            && !provider.was_stopped()
            && provider.plugin().exit().is_none()
    }

    fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// Ends it, which makes room for another one.
    async fn end(&self) {
        self.provider.shutdown().await;
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether nothing uses it; nor does anything when it has ended by itself, which its sessions notice by their next calls.
    fn is_idle(&self) -> bool {
        self.sessions.load(Ordering::Relaxed) == 0 || self.provider.plugin().exit().is_some()
    }

    fn idle_for(&self) -> Duration {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Pool {
    pub fn new(limits: PoolLimits) -> Self {
        Self(Arc::new(Shared {
            limits,
            room: Arc::new(Semaphore::new(limits.processes)),
            state: Mutex::default(),
            launches: WeakTable::default(),
            waiting: watch::Sender::new(0),
            changes: watch::Sender::new(0),
            ends: TaskTracker::new(),
            ends_idle: AtomicBool::new(false),
        }))
    }

    /// A process of a launch, if one runs.
    fn find(&self, launcher: &Arc<Launcher>) -> Option<PoolUse> {
        let state = self.state();
        let found = state.processes.iter().find(|process| process.key == launcher.key && process.is_usable());
        found.map(|process| self.used(process, launcher))
    }

    /// Room for one more process. Processes that nothing uses make room; otherwise this waits for one, in the order of the
    /// calls. `warn` is called once if it does.
    pub(super) async fn room(&self, warn: impl FnOnce(String)) -> OwnedSemaphorePermit {
        let (mut warn, mut waiting) = (Some(warn), None);
        let mut waits = |reason: String| {
            waiting.get_or_insert_with(|| Waiting::new(&self.0.waiting));
            if let Some(warn) = warn.take() {
                warn(reason);
            }
        };
        let permit = self.permit(&mut waits).await;
        while !self.has_memory().await {
            if !self.end_longest_idle().await {
                waits(
                    "the provider processes of this daemon use all of its memory; waiting for one to end"
                        .to_owned(),
                );
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        permit
    }

    async fn permit(&self, waits: &mut impl FnMut(String)) -> OwnedSemaphorePermit {
        let mut changes = self.0.changes.subscribe();
        // One place in the queue, whatever comes free meanwhile.
        let mut permit = pin!(Arc::clone(&self.0.room).acquire_owned());
        loop {
            changes.borrow_and_update();
            tokio::select! {
                biased;
                permit = &mut permit => return permit.expect("the semaphore is never closed"),
                () = std::future::ready(()) => {}
            }
            if self.end_longest_idle().await {
                continue;
            }
            let most = self.0.limits.processes;
            waits(format!(
                "all provider processes of this daemon are in use (at most {most}); waiting for one"
            ));
            tokio::select! {
                permit = &mut permit => return permit.expect("the semaphore is never closed"),
                // The sender is in this. Nothing tells of a process that has ended by itself.
                _ = tokio::time::timeout(LOOK_AGAIN, changes.changed()) => {}
            }
        }
    }

    /// A process that was launched in this room for one session.
    pub(super) fn own(&self, provider: Provider, room: OwnedSemaphorePermit) -> Arc<OwnProcess> {
        let process = OwnProcess::placed(provider, Some(room));
        let mut state = self.state();
        state.own.retain(|process| process.strong_count() > 0);
        state.own.push(Arc::downgrade(&process));
        process
    }

    /// Whether a further process may be started. The first one always may.
    async fn has_memory(&self) -> bool {
        let Some(most) = self.0.limits.memory else { return true };
        let providers: Vec<_> = {
            let state = self.state();
            let own = state.own.iter().filter_map(Weak::upgrade).map(|process| process.provider().clone());
            state.processes.iter().map(|process| process.provider.clone()).chain(own).collect()
        };
        if providers.is_empty() {
            return true;
        }
        let used =
            move || providers.iter().filter_map(|provider| provider.plugin().resident_memory()).sum::<u64>();
        isthmus_common::blocking(used).await < most
    }

    async fn end_longest_idle(&self) -> bool {
        let longest = {
            let mut state = self.state();
            let idle = state.processes.iter().enumerate().filter(|(_, process)| process.is_idle());
            let longest = idle.max_by_key(|(_, process)| process.idle_for()).map(|(at, _)| at);
            longest.map(|at| state.processes.remove(at))
        };
        match longest {
            Some(process) => {
                self.end_all(vec![process]).await;
                true
            }
            None => false,
        }
    }

    /// Adds a process that was launched in this room, and uses it.
    fn add(
        &self,
        launcher: &Arc<Launcher>,
        provider: Provider,
        log: ProcessLog,
        room: OwnedSemaphorePermit,
    ) -> PoolUse {
        let process = Arc::new(Process {
            provider,
            observed: launcher.calls.observed().cloned(),
            key: launcher.key.clone(),
            log,
            configured: watch::Sender::new(Configured::Not),
            sessions: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            is_retired: AtomicBool::new(false),
            room: Mutex::new(Some(room)),
        });
        let mut state = self.state();
        state.processes.push(Arc::clone(&process));
        self.used(&process, launcher)
    }

    /// Ends processes as soon as nothing uses them, from now on: no session will want them any more.
    pub fn end_idle(&self) {
        self.0.ends_idle.store(true, Ordering::Relaxed);
        self.0.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// How many sessions wait for room.
    pub(super) fn waiting(&self) -> usize {
        *self.0.waiting.borrow()
    }

    /// Waits until some wait for room, and returns how many.
    pub(super) async fn has_waiting(&self) -> usize {
        let mut waiting = self.0.waiting.subscribe();
        // The sender is in this.
        waiting.wait_for(|waiting| *waiting > 0).await.map_or(0, |waiting| *waiting)
    }

    /// How long a session may leave the process unused that it has, while others wait for room.
    pub(super) fn lent_after(&self) -> Duration {
        self.0.limits.idle.min(LENT_AFTER)
    }

    /// The processes, as others see them.
    pub(super) fn views(&self) -> Vec<PooledProcess> {
        let state = self.state();
        let view = |process: &Arc<Process>| PooledProcess {
            provider: process.provider.clone(),
            observed: process.observed.clone(),
            identity: process.key.identity.clone(),
            sessions: process.sessions.load(Ordering::Relaxed),
            in_flight: process.log.in_flight(),
        };
        state.processes.iter().map(view).collect()
    }

    /// Ends processes that nothing uses, for ever.
    pub async fn collect(&self) -> std::convert::Infallible {
        let mut changes = self.0.changes.subscribe();
        loop {
            changes.borrow_and_update();
            let (ended, next) = self.take_ended();
            self.end_all(ended).await;
            // The sender is in this.
            let changed = async { drop(changes.changed().await) };
            match next {
                Some(wait) => drop(tokio::time::timeout(wait, changed).await),
                None => changed.await,
            }
        }
    }

    /// The processes whose time has come, and when it comes for the next one.
    fn take_ended(&self) -> (Vec<Arc<Process>>, Option<Duration>) {
        let mut state = self.state();
        let (mut ended, mut next) = (Vec::new(), None::<Duration>);
        let idle = if self.0.ends_idle.load(Ordering::Relaxed) { Duration::ZERO } else { self.0.limits.idle };
        state.processes.retain(|process| {
            if !process.is_idle() {
                return true;
            }
            let left = idle.saturating_sub(process.idle_for());
            if left.is_zero() || !process.is_usable() {
                ended.push(Arc::clone(process));
                return false;
            }
            next = Some(next.map_or(left, |next| next.min(left)));
            true
        });
        (ended, next)
    }

    /// Ends all processes. Their calls have ended.
    pub async fn end(&self) {
        let processes = std::mem::take(&mut self.state().processes);
        self.end_all(processes).await;
        // Those whose end was begun by what was not waited for to the end.
        self.0.ends.close();
        self.0.ends.wait().await;
    }

    /// Ends processes, all at once: each may take seconds. What is begun goes on if this is dropped.
    async fn end_all(&self, processes: Vec<Arc<Process>>) {
        let ends: Vec<_> = processes
            .into_iter()
            .map(|process| self.0.ends.spawn(async move { process.end().await }))
            .collect();
        for end in ends {
            // A panic there must not keep the others from ending.
            drop(end.await);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
