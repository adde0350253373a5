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

/// The format version of a database; `None` without tables.
pub(super) async fn found(connection: &Connection) -> Result<Option<i64>, Error> {
    match connection.client.query_one("SELECT version FROM isthmus.format", &[]).await {
        Ok(row) => row.try_get(0),
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
