//! The handshake line, or a faulty one.

use std::io::{self, Write as _};

use super::Handshake;
use crate::handshake::Line;

/// What follows the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Serve,
    /// The process exits with this status.
    Exit(u8),
}

/// Writes the line, or a faulty one. The caller substitutes a wrong certificate.
#[expect(clippy::disallowed_methods, reason = "a host reads the line from standard output")]
pub(crate) fn answer(line: &Line<'_>, handshake: Handshake) -> io::Result<Then> {
    let mut stdout = io::stdout().lock();
    let good = line.render();
    let socket = line.address;
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
            let dead = format!("{}.dead", line.address);
            Line { address: &dead, ..*line }.render()
        }
        Handshake::Noise => format!("starting up...\n[DEBUG] reading settings\n\n{good}"),
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
