//! Connections, and which of their errors are retryable.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, Statement};

use super::tls::Tls;

/// Maximum number of connections. Replicas share a server, whose default limit is a hundred.
const MOST: usize = 8;

/// A connection and its prepared statements.
pub(super) struct Connection {
    pub(super) client: Client,
    statements: HashMap<String, Statement>,
    /// Id and start time of the server's process.
    pub(super) backend: (i32, String),
}

/// Idle connections.
pub(super) struct Pool {
    config: Config,
    tls: Tls,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

/// A connection in use. It is returned to the pool explicitly; one that was dropped in the middle
/// of an operation is closed.
pub(super) struct Used<'a> {
    pool: &'a Pool,
    pub(super) connection: Connection,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(config: Config, tls: Tls) -> Self {
        Self { config, tls, idle: Mutex::default(), permits: Semaphore::new(MOST) }
    }

    /// An idle or a new connection.
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

    /// Closes the idle connections if an error means that the server is another one now: they do
    /// not notice it before they are used.
    pub(super) fn clear_after(&self, error: &Error) {
        if is_retryable(error) && !error.code().is_some_and(is_conflict) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // Ends when the client is dropped, or the connection is lost, which its user notices.
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
    /// Returns it to the pool.
    pub(super) fn put_back(self) {
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
    }
}

impl Connection {
    /// A statement, prepared once for each connection.
    pub(super) async fn prepared(&mut self, text: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// Whether the transaction conflicted with another.
fn is_conflict(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

/// Whether the connection was lost, the server is restarting, or the transaction conflicted with
/// another: a retry may succeed.
pub(super) fn is_retryable(error: &Error) -> bool {
    match error.code() {
        Some(code) => {
            let passing = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
            ];
            passing.contains(code) || is_conflict(code) || code.code().starts_with("08")
        }
        None => {
            // An untrusted certificate is an I/O error, too.
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
