//! Limits of what peers may take of this process: connections, calls, and the memory of messages.
//!
//! They keep one peer from stopping all others, and are so wide that no engine meets them: engines make at most some thousand
//! calls at once, and wait where a connection takes no more.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isthmus_grpc::{Incoming, Load, LoadLimits, ServerSettings, serve_connection};
use isthmus_platform::process::open_files_limit;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};

/// Calls of an engine's connection at a time. An engine that has as many in progress waits with others, its Cancel included, so
/// there are more than engines are seen to make. Each takes some 7 KB.
const CALLS: u32 = 4096;

/// What a plugin has for itself on its connection to a daemon, besides all calls of its engine: the way to the engine's log.
const CALLS_OF_PLUGIN: u32 = 64;

/// Bytes of a request that are taken before it is read; HTTP/2's own default. Most requests of engines have some kilobytes.
const WINDOW: u32 = 64 * 1024;

/// For engines.
pub(super) const ENGINE: ServerSettings = ServerSettings { window: WINDOW, most_calls: CALLS };

/// For plugins.
pub(super) const PLUGIN: ServerSettings =
    ServerSettings { window: WINDOW, most_calls: CALLS + CALLS_OF_PLUGIN };

/// For all connections. The largest messages, of 400 MiB, have room beside each other on one of them, and one of them cannot take
/// all of the room. What an engine sends arrives at once. A long answer has an open file and half a MiB of buffers.
const LOAD: LoadLimits = LoadLimits {
    calls: 8192,
    messages: 2 << 30,
    messages_of_connection: 1 << 30,
    answers: 32,
    answers_of_connection: 4,
    patience: Duration::from_secs(10),
};

/// Descriptors that this process needs itself: files, databases, its own connections, those that have not identified themselves.
const OWN_DESCRIPTORS: u64 = 256;

/// Descriptors of a provider process: its output, its socket, its guardian.
const DESCRIPTORS_OF_PROVIDER: u64 = 8;

/// What is limited, for all connections of this process. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    load: Load,
    connections: Arc<Connections>,
}

/// The open connections.
#[derive(Debug)]
struct Connections {
    most: usize,
    /// In the order in which they were opened.
    open: Mutex<Vec<Open>>,
}

#[derive(Debug)]
struct Open {
    peer: Peer,
    has_answered: Arc<AtomicBool>,
    lost: CancellationToken,
}

/// What connections have in common that are opened by one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Address(IpAddr),
    /// The process that has opened a local socket.
    Process(Option<i32>),
}

/// The place of a connection, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    limits: Limits,
    has_answered: Arc<AtomicBool>,
    lost: CancellationToken,
}

impl Limits {
    /// For a process with so many provider processes. The rest of its descriptors is for connections, but never less than half.
    pub(super) fn new(providers: usize) -> Self {
        let descriptors = open_files_limit().soft.unwrap_or(u64::MAX);
        let providers = u64::try_from(providers).unwrap_or(u64::MAX);
        let reserve = providers.saturating_mul(DESCRIPTORS_OF_PROVIDER).saturating_add(OWN_DESCRIPTORS);
        let connections = descriptors.saturating_sub(reserve).max(descriptors / 2);
        Self::of(usize::try_from(connections).unwrap_or(usize::MAX))
    }

    fn of(most: usize) -> Self {
        let connections = Connections { most, open: Mutex::default() };
        Self { load: Load::new(LOAD), connections: Arc::new(connections) }
    }

    /// A place for a connection. If all are taken, another connection ends for it: one that nothing was answered on, or one of
    /// a peer that has more than this one. `None` if there is neither.
    pub(super) fn connection(&self, peer: Peer) -> Option<ConnectionPlace> {
        let mut open = self.connections.open();
        if open.len() >= self.connections.most {
            let index = superfluous(&open, peer)?;
            open.remove(index).lost.cancel();
        }
        let (has_answered, lost) = (Arc::<AtomicBool>::default(), CancellationToken::new());
        open.push(Open { peer, has_answered: Arc::clone(&has_answered), lost: lost.clone() });
        Some(ConnectionPlace { limits: self.clone(), has_answered, lost })
    }
}

/// Which connection ends for one of this peer.
fn superfluous(open: &[Open], newcomer: Peer) -> Option<usize> {
    let is_unanswered = |open: &Open| !open.has_answered.load(Ordering::Relaxed);
    let oldest = |of: &dyn Fn(&Open) -> bool| {
        let mut counts: HashMap<Peer, usize> = HashMap::new();
        for open in open.iter().filter(|open| of(open)) {
            *counts.entry(open.peer).or_default() += 1;
        }
        let most = *counts.values().max()?;
        let index = open.iter().position(|open| of(open) && counts.get(&open.peer) == Some(&most))?;
        Some((index, most, counts.get(&newcomer).copied().unwrap_or_default()))
    };
    if let Some((index, ..)) = oldest(&is_unanswered) {
        return Some(index);
    }
    oldest(&|_| true).filter(|(_, most, own)| *most > own + 1).map(|(index, ..)| index)
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPlace {
    /// Serves the calls of a connection in its place.
    pub(super) async fn serve<Answer>(
        &self,
        io: impl AsyncRead + AsyncWrite + Unpin,
        mut call: impl FnMut(Request<Incoming>) -> Answer,
        settings: ServerSettings,
        ended: &CancellationToken,
    ) where
        Answer: Future<Output = Response<Body>> + Send + 'static,
    {
        let call = |request: Request<Incoming>| {
            let (answer, has_answered) = (call(request), Arc::clone(&self.has_answered));
            async move {
                let answer = answer.await;
                has_answered.store(true, Ordering::Relaxed);
                answer
            }
        };
        tokio::select! {
            () = serve_connection(io, call, settings, &self.limits.load, ended) => {}
            () = self.lost.cancelled() => {}
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        // Marks it, so that it is found.
        self.lost.cancel();
        self.limits.connections.open().retain(|open| !open.lost.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEDY: Peer = Peer::Process(Some(1));
    const OTHER: Peer = Peer::Process(Some(2));

    /// Connections of the greedy peer, on all of which something was answered or not.
    fn taken(limits: &Limits, count: usize, has_answered: bool) -> Vec<ConnectionPlace> {
        let places = (0..count).map(|_| limits.connection(GREEDY).expect("there is room"));
        places.inspect(|place| place.has_answered.store(has_answered, Ordering::Relaxed)).collect()
    }

    fn lost(places: &[ConnectionPlace]) -> usize {
        places.iter().filter(|place| place.lost.is_cancelled()).count()
    }

    #[test]
    fn connections_without_an_answer_end_first() {
        let limits = Limits::of(4);
        let (used, unused) = (taken(&limits, 2, true), taken(&limits, 2, false));
        let _others: Vec<_> = (0..2).map(|_| limits.connection(OTHER).expect("there is room")).collect();
        assert_eq!((lost(&used), lost(&unused)), (0, 2));
    }

    #[test]
    fn a_peer_has_its_share_and_no_more() {
        let limits = Limits::of(4);
        let greedy = taken(&limits, 4, true);
        let mut others = Vec::new();
        while let Some(other) = limits.connection(OTHER) {
            other.has_answered.store(true, Ordering::Relaxed);
            others.push(other);
        }
        assert_eq!((lost(&greedy), others.len(), lost(&others)), (2, 2, 0));
        drop(greedy);
        assert!(limits.connection(OTHER).is_some());
    }
}
