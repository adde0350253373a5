//! The address of an HTTP port, as a setting names it.

use std::ffi::OsStr;
use std::fmt;

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
