//! A batch within a transaction.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _};

use super::index;
use crate::checksum::{checksum, key_hash};
use crate::store::{
    Batch, Change, Claim, Committed, Fence, HeldLease, Kind, Lease, RecordNumber, RecordRef, Refusal,
    Stopped, StoreKey,
};

type Result<T> = std::result::Result<T, Stopped<rusqlite::Error>>;

/// Applies a batch.
///
/// # Errors
/// When it is refused or fails; the caller rolls it back.
pub(super) fn make(connection: &Connection, batch: &Batch) -> Result<Committed> {
    for (kind, place) in &batch.require {
        require(connection, *kind, *place)?;
    }
    for (kind, key, newest) in &batch.newest {
        let numbers = index::numbers(connection, *kind, &key_hash(key))?;
        if let Some(number) = numbers.first().copied().map(RecordNumber).filter(|number| number > newest) {
            return Err(Stopped::Refused(Refusal::Newer { kind: *kind, number }));
        }
    }
    for lease in &batch.fences {
        if held(connection, &lease.name)?.is_none_or(|held| held.fence != lease.fence) {
            return Err(Stopped::Refused(Refusal::Lost(lease.clone())));
        }
    }
    if let Some((lease, time)) = &batch.renewal {
        let renewed = connection
            .prepare_cached("UPDATE leases SET expires = ?3 WHERE name = ?1 AND fence = ?2")?
            .execute((&lease.name, lease.fence.0, end(*time)))?;
        if renewed == 0 {
            return Err(Stopped::Refused(Refusal::Lost(lease.clone())));
        }
    }
    let lease = batch.claim.as_ref().map(|claim| take(connection, claim)).transpose()?;
    let mut places = Vec::new();
    for change in &batch.changes {
        places.extend(make_change(connection, change)?);
    }
    for lease in &batch.releases {
        connection
            .prepare_cached("DELETE FROM leases WHERE name = ?1 AND fence = ?2")?
            .execute((&lease.name, lease.fence.0))?;
    }
    Ok(Committed::Done { places, lease })
}

fn make_change(connection: &Connection, change: &Change) -> Result<Option<RecordRef>> {
    match change {
        Change::Add { kind, key, bytes } => {
            let place = RecordRef { number: RecordNumber(next_number(connection)?), version: 1 };
            insert(connection, *kind, place, key, bytes)?;
            Ok(Some(place))
        }
        Change::Replace { kind, place, key, bytes } => {
            require(connection, *kind, *place)?;
            let next = RecordRef { version: place.version.saturating_add(1), ..*place };
            connection
                .prepare_cached(&format!(
                    "UPDATE {} SET version = ?2, sealed = ?3, checksum = ?4 WHERE number = ?1",
                    kind.table()
                ))?
                .execute((next.number.0, next.version, bytes, checksum(*kind, next, key, bytes)))?;
            Ok(Some(next))
        }
        Change::Remove { kind, number, version } => {
            if let Some(expected) = *version
                && self::version(connection, *kind, *number)?.is_some()
            {
                require(connection, *kind, RecordRef { number: *number, version: expected })?;
            }
            let removed = connection
                .prepare_cached(&format!(
                    "DELETE FROM {} WHERE number = ?1 RETURNING key_hash",
                    kind.table()
                ))?
                .query_row((number.0,), |row| {
                    // A damaged row may contain anything.
                    Ok(row.get_ref(0)?.as_blob().map(<[u8]>::to_vec).unwrap_or_default())
                })
                .optional()?;
            if let Some(key_hash) = removed {
                index::remove(connection, *kind, &key_hash, *number)?;
            }
            Ok(None)
        }
    }
}

fn insert(
    connection: &Connection,
    kind: Kind,
    place: RecordRef,
    key: &StoreKey,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let key_hash = key_hash(key);
    connection
        .prepare_cached(&format!(
            "INSERT INTO {} (number, version, key_hash, package, type, id, sealed, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            kind.table()
        ))?
        .execute((
            place.number.0,
            place.version,
            key_hash,
            key.package.as_bytes(),
            key.type_name.as_bytes(),
            key.id.as_bytes(),
            bytes,
            checksum(kind, place, key, bytes),
        ))?;
    index::add(connection, kind, &key_hash, place.number)
}

/// Refuses the batch unless a record has this version.
fn require(connection: &Connection, kind: Kind, place: RecordRef) -> Result<()> {
    let number = place.number;
    let version = version(connection, kind, number)?;
    if version == Some(place.version) {
        return Ok(());
    }
    Err(Stopped::Refused(Refusal::Changed { kind, number, version }))
}

/// The current version of a record.
fn version(connection: &Connection, kind: Kind, number: RecordNumber) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(&format!("SELECT version FROM {} WHERE number = ?1", kind.table()))?
        .query_row((number.0,), |row| row.get(0))
        .optional()
}

/// Acquires a lease.
fn take(connection: &Connection, claim: &Claim) -> Result<Lease> {
    if let Some(held) = held(connection, &claim.name)?
        && !held.is_over
        && claim.over != Some(held.fence)
    {
        return Err(Stopped::Refused(Refusal::Held(held)));
    }
    let fence = Fence(next_number(connection)?);
    connection
        .prepare_cached(
            "INSERT INTO leases (name, fence, holder, expires) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET fence = ?2, holder = ?3, expires = ?4",
        )?
        .execute((&claim.name, fence.0, &claim.holder, end(claim.time)))?;
    Ok(Lease { name: claim.name.clone(), fence })
}

pub(super) fn held(connection: &Connection, name: &str) -> rusqlite::Result<Option<HeldLease>> {
    connection
        .prepare_cached("SELECT fence, holder, expires FROM leases WHERE name = ?1")?
        .query_row((name,), |row| {
            let expires: i64 = row.get(2)?;
            Ok(HeldLease { fence: Fence(row.get(0)?), holder: row.get(1)?, is_over: expires <= now() })
        })
        .optional()
}

/// Records and leases share one counter.
fn next_number(connection: &Connection) -> rusqlite::Result<i64> {
    let (last, opposite): (i64, i64) = connection
        .prepare_cached(
            "UPDATE counter SET last = last + 1, opposite = opposite - 1 RETURNING last, opposite",
        )?
        .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if last <= 0 || last.checked_neg() != Some(opposite) {
        return Err(rusqlite::Error::IntegralValueOutOfRange(0, last));
    }
    Ok(last)
}

/// Milliseconds since 1970, the clock of leases: one that is set forward expires them early, which
/// fences make harmless.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn end(time: Duration) -> i64 {
    now().saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
