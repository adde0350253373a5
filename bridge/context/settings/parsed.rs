//! The parsed values of all settings.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use isthmus_state::{JournalDurability, KeySource, StoreAddress};

use super::values::{self, choice};
use super::{
    AUDIT_LOG, DAEMON, DAEMON_AUTHORITIES, DAEMON_CERTIFICATE, DAEMON_KEY, DAEMON_TOKEN_FILE,
    DEFAULT_DRAIN_PERIOD, DEFAULT_STOP_GRACE_PERIOD, DRAIN_PERIOD, DURABILITY, DaemonAddress, EXACT_NUMBERS,
    HOME, HttpAddress, KEY, KEY_FILE, KILL_SESSIONS, LISTEN, LOCK_FILE, LOG_CALLS, METRICS, OFFLINE,
    PASSPHRASE, PLAIN_RESULTS, POOL_AGE, POOL_IDLE, POOL_MEMORY, POOL_PROCESSES, PREFIX, PROVIDER,
    PROVIDER_DIRECTORY, PROVIDER_ENVIRONMENT, PROVIDER_MEMORY, PROVIDER_META, ProviderEnvironment,
    ProviderMeta, RECORD, REMOVED, SCHEMA_CACHE, SENSITIVE_OUTPUTS, STOP_GRACE_PERIOD, STORE, STORE_CA,
    Setting, TLS_CERTIFICATE, TLS_CLIENT_AUTHORITIES, TLS_KEY, TOKENS, WRITE_ONLY, foreign,
};
use isthmus_package::names::plain_results::PlainResults;
use isthmus_translate::exact_numbers::NumberForm;

/// Maximum length, in characters, of an invalid value in an error.
const LONGEST_VALUE: usize = 60;

/// The values of [`DURABILITY`].
const DURABILITIES: [(&str, JournalDurability); 2] =
    [("process", JournalDurability::Process), ("disk", JournalDurability::Disk)];

#[derive(Clone, Debug)]
pub struct Settings {
    /// The audit log of a shared daemon.
    pub audit_log: Option<PathBuf>,
    /// The daemon that a plugin passes its calls on to.
    pub daemon: DaemonChoice,
    /// Time that the calls of a shared daemon have to end by themselves when it ends.
    pub drain_period: Duration,
    /// How the plugin identifies itself to a daemon at an address, and the daemon to it.
    pub to_daemon: ToDaemon,
    /// The address of a shared daemon besides its socket.
    pub network: Option<Network>,
    /// Time that a stopped call or provider has to finish.
    pub stop_grace_period: Duration,
    /// The directory of the state store, keys and caches.
    pub home: Option<PathBuf>,
    /// What an entry of the journal survives.
    pub durability: JournalDurability,
    /// The form of numbers that no double holds.
    pub exact_numbers: NumberForm,
    /// The key of the state store; by default the one in the home.
    pub key: Option<KeySource>,
    /// The lock file of providers.
    pub lock_file: Option<PathBuf>,
    /// Whether processes that a provider has moved into another session are killed when it ends.
    pub kill_sessions: bool,
    /// Whether calls of providers are logged.
    pub log_calls: bool,
    /// The address for metrics and the status page of a shared daemon.
    pub metrics: Option<HttpAddress>,
    /// Whether providers are found without network access.
    pub offline: bool,
    /// Functions whose results have no secrets; by default those of the package.
    pub plain_results: Option<PlainResults>,
    /// The limits of a shared daemon's provider processes.
    pub pool: PoolLimits,
    /// The provider binary of a legacy engine's plugin.
    pub provider: Option<PathBuf>,
    /// The working directory of providers.
    pub provider_directory: Option<PathBuf>,
    /// Variables that providers get although they are withheld.
    pub provider_environment: ProviderEnvironment,
    /// The limit of a provider's resident memory, in bytes.
    pub provider_memory: Option<u64>,
    /// Metadata for providers, as from `provider_meta` blocks.
    pub provider_meta: ProviderMeta,
    /// The file to which sessions are recorded.
    pub record: Option<PathBuf>,
    pub schema_cache: bool,
    pub sensitive_outputs: SensitiveOutputs,
    /// Location of the state store; by default in the home.
    pub store: Option<StoreAddress>,
    pub write_only: WriteOnly,
    /// Warnings about variables without effect, for the user.
    pub warnings: Vec<String>,
}

/// The daemon that a plugin passes its calls on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonChoice {
    /// None: the plugin is its own daemon.
    Off,
    /// The one of this user, if its socket is where it usually is.
    WellKnown,
    /// The one that listens on this socket.
    Socket(PathBuf),
    /// One of those at these addresses, of which there is at least one.
    Addresses(Vec<DaemonAddress>),
}

/// How a plugin and a daemon at an address identify themselves. Paths are as from the plugin's working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToDaemon {
    /// The authorities that may have issued the daemon's certificate; by default the system's.
    pub authorities: Option<PathBuf>,
    /// The plugin's certificate, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The file of the plugin's token.
    pub token: Option<PathBuf>,
}

/// An address of a shared daemon besides its socket. Paths are as from the daemon's working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub listen: SocketAddr,
    pub security: Security,
}

/// Who is served at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// On this machine's loopback only: the users that are served at the socket too, and who has a token.
    Loopback {
        /// The file of the tokens.
        tokens: Option<PathBuf>,
    },
    /// Who has a certificate or a token, over TLS.
    Tls {
        /// The daemon's certificate.
        certificate: PathBuf,
        key: PathBuf,
        identification: Identification,
    },
}

/// What identifies plugins over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identification {
    /// Certificates of these authorities.
    Certificates(PathBuf),
    /// Tokens in this file.
    Tokens(PathBuf),
    Either {
        authorities: PathBuf,
        tokens: PathBuf,
    },
}

/// The limits of a shared daemon's provider processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Processes at a time.
    pub processes: usize,
    /// Resident memory of all processes, in bytes, from which on no further one is started.
    pub memory: Option<u64>,
    /// How long after its configuration a process is given to further sessions.
    pub age: Duration,
    /// How long a process is kept that no session uses.
    pub idle: Duration,
}

const MOST_PROCESSES: usize = 64;
const LONGEST_AGE: Duration = Duration::from_secs(60 * 60);
const LONGEST_IDLE: Duration = Duration::from_secs(10 * 60);

/// What a legacy engine gets of sensitive outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensitiveOutputs {
    /// All of them, with a warning.
    Show,
    Withhold,
}

/// What engines store of write-only values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOnly {
    /// The values, marked as secrets.
    Secret,
    Hash,
}

/// All invalid settings, one per line. Values of keys and addresses are not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid settings in the environment:\n  {}\nhelp: correct or unset these variables; `isthmus explain settings` describes them all",
    .0.join("\n  ")
)]
pub struct InvalidSettings(Vec<String>);

impl InvalidSettings {
    /// The value of a setting is valid, and cannot be used for this reason.
    pub fn unusable(setting: Setting, reason: &str) -> Self {
        Self(vec![format!("{}: {reason}", setting.name)])
    }

    /// What is wrong, a line for each setting, which begins with its name.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl Settings {
    /// Parses this process's environment.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn from_environment() -> Result<Self, InvalidSettings> {
        Self::parse(std::env::vars_os())
    }

    /// Parses an environment.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn parse(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, InvalidSettings> {
        let variables: BTreeMap<OsString, OsString> = environment.into_iter().collect();
        let mut reader = Reader::new(&variables);
        let authorities = reader.value(STORE_CA, values::path);
        let settings = Self {
            audit_log: reader.value(AUDIT_LOG, values::path),
            daemon: reader.value(DAEMON, DaemonChoice::parse).unwrap_or(DaemonChoice::WellKnown),
            drain_period: reader.value(DRAIN_PERIOD, values::seconds).unwrap_or(DEFAULT_DRAIN_PERIOD),
            to_daemon: ToDaemon {
                authorities: reader.value(DAEMON_AUTHORITIES, values::path),
                certificate: reader.pair(DAEMON_CERTIFICATE, DAEMON_KEY),
                token: reader.value(DAEMON_TOKEN_FILE, values::path),
            },
            network: reader.network(),
            stop_grace_period: reader
                .value(STOP_GRACE_PERIOD, values::seconds)
                .unwrap_or(DEFAULT_STOP_GRACE_PERIOD),
            home: reader.value(HOME, values::path),
            durability: reader.value(DURABILITY, choice(&DURABILITIES)).unwrap_or_default(),
            exact_numbers: reader.value(EXACT_NUMBERS, choice(&NUMBER_FORMS)).unwrap_or_default(),
            key: reader.key(),
            kill_sessions: reader.value(KILL_SESSIONS, values::boolean).unwrap_or(false),
            lock_file: reader.value(LOCK_FILE, values::path),
            log_calls: reader.value(LOG_CALLS, values::boolean).unwrap_or(false),
            metrics: reader.value(METRICS, HttpAddress::parse),
            offline: reader.value(OFFLINE, values::boolean).unwrap_or(false),
            plain_results: reader.value(PLAIN_RESULTS, values::plain_results),
            pool: PoolLimits {
                processes: reader.value(POOL_PROCESSES, values::count).unwrap_or(MOST_PROCESSES),
                memory: reader.value(POOL_MEMORY, values::mebibytes),
                age: reader.value(POOL_AGE, values::seconds).unwrap_or(LONGEST_AGE),
                idle: reader.value(POOL_IDLE, values::seconds).unwrap_or(LONGEST_IDLE),
            },
            provider: reader.value(PROVIDER, values::path),
            provider_directory: reader.value(PROVIDER_DIRECTORY, values::path),
            provider_environment: reader
                .value(PROVIDER_ENVIRONMENT, ProviderEnvironment::parse)
                .unwrap_or_default(),
            provider_memory: reader.value(PROVIDER_MEMORY, values::mebibytes),
            provider_meta: reader.hidden(PROVIDER_META, ProviderMeta::parse).unwrap_or_default(),
            record: reader.value(RECORD, values::path),
            schema_cache: reader.value(SCHEMA_CACHE, values::boolean).unwrap_or(true),
            sensitive_outputs: reader
                .value(SENSITIVE_OUTPUTS, choice(&SensitiveOutputs::VALUES))
                .unwrap_or(SensitiveOutputs::Show),
            store: reader.store(authorities),
            write_only: reader.value(WRITE_ONLY, choice(&WriteOnly::VALUES)).unwrap_or(WriteOnly::Secret),
            warnings: Vec::new(),
        };
        reader.refuse_removed();
        let Reader { invalid, mut warnings, .. } = reader;
        if !invalid.is_empty() {
            return Err(InvalidSettings(invalid));
        }
        warnings.extend(misspelt(&variables));
        warnings.extend(foreign::warnings(&variables));
        Ok(Self { warnings, ..settings })
    }
}

impl Default for Settings {
    /// The settings of an empty environment.
    fn default() -> Self {
        Self::parse([]).expect("an unset variable is valid")
    }
}

impl DaemonChoice {
    fn parse(value: &OsStr) -> Result<Self, String> {
        if value.eq_ignore_ascii_case("off") {
            return Ok(Self::Off);
        }
        if let Some(text) = value.to_str().filter(|text| text.contains("://")) {
            return text.split(',').map(DaemonAddress::parse).collect::<Result<_, _>>().map(Self::Addresses);
        }
        let path = values::path(value)?;
        if path.components().count() < 2 {
            return Err("not a path".to_owned());
        }
        Ok(Self::Socket(path))
    }
}

const NUMBER_FORMS: [(&str, NumberForm); 2] =
    [("number", NumberForm::Number), ("string", NumberForm::String)];

impl SensitiveOutputs {
    const VALUES: [(&str, Self); 2] = [("show", Self::Show), ("withhold", Self::Withhold)];
}

impl WriteOnly {
    const VALUES: [(&str, Self); 2] = [("secret", Self::Secret), ("hash", Self::Hash)];
}

/// Reads variables, and collects errors.
struct Reader<'a> {
    variables: &'a BTreeMap<OsString, OsString>,
    invalid: Vec<String>,
    warnings: Vec<String>,
}

/// Whether an error shows the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Showing {
    Value,
    Nothing,
}

impl<'a> Reader<'a> {
    fn new(variables: &'a BTreeMap<OsString, OsString>) -> Self {
        Self { variables, invalid: Vec::new(), warnings: Vec::new() }
    }

    /// The value of a variable; an empty one counts as unset.
    fn value<T>(&mut self, setting: Setting, parse: impl Fn(&OsStr) -> Result<T, String>) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name)).filter(|value| !value.is_empty())?;
        self.parsed(setting, value, Showing::Value, parse)
    }

    /// The same for a value with secrets, which no error shows.
    fn hidden<T>(&mut self, setting: Setting, parse: impl Fn(&OsStr) -> Result<T, String>) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name)).filter(|value| !value.is_empty())?;
        self.parsed(setting, value, Showing::Nothing, parse)
    }

    /// A secret. An empty value is rejected: it results from a failed expansion, and the store must
    /// not get another key than the intended one.
    fn secret<T>(&mut self, setting: Setting, parse: impl Fn(&OsStr) -> Result<T, String>) -> Option<T> {
        let value = self.variables.get(OsStr::new(setting.name))?;
        let parse = |value: &OsStr| if value.is_empty() { Err("empty".to_owned()) } else { parse(value) };
        self.parsed(setting, value, Showing::Nothing, parse)
    }

    /// Settings of earlier versions, without which something else would happen.
    fn refuse_removed(&mut self) {
        for (name, instead) in REMOVED {
            if self.variables.get(OsStr::new(name)).is_some_and(|value| !value.is_empty()) {
                self.invalid.push(format!("{name} is no longer a setting: {instead}"));
            }
        }
    }

    /// The key of the store, which at most one of three variables sets.
    fn key(&mut self) -> Option<KeySource> {
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
    fn pair(&mut self, certificate: Setting, key: Setting) -> Option<(PathBuf, PathBuf)> {
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
    fn network(&mut self) -> Option<Network> {
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
    fn store(&mut self, authorities: Option<PathBuf>) -> Option<StoreAddress> {
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
        let quoted = format!("{:?}", self.0);
        if quoted.chars().count() <= LONGEST_VALUE {
            return formatter.write_str(&quoted);
        }
        let beginning: String = quoted.chars().take(LONGEST_VALUE).collect();
        write!(formatter, "{beginning}…\"")
    }
}

/// A warning for each unknown variable with our prefix.
fn misspelt(variables: &BTreeMap<OsString, OsString>) -> impl Iterator<Item = String> {
    let names = variables.keys().map(|name| name.to_string_lossy());
    names
        .filter(|name| name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX)))
        .filter(|name| !REMOVED.iter().any(|(removed, _)| removed == name))
        .filter_map(|name| super::find(&name).err())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn environment<'a>(
        variables: &'a [(&'a str, &'a [u8])],
    ) -> impl Iterator<Item = (OsString, OsString)> + use<'a> {
        variables.iter().map(|(name, value)| (name.into(), OsStr::from_bytes(value).into()))
    }

    fn parse(variables: &[(&str, &str)]) -> Result<Settings, InvalidSettings> {
        Settings::parse(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn each_spelling_has_its_meaning() {
        type Holds = fn(&Settings) -> bool;
        let day = Duration::from_secs(86_400);
        assert_eq!(
            parse(&[(STOP_GRACE_PERIOD.name, " 86400 ")]).map(|settings| settings.stop_grace_period),
            Ok(day)
        );
        let rows: &[(Setting, &[&str], Holds)] = &[
            (STOP_GRACE_PERIOD, &["0.5", " .5\n"], |settings| {
                settings.stop_grace_period == Duration::from_millis(500)
            }),
            (STOP_GRACE_PERIOD, &[""], |settings| settings.stop_grace_period == DEFAULT_STOP_GRACE_PERIOD),
            (HOME, &["/a b"], |settings| settings.home == Some("/a b".into())),
            (HOME, &[""], |settings| settings.home.is_none()),
            (
                KEY_FILE,
                &["/k"],
                |settings| matches!(&settings.key, Some(KeySource::File(path)) if path == "/k"),
            ),
            (PASSPHRASE, &[" ", "x"], |settings| matches!(settings.key, Some(KeySource::Passphrase(_)))),
            (LOCK_FILE, &["a.hcl"], |settings| settings.lock_file == Some("a.hcl".into())),
            (PROVIDER_DIRECTORY, &["../x"], |settings| settings.provider_directory == Some("../x".into())),
            (PROVIDER_ENVIRONMENT, &["CLOUD_*", "A, CLOUD_KEY"], |settings| {
                settings.provider_environment.names(OsStr::new("CLOUD_KEY"))
            }),
            (PROVIDER_MEMORY, &["512", " 512\n"], |settings| settings.provider_memory == Some(512 << 20)),
            (PROVIDER_MEMORY, &[""], |settings| settings.provider_memory.is_none()),
            (KILL_SESSIONS, &["1", "yes", "TRUE", "On"], |settings| settings.kill_sessions),
            (KILL_SESSIONS, &["", "0", "no", "False", "OFF"], |settings| !settings.kill_sessions),
            (LOG_CALLS, &["1", "yes", "TRUE", "On"], |settings| settings.log_calls),
            (LOG_CALLS, &["", "0", "no", "False", "OFF"], |settings| !settings.log_calls),
            (OFFLINE, &["1", "yes", "TRUE", "On"], |settings| settings.offline),
            (OFFLINE, &["", "0", "no", "False", "OFF"], |settings| !settings.offline),
            (PROVIDER, &["/p"], |settings| settings.provider == Some("/p".into())),
            (PROVIDER_META, &[r#"{"a": {}}"#], |settings| settings.provider_meta.of("", "a").is_some()),
            (SCHEMA_CACHE, &["", "1", "yes", "TRUE", "On"], |settings| settings.schema_cache),
            (SCHEMA_CACHE, &["0", "no", "False", "OFF"], |settings| !settings.schema_cache),
            (SENSITIVE_OUTPUTS, &["withhold", "WITHHOLD", " Withhold"], |settings| {
                settings.sensitive_outputs == SensitiveOutputs::Withhold
            }),
            (SENSITIVE_OUTPUTS, &["", "show", "Show"], |settings| {
                settings.sensitive_outputs == SensitiveOutputs::Show
            }),
            (STORE, &["a.sqlite"], |settings| matches!(settings.store, Some(StoreAddress::File(_)))),
            (STORE, &["postgres://u:p@h/d"], |settings| {
                matches!(settings.store, Some(StoreAddress::Server(_)))
            }),
            (STORE, &[""], |settings| settings.store.is_none()),
            (WRITE_ONLY, &["hash", "HASH"], |settings| settings.write_only == WriteOnly::Hash),
            (WRITE_ONLY, &["", "secret", "Secret"], |settings| settings.write_only == WriteOnly::Secret),
        ];
        for (setting, values, holds) in rows {
            for value in *values {
                let settings = parse(&[(setting.name, value)]).unwrap_or_else(|error| panic!("{error}"));
                assert!(holds(&settings), "{}={value:?}: {settings:?}", setting.name);
                assert_eq!(settings.warnings, [""; 0], "{}={value:?}", setting.name);
            }
        }
        let digits = "0123456789abcdef".repeat(4);
        assert!(matches!(parse(&[(KEY.name, &digits)]).expect("a key").key, Some(KeySource::Digits(_))));
    }

    #[test]
    fn a_choice_is_documented_with_all_its_words() {
        let words = SensitiveOutputs::VALUES.map(|(word, _)| (SENSITIVE_OUTPUTS, word));
        for (setting, word) in words.into_iter().chain(WriteOnly::VALUES.map(|(word, _)| (WRITE_ONLY, word)))
        {
            assert!(setting.value.contains(&format!("`{word}`")), "{setting:?} has {word}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_listed_at_once_without_secrets() {
        let error = Settings::parse(environment(&[
            ("ISTHMUS_LOG_CALLS", "ä".repeat(100).as_bytes()),
            ("ISTHMUS_OFFLINE", b"maybe"),
            ("ISTHMUS_STOP_GRACE_PERIOD", b"5s"),
            ("ISTHMUS_HOME", b"~/isthmus"),
            ("ISTHMUS_KEY", b"sesame"),
            ("ISTHMUS_PASSPHRASE", b""),
            ("ISTHMUS_STORE", b"mysql://me:sesame@host"),
            ("ISTHMUS_WRITE_ONLY", b"hash\xff"),
            ("ISTHMUS_PROVIDER_META", b"tok-SECRET-hunter2"),
            ("ISTHMUS_NAME_PROPERTIES", b"{}"),
        ]));
        let text = error.expect_err("much is wrong").to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "invalid settings in the environment:",
                "  ISTHMUS_STOP_GRACE_PERIOD=\"5s\": not a number; expected a number of seconds, up to a day (86400)",
                "  ISTHMUS_HOME=\"~/isthmus\": starts with `~`, which only a shell expands: write the whole path; expected a directory",
                "  ISTHMUS_KEY: 6 characters instead of 64; expected 64 hexadecimal digits",
                "  ISTHMUS_PASSPHRASE: empty; expected text",
                "  ISTHMUS_KEY, ISTHMUS_PASSPHRASE: only one of them may be set",
                &format!(
                    "  ISTHMUS_LOG_CALLS=\"{}…\": not a boolean; expected `true` or `false`",
                    "ä".repeat(LONGEST_VALUE - 1)
                ),
                "  ISTHMUS_OFFLINE=\"maybe\": not a boolean; expected `true` or `false`",
                "  ISTHMUS_PROVIDER_META: invalid JSON at byte 0: a value is expected; expected a JSON object of objects, by the \
                 provider's type or address",
                "  ISTHMUS_STORE: unknown scheme \"mysql\"; expected a file, or \
                 `postgres://USER:PASSWORD@HOST/DATABASE`",
                "  ISTHMUS_WRITE_ONLY=\"hash\\xFF\": not UTF-8; expected `hash` or `secret`",
                "  ISTHMUS_NAME_PROPERTIES is no longer a setting: the names of the legacy engine's resources come from their \
                 programs: give each resource that it named a `urnName` with the name that it has, and unset it",
                "help: correct or unset these variables; `isthmus explain settings` describes them all",
            ]
        );
    }

    #[test]
    fn an_address_is_not_repeated_with_its_user_or_query() {
        for address in
            ["https://me:sesame@host:1", "https://host:1/?token=sesame", "ftp://a,https://me:sesame@b:1"]
        {
            let error = parse(&[(DAEMON.name, address)]).expect_err(address).to_string();
            assert!(error.contains("ISTHMUS_DAEMON: ") && !error.contains("sesame"), "{error}");
        }
    }

    #[test]
    fn a_key_that_is_empty_is_none_that_was_meant() {
        for setting in [KEY, KEY_FILE, PASSPHRASE] {
            let error = parse(&[(setting.name, "")]).expect_err("it is empty").to_string();
            assert!(error.contains(&format!("{}: empty", setting.name)), "{error}");
        }
    }

    #[test]
    fn what_has_no_effect_is_warned_of() {
        let warnings = |variables: &[(&str, &str)]| parse(variables).expect("settings").warnings;
        assert_eq!(
            warnings(&[
                ("ISTHMUS_LOG_CALL", "1"),
                ("isthmus_offline", "true"),
                ("PATH", "/bin"),
                ("ISTHMUS_HOME", "/h")
            ]),
            [
                "the variable ISTHMUS_LOG_CALL has no effect; did you mean ISTHMUS_LOG_CALLS?",
                "the variable isthmus_offline has no effect; did you mean ISTHMUS_OFFLINE?",
            ]
        );
        let alone = ["ISTHMUS_STORE_CA has no effect without a server in ISTHMUS_STORE"];
        assert_eq!(warnings(&[("ISTHMUS_STORE_CA", "/ca")]), alone);
        assert_eq!(warnings(&[("ISTHMUS_STORE_CA", "/ca"), ("ISTHMUS_STORE", "a.sqlite")]), alone);
        assert_eq!(warnings(&[("ISTHMUS_STORE_CA", "/ca"), ("ISTHMUS_STORE", "postgres://h/d")]), [""; 0]);
        assert!(matches!(&warnings(&[("TF_LOG", "verbose")])[..], [one] if one.starts_with("TF_LOG=")));
    }
}
