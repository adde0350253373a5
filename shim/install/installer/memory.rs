//! The cache of registries' version lists.
//!
//! Engines start a plugin several times in one run, and each start without an exact version would
//! query the same. The list is in the provider's directory of the cache; lists that are old,
//! damaged, of another format or from the future are ignored.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use isthmus_common::permissions::create_directories;
use isthmus_common::{Links, read_regular};
use serde::{Deserialize, Serialize};

use crate::cache::record::{remove_own, seconds, write_own};
use crate::registry::Listing;
use crate::{ProviderAddress, ProviderCache};

/// Version of the format.
const FORMAT: u32 = 1;
/// Lifetime of a list. A version that was just published can be named exactly.
const HOLDS: Duration = Duration::from_secs(15 * 60);
/// Size limit of a list.
const LARGEST: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    format: u32,
    /// When it was received, in seconds of Unix time.
    asked: u64,
    listing: Listing,
}

/// A cached version list.
pub(super) fn recall(cache: &ProviderCache, address: &ProviderAddress, now: SystemTime) -> Option<Listing> {
    let path = path(cache, address);
    if path.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let remembered: Remembered = serde_json::from_slice(&read_regular(&path, Links::Follow).ok()?).ok()?;
    let age = seconds(now).checked_sub(remembered.asked)?;
    (remembered.format == FORMAT && age < HOLDS.as_secs()).then_some(remembered.listing)
}

/// Stores a version list. A failure is ignored.
pub(super) fn remember(cache: &ProviderCache, address: &ProviderAddress, listing: &Listing, now: SystemTime) {
    let remembered = Remembered { format: FORMAT, asked: seconds(now), listing: listing.clone() };
    let write = || -> io::Result<()> {
        let directory = cache.provider_directory(address);
        create_directories(&directory)?;
        write_own(&path(cache, address), &serde_json::to_vec(&remembered)?)
    };
    let _ = write();
}

/// Removes a version list. A failure is ignored.
pub(super) fn forget(cache: &ProviderCache, address: &ProviderAddress) {
    let _ = remove_own(&path(cache, address));
}

fn path(cache: &ProviderCache, address: &ProviderAddress) -> PathBuf {
    cache.provider_directory(address).join(".versions.json")
}
