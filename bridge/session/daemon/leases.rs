//! Open ephemeral resources.
//!
//! A program uses what it opened until its run ends, and nothing signals the last use. So a task
//! per lease renews it ahead of the time that the provider sets, and closes it once: when the
//! engine cancels (which it does at the end of every run), or when the session ends. Only that task
//! has the provider's private bytes, so that renewal and close never overlap.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use isthmus_provider::{Diagnostic, Lease, Provider, ProviderError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Calls;
use crate::engine::EngineLog;

/// How many may be open at a time in one provider process. Each costs a task here and resources at
/// the provider; a program that opens more does so in an endless loop.
pub const MOST_LEASES: usize = 500;

/// The fraction of the time until a renewal is due by which it is made early.
const EARLY: u32 = 5;

/// Upper bound of that margin.
const EARLY_AT_MOST: Duration = Duration::from_secs(60);

/// Shortest time between two renewals.
const LEAST_PAUSE: Duration = Duration::from_millis(250);

/// How often the wall clock is read: it may be set, and runs on while the machine sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Time for a renewal in progress at close, and for the close itself. The engine waits five seconds
/// for a plugin that it ends.
const LAST_CALL: Duration = Duration::from_secs(10);

/// The open ephemeral resources of one provider process.
#[derive(Debug)]
pub struct Leases {
    room: Arc<Semaphore>,
    /// Cancels all, later ones included.
    over: CancellationToken,
    /// Cancels the current ones.
    run: Mutex<CancellationToken>,
    tasks: TaskTracker,
}

/// Capacity for one more.
#[derive(Debug)]
pub struct Room {
    run: CancellationToken,
    permit: OwnedSemaphorePermit,
    tasks: TaskTracker,
    tracked: TaskTrackerToken,
}

/// The limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The ephemeral resources that were open, or being opened, at some moment. They stay open until
/// this is closed.
#[derive(Debug)]
#[must_use]
pub(crate) struct LeaseSnapshot(CancellationToken);

impl Default for Leases {
    fn default() -> Self {
        let over = CancellationToken::new();
        Self {
            room: Arc::new(Semaphore::new(MOST_LEASES)),
            run: Mutex::new(over.child_token()),
            over,
            tasks: TaskTracker::new(),
        }
    }
}

impl Leases {
    /// Reserves capacity for one that is about to be opened. It belongs to the current run, even if
    /// it is opened later.
    pub fn room(&self) -> Result<Room, NoRoom> {
        let permit = Arc::clone(&self.room).try_acquire_owned().map_err(|_| NoRoom)?;
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Room { run, permit, tasks: self.tasks.clone(), tracked: self.tasks.token() })
    }

    /// Whether any is open or being opened.
    pub(crate) fn are_open(&self) -> bool {
        self.room.available_permits() < MOST_LEASES
    }

    /// The open ones. Later ones belong to the next run.
    pub(crate) fn until_now(&self) -> LeaseSnapshot {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        LeaseSnapshot(std::mem::replace(&mut *run, self.over.child_token()))
    }

    /// Closes all, including those being opened, and waits until that is done.
    pub async fn end(&self) {
        self.over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl LeaseSnapshot {
    /// Starts closing them.
    pub(crate) fn close(self) {
        self.0.cancel();
    }
}

impl Room {
    /// Holds a lease of `provider` until its run ends; renewals are among its `calls`. `token` names it in messages, which go
    /// to `log`.
    pub fn keep(self, provider: Provider, calls: Calls, lease: Lease, token: &str, log: EngineLog) {
        let Self { run, permit, tasks, tracked } = self;
        let keeper = LeaseKeeper { provider, calls, token: token.to_owned(), log, run, _room: permit };
        tasks.spawn(async move {
            keeper.keep(lease).await;
            drop(tracked);
        });
    }
}

struct LeaseKeeper {
    provider: Provider,
    calls: Calls,
    token: String,
    log: EngineLog,
    run: CancellationToken,
    _room: OwnedSemaphorePermit,
}

impl LeaseKeeper {
    async fn keep(self, mut lease: Lease) {
        let mut renewal = Renewal::of(&lease);
        loop {
            tokio::select! {
                // Nothing is left to close.
                biased;
                exit = self.provider.plugin().exited() => {
                    return self.warn(format!("is lost, because its provider ended: {exit}"));
                }
                () = self.run.cancelled() => break,
                () = renewal.due() => match self.renew(&mut lease).await {
                    Renewed::Yes => renewal = Renewal::of(&lease),
                    // It is probably lost, but the provider may have something to clean up.
                    Renewed::No => renewal = Renewal::NEVER,
                    Renewed::Gone => return,
                }
            }
        }
        self.close(lease).await;
    }

    async fn renew(&self, lease: &mut Lease) -> Renewed {
        let _call = self.calls.begin_internal();
        let mut warnings = Vec::new();
        let too_late = async {
            self.run.cancelled().await;
            tokio::time::sleep(LAST_CALL).await;
        };
        let outcome = tokio::select! {
            outcome = self.provider.renew_ephemeral_resource(lease, &mut warnings) => outcome,
            // The outcome is unknown; the lease is closed with its previous private bytes.
            () = too_late => return Renewed::No,
        };
        self.warn_of_all(&warnings);
        match outcome {
            Ok(()) => Renewed::Yes,
            Err(error) => {
                let text = isthmus_common::error_chain(&error);
                self.warn(format!("could not be renewed, so its values may not be valid any more: {text}"));
                if matches!(error, ProviderError::Gone { .. }) { Renewed::Gone } else { Renewed::No }
            }
        }
    }

    async fn close(&self, lease: Lease) {
        let _call = self.calls.begin_internal();
        let mut warnings = Vec::new();
        let closing = self.provider.close_ephemeral_resource(lease, &mut warnings);
        let trouble = match tokio::time::timeout(LAST_CALL, closing).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(isthmus_common::error_chain(&error)),
            Err(_) => Some(format!("the provider did not answer for {} seconds", LAST_CALL.as_secs())),
        };
        self.warn_of_all(&warnings);
        if let Some(trouble) = trouble {
            self.warn(format!("could not be closed, so it lasts until it expires by itself: {trouble}"));
        }
    }

    fn warn_of_all(&self, warnings: &[Diagnostic]) {
        for warning in warnings {
            self.warn(warning.to_string());
        }
    }

    /// Starts with the token, because there may be several leases.
    fn warn(&self, what: String) {
        let message = format!("{} {what}", self.token);
        self.log.warn(message);
    }
}

enum Renewed {
    Yes,
    No,
    /// The provider process has ended.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Renewal {
    at: Option<SystemTime>,
    not_before: Option<Instant>,
}

impl Renewal {
    const NEVER: Self = Self { at: None, not_before: None };

    /// For a lease that was opened or renewed just now.
    fn of(lease: &Lease) -> Self {
        let now = SystemTime::now();
        let at = lease.renew_at().map(|wanted| early(now, wanted));
        Self { at, not_before: Some(Instant::now() + LEAST_PAUSE) }
    }

    async fn due(self) {
        let Some(at) = self.at else { return std::future::pending().await };
        if let Some(not_before) = self.not_before {
            tokio::time::sleep_until(not_before).await;
        }
        while let Ok(left) = at.duration_since(SystemTime::now())
            && !left.is_zero()
        {
            tokio::time::sleep(left.min(LOOK_AGAIN)).await;
        }
    }
}

/// When to make a renewal that is due at `wanted`.
fn early(now: SystemTime, wanted: SystemTime) -> SystemTime {
    let left = wanted.duration_since(now).unwrap_or_default();
    now + (left - (left / EARLY).min(EARLY_AT_MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewal_comes_before_it_is_wanted() {
        let now = SystemTime::now();
        for (wanted, expected) in [(0, 0), (10, 8), (300, 240), (3600, 3540)] {
            let [wanted, expected] = [wanted, expected].map(|seconds| now + Duration::from_secs(seconds));
            assert_eq!(early(now, wanted), expected);
        }
        assert_eq!(early(now, now - Duration::from_secs(60)), now, "what is overdue is renewed now");
    }

    #[tokio::test]
    async fn a_provider_that_wants_renewals_all_the_time_is_not_asked_all_the_time() {
        let start = Instant::now();
        let not_before = Some(start + LEAST_PAUSE);
        Renewal { at: Some(SystemTime::UNIX_EPOCH), not_before }.due().await;
        assert!(start.elapsed() >= LEAST_PAUSE);
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let leases = Leases::default();
        let rooms: Vec<_> = (0..MOST_LEASES).map(|_| leases.room().expect("there is room")).collect();
        assert_eq!(leases.room().err(), Some(NoRoom));
        drop(rooms);
        assert!(leases.room().is_ok());
    }

    #[tokio::test]
    async fn the_end_waits_for_what_is_being_opened() {
        let leases = Arc::new(Leases::default());
        let room = leases.room().expect("there is room");
        let ending = tokio::spawn({
            let leases = Arc::clone(&leases);
            async move { leases.end().await }
        });
        room.run.cancelled().await;
        assert!(!ending.is_finished());
        drop(room);
        ending.await.expect("it ends");
    }

    #[test]
    fn what_is_opened_later_does_not_belong_to_what_was_open() {
        let leases = Leases::default();
        let [first, second] = [leases.room(), leases.room()].map(|room| room.expect("there is room"));
        let open = leases.until_now();
        let third = leases.room().expect("there is room");
        open.close();
        assert!(first.run.is_cancelled() && second.run.is_cancelled() && !third.run.is_cancelled());
    }
}
