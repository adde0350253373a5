//! Reads variables into the types of settings, and collects what is wrong with them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use isthmus_common::quoted;
use isthmus_state::{KeySource, StoreAddress};

use super::parsed::{Identification, Network, Security};
use super::values;
use super::{
    KEY, KEY_FILE, LISTEN, PASSPHRASE, PREFIX, REMOVED, STORE, STORE_CA, Setting, TLS_CERTIFICATE,
    TLS_CLIENT_AUTHORITIES, TLS_KEY, TOKENS,
};

/// Maximum length, in characters, of an invalid value in an error.
pub(super) const LONGEST_VALUE: usize = 60;

/// Reads variables, and collects errors.
pub(super) struct Reader<'a> {
    variables: &'a BTreeMap<OsString, OsString>,
    pub(super) invalid: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Whether an error shows the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Showing {
    Value,
    Nothing,
}

impl<'a> Reader<'a> {
    pub(super) fn new(variables: &'a BTreeMap<OsString, OsString>) -> Self {
        Self { variables, invalid: Vec::new(), warnings: Vec::new() }
    }

    /// The value of a variable; an empty one counts as unset.
    pub(super) fn value<T>(
        &mut self,
        setting: Setting,
        parse: impl Fn(&OsStr) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name)).filter(|value| !value.is_empty())?;
        self.parsed(setting, value, Showing::Value, parse)
    }

    /// The same for a value with secrets, which no error shows.
    pub(super) fn hidden<T>(
        &mut self,
        setting: Setting,
        parse: impl Fn(&OsStr) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name)).filter(|value| !value.is_empty())?;
        self.parsed(setting, value, Showing::Nothing, parse)
    }

    /// A secret. An empty value is rejected: it results from a failed expansion, and the store must
    /// not get another key than the intended one.
    pub(super) fn secret<T>(
        &mut self,
        setting: Setting,
        parse: impl Fn(&OsStr) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name))?;
        let parse = |value: &OsStr| if value.is_empty() { Err("empty".to_owned()) } else { parse(value) };
        self.parsed(setting, value, Showing::Nothing, parse)
    }

    /// Settings of earlier versions, without which something else would happen.
    pub(super) fn refuse_removed(&mut self) {
        for (name, instead) in REMOVED {
            if self.variables.get(OsStr::new(name)).is_some_and(|value| !value.is_empty()) {
                self.invalid.push(format!("{name} is no longer a setting: {instead}"));
            }
        }
    }

    /// The key of the store, which at most one of three variables sets.
    pub(super) fn key(&mut self) -> Option<KeySource> {
        let all = [KEY, KEY_FILE, PASSPHRASE];
        let set = all.map(|setting| setting.name).into_iter();
        let set: Vec<_> = set.filter(|name| self.variables.contains_key(OsStr::new(name))).collect();
        let key = self.secret(KEY, values::key).map(KeySource::Digits);
        let file = self.secret(KEY_FILE, values::path).map(KeySource::File);
        let passphrase = self.secret(PASSPHRASE, values::passphrase).map(KeySource::Passphrase);
        if set.len() > 1 {
            self.invalid.push(format!("{}: only one of them may be set", set.join(", ")));
        }
        key.or(file).or(passphrase)
    }

    /// Two files that belong together.
    pub(super) fn pair(&mut self, certificate: Setting, key: Setting) -> Option<(PathBuf, PathBuf)> {
        match (self.value(certificate, values::path), self.value(key, values::path)) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                self.invalid.push(format!("{}, {}: both or neither must be set", certificate.name, key.name));
                None
            }
        }
    }

    /// The address of a shared daemon, which nothing but its user and who identifies itself may use.
    pub(super) fn network(&mut self) -> Option<Network> {
        let listen = self.value(LISTEN, values::address);
        let certificate = self.pair(TLS_CERTIFICATE, TLS_KEY);
        let authorities = self.value(TLS_CLIENT_AUTHORITIES, values::path);
        let tokens = self.value(TOKENS, values::path);
        let Some(listen) = listen else {
            let set = [
                (TLS_CERTIFICATE, certificate.is_some()),
                (TLS_CLIENT_AUTHORITIES, authorities.is_some()),
                (TOKENS, tokens.is_some()),
            ];
            for (setting, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
                self.warnings.push(format!("{} has no effect without {}", setting.name, LISTEN.name));
            }
            return None;
        };
        let security = match (certificate, authorities, tokens) {
            (Some((certificate, key)), authorities, tokens) => {
                let identification = match (authorities, tokens) {
                    (Some(authorities), None) => Identification::Certificates(authorities),
                    (None, Some(tokens)) => Identification::Tokens(tokens),
                    (Some(authorities), Some(tokens)) => Identification::Either { authorities, tokens },
                    (None, None) => {
                        let needed = [TLS_CLIENT_AUTHORITIES.name, TOKENS.name].join(" or ");
                        self.invalid.push(format!(
                            "{}: with TLS, plugins identify themselves: set {needed}",
                            LISTEN.name
                        ));
                        return None;
                    }
                };
                Security::Tls { certificate, key, identification }
            }
            (None, None, tokens) if listen.ip().is_loopback() => Security::Loopback { tokens },
            (None, Some(_), _) => {
                let (setting, needed) = (TLS_CLIENT_AUTHORITIES.name, TLS_CERTIFICATE.name);
                self.invalid
                    .push(format!("{setting}: certificates identify plugins over TLS only: set {needed}"));
                return None;
            }
            (None, None, _) => {
                let (setting, needed) = (LISTEN.name, TLS_CERTIFICATE.name);
                self.invalid.push(format!(
                    "{setting}: an address beyond this machine is served over TLS only: set {needed}"
                ));
                return None;
            }
        };
        Some(Network { listen, security })
    }

    /// The address of the store, which may contain a password.
    pub(super) fn store(&mut self, authorities: Option<PathBuf>) -> Option<StoreAddress> {
        match self.hidden(STORE, values::store) {
            Some(StoreAddress::Server(server)) => Some(StoreAddress::Server(server.trusting(authorities))),
            other => {
                if authorities.is_some() {
                    self.warnings
                        .push(format!("{} has no effect without a server in {}", STORE_CA.name, STORE.name));
                }
                other
            }
        }
    }

    fn parsed<T>(
        &mut self,
        setting: Setting,
        value: &OsStr,
        showing: Showing,
        parse: impl Fn(&OsStr) -> Result<T, String>,
    ) -> Option<T> {
        match parse(value) {
            Ok(parsed) => Some(parsed),
            Err(reason) => {
                let shown = match showing {
                    Showing::Value if !may_authorise(value) => format!("={}", Shortened(value)),
                    Showing::Value | Showing::Nothing => String::new(),
                };
                self.invalid.push(format!("{}{shown}: {reason}; expected {}", setting.name, setting.value));
                None
            }
        }
    }
}

/// Whether a value is an address with a user or a query, which may have a password or a token.
fn may_authorise(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    text.contains("://") && text.contains(['@', '?'])
}

/// A quoted value, or its start.
struct Shortened<'a>(&'a OsStr);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = quoted(self.0);
        if quoted.chars().count() <= LONGEST_VALUE {
            return formatter.write_str(&quoted);
        }
        let beginning: String = quoted.chars().take(LONGEST_VALUE).collect();
        write!(formatter, "{beginning}…\"")
    }
}

/// A warning for each unknown variable with our prefix.
pub(super) fn misspelt(variables: &BTreeMap<OsString, OsString>) -> impl Iterator<Item = String> {
    let names = variables.keys().map(|name| name.to_string_lossy());
    names
        .filter(|name| name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX)))
        .filter(|name| !REMOVED.iter().any(|(removed, _)| removed == name))
        .filter_map(|name| super::find(&name).err())
}
