//! The open sessions of a daemon.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dashmap::DashMap;
use tokio::task::JoinSet;

use super::provider_slot::ProviderSlot;
use super::session::ClientSide;
use super::{Daemon, Pool, Session};

/// Parts of the map, each with a lock. By default they are four for each processor, whose number is read from files.
const SHARDS: usize = 4;

/// How often it is looked at which sessions make no calls, while others wait for room.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Sessions {
    daemon: Arc<Daemon>,
    /// The provider of every session without one of its own.
    only_provider: Option<Arc<ProviderSlot>>,
    open: DashMap<u64, Weak<Session>>,
    next: AtomicU64,
}

/// Closes a session when its connection is dropped.
#[derive(Debug)]
pub struct SessionGuard {
    sessions: Arc<Sessions>,
    number: u64,
    session: Arc<Session>,
}

impl Sessions {
    pub fn new(daemon: Arc<Daemon>) -> Arc<Self> {
        let only_provider = daemon.take_only().map(|instance| Arc::new(ProviderSlot::running(instance)));
        Arc::new(Self {
            daemon,
            only_provider,
            open: DashMap::with_shard_amount(SHARDS),
            next: AtomicU64::new(0),
        })
    }

    pub fn daemon(&self) -> &Arc<Daemon> {
        &self.daemon
    }

    /// Opens a session for a new connection: of an engine whose plugin this process is, or of another one.
    pub fn open(self: &Arc<Self>, client: Option<ClientSide>) -> SessionGuard {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (daemon, only_provider) = (Arc::clone(&self.daemon), self.only_provider.clone());
        let session = Arc::new(Session::new(daemon, only_provider, client, number));
        self.daemon.operations().session_began(session.caller());
        self.open.insert(number, Arc::downgrade(&session));
        SessionGuard { sessions: Arc::clone(self), number, session }
    }

    /// Stops the calls of all sessions.
    pub async fn cancel(&self) {
        let mut cancellations = JoinSet::new();
        for session in self.all() {
            cancellations.spawn(async move { session.cancel().await });
        }
        // Concurrently, because a provider may take long to answer.
        cancellations.join_all().await;
    }

    /// Interrupts all calls: each returns what is known of its outcome.
    pub async fn interrupt(&self) {
        if let Some(provider) = &self.only_provider {
            provider.close();
        }
        for session in self.all() {
            session.interrupt().await;
        }
    }

    /// Waits until every change has completed and every provider has ended. No session is opened
    /// any more.
    pub async fn finish(&self) {
        // Also stops calls whose connection, and so whose session, is gone: their changes end with them.
        if let Some(provider) = &self.only_provider {
            provider.end(self.daemon.stop_grace_period()).await;
        }
        self.daemon.changes_end().await;
        self.daemon.finish().await;
    }

    /// Lends the processes of sessions that make no calls to those that wait for room, for ever.
    pub async fn lend(&self, pool: &Pool) -> Infallible {
        loop {
            let waiting = pool.has_waiting().await;
            let mut unused = Vec::new();
            for session in self.all() {
                if let Some(slot) = session.provider_slot()
                    && let Some(unused_for) = slot.unused_for()
                {
                    unused.push((unused_for, slot));
                }
            }
            unused.sort_by_key(|(unused_for, _)| Reverse(*unused_for));
            for (_, slot) in unused.into_iter().take(waiting) {
                slot.lend(pool.lent_after()).await;
            }
            // Nothing tells that a session has made no call.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The open sessions.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// Collected first: no entry of the table may be held across an await.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.open.iter().filter_map(|entry| entry.value().upgrade()).collect()
    }
}

impl SessionGuard {
    pub fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.sessions.open.remove(&self.number);
        self.session.disconnected();
    }
}
