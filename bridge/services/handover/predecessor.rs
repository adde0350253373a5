//! The daemon that is replaced.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::fail_point;
use isthmus_platform::local::{self, ListeningSocket};
use isthmus_platform::process::User;
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

/// How long the connection to the successor, which listens already, and the descriptors may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a daemon listens on, until it hands it over.
#[derive(Debug)]
pub struct Handover {
    held: Mutex<Held>,
    /// The process that has taken over, once there is one.
    successor: watch::Sender<Option<Successor>>,
    ending: CancellationToken,
}

#[derive(Debug)]
enum Held {
    Listening(ListeningSocket),
    /// The daemon ends, and accepts no connection any more.
    Ending {
        lock: Option<File>,
    },
    /// It is another process's, or may be.
    HandedOver,
}

/// The process that has taken over; not every system says which it is.
#[derive(Clone, Copy, Debug)]
pub struct Successor(pub Option<i32>);

/// Why a daemon was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// It is not the owner any more.
    #[error("this daemon accepts no connections any more")]
    NotListening,
    #[error("a daemon is replaced by processes of its own user (uid {own}) only, not by one of uid {user}")]
    OtherUser { user: User, own: User },
    #[error("a daemon is replaced by processes of its own machine only, by its socket")]
    Remote,
    #[error("failed to reach the successor of this daemon")]
    Unreachable(#[source] io::Error),
    #[error("the successor of this daemon did not take over")]
    NotTaken(#[source] io::Error),
}

impl Handover {
    /// The socket is listened on already, by another descriptor.
    pub fn new(socket: ListeningSocket) -> Self {
        Self {
            held: Mutex::new(Held::Listening(socket)),
            successor: watch::Sender::new(None),
            ending: CancellationToken::new(),
        }
    }

    /// Hands the socket over to the process that listens at `meeting` and that a process of this `user` asks for.
    pub(crate) async fn hand_over(&self, user: User, meeting: &Path) -> Result<(), HandoverError> {
        require_own(user)?;
        fail_point("handover-asked");
        // One successor at a time: the next one finds that there is one.
        let mut held = self.held.lock().await;
        let Held::Listening(socket) = &*held else { return Err(HandoverError::NotListening) };
        let offered = async {
            let stream = local::Stream::connect(meeting).await.map_err(HandoverError::Unreachable)?;
            let peer = local::peer(&stream).map_err(HandoverError::Unreachable)?;
            require_own(peer.user)?;
            fail_point("handover-met");
            socket.send(&stream).await.map_err(HandoverError::Unreachable)?;
            fail_point("handover-sent");
            Ok((stream, peer.process))
        };
        let offered = tokio::time::timeout(PATIENCE, offered).await;
        let (mut stream, process) =
            offered.unwrap_or_else(|_| Err(HandoverError::Unreachable(io::ErrorKind::TimedOut.into())))?;
        tokio::select! {
            biased;
            // However long that takes: a successor that has sent it is the owner, and one that dies is not.
            taken = stream.read_u8() => drop(taken.map_err(HandoverError::NotTaken)?),
            // It may still take over: what is left behind if it does not is removed by the next daemon.
            () = self.ending.cancelled() => {
                *held = Held::HandedOver;
                return Err(HandoverError::NotListening);
            }
        }
        fail_point("handover-taken");
        *held = Held::HandedOver;
        self.successor.send_replace(Some(Successor(process)));
        Ok(())
    }

    /// Waits for a successor.
    pub async fn handed_over(&self) -> Successor {
        let mut successor = self.successor.subscribe();
        loop {
            if let Some(successor) = *successor.borrow_and_update() {
                return successor;
            }
            // The sender is in this.
            drop(successor.changed().await);
        }
    }

    /// The daemon ends: nothing is handed over any more, and this descriptor does not listen any more.
    pub async fn end(&self) {
        self.ending.cancel();
        let mut held = self.held.lock().await;
        *held = match std::mem::replace(&mut *held, Held::HandedOver) {
            Held::Listening(ListeningSocket { lock, .. }) | Held::Ending { lock } => Held::Ending { lock },
            Held::HandedOver => Held::HandedOver,
        };
    }

    /// Whether the daemon has ended as the owner of the socket and its path, which nothing else listens on then.
    pub(crate) async fn has_ended_as_owner(&self) -> bool {
        matches!(&*self.held.lock().await, Held::Ending { lock: Some(_) })
    }

    /// The lock on the path of the socket, if the daemon has ended as its owner.
    pub async fn into_lock(self: Arc<Self>) -> Option<File> {
        match std::mem::replace(&mut *self.held.lock().await, Held::HandedOver) {
            Held::Listening(ListeningSocket { lock, .. }) | Held::Ending { lock } => lock,
            Held::HandedOver => None,
        }
    }
}

fn require_own(user: User) -> Result<(), HandoverError> {
    let own = User::current();
    if user == own { Ok(()) } else { Err(HandoverError::OtherUser { user, own }) }
}
