//! The addresses of a daemon: as a plugin names it (`https://host:port`, or `http://127.0.0.1:port` on the same machine), and
//! that of its HTTP port.

use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::uri::{Scheme, Uri};

/// Where a daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonAddress {
    pub host: DaemonHost,
    pub port: u16,
}

/// The machine of a daemon, which says how it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonHost {
    /// A name or an IP address, by its certificate.
    Certified(String),
    /// This machine, by the user of the process that listens.
    Loopback(IpAddr),
}

impl DaemonAddress {
    /// Parses an address.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.trim().parse().map_err(|_| "not an address".to_owned())?;
        if uri.path() != "/" || uri.query().is_some() || text.contains('@') {
            return Err("an address of a daemon is a scheme, a host and a port".to_owned());
        }
        let (Some(host), Some(port)) = (uri.host(), uri.port_u16()) else {
            return Err("an address without a host or a port".to_owned());
        };
        if uri.scheme() == Some(&Scheme::HTTPS) {
            return Ok(Self { host: DaemonHost::Certified(host.to_owned()), port });
        }
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err("neither `https` nor `http`".to_owned());
        }
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match ip.ok().filter(IpAddr::is_loopback) {
            Some(ip) => Ok(Self { host: DaemonHost::Loopback(ip), port }),
            None => {
                Err("`http` reaches 127.0.0.1 and [::1] only, because the environment is sent: use `https`"
                    .to_owned())
            }
        }
    }
}

impl fmt::Display for DaemonAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            DaemonHost::Certified(host) => write!(formatter, "https://{host}:{}", self.port),
            DaemonHost::Loopback(ip) => write!(formatter, "http://{}", SocketAddr::new(*ip, self.port)),
        }
    }
}

/// A host and a port. The host is a name or an address; an IPv6 address is in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAddress(String);

impl HttpAddress {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let text = value.to_str().ok_or_else(|| "not UTF-8".to_owned())?.trim();
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err("not HOST:PORT".to_owned());
        };
        port.parse::<u16>().map_err(|_| "the port is not a number up to 65535".to_owned())?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let is_host = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
        match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) if address.parse::<std::net::Ipv6Addr>().is_ok() => Ok(Self(text.to_owned())),
            _ if host.is_empty() => Err("without a host: 127.0.0.1 is this machine's own".to_owned()),
            _ if is_bracketed || !host.chars().all(is_host) => {
                Err("the host is neither a name nor an address".to_owned())
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// As it is looked up: `HOST:PORT`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_this_machine_an_address_has_https() {
        for text in [
            "https://daemon.example.org:7443",
            "https://[2001:db8::1]:7443",
            "http://127.0.0.1:80",
            "http://[::1]:80",
        ] {
            let address = DaemonAddress::parse(text).expect(text);
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "https://daemon.example.org",
            "http://daemon.example.org:80",
            "http://localhost:80",
            "https://a:1/path",
            "https://user@a:1",
            "unix://a:1",
            "https://",
        ] {
            DaemonAddress::parse(text).expect_err(text);
        }
    }
}
