//! The calls of one session that a shared daemon works on at a time.
//!
//! All sessions have one thread of the daemon, one journal, and often one provider process, each of which takes its work in
//! the order in which it comes. So a session that makes hundreds of calls at once would have all others wait behind them. Here
//! a session's calls beyond some wait for their turn, which leaves the others as many places in front.
//!
//! A provider that waits for an API keeps nothing busy, and may do so for hours. So a call that takes longer than a moment
//! gives its place to the next, and is worked on all the same: however many calls an engine makes, all of them begin.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Places of a session: twice as many as engines have calls in progress by default, so that these wait for nothing.
const PLACES: usize = 32;

/// How long a call has its place at most.
const MOMENT: Duration = Duration::from_millis(250);

/// The places of a session. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    places: Arc<Semaphore>,
    cancelled: Arc<Notify>,
}

/// A place, which is free for another call when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    place: OwnedSemaphorePermit,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), cancelled: Arc::default() }
    }

    /// A place, if one is free.
    pub(super) fn now(&self) -> Option<Turn> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(|place| Turn { place })
    }

    /// A place, in the order of the calls; `None` if they are cancelled meanwhile.
    pub(super) async fn next(&self) -> Option<Turn> {
        tokio::select! {
            place = Arc::clone(&self.places).acquire_owned() => place.ok().map(|place| Turn { place }),
            () = self.cancelled.notified() => None,
        }
    }

    /// Ends the calls that wait for their turn.
    pub(super) fn cancel(&self) {
        self.cancelled.notify_waiters();
    }
}

impl Turn {
    /// Makes a call in this place.
    pub(super) async fn make<Answer>(self, mut call: impl Future<Output = Answer> + Unpin) -> Answer {
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            () = tokio::time::sleep(MOMENT) => {}
        }
        drop(self.place);
        call.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Instant;

    use super::*;

    fn all_but_one(turns: &Turns) -> Vec<Turn> {
        (1..PLACES).map(|_| turns.now().expect("it is free")).collect()
    }

    #[tokio::test]
    async fn a_call_waits_for_one_that_ends_or_that_takes_longer_than_a_moment() {
        let turns = Turns::new();
        let others = all_but_one(&turns);
        let began = Instant::now();
        let slow = turns.now().expect("it is free").make(Box::pin(pending::<()>()));
        let slow = tokio::spawn(slow);
        assert!(turns.now().is_none());
        let turn = turns.next().await.expect("it is not cancelled");
        assert!(began.elapsed() >= MOMENT, "the slow call has given its place away: {:?}", began.elapsed());
        assert!(!slow.is_finished(), "and goes on");
        turn.make(ready(())).await;
        assert!(turns.now().is_some());
        drop(others);
    }

    #[tokio::test]
    async fn calls_that_wait_are_cancelled_and_later_ones_are_not() {
        let turns = Turns::new();
        let mut taken = all_but_one(&turns);
        taken.extend(turns.now());
        let cancelled = async {
            tokio::task::yield_now().await;
            turns.cancel();
        };
        let (waiting, ()) = tokio::join!(turns.next(), cancelled);
        assert!(waiting.is_none());
        drop(taken);
        assert!(turns.next().await.is_some());
    }
}
