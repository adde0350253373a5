//! Places for connections whose peers have not said anything yet.
//!
//! Who only connects costs a descriptor and a little memory, so there are few places, and a new connection takes that of
//! another one if all are taken: the oldest of the peer that has the most, those first on which nothing was said. A peer that fills
//! them ends its own connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_platform::process::User;
use tokio_util::sync::CancellationToken;

/// The places of one listener.
#[derive(Clone, Debug)]
pub(super) struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    /// In the order of their connections.
    taken: Mutex<Vec<Taken>>,
}

/// What connections have in common that compete with each other for their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub(super) address: IpAddr,
    /// All users of this machine have one address.
    pub(super) user: Option<User>,
}

#[derive(Debug)]
struct Taken {
    source: Source,
    has_spoken: Arc<AtomicBool>,
    lost: CancellationToken,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    source: Source,
    has_spoken: Arc<AtomicBool>,
    lost: CancellationToken,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, taken: Mutex::default() }))
    }

    /// A place for a connection.
    pub(super) fn take(&self, source: Source) -> Place {
        let (has_spoken, lost) = (Arc::<AtomicBool>::default(), CancellationToken::new());
        let mut taken = self.taken();
        if taken.len() >= self.0.most
            && let Some(index) = oldest_of_most(&taken)
        {
            taken.remove(index).lost.cancel();
        }
        taken.push(Taken { source, has_spoken: Arc::clone(&has_spoken), lost: lost.clone() });
        Place { places: self.clone(), source, has_spoken, lost }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub(super) fn address(&self) -> IpAddr {
        self.source.address
    }

    /// Notes that the peer has said something, which costs it more than to connect.
    pub(super) fn has_spoken(&self) {
        self.has_spoken.store(true, Ordering::Relaxed);
    }

    /// Cancelled when another connection has taken it, or it is free again.
    pub(super) fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Marks it, so that it is found among those of its source.
        self.lost.cancel();
        self.places.taken().retain(|taken| !taken.lost.is_cancelled());
    }
}

fn oldest_of_most(taken: &[Taken]) -> Option<usize> {
    let mut counts: HashMap<Source, usize> = HashMap::new();
    for taken in taken {
        *counts.entry(taken.source).or_default() += 1;
    }
    let most = counts.values().max()?;
    let of_most = |taken: &Taken| counts.get(&taken.source) == Some(most);
    let is_silent = |taken: &Taken| !taken.has_spoken.load(Ordering::Relaxed);
    let silent = taken.iter().position(|taken| of_most(taken) && is_silent(taken));
    silent.or_else(|| taken.iter().position(of_most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> Source {
        Source { address: IpAddr::from([192, 0, 2, last]), user: None }
    }

    #[test]
    fn who_takes_the_most_places_loses_the_oldest() {
        let places = Places::new(4);
        let patient = places.take(source(1));
        let flood: Vec<_> = (0..100).map(|_| places.take(source(2))).collect();
        assert!(!patient.lost.is_cancelled());
        let lost = flood.iter().filter(|place| place.lost.is_cancelled()).count();
        assert_eq!(lost, 97);
        assert!(flood[97..].iter().all(|place| !place.lost.is_cancelled()));
    }

    #[test]
    fn a_user_of_this_machine_keeps_its_place_in_the_flood_of_another() {
        let places = Places::new(4);
        let of_user = |user| Source { address: IpAddr::from([127, 0, 0, 1]), user };
        let patient = places.take(of_user(Some(User::from_id(0))));
        let _flood: Vec<_> = (0..100).map(|_| places.take(of_user(Some(User::from_id(65534))))).collect();
        // They are closed already, so that they belong to no user.
        let _closed: Vec<_> = (0..100).map(|_| places.take(of_user(None))).collect();
        assert!(!patient.lost.is_cancelled());
    }

    #[test]
    fn who_says_something_keeps_its_place_among_those_that_say_nothing() {
        let places = Places::new(4);
        let speaking = places.take(source(1));
        speaking.has_spoken();
        let _silent: Vec<_> = (0..100).map(|_| places.take(source(1))).collect();
        assert!(!speaking.lost.is_cancelled());
        let speak = |place: Place| {
            place.has_spoken();
            place
        };
        let _flood: Vec<_> = (0..100).map(|_| speak(places.take(source(1)))).collect();
        assert!(speaking.lost.is_cancelled());
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_is_done_with_it() {
        let places = Places::new(2);
        let first = places.take(source(1));
        for _ in 0..10 {
            drop(places.take(source(1)));
        }
        assert!(!first.lost.is_cancelled());
        drop(first);
        assert!(places.taken().is_empty());
    }
}
