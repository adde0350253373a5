//! Connections, and which of their faults mean that they are worth another attempt.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, Statement};

use super::tls::Tls;

/// How many connections there are at most. Replicas share a server, which has a hundred by default.
const MOST: usize = 8;

/// A connection, and what the server has prepared for it.
pub(super) struct Connection {
    pub(super) client: Client,
    statements: HashMap<String, Statement>,
    /// Which process of the server serves it, and since when.
    pub(super) backend: (i32, String),
}

/// Connections that wait to be used again.
pub(super) struct Pool {
    config: Config,
    tls: Tls,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

/// A connection that somebody uses. It goes back only when it is said to be whole: what was broken off in the middle of
/// something is closed.
pub(super) struct Used<'a> {
    pool: &'a Pool,
    pub(super) connection: Connection,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(config: Config, tls: Tls) -> Self {
        Self { config, tls, idle: Mutex::default(), permits: Semaphore::new(MOST) }
    }

    /// A connection: one that waits, or a new one.
    pub(super) async fn take(&self) -> Result<Used<'_>, Error> {
        let permit = self.permits.acquire().await.expect("nobody closes the permits");
        let connection = loop {
            let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match waiting {
                Some(connection) if connection.client.is_closed() => {}
                Some(connection) => break connection,
                None => break self.connect().await?,
            }
        };
        Ok(Used { pool: self, connection, _permit: permit })
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // Ends when the client is dropped, or the connection is lost; whoever uses it is told then.
        tokio::spawn(async move { connection.await.ok() });
        let row = client
            .query_one(
                "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
                &[],
            )
            .await?;
        let backend = (row.try_get(0)?, row.try_get(1)?);
        Ok(Connection { client, statements: HashMap::new(), backend })
    }
}

impl Used<'_> {
    /// Gives it back, for others to use.
    pub(super) fn put_back(self) {
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
    }
}

impl Connection {
    /// A statement, which the server reads once for each connection.
    pub(super) async fn prepared(&mut self, text: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// Whether the connection was lost or the server is restarting, or the transaction stood in another one's way: all of
/// which is different the next time.
pub(super) fn is_retryable(error: &Error) -> bool {
    match error.code() {
        Some(code) => {
            let passing = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
            ];
            passing.contains(code) || code.code().starts_with("08")
        }
        None => {
            // A certificate that cannot be trusted comes as an error of reading or writing, too.
            error.is_closed()
                || error.source().and_then(|source| source.downcast_ref::<std::io::Error>()).is_some_and(
                    |error| {
                        !error
                            .get_ref()
                            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
                    },
                )
        }
    }
}
