//! A batch as one transaction.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::connection::Connection;
use crate::checksum::{checksum, key_hash};
use crate::store::{
    Batch, Change, Claim, Committed, Durability, Fence, HeldLease, Kind, Lease, RecordNumber, RecordRef,
    Refusal, Stopped, StoreKey,
};

/// Why a batch is not known to be committed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The commit was not sent.
    Before(Error),
    /// Unknown: the commit was sent, and there was no response.
    AtCommit(Error, CommitEvidence),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Before(error)
    }
}

/// Evidence by which a commit is recognised afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitEvidence {
    /// Each added or changed record: kind, version, and its unique checksum.
    pub(super) records: Vec<(Kind, RecordRef, [u8; 32])>,
    pub(super) lease: Option<Lease>,
}

impl CommitEvidence {
    pub(super) fn places(&self) -> Vec<RecordRef> {
        self.records.iter().map(|(_, place, _)| *place).collect()
    }
}

/// Commits a batch. `is_asked_for` is set before the commit is sent: from then on it may succeed,
/// even if this future is dropped.
pub(super) async fn commit(
    connection: &mut Connection,
    batch: &Batch,
    is_asked_for: &AtomicBool,
) -> Result<Committed, Failure> {
    let numbers = numbers(connection, batch).await?;
    let begin = match batch.durability {
        Durability::Durable => "BEGIN",
        Durability::Soon => "BEGIN; SET LOCAL synchronous_commit = off",
    };
    connection.client.batch_execute(begin).await?;
    match make(connection, batch, numbers).await {
        Err(Stopped::Refused(refusal)) => {
            connection.client.batch_execute("ROLLBACK").await?;
            Ok(Committed::Refused(refusal))
        }
        Err(Stopped::Failed(error)) => Err(error.into()),
        Ok(traces) => {
            is_asked_for.store(true, Ordering::Relaxed);
            match connection.client.batch_execute("COMMIT").await {
                Ok(()) => Ok(Committed::Done { places: traces.places(), lease: traces.lease }),
                Err(error) => Err(Failure::AtCommit(error, traces)),
            }
        }
    }
}

/// Numbers for added records. Numbers of batches that fail are not reused.
async fn numbers(connection: &mut Connection, batch: &Batch) -> Result<Vec<i64>, Error> {
    let wanted = batch.changes.iter().filter(|change| matches!(change, Change::Add { .. })).count();
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let statement =
        connection.prepared("SELECT nextval('isthmus.numbers') FROM generate_series(1, $1::bigint)").await?;
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    let rows = connection.client.query(&statement, &[&wanted]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

async fn make(
    connection: &mut Connection,
    batch: &Batch,
    numbers: Vec<i64>,
) -> Result<CommitEvidence, Stopped<Error>> {
    for (kind, place) in &batch.require {
        // Locked until this is committed.
        let text = format!("SELECT version FROM isthmus.{} WHERE number = $1 FOR SHARE", kind.table());
        let version = version(connection, &text, place.number).await?;
        if version != Some(place.version) {
            return Err(Stopped::Refused(Refusal::Changed { kind: *kind, number: place.number, version }));
        }
    }
    for (kind, key, newest) in &batch.newest {
        if let Some(number) = newest_of(connection, *kind, key).await?.filter(|number| number > newest) {
            return Err(Stopped::Refused(Refusal::Newer { kind: *kind, number }));
        }
    }
    for lease in &batch.fences {
        let text = "SELECT 1 FROM isthmus.leases WHERE name = $1 AND fence = $2 FOR UPDATE";
        let statement = connection.prepared(text).await?;
        if connection.client.query_opt(&statement, &[&lease.name, &lease.fence.0]).await?.is_none() {
            return Err(Stopped::Refused(Refusal::Lost(lease.clone())));
        }
    }
    if let Some((lease, time)) = &batch.renewal {
        let text = "UPDATE isthmus.leases SET expires = clock_timestamp() + $3 * interval '1 millisecond'
             WHERE name = $1 AND fence = $2";
        let statement = connection.prepared(text).await?;
        let parameters: [&(dyn ToSql + Sync); 3] = [&lease.name, &lease.fence.0, &milliseconds(*time)];
        if connection.client.execute(&statement, &parameters).await? == 0 {
            return Err(Stopped::Refused(Refusal::Lost(lease.clone())));
        }
    }
    let mut traces = CommitEvidence::default();
    if let Some(claim) = &batch.claim {
        traces.lease = Some(take(connection, claim).await?);
    }
    let mut numbers = numbers.into_iter();
    let mut added = Added::default();
    for change in &batch.changes {
        match change {
            Change::Add { kind, key, bytes } => {
                let number = numbers.next().expect("there is a number for each record that is added");
                let place = RecordRef { number: RecordNumber(number), version: 1 };
                let sum = checksum(*kind, place, key, bytes);
                if added.kind.is_some_and(|other| other != *kind) {
                    std::mem::take(&mut added).insert(connection).await?;
                }
                added.kind = Some(*kind);
                added.numbers.push(number);
                added.hashes.push(key_hash(key).to_vec());
                added.packages.push(key.package.as_bytes());
                added.types.push(key.type_name.as_bytes());
                added.ids.push(key.id.as_bytes());
                added.sealed.push(bytes);
                added.sums.push(sum.to_vec());
                traces.records.push((*kind, place, sum));
            }
            Change::Replace { kind, place, key, bytes } => {
                let next = RecordRef { version: place.version.saturating_add(1), ..*place };
                let sum = checksum(*kind, next, key, bytes);
                let text = format!(
                    "UPDATE isthmus.{} SET version = $3, sealed = $4, checksum = $5 WHERE number = $1 AND version = $2",
                    kind.table()
                );
                let number = place.number.0;
                let parameters: [&(dyn ToSql + Sync); 5] =
                    [&number, &place.version, &next.version, bytes, &&sum[..]];
                let statement = connection.prepared(&text).await?;
                if connection.client.execute(&statement, &parameters).await? != 1 {
                    let version = found(connection, *kind, place.number).await?;
                    return Err(Stopped::Refused(Refusal::Changed {
                        kind: *kind,
                        number: place.number,
                        version,
                    }));
                }
                traces.records.push((*kind, next, sum));
            }
            Change::Remove { kind, number, version } => {
                let text = format!(
                    "DELETE FROM isthmus.{} WHERE number = $1 AND ($2::bigint IS NULL OR version = $2)",
                    kind.table()
                );
                let statement = connection.prepared(&text).await?;
                if connection.client.execute(&statement, &[&number.0, version]).await? == 0
                    && version.is_some()
                {
                    let version = found(connection, *kind, *number).await?;
                    if version.is_some() {
                        return Err(Stopped::Refused(Refusal::Changed {
                            kind: *kind,
                            number: *number,
                            version,
                        }));
                    }
                }
            }
        }
    }
    added.insert(connection).await?;
    for lease in &batch.releases {
        let statement =
            connection.prepared("DELETE FROM isthmus.leases WHERE name = $1 AND fence = $2").await?;
        connection.client.execute(&statement, &[&lease.name, &lease.fence.0]).await?;
    }
    Ok(traces)
}

/// Records of one kind, added by one statement.
#[derive(Default)]
struct Added<'a> {
    kind: Option<Kind>,
    numbers: Vec<i64>,
    hashes: Vec<Vec<u8>>,
    packages: Vec<&'a [u8]>,
    types: Vec<&'a [u8]>,
    ids: Vec<&'a [u8]>,
    sealed: Vec<&'a [u8]>,
    sums: Vec<Vec<u8>>,
}

impl Added<'_> {
    async fn insert(self, connection: &mut Connection) -> Result<(), Error> {
        let Some(kind) = self.kind else { return Ok(()) };
        let text = format!(
            "INSERT INTO isthmus.{} (number, version, key_hash, package, type, id, sealed, checksum)
             SELECT number, 1, key_hash, package, type, id, sealed, checksum
             FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
             AS added (number, key_hash, package, type, id, sealed, checksum)",
            kind.table()
        );
        let Self { numbers, hashes, packages, types, ids, sealed, sums, .. } = &self;
        let statement = connection.prepared(&text).await?;
        connection.client.execute(&statement, &[numbers, hashes, packages, types, ids, sealed, sums]).await?;
        Ok(())
    }
}

/// Acquires a lease.
async fn take(connection: &mut Connection, claim: &Claim) -> Result<Lease, Stopped<Error>> {
    let text = "INSERT INTO isthmus.leases AS leases (name, fence, holder, expires)
         VALUES ($1, nextval('isthmus.numbers'), $2, clock_timestamp() + $3 * interval '1 millisecond')
         ON CONFLICT (name) DO UPDATE
         SET fence = excluded.fence, holder = excluded.holder, expires = excluded.expires
         WHERE leases.expires <= clock_timestamp() OR leases.fence = $4
         RETURNING fence";
    let time = milliseconds(claim.time);
    let over = claim.over.map_or(-1, |fence| fence.0);
    loop {
        let statement = connection.prepared(text).await?;
        let parameters: [&(dyn ToSql + Sync); 4] = [&claim.name, &claim.holder, &time, &over];
        if let Some(row) = connection.client.query_opt(&statement, &parameters).await? {
            return Ok(Lease { name: claim.name.clone(), fence: Fence(row.try_get(0)?) });
        }
        // It may have been released meanwhile; then it has no holder.
        let statement = connection.prepared(HELD).await?;
        if let Some(row) = connection.client.query_opt(&statement, &[&claim.name]).await? {
            return Err(Stopped::Refused(Refusal::Held(held_in(&row)?)));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a lease is not a million years long")]
fn milliseconds(time: Duration) -> f64 {
    time.as_millis() as f64
}

/// Queries a lease.
pub(super) const HELD: &str =
    "SELECT fence, holder, expires <= clock_timestamp() FROM isthmus.leases WHERE name = $1";

pub(super) fn held_in(row: &Row) -> Result<HeldLease, Error> {
    Ok(HeldLease { fence: Fence(row.try_get(0)?), holder: row.try_get(1)?, is_over: row.try_get(2)? })
}

/// The current version of a record.
async fn found(connection: &mut Connection, kind: Kind, number: RecordNumber) -> Result<Option<i64>, Error> {
    let text = format!("SELECT version FROM isthmus.{} WHERE number = $1", kind.table());
    version(connection, &text, number).await
}

/// The newest record of a key. Locks the key until the batch ends, because records that do not
/// exist yet cannot be locked.
async fn newest_of(
    connection: &mut Connection,
    kind: Kind,
    key: &StoreKey,
) -> Result<Option<RecordNumber>, Error> {
    let hash = key_hash(key);
    let (lock, _) = hash.split_first_chunk().expect("a hash is longer than a number");
    let statement = connection.prepared("SELECT pg_advisory_xact_lock($1)").await?;
    connection.client.query(&statement, &[&i64::from_be_bytes(*lock)]).await?;
    let text = format!("SELECT max(number) FROM isthmus.{} WHERE key_hash = $1", kind.table());
    let statement = connection.prepared(&text).await?;
    let row = connection.client.query_one(&statement, &[&&hash[..]]).await?;
    Ok(row.try_get::<_, Option<i64>>(0)?.map(RecordNumber))
}

async fn version(
    connection: &mut Connection,
    text: &str,
    number: RecordNumber,
) -> Result<Option<i64>, Error> {
    let statement = connection.prepared(text).await?;
    let row = connection.client.query_opt(&statement, &[&number.0]).await?;
    row.map(|row| row.try_get(0)).transpose()
}
