//! The location of a store: a file, or a database of a PostgreSQL server.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use isthmus_common::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::store::StoreError;

/// Name of the database in its directory.
const DATABASE: &str = "state.sqlite";

/// Default connection timeout.
const CONNECTING: Duration = Duration::from_secs(10);

/// Default time until a connection with unacknowledged data is closed.
const SILENCE: Duration = Duration::from_secs(20);

/// The location of a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreAddress {
    /// A SQLite file.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(ServerAddress),
}

/// A database of a PostgreSQL server, and how to connect to it.
#[derive(Clone)]
pub struct ServerAddress {
    /// Contains the password.
    pub(super) config: Secret<Box<Config>>,
    /// The trusted CA certificates, in PEM; `None`: those of the system.
    pub(super) authorities: Option<PathBuf>,
    /// The file that contains the password instead.
    pub(super) password_file: Option<PathBuf>,
}

/// The file of the store in a directory.
pub fn database_in(directory: &Path) -> PathBuf {
    directory.join(DATABASE)
}

impl StoreAddress {
    /// The store in a directory.
    pub fn in_directory(directory: &Path) -> Self {
        Self::File(database_in(directory))
    }

    /// Parses an address that begins with `postgres://` or `postgresql://`, or otherwise a file
    /// name.
    ///
    /// All options of libpq that apply are supported. Without `sslmode`, TLS is required for
    /// servers on other machines; with TLS, the server's certificate and its name are always
    /// verified, whatever `sslmode` is.
    ///
    /// # Errors
    /// When the address is invalid. The error never contains a password.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let fault = |reason: String| StoreError::Address { reason };
        let is_server = |scheme: &str| matches!(scheme, "postgres" | "postgresql");
        match (text.split_once("://"), text.split_once(':')) {
            (Some((scheme, _)), _) if is_server(scheme) => {
                ServerAddress::parse(text).map(Self::Server).map_err(fault)
            }
            (Some(("sqlite" | "file", _)), _) => {
                Err(fault("a SQLite store is named by its path alone, without a scheme".to_owned()))
            }
            (Some((scheme, _)), _) if is_scheme(scheme) => Err(fault(format!("unknown scheme {scheme:?}"))),
            // It may be part of a password.
            (Some(_), _) => Err(fault("the text before `://` is not a scheme".to_owned())),
            // A new file of that name would be a mistake.
            (None, Some((scheme, _))) if is_server(scheme) => {
                Err(fault(format!("`{scheme}:` is not followed by `//`")))
            }
            (None, _) => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

impl ServerAddress {
    fn parse(text: &str) -> Result<Self, String> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let authority = base.split_once("://").map_or(base, |(_, rest)| rest);
        if authority.matches('@').count() > 1 {
            // What follows the first one is part of a password, and would be taken for the host, which messages show.
            return Err(
                "the address of the store has more than one `@`; write one of a password as `%40`".to_owned()
            );
        }
        let (mut authorities, mut password_file) = (None, None);
        let mut is_mode_given = false;
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                // `tokio_postgres` supports neither.
                ("sslrootcert", path) => authorities = Some(PathBuf::from(decoded("sslrootcert", path)?)),
                ("passfile", path) => password_file = Some(PathBuf::from(decoded("passfile", path)?)),
                // Both are always verified.
                ("sslmode", "verify-ca" | "verify-full") => {
                    is_mode_given = true;
                    kept.push("sslmode=require");
                }
                ("sslmode", _) => {
                    is_mode_given = true;
                    kept.push(pair);
                }
                _ => kept.push(pair),
            }
        }
        let text = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        // Its errors name options, never values.
        let mut config: Config = text.parse().map_err(|error| isthmus_common::error_chain(&error))?;
        if config.get_hosts().is_empty() {
            return Err("the address of the store names no host".to_owned());
        }
        if password_file.is_some() && config.get_password().is_some() {
            return Err("the address of the store has both a password and a passfile".to_owned());
        }
        if !is_mode_given {
            let is_near = config.get_hosts().iter().all(is_on_this_machine);
            config.ssl_mode(if is_near { SslMode::Disable } else { SslMode::Require });
        }
        if config.get_application_name().is_none() {
            config.application_name("isthmus");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTING);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        Ok(Self { config: Secret::new(Box::new(config)), authorities, password_file })
    }

    /// Trusts the CAs in a file, unless the address names another one.
    #[must_use]
    pub fn trusting(mut self, authorities: Option<PathBuf>) -> Self {
        self.authorities = self.authorities.or(authorities);
        self
    }

    /// For messages: without user and password.
    pub(super) fn location(&self) -> String {
        let hosts = self.config.expose().get_hosts().iter().enumerate().map(|(index, host)| {
            let ports = self.config.expose().get_ports();
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            format!("{}:{port}", name_of(host))
        });
        let hosts: Vec<String> = hosts.collect();
        format!("postgres://{}/{}", hosts.join(","), self.config.expose().get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.location())
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
}

/// The name of a server, or the directory of its socket.
pub(super) fn name_of(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(directory) => directory.display().to_string(),
    }
}

fn is_on_this_machine(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

fn decoded(option: &str, text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap_or(0), rest.next().unwrap_or(0)];
        let mut decoded = [0];
        hex::decode_to_slice(digits, &mut decoded)
            .map_err(|_| format!("{option} has a % that is not followed by two hexadecimal digits"))?;
        bytes.extend(decoded);
    }
    String::from_utf8(bytes).map_err(|_| format!("{option} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> ServerAddress {
        match StoreAddress::parse(text).expect("an address") {
            StoreAddress::Server(server) => server,
            StoreAddress::File(path) => panic!("{text} is no file {}", path.display()),
        }
    }

    #[test]
    fn an_address_is_a_file_or_a_server() {
        assert!(
            matches!(StoreAddress::parse("/a/b"), Ok(StoreAddress::File(path)) if path == Path::new("/a/b"))
        );
        let odd = "/a/mysql:states";
        assert!(matches!(StoreAddress::parse(odd), Ok(StoreAddress::File(path)) if path == Path::new(odd)));
        let server = server("postgres://me:hunter2@db.example:6432/states");
        assert_eq!(server.location(), "postgres://db.example:6432/states");
        assert!(!format!("{server:?}").contains("hunter2"));
        for (text, words) in [
            ("mysql://db/states", "unknown scheme \"mysql\""),
            ("Postgres://db/states", "unknown scheme \"Postgres\""),
            ("sqlite:///states", "by its path alone"),
            ("file:///states", "by its path alone"),
            ("postgres:db/states", "not followed by `//`"),
            ("me:hunter2@db://states", "not a scheme"),
            (" postgres://db/states", "not a scheme"),
            ("postgres://db:hunter2/states", "port"),
            ("postgres://me:hunter2@db/states?nonsense=1", "nonsense"),
            ("postgres:///states", "names no host"),
            ("postgres://me:hun@hunter2@db/states", "more than one `@`"),
            ("postgres://db/states?sslrootcert=%zz", "hexadecimal"),
            ("postgres://me:hunter2@db/states?passfile=/run/pgpass", "both a password and a passfile"),
        ] {
            let error = StoreAddress::parse(text).expect_err(text).to_string();
            assert!(error.contains(words) && error.contains("ISTHMUS_STORE"), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn tls_is_demanded_of_other_machines_unless_the_address_says_otherwise() {
        let mode = |text: &str| server(text).config.expose().get_ssl_mode();
        assert_eq!(mode("postgres://db.example/states"), SslMode::Require);
        assert_eq!(mode("postgres://db.example/states?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost/states"), SslMode::Disable);
        assert_eq!(mode("postgres://127.0.0.1/states"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost/states?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://%2Frun%2Fpostgresql/states"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost,db.example/states"), SslMode::Require);
    }

    #[test]
    fn an_authority_is_named_by_the_address_or_beside_it() {
        let named = server("postgres://db/states?sslrootcert=%2Fetc%2Fca%20x.pem&sslmode=verify-full");
        let both = named.trusting(Some(PathBuf::from("/other.pem")));
        assert_eq!(both.authorities, Some(PathBuf::from("/etc/ca x.pem")));
        let beside = server("postgres://db/states").trusting(Some(PathBuf::from("/other.pem")));
        assert_eq!(beside.authorities, Some(PathBuf::from("/other.pem")));
    }
}
