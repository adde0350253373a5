//! Places for connections whose peers have not said anything yet.
//!
//! Who only connects costs a descriptor and a little memory, so there are few places, and a new connection takes that of
//! another one if all are taken: the oldest of the address that has the most. A peer that fills them ends its own connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

#[derive(Debug)]
struct Taken {
    address: IpAddr,
    lost: CancellationToken,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    address: IpAddr,
    lost: CancellationToken,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, taken: Mutex::default() }))
    }

    /// A place for a connection from an address.
    pub(super) fn take(&self, address: IpAddr) -> Place {
        let lost = CancellationToken::new();
        let mut taken = self.taken();
        if taken.len() >= self.0.most
            && let Some(index) = oldest_of_most(&taken)
        {
            taken.remove(index).lost.cancel();
        }
        taken.push(Taken { address, lost: lost.clone() });
        Place { places: self.clone(), address, lost }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Cancelled when another connection has taken it, or it is free again.
    pub(super) fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Marks it, so that it is found among those of its address.
        self.lost.cancel();
        self.places.taken().retain(|taken| !taken.lost.is_cancelled());
    }
}

fn oldest_of_most(taken: &[Taken]) -> Option<usize> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for taken in taken {
        *counts.entry(taken.address).or_default() += 1;
    }
    let most = counts.values().max()?;
    taken.iter().position(|taken| counts.get(&taken.address) == Some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn who_takes_the_most_places_loses_the_oldest() {
        let places = Places::new(4);
        let patient = places.take(address(1));
        let flood: Vec<_> = (0..100).map(|_| places.take(address(2))).collect();
        assert!(!patient.lost.is_cancelled());
        let lost = flood.iter().filter(|place| place.lost.is_cancelled()).count();
        assert_eq!(lost, 97);
        assert!(flood[97..].iter().all(|place| !place.lost.is_cancelled()));
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_is_done_with_it() {
        let places = Places::new(2);
        let first = places.take(address(1));
        for _ in 0..10 {
            drop(places.take(address(1)));
        }
        assert!(!first.lost.is_cancelled());
        drop(first);
        assert!(places.taken().is_empty());
    }
}
