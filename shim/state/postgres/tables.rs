//! The tables, in a schema of their own, and how older ones become them.

use tokio_postgres::error::SqlState;

use super::connection::Connection;
use crate::store::Kind;

/// What brings a database from each version to the next. What stands here is never changed, only added to.
const STEPS: [fn() -> String; 3] = [records, leases, tombstones];

/// The newest version.
#[expect(clippy::cast_possible_wrap, reason = "there are few steps")]
pub(super) const FORMAT: i64 = STEPS.len() as i64;

/// What processes that bring one database up to date wait for each other with: `isth`.
const LOCK: i64 = 0x6973_7468;

/// The version of a database, after it was brought up to date; a newer one is left alone.
pub(super) async fn ensure(connection: &mut Connection) -> Result<i64, tokio_postgres::Error> {
    if let found @ 1.. = version(connection).await?
        && found >= FORMAT
    {
        return Ok(found);
    }
    let transaction = connection.client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // A schema that an administrator has made need not be ours to make.
    let exists = transaction.query_one("SELECT to_regnamespace('isthmus') IS NOT NULL", &[]).await?;
    if !exists.try_get::<_, bool>(0)? {
        transaction.batch_execute("CREATE SCHEMA isthmus").await?;
    }
    transaction.batch_execute("CREATE TABLE IF NOT EXISTS isthmus.format (version bigint NOT NULL)").await?;
    let row = transaction.query_opt("SELECT version FROM isthmus.format", &[]).await?;
    let found: i64 = match &row {
        Some(row) => row.try_get(0)?,
        None => {
            transaction.batch_execute("INSERT INTO isthmus.format VALUES (0)").await?;
            0
        }
    };
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.batch_execute(&step()).await?;
    }
    let version = found.max(FORMAT);
    transaction.execute("UPDATE isthmus.format SET version = $1", &[&version]).await?;
    transaction.commit().await?;
    Ok(version)
}

/// 0: there is nothing yet.
async fn version(connection: &Connection) -> Result<i64, tokio_postgres::Error> {
    match connection.client.query_opt("SELECT version FROM isthmus.format", &[]).await {
        Ok(Some(row)) => row.try_get(0),
        Ok(None) => Ok(0),
        Err(error)
            if matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME)) =>
        {
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

/// Keys are bytes, because PostgreSQL's text cannot hold a zero character; and they are found by a hash, because its
/// indexes cannot hold a long one.
fn records() -> String {
    let mut statements = "CREATE SEQUENCE isthmus.numbers;".to_owned();
    for kind in [Kind::Object, Kind::Intent, Kind::Remnant, Kind::Key] {
        statements.push_str(&table_of(kind));
    }
    statements
}

fn tombstones() -> String {
    table_of(Kind::Tombstone)
}

fn table_of(kind: Kind) -> String {
    let table = kind.table();
    format!(
        "CREATE TABLE isthmus.{table} (
            number   bigint PRIMARY KEY,
            version  bigint NOT NULL,
            key_hash bytea NOT NULL,
            package  bytea NOT NULL,
            type     bytea NOT NULL,
            id       bytea NOT NULL,
            sealed   bytea NOT NULL,
            checksum bytea NOT NULL
        );
        CREATE INDEX {table}_by_key ON isthmus.{table} (key_hash, number);"
    )
}

fn leases() -> String {
    "CREATE TABLE isthmus.leases (
        name    text PRIMARY KEY,
        fence   bigint NOT NULL,
        holder  text NOT NULL,
        expires timestamptz NOT NULL
    );"
    .to_owned()
}
