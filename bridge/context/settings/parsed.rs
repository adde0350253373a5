//! The parsed values of all settings.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use isthmus_state::{JournalDurability, KeySource, StoreAddress};

use super::reader::{Reader, misspelt};
use super::values::{self, choice};
use super::{
    AUDIT_LOG, DAEMON, DAEMON_AUTHORITIES, DAEMON_CERTIFICATE, DAEMON_KEY, DAEMON_TOKEN_FILE,
    DEFAULT_DRAIN_PERIOD, DEFAULT_STOP_GRACE_PERIOD, DRAIN_PERIOD, DURABILITY, DaemonAddress, EXACT_NUMBERS,
    HOME, HttpAddress, KILL_SESSIONS, LOCK_FILE, LOG_CALLS, METRICS, OFFLINE, PLAIN_RESULTS, POOL_AGE,
    POOL_IDLE, POOL_MEMORY, POOL_PROCESSES, PROVIDER, PROVIDER_DIRECTORY, PROVIDER_ENVIRONMENT,
    PROVIDER_MEMORY, PROVIDER_META, ProviderEnvironment, ProviderMeta, RECORD, SCHEMA_CACHE,
    SENSITIVE_OUTPUTS, STOP_GRACE_PERIOD, STORE_CA, Setting, WRITE_ONLY, foreign,
};
use isthmus_common::Environment;
use isthmus_package::names::plain_results::PlainResults;
use isthmus_translate::exact_numbers::NumberForm;

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
        // Its names have the letters of our own, where letters of variables have no case.
        let environment: Environment = environment.into_iter().collect();
        let owned = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
        let variables: BTreeMap<OsString, OsString> = environment.iter().map(owned).collect();
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

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::super::reader::LONGEST_VALUE;
    use super::super::{KEY, KEY_FILE, PASSPHRASE, STORE};
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
