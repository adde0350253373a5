//! The environment variables of isthmus: their table, and [`Settings`], their parsed values.
//!
//! The environment is read once at the start, and strictly: an invalid value is an error instead of
//! the default, because several settings protect secrets. The parsed values are passed down.
//!
//! A new variable needs a [`Setting`] in [`ALL`], and a field of [`Settings`] with its line in
//! [`Settings::parse`].
//!
//! Variables of others (`TF_LOG`, `PULUMI_HOME`, …) are read where they are used; `foreign` warns
//! of their values.

mod daemon_address;
pub mod foreign;
mod http_address;
mod json;
mod parsed;
mod provider_environment;
mod values;
mod variable_names;

use std::ffi::OsStr;
use std::time::Duration;

pub use daemon_address::{DaemonAddress, DaemonHost};
pub use http_address::HttpAddress;
pub use json::{NameProperties, ProviderMeta};
pub use parsed::{
    DaemonChoice, Identification, InvalidSettings, Network, PoolLimits, Security, SensitiveOutputs, Settings,
    ToDaemon, WriteOnly,
};
pub use provider_environment::ProviderEnvironment;
pub use variable_names::VariableNames;

/// Prefix of all names.
pub const PREFIX: &str = "ISTHMUS_";

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub scope: Scope,
    /// Description of its values.
    pub value: &'static str,
    /// Behavior if it is not set.
    pub default: &'static str,
    pub effect: &'static str,
}

/// Whose environment a setting is read from, where a plugin passes the calls of its engine on to a shared daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The daemon's: it is about what all engines share.
    Daemon,
    /// The plugin's: it is about the run of one engine.
    Run,
    /// The plugin's, which passes it on to no daemon: it is about the way to one.
    Plugin,
    /// That of the project's own tests.
    Tests,
}

impl Scope {
    pub fn description(self) -> &'static str {
        match self {
            Self::Daemon => "the daemon",
            Self::Run | Self::Plugin => "the plugin",
            Self::Tests => "tests",
        }
    }
}

/// Whether a plugin sends a variable to a daemon: not if the daemon has its own, or if it is about the way to one.
pub fn is_sent(name: &OsStr) -> bool {
    let is_held_back = |scope| matches!(scope, Scope::Daemon | Scope::Plugin);
    !ALL.iter().any(|setting| is_held_back(setting.scope) && name == setting.name)
}

/// Description of a boolean; [`values`] accepts more spellings.
const BOOLEAN: &str = "`true` or `false`";

/// The audit log of a shared daemon.
pub const AUDIT_LOG: Setting = Setting {
    name: "ISTHMUS_AUDIT_LOG",
    scope: Scope::Daemon,
    value: "a file",
    default: "none is written",
    effect: "Appends each change, read and configuration, with its user, to this file of a shared daemon, as lines of JSON \
             without values. The daemon refuses calls that it cannot record ([observability](observability.md)).",
};

/// The daemon that a plugin passes its calls on to.
pub const DAEMON: Setting = Setting {
    name: "ISTHMUS_DAEMON",
    scope: Scope::Run,
    value: "`off`, the path of a daemon's socket, or addresses such as `https://host:7443`, separated by commas",
    default: "the socket of the user's own daemon, if there is one",
    effect: "Shared daemon to which the plugin passes the calls of its engine. Several addresses belong to \
             [replicas](daemon.md#replicas): the plugin chooses one at random. If the plugin cannot reach the daemon, it \
             serves the calls itself, with a warning, as long as it has changed no resource through the daemon.",
};

/// The authorities that a plugin trusts for the certificates of daemons.
pub const DAEMON_AUTHORITIES: Setting = Setting {
    name: "ISTHMUS_DAEMON_AUTHORITIES",
    scope: Scope::Plugin,
    value: "a path of certificates in PEM",
    default: "the system's",
    effect: "Certificate authorities that the plugin trusts for a daemon at an address with `https`.",
};

/// The certificate that a plugin identifies itself with.
pub const DAEMON_CERTIFICATE: Setting = Setting {
    name: "ISTHMUS_DAEMON_CERTIFICATE",
    scope: Scope::Plugin,
    value: "a path of a certificate in PEM",
    default: "none",
    effect: "Certificate with which the plugin identifies itself to a daemon at an address with `https`. It needs `ISTHMUS_DAEMON_KEY`.",
};

/// The key of that certificate.
pub const DAEMON_KEY: Setting = Setting {
    name: "ISTHMUS_DAEMON_KEY",
    scope: Scope::Plugin,
    value: "a path of a key in PEM",
    default: "none",
    effect: "The key of `ISTHMUS_DAEMON_CERTIFICATE`.",
};

/// The token that a plugin identifies itself with.
pub const DAEMON_TOKEN_FILE: Setting = Setting {
    name: "ISTHMUS_DAEMON_TOKEN_FILE",
    scope: Scope::Plugin,
    value: "a path",
    default: "none",
    effect: "File with the token with which the plugin identifies itself to a daemon at an address.",
};

/// The address of a shared daemon.
pub const LISTEN: Setting = Setting {
    name: "ISTHMUS_LISTEN",
    scope: Scope::Daemon,
    value: "an IP address and a port, such as `0.0.0.0:7443`",
    default: "only the socket",
    effect: "Address at which a shared daemon serves plugins as well. An address outside of the loopback needs TLS.",
};

/// The certificate of a shared daemon.
pub const TLS_CERTIFICATE: Setting = Setting {
    name: "ISTHMUS_TLS_CERTIFICATE",
    scope: Scope::Daemon,
    value: "a path of a certificate and its chain in PEM",
    default: "no TLS",
    effect: "Certificate of the daemon at `ISTHMUS_LISTEN`. The daemon reads it again when the file changes.",
};

/// The key of that certificate.
pub const TLS_KEY: Setting = Setting {
    name: "ISTHMUS_TLS_KEY",
    scope: Scope::Daemon,
    value: "a path of a key in PEM",
    default: "no TLS",
    effect: "Key of `ISTHMUS_TLS_CERTIFICATE`. No other user may be able to read it.",
};

/// The authorities that issue the certificates of plugins.
pub const TLS_CLIENT_AUTHORITIES: Setting = Setting {
    name: "ISTHMUS_TLS_CLIENT_AUTHORITIES",
    scope: Scope::Daemon,
    value: "a path of certificates in PEM",
    default: "plugins need a token",
    effect: "Certificate authorities whose certificates identify plugins at `ISTHMUS_LISTEN`. The daemon reads the file \
             again when it changes.",
};

/// The tokens of plugins.
pub const TOKENS: Setting = Setting {
    name: "ISTHMUS_TOKENS",
    scope: Scope::Daemon,
    value: "a path",
    default: "plugins need a certificate",
    effect: "File whose lines are names and tokens, which identify plugins at `ISTHMUS_LISTEN`. The daemon reads it again when it changes.",
};

/// How long a shared daemon lets calls end by themselves before it ends.
pub const DRAIN_PERIOD: Setting = Setting {
    name: "ISTHMUS_DRAIN_PERIOD",
    scope: Scope::Daemon,
    value: "a number of seconds, up to a day (86400)",
    default: "600",
    effect: "Time that calls in progress have to end by themselves when a shared daemon gets a signal to end. After it the \
             daemon stops them, as with Cancel.",
};

pub const DEFAULT_DRAIN_PERIOD: Duration = Duration::from_secs(600);

/// Time that a stopped call or provider has to finish.
pub const STOP_GRACE_PERIOD: Setting = Setting {
    name: "ISTHMUS_STOP_GRACE_PERIOD",
    scope: Scope::Run,
    value: "a number of seconds, up to a day (86400)",
    default: "30",
    effect: "Time that a stopped provider has to finish its calls: after a second Cancel, at the end of the \
             plugin, or when a resource's `customTimeouts` have passed. isthmus then answers calls that still run, with \
             their known outcome.",
};

pub const DEFAULT_STOP_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// Functions whose results have no secrets.
pub const PLAIN_RESULTS: Setting = Setting {
    name: "ISTHMUS_PLAIN_RESULTS",
    scope: Scope::Run,
    value: "`none`, `*`, or functions such as `data.acme_user`, separated by commas",
    default: "`plain-results` in the SDK's `isthmus.toml`",
    effect: "Functions whose results have no secrets, as in the Go bridge, for programs in Go that call their \
             [plain form](names.md#plain-forms-of-functions); `*` is every data source and provider function.",
};

/// The most provider processes of a shared daemon.
pub const POOL_PROCESSES: Setting = Setting {
    name: "ISTHMUS_POOL_PROCESSES",
    scope: Scope::Daemon,
    value: "a number, 1 or more",
    default: "64",
    effect: "Largest number of provider processes of a shared daemon. If all are in use, a further start waits.",
};

/// The memory of all provider processes of a shared daemon.
pub const POOL_MEMORY: Setting = Setting {
    name: "ISTHMUS_POOL_MEMORY",
    scope: Scope::Daemon,
    value: "a number of mebibytes, 16 or more",
    default: "no limit",
    effect: "Resident memory of all provider processes of a shared daemon, beyond which it starts no further one.",
};

/// How long a configured provider is given to further sessions.
pub const POOL_AGE: Setting = Setting {
    name: "ISTHMUS_POOL_AGE",
    scope: Scope::Daemon,
    value: "a number of seconds, up to a day (86400)",
    default: "3600",
    effect: "Time after its configuration in which further runs may use a provider process of a shared daemon, because credentials expire.",
};

/// How long a provider is kept that nothing uses.
pub const POOL_IDLE: Setting = Setting {
    name: "ISTHMUS_POOL_IDLE",
    scope: Scope::Daemon,
    value: "a number of seconds, up to a day (86400)",
    default: "600",
    effect: "Time that a shared daemon keeps a provider process that no run uses.",
};

/// The directory of the state store, keys and caches.
pub const HOME: Setting = Setting {
    name: "ISTHMUS_HOME",
    scope: Scope::Daemon,
    value: "a directory",
    default: "`isthmus` in the Pulumi home",
    effect: "Directory of the state store, its key and the caches.",
};

/// The lock file of providers.
pub const LOCK_FILE: Setting = Setting {
    name: "ISTHMUS_LOCK_FILE",
    scope: Scope::Run,
    value: "a file, such as `.terraform.lock.hcl`",
    default: "no lock file",
    effect: "Pins providers to the versions and checksums of this dependency lock file. isthmus refuses a provider that is \
             not in it, or differs from it.",
};

/// What an entry of the journal survives.
pub const DURABILITY: Setting = Setting {
    name: "ISTHMUS_DURABILITY",
    scope: Scope::Daemon,
    value: "`process` or `disk`",
    default: "`process`",
    effect: "Durability of journal writes before a call of the provider: an entry survives the death of any process \
             (`process`), or a loss of power too (`disk`), which takes one more `fsync` for each change and its answer.",
};

/// Whether registries and network mirrors are used.
pub const OFFLINE: Setting = Setting {
    name: "ISTHMUS_OFFLINE",
    scope: Scope::Run,
    value: BOOLEAN,
    default: "`false`: registries and mirrors are queried",
    effect: "Resolves providers from the plugin cache and filesystem mirrors only, without network access.",
};

/// The form of numbers that no double holds.
pub const EXACT_NUMBERS: Setting = Setting {
    name: isthmus_translate::exact_numbers::EXACT_NUMBERS,
    scope: Scope::Run,
    value: "`string` or `number`",
    default: "`number`",
    effect: "Form, in outputs and results, of numbers that a program's numbers cannot hold: decimal strings, which inputs \
             take as well; or the nearest number, with a warning.",
};

/// The encryption key of the state store.
pub const KEY: Setting = Setting {
    name: "ISTHMUS_KEY",
    scope: Scope::Daemon,
    value: "64 hexadecimal digits",
    default: "`ISTHMUS_KEY_FILE` or `ISTHMUS_PASSPHRASE`",
    effect: "Encryption key of the state store. Only one of the three may be set.",
};

/// The file of the state store's encryption key.
pub const KEY_FILE: Setting = Setting {
    name: "ISTHMUS_KEY_FILE",
    scope: Scope::Daemon,
    value: "a file of 64 hexadecimal digits",
    default: "a random key in `state.key` in `ISTHMUS_HOME`, created on first use",
    effect: "File that holds the encryption key of the state store.",
};

/// The passphrase that the state store's encryption key is derived from.
pub const PASSPHRASE: Setting = Setting {
    name: "ISTHMUS_PASSPHRASE",
    scope: Scope::Daemon,
    value: "text",
    default: "`ISTHMUS_KEY_FILE` or `ISTHMUS_KEY`",
    effect: "Passphrase that the encryption key of the state store is derived from (Argon2id).",
};

/// Location of the state store.
pub const STORE: Setting = Setting {
    name: "ISTHMUS_STORE",
    scope: Scope::Daemon,
    value: "a file, or `postgres://USER:PASSWORD@HOST/DATABASE`",
    default: "`state.sqlite` in `ISTHMUS_HOME`",
    effect: "Location of the state store, and of the journal if it is a server; see below.",
};

/// Certificate authorities for the state store's server.
pub const STORE_CA: Setting = Setting {
    name: "ISTHMUS_STORE_CA",
    scope: Scope::Daemon,
    value: "a file of certificates in PEM",
    default: "the system's certificate authorities",
    effect: "Certificate authorities that verify the server in `ISTHMUS_STORE`.",
};

/// Metadata for providers, as from `provider_meta` blocks.
pub const PROVIDER_META: Setting = Setting {
    name: "ISTHMUS_PROVIDER_META",
    scope: Scope::Run,
    value: "a JSON object of objects, by the provider's type or address",
    default: "nothing",
    effect: "Provider metadata, as a Terraform module gives it in `provider_meta` blocks; see below.",
};

/// Properties that name resources of a legacy engine.
pub const NAME_PROPERTIES: Setting = Setting {
    name: "ISTHMUS_NAME_PROPERTIES",
    scope: Scope::Run,
    value: "a JSON object of properties or lists of them, by Terraform's types",
    default: "the type's own name",
    effect: "Properties that name a resource for the legacy engine when its program sets neither `urnName` \
             nor `name`; see below.",
};

/// The provider binary of a legacy engine's plugin.
pub const PROVIDER: Setting = Setting {
    name: "ISTHMUS_PROVIDER",
    scope: Scope::Run,
    value: "a file",
    default: "the one that `isthmus link` linked, else `terraform-provider-PKG` on `PATH`",
    effect: "Provider binary that `lumi-resource-PKG` runs.",
};

/// The working directory of providers.
pub const PROVIDER_DIRECTORY: Setting = Setting {
    name: "ISTHMUS_PROVIDER_DIRECTORY",
    scope: Scope::Run,
    value: "a directory, relative to the one in which the engine starts the plugin",
    default: "that directory: the one of the project, or its `main`",
    effect: "Working directory of providers, to which relative paths refer ([migration](migration.md#relative-paths)).",
};

/// What providers get of the environment although they would not by themselves.
pub const PROVIDER_ENVIRONMENT: Setting = Setting {
    name: "ISTHMUS_PROVIDER_ENVIRONMENT",
    scope: Scope::Run,
    value: "names of variables, separated by commas; `*` at the end of one stands for the rest of a name",
    default: "none of them",
    effect: "Variables that isthmus passes to providers although it withholds them by default: credentials of Pulumi, backends and registries \
             ([all of them](#what-providers-inherit)). In a daemon's environment, also the variables for providers whose \
             engine has attached to the daemon without a plugin ([daemon](daemon.md#an-engine-without-a-plugin)).",
};

/// The limit of a provider's memory.
pub const PROVIDER_MEMORY: Setting = Setting {
    name: "ISTHMUS_PROVIDER_MEMORY",
    scope: Scope::Run,
    value: "a number of mebibytes, 16 or more",
    default: "no limit",
    effect: "Resident memory beyond which a provider, with the processes that it has started, is replaced by a new process \
             with the same configuration, between two calls.",
};

/// Whether processes that a provider has detached are killed.
pub const KILL_SESSIONS: Setting = Setting {
    name: "ISTHMUS_KILL_SESSIONS",
    scope: Scope::Run,
    value: BOOLEAN,
    default: "`false`: they keep running, as under Terraform, with a warning",
    effect: "Kills processes that a provider moved into another session (`setsid`) when the provider ends, \
             unless the guardian process itself was killed. All other processes of a provider are always \
             killed with it.",
};

/// Whether calls of providers are logged.
pub const LOG_CALLS: Setting = Setting {
    name: "ISTHMUS_LOG_CALLS",
    scope: Scope::Run,
    value: BOOLEAN,
    default: "`false`",
    effect: "Logs every call of a Terraform provider with the time that it took, for debugging.",
};

/// The file to which sessions are recorded.
pub const RECORD: Setting = Setting {
    name: "ISTHMUS_RECORD",
    scope: Scope::Plugin,
    value: "a file that does not exist, or a recording",
    default: "nothing is recorded",
    effect: "File to which the plugin of today's engines appends the calls of its session on both sides, without secrets, for \
             `isthmus replay` ([recording](recording.md)). The plugin uses no shared daemon then.",
};

/// Whether schemas are cached.
pub const SCHEMA_CACHE: Setting = Setting {
    name: "ISTHMUS_SCHEMA_CACHE",
    scope: Scope::Daemon,
    value: BOOLEAN,
    default: "`true`",
    effect: "Stores the schemas of providers in `ISTHMUS_HOME`. Without the schema cache, every start of the plugin starts the \
             provider.",
};

/// Whether sensitive outputs are withheld from a legacy engine.
pub const SENSITIVE_OUTPUTS: Setting = Setting {
    name: "ISTHMUS_SENSITIVE_OUTPUTS",
    scope: Scope::Run,
    value: "`withhold` or `show`",
    default: "`show`, with a warning",
    effect: "Sensitive outputs for the legacy engine, which stores everything in the clear: `withhold` keeps \
             them in the state store only.",
};

/// What engines store of write-only values.
pub const WRITE_ONLY: Setting = Setting {
    name: "ISTHMUS_WRITE_ONLY",
    scope: Scope::Run,
    value: "`hash` or `secret`",
    default: "`secret`",
    effect: "Form of write-only values among the inputs that the engine stores: as secrets, or as salted hashes, with the values in \
             memory only.",
};

/// The address for metrics and the status page.
pub const METRICS: Setting = Setting {
    name: "ISTHMUS_METRICS",
    scope: Scope::Daemon,
    value: "`HOST:PORT`; port 0 is one of the system's choice",
    default: "none is opened",
    effect: "Address on which a shared daemon serves metrics for Prometheus, its health and a status page over HTTP, to everyone who \
             reaches it ([observability](observability.md)).",
};

/// The project's own tests find their tools here; listed to avoid a warning.
const TOOLS_DIR: Setting = Setting {
    name: "ISTHMUS_TOOLS_DIR",
    scope: Scope::Tests,
    value: "a directory",
    default: "`target/tools`",
    effect: "Directory in which the project's tests build their tools. It has no effect on the program.",
};

/// All settings, in the order of the reference page.
pub const ALL: &[Setting] = &[
    AUDIT_LOG,
    DAEMON,
    DAEMON_AUTHORITIES,
    DAEMON_CERTIFICATE,
    DAEMON_KEY,
    DAEMON_TOKEN_FILE,
    DRAIN_PERIOD,
    DURABILITY,
    EXACT_NUMBERS,
    HOME,
    KEY,
    KEY_FILE,
    KILL_SESSIONS,
    LISTEN,
    LOCK_FILE,
    LOG_CALLS,
    METRICS,
    NAME_PROPERTIES,
    OFFLINE,
    PASSPHRASE,
    PLAIN_RESULTS,
    POOL_AGE,
    POOL_IDLE,
    POOL_MEMORY,
    POOL_PROCESSES,
    PROVIDER,
    PROVIDER_DIRECTORY,
    PROVIDER_ENVIRONMENT,
    PROVIDER_MEMORY,
    PROVIDER_META,
    RECORD,
    SCHEMA_CACHE,
    SENSITIVE_OUTPUTS,
    STOP_GRACE_PERIOD,
    STORE,
    STORE_CA,
    TLS_CERTIFICATE,
    TLS_CLIENT_AUTHORITIES,
    TLS_KEY,
    TOKENS,
    TOOLS_DIR,
    WRITE_ONLY,
];

/// The setting of this name.
///
/// # Errors
/// There is none; the text names the most similar one.
pub fn find(name: &str) -> Result<Setting, String> {
    ALL.iter().find(|setting| setting.name == name).copied().ok_or_else(|| {
        let known = ALL.iter().map(|setting| setting.name);
        match isthmus_package::names::tokens::nearest(&name.to_uppercase(), known) {
            Some(nearest) => format!("the variable {name} has no effect; did you mean {nearest}?"),
            None => format!("the variable {name} has no effect"),
        }
    })
}

/// Settings of earlier versions, and what to do instead. What they protected is not left open: each is an error.
pub(crate) const REMOVED: [(&str, &str); 2] = [
    (
        "ISTHMUS_ALLOW_USERS",
        "a daemon serves its own user and root: unset it, and run a daemon for each user",
    ),
    (
        "ISTHMUS_POLICY",
        "isthmus trusts every client of a daemon as its user: unset it, and run a daemon for each team, with credentials of its own",
    ),
];

/// The reference table of all variables, in Markdown.
pub fn reference() -> String {
    let mut page = String::from("| variable | of | value | without it | effect |\n|---|---|---|---|---|\n");
    for Setting { name, scope, value, default, effect } in ALL {
        let scope = scope.description();
        page.push_str(&format!("| `{name}` | {scope} | {value} | {default} | {effect} |\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_of_the_table_starts_alike() {
        assert!(ALL.iter().all(|setting| setting.name.starts_with(PREFIX)), "{ALL:?}");
    }

    #[test]
    fn the_reference_page_is_the_table() {
        let page = include_str!("../../docs/settings.md");
        assert!(page.contains(&reference()), "docs/settings.md must contain:\n{}", reference());
    }
}
