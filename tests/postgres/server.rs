//! A real PostgreSQL server for tests and benchmarks, by the script `serve` beside this file.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server, which ends when this is dropped, and when the process ends in whichever way.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    /// Its standard input keeps the server alive.
    process: Child,
    /// The directory of its socket.
    pub(crate) folder: PathBuf,
    /// The port, of the socket and of 127.0.0.1.
    pub(crate) port: u16,
}

impl PostgresServer {
    /// Starts a server, with TLS if there is a directory with its certificate and key. Whether a commit waits for the disk
    /// matters to who measures it; otherwise it only takes time.
    ///
    /// # Errors
    /// What the server or the script has said, such as what to install.
    pub(crate) fn start(certificates: Option<&Path>, waits_for_disk: bool) -> Result<Self, String> {
        // The packages of this workspace are in its directories, or in that itself.
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("tests/postgres/serve"))
            .find(|script| script.exists())
            .ok_or("tests/postgres/serve is missing")?;
        // Free at this moment, which has to do.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| format!("there is no free port: {error}"))?.port();
        let mut process = Command::new(&script)
            .arg(port.to_string())
            .args(certificates)
            .env("POSTGRES_FSYNC", if waits_for_disk { "on" } else { "off" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} cannot be run: {error}", script.display()))?;
        let stdout = process.stdout.take().ok_or("it has no output")?;
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        if read.is_err() || line.trim().is_empty() {
            let mut said = String::new();
            if let Some(mut stderr) = process.stderr.take() {
                stderr.read_to_string(&mut said).ok();
            }
            return Err(format!("no PostgreSQL server could be started: {}", said.trim()));
        }
        Ok(Self { process, folder: PathBuf::from(line.trim()), port })
    }

    /// The address of one of its databases, by its socket.
    pub(crate) fn address(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{database}", self.port)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}
