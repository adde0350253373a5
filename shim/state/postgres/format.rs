//! The tables, in their own schema, and their format version.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use crate::store::Kind;

/// Version of the tables.
pub(super) const FORMAT: i64 = 5;

/// The version before, which has no records of stacks.
pub(super) const OLDER_FORMAT: i64 = 4;

/// Advisory lock for creating the tables: "isth" in ASCII.
const LOCK: i64 = 0x6973_7468;

/// Keys are bytes, because PostgreSQL's text cannot contain NUL; and they are indexed by a hash,
/// because indexes limit the length.
const TABLES: &str = "
    CREATE TABLE isthmus.leases (
        name    text PRIMARY KEY,
        fence   bigint NOT NULL,
        holder  text NOT NULL,
        expires timestamptz NOT NULL
    );
    CREATE SEQUENCE isthmus.numbers;
    CREATE TABLE isthmus.format (version bigint NOT NULL);
";

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

/// The format of a database's tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) version: i64,
    /// The oldest version whose programs can use them, where a later version has said so.
    usable_from: Option<i64>,
}

impl Found {
    /// Whether this program can use the tables. Later versions add to them what this one need not know, before they remove
    /// what it needs.
    pub(super) fn is_usable(self) -> bool {
        self.version == FORMAT
            || (self.version > FORMAT && self.usable_from.is_some_and(|oldest| oldest <= FORMAT))
    }
}

/// The format of a database; `None` without tables.
pub(super) async fn found(connection: &Connection) -> Result<Option<Found>, Error> {
    // No version has the second column so far: whole rows can be read without knowing which columns there are.
    let text = "SELECT version, (to_jsonb(format) ->> 'usable_from')::bigint FROM isthmus.format";
    match connection.client.query_one(text, &[]).await {
        Ok(row) => Ok(Some(Found { version: row.try_get(0)?, usable_from: row.try_get(1)? })),
        Err(error)
            if matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Creates the tables, or the missing ones of an older store, unless another process does so at the
/// same time.
pub(super) async fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let transaction = connection.client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let exists = "SELECT to_regnamespace('isthmus') IS NOT NULL, to_regclass('isthmus.format') IS NOT NULL";
    let row = transaction.query_one(exists, &[]).await?;
    let (has_schema, has_tables): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if has_tables {
        let set = "UPDATE isthmus.format SET version = $1 WHERE version = $2";
        if transaction.execute(set, &[&FORMAT, &OLDER_FORMAT]).await? > 0 {
            transaction.batch_execute(&table_of(Kind::StackRecord)).await?;
        }
        return transaction.commit().await;
    }
    // An administrator may have created the schema, and this user may lack the right.
    if !has_schema {
        transaction.batch_execute("CREATE SCHEMA isthmus").await?;
    }
    transaction.batch_execute(TABLES).await?;
    transaction.batch_execute(&Kind::ALL.map(table_of).concat()).await?;
    transaction.execute("INSERT INTO isthmus.format VALUES ($1)", &[&FORMAT]).await?;
    transaction.commit().await
}
