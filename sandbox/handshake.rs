//! go-plugin's handshake: what the client says in environment variables, and the line that answers it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::protocol::Protocol;
use crate::switches::Handshake;

/// What tells a plugin that it was started by Terraform and not by a person.
pub const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// What a person is told.
pub(crate) const FOR_A_PERSON: &str = "This binary is a plugin. It is not meant to be run by hand: Terraform, OpenTofu or isthmus \
    start it and speak to it.\n";

/// The environment of a plugin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// Whether the magic cookie is there and right.
    pub magic_cookie: bool,
    /// `PLUGIN_PROTOCOL_VERSIONS`: what the client speaks.
    pub protocol_versions: Option<String>,
    /// `PLUGIN_CLIENT_CERT`: the client's certificate in PEM; with it, TLS is spoken.
    pub client_certificate: Option<String>,
    /// The directory for the socket: `PLUGIN_UNIX_SOCKET_DIR`, else that for temporary files.
    pub socket_folder: PathBuf,
}

/// The line that a plugin answers with.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// The protocol that will be spoken.
    pub protocol: Protocol,
    /// Where.
    pub socket: &'a Path,
    /// The server's certificate (DER), when TLS will be spoken.
    pub certificate: Option<&'a [u8]>,
}

/// What happens after the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The plugin serves.
    Serve,
    /// The process ends with this status.
    Exit(u8),
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        let (cookie, value) = MAGIC_COOKIE;
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            magic_cookie: set(cookie).as_deref() == Some(value),
            protocol_versions: set("PLUGIN_PROTOCOL_VERSIONS"),
            client_certificate: set("PLUGIN_CLIENT_CERT"),
            socket_folder: set("PLUGIN_UNIX_SOCKET_DIR").map_or_else(std::env::temp_dir, PathBuf::from),
        }
    }
}

impl Line<'_> {
    /// The line, without its end.
    pub(crate) fn render(&self) -> String {
        let certificate = self.certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
        format!("1|{}|unix|{}|grpc|{certificate}", self.protocol, self.socket.display())
    }
}

/// Says the line, or whatever the switch makes of it. A wrong certificate is the caller's business, who knows what TLS is
/// spoken with.
///
/// # Errors
/// When stdout cannot be written.
#[expect(clippy::disallowed_methods, reason = "a host reads the line from standard output")]
pub(crate) fn answer(line: &Line<'_>, handshake: Handshake) -> io::Result<Then> {
    let mut stdout = io::stdout().lock();
    let good = line.render();
    let socket = line.socket.display();
    let protocol = line.protocol;
    let text = match handshake {
        Handshake::Good | Handshake::ExitAfter | Handshake::WrongCertificate => good,
        Handshake::Garbage => "hello, who is there?".to_owned(),
        Handshake::Short => format!("1|{protocol}|unix"),
        Handshake::CoreVersion => good.replacen('1', "2", 1),
        Handshake::ApplicationVersion => {
            Line { certificate: None, ..*line }.render().replacen(&format!("|{protocol}|"), "|4|", 1)
        }
        Handshake::ForeignAddress => format!("1|{protocol}|tcp|192.0.2.1:10000|grpc|"),
        Handshake::NetRpc => format!("1|{protocol}|unix|{socket}|netrpc|"),
        Handshake::NoCertificate => Line { certificate: None, ..*line }.render(),
        Handshake::GarbageCertificate => {
            format!("1|{protocol}|unix|{socket}|grpc|{}", "not base64! ".repeat(10))
        }
        Handshake::DeadSocket => {
            let nobody = line.socket.with_extension("nobody");
            Line { socket: &nobody, ..*line }.render()
        }
        Handshake::Noise => format!("starting up...\n[DEBUG] reading settings\n\n{good}"),
        Handshake::Trickle => {
            let (first, rest) = good.split_at(good.len() / 2);
            stdout.write_all(first.as_bytes())?;
            stdout.flush()?;
            std::thread::sleep(Duration::from_millis(50));
            rest.to_owned()
        }
        Handshake::Endless => {
            stdout.write_all("x".repeat(1 << 20).as_bytes())?;
            stdout.flush()?;
            return Ok(Then::Serve);
        }
        Handshake::Silent => return Ok(Then::Serve),
        Handshake::ExitBefore => {
            io::stderr().write_all(b"the sandbox was asked to exit before the handshake\n")?;
            return Ok(Then::Exit(3));
        }
    };
    stdout.write_all(format!("{text}\n").as_bytes())?;
    stdout.flush()?;
    Ok(if handshake == Handshake::ExitAfter { Then::Exit(0) } else { Then::Serve })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_the_last_field_is_empty() {
        let line = Line { protocol: Protocol::V5, socket: Path::new("/tmp/plugin1"), certificate: None };
        assert_eq!(line.render(), "1|5|unix|/tmp/plugin1|grpc|");
    }

    #[test]
    fn the_certificate_is_base64_without_padding() {
        let line = Line { protocol: Protocol::V6, socket: Path::new("/s"), certificate: Some(&[0xff; 4]) };
        assert_eq!(line.render(), "1|6|unix|/s|grpc|/////w");
    }
}
