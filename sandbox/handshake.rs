//! go-plugin's handshake: the client's environment variables and the handshake line.

#[cfg(not(feature = "misbehaviour"))]
use std::io::{self, Write as _};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::protocol::Protocol;

/// The magic cookie by which a plugin recognises that a host has started it.
pub const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// Output when a person starts the executable.
pub(crate) const FOR_A_PERSON: &str = "This binary is a plugin. It is not meant to be run by hand: Terraform, OpenTofu or isthmus \
    start it and speak to it.\n";

/// Environment variables of the handshake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// Whether the magic cookie is correct.
    pub magic_cookie: bool,
    /// `PLUGIN_PROTOCOL_VERSIONS`: protocol versions of the client.
    pub protocol_versions: Option<String>,
    /// `PLUGIN_CLIENT_CERT`: the client's certificate in PEM, which enables TLS.
    pub client_certificate: Option<String>,
    /// Directory of the socket: `PLUGIN_UNIX_SOCKET_DIR`, or the one for temporary files.
    pub socket_directory: PathBuf,
}

/// The handshake line.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// The negotiated protocol version.
    pub protocol: Protocol,
    /// The kind of its address.
    pub network: &'static str,
    pub address: &'a str,
    /// The server's certificate (DER), with TLS.
    pub certificate: Option<&'a [u8]>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let (cookie, value) = MAGIC_COOKIE;
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            magic_cookie: set(cookie).as_deref() == Some(value),
            protocol_versions: set("PLUGIN_PROTOCOL_VERSIONS"),
            client_certificate: set("PLUGIN_CLIENT_CERT"),
            socket_directory: set("PLUGIN_UNIX_SOCKET_DIR").map_or_else(std::env::temp_dir, PathBuf::from),
        }
    }
}

impl Line<'_> {
    /// The line, without its line feed.
    pub(crate) fn render(&self) -> String {
        let certificate = self.certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
        format!("1|{}|{}|{}|grpc|{certificate}", self.protocol, self.network, self.address)
    }
}

#[expect(clippy::disallowed_methods, reason = "a host reads the line from standard output")]
#[cfg(not(feature = "misbehaviour"))]
pub(crate) fn answer(line: &Line<'_>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(format!("{}\n", line.render()).as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_the_last_field_is_empty() {
        let line =
            Line { protocol: Protocol::V5, network: "unix", address: "/tmp/plugin1", certificate: None };
        assert_eq!(line.render(), "1|5|unix|/tmp/plugin1|grpc|");
    }

    #[test]
    fn the_certificate_is_base64_without_padding() {
        let line =
            Line { protocol: Protocol::V6, network: "unix", address: "/s", certificate: Some(&[0xff; 4]) };
        assert_eq!(line.render(), "1|6|unix|/s|grpc|/////w");
    }
}
