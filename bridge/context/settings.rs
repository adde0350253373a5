//! The environment variables of isthmus: their table, and [`Settings`], their parsed values.
//!
//! The environment is read once at the start, and strictly: an invalid value is an error instead of
//! the default, because several settings protect secrets. The parsed values are passed down.
//!
//! A new variable needs a line in the table, and a field of [`Settings`] with its line in
//! [`Settings::parse`].
//!
//! Variables of others (`TF_LOG`, `PULUMI_HOME`, …) are read where they are used; `foreign` warns
//! of their values.

mod daemon_address;
pub mod foreign;
mod parsed;
mod provider_environment;
mod provider_meta;
mod reader;
mod values;

use std::ffi::OsStr;
use std::time::Duration;

pub use daemon_address::{DaemonAddress, DaemonHost, HttpAddress};
pub use parsed::{
    DaemonChoice, Identification, InvalidSettings, Network, PoolLimits, Security, SensitiveOutputs, Settings,
    ToDaemon, WriteOnly,
};
pub use provider_environment::{ProviderEnvironment, VariableNames};
pub use provider_meta::ProviderMeta;

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
}

impl Scope {
    pub fn description(self) -> &'static str {
        match self {
            Self::Daemon => "the daemon",
            Self::Run | Self::Plugin => "the plugin",
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

pub const DEFAULT_DRAIN_PERIOD: Duration = Duration::from_secs(600);

pub const DEFAULT_STOP_GRACE_PERIOD: Duration = Duration::from_secs(30);

macro_rules! settings {
    ($($name:ident $scope:ident: $value:expr, $default:literal, $effect:literal;)*) => {
        $(
            #[doc = $effect]
            pub const $name: Setting = Setting {
                name: concat!("ISTHMUS_", stringify!($name)),
                scope: Scope::$scope,
                value: $value,
                default: $default,
                effect: $effect,
            };
        )*

        /// All settings, in the order of the reference page.
        pub const ALL: &[Setting] = &[$($name),*];
    };
}

// Whose a setting is, its values, what holds without it, and its effect.
settings! {
    AUDIT_LOG Daemon: "a file", "none is written",
        "Appends each change, read and configuration, with its user, to this file of a shared daemon, as lines of JSON without \
         values. The daemon refuses calls that it cannot record ([observability](observability.md)).";
    DAEMON Run: "`off`, the path of a daemon's socket, or addresses such as `https://host:7443`, separated by commas",
        "the socket of the user's own daemon, if there is one",
        "Shared daemon to which the plugin passes the calls of its engine. Several addresses belong to \
         [replicas](daemon.md#replicas): the plugin chooses one at random. If the plugin cannot reach the daemon, it serves the \
         calls itself, with a warning, as long as it has changed no resource through the daemon.";
    DAEMON_AUTHORITIES Plugin: "a path of certificates in PEM", "the system's",
        "Certificate authorities that the plugin trusts for a daemon at an address with `https`.";
    DAEMON_CERTIFICATE Plugin: "a path of a certificate in PEM", "none",
        "Certificate with which the plugin identifies itself to a daemon at an address with `https`. It needs \
         `ISTHMUS_DAEMON_KEY`.";
    DAEMON_KEY Plugin: "a path of a key in PEM", "none",
        "The key of `ISTHMUS_DAEMON_CERTIFICATE`.";
    DAEMON_TOKEN_FILE Plugin: "a path", "none",
        "File with the token with which the plugin identifies itself to a daemon at an address.";
    DRAIN_PERIOD Daemon: "a number of seconds, up to a day (86400)", "600",
        "Time that calls in progress have to end by themselves when a shared daemon gets a signal to end. After it the daemon \
         stops them, as with Cancel.";
    DURABILITY Daemon: "`process` or `disk`", "`process`",
        "Durability of journal writes before a call of the provider: an entry survives the death of any process (`process`), or a \
         loss of power too (`disk`), which takes one more `fsync` for each change and its answer.";
    EXACT_NUMBERS Run: "`string` or `number`", "`number`",
        "Form, in outputs and results, of numbers that a program's numbers cannot hold: decimal strings, which inputs take as well; or \
         the nearest number, with a warning.";
    HOME Daemon: "a directory", "`isthmus` in the Pulumi home",
        "Directory of the state store, its key and the caches.";
    KEY Daemon: "64 hexadecimal digits", "`ISTHMUS_KEY_FILE` or `ISTHMUS_PASSPHRASE`",
        "Encryption key of the state store. Only one of the three may be set.";
    KEY_FILE Daemon: "a file of 64 hexadecimal digits", "a random key in `state.key` in `ISTHMUS_HOME`, created on first use",
        "File that holds the encryption key of the state store.";
    KILL_SESSIONS Run: BOOLEAN, "`false`: they keep running, as under Terraform, with a warning",
        "Kills processes that a provider moved into another session (`setsid`) when the provider ends, unless the guardian \
         process itself was killed. All other processes of a provider are always killed with it.";
    LISTEN Daemon: "an IP address and a port, such as `0.0.0.0:7443`", "only the socket",
        "Address at which a shared daemon serves plugins as well. An address outside of the loopback needs TLS.";
    LOCK_FILE Run: "a file, such as `.terraform.lock.hcl`", "no lock file",
        "Pins providers to the versions and checksums of this dependency lock file. isthmus refuses a provider that is not in it, \
         or differs from it.";
    LOG_CALLS Run: BOOLEAN, "`false`",
        "Logs every call of a Terraform provider with the time that it took, for debugging.";
    METRICS Daemon: "`HOST:PORT`; port 0 is one of the system's choice", "none is opened",
        "Address on which a shared daemon serves metrics for Prometheus, its health and a status page over HTTP, to everyone who \
         reaches it ([observability](observability.md)).";
    OFFLINE Run: BOOLEAN, "`false`: registries and mirrors are queried",
        "Resolves providers from the plugin cache and filesystem mirrors only, without network access.";
    PASSPHRASE Daemon: "text", "`ISTHMUS_KEY_FILE` or `ISTHMUS_KEY`",
        "Passphrase that the encryption key of the state store is derived from (Argon2id).";
    PLAIN_RESULTS Run: "`none`, `*`, or functions such as `data.acme_user`, separated by commas",
        "`plain-results` in the SDK's `isthmus.toml`",
        "Functions whose results have no secrets, as in the Go bridge, for programs in Go that call their [plain \
         form](names.md#plain-forms-of-functions); `*` is every data source and provider function.";
    POOL_AGE Daemon: "a number of seconds, up to a day (86400)", "3600",
        "Time after its configuration in which further runs may use a provider process of a shared daemon, because credentials \
         expire.";
    POOL_IDLE Daemon: "a number of seconds, up to a day (86400)", "600",
        "Time that a shared daemon keeps a provider process that no run uses.";
    POOL_MEMORY Daemon: "a number of mebibytes, 16 or more", "no limit",
        "Resident memory of all provider processes of a shared daemon, beyond which it starts no further one.";
    POOL_PROCESSES Daemon: "a number, 1 or more", "64",
        "Largest number of provider processes of a shared daemon. If all are in use, a further start waits.";
    PROVIDER Run: "a file", "the one that `isthmus link` linked, else `terraform-provider-PKG` on `PATH`",
        "Provider binary that `lumi-resource-PKG` runs.";
    PROVIDER_DIRECTORY Run: "a directory, relative to the one in which the engine starts the plugin",
        "that directory: the one of the project, or its `main`",
        "Working directory of providers, to which relative paths refer ([migration](migration.md#relative-paths)).";
    PROVIDER_ENVIRONMENT Run: "names of variables, separated by commas; `*` at the end of one stands for the rest of a name",
        "none of them",
        "Variables that isthmus passes to providers although it withholds them by default: credentials of Pulumi, backends and \
         registries ([all of them](#what-providers-inherit)). In a daemon's environment, also the variables for providers whose \
         engine has attached to the daemon without a plugin ([daemon](daemon.md#an-engine-without-a-plugin)).";
    PROVIDER_MEMORY Run: "a number of mebibytes, 16 or more", "no limit",
        "Resident memory beyond which a provider, with the processes that it has started, is replaced by a new process with the \
         same configuration, between two calls.";
    PROVIDER_META Run: "a JSON object of objects, by the provider's type or address", "nothing",
        "Provider metadata, as a Terraform module gives it in `provider_meta` blocks; see below.";
    RECORD Plugin: "a file that does not exist, or a recording", "nothing is recorded",
        "File to which the plugin of today's engines appends the calls of its session on both sides, without secrets, for \
         `isthmus replay` ([recording](recording.md)). The plugin uses no shared daemon then.";
    SCHEMA_CACHE Daemon: BOOLEAN, "`true`",
        "Stores the schemas of providers in `ISTHMUS_HOME`. Without the schema cache, every start of the plugin starts the \
         provider.";
    SENSITIVE_OUTPUTS Run: "`withhold` or `show`", "`show`, with a warning",
        "Sensitive outputs for the legacy engine, which stores everything in the clear: `withhold` keeps them in the state store \
         only.";
    STOP_GRACE_PERIOD Run: "a number of seconds, up to a day (86400)", "30",
        "Time that a stopped provider has to finish its calls: after a second Cancel, at the end of the plugin, or when a \
         resource's `customTimeouts` have passed. isthmus then answers calls that still run, with their known outcome.";
    STORE Daemon: "a file, or `postgres://USER:PASSWORD@HOST/DATABASE`", "`state.sqlite` in `ISTHMUS_HOME`",
        "Location of the state store, and of the journal if it is a server; see below.";
    STORE_CA Daemon: "a file of certificates in PEM", "the system's certificate authorities",
        "Certificate authorities that verify the server in `ISTHMUS_STORE`.";
    TLS_CERTIFICATE Daemon: "a path of a certificate and its chain in PEM", "no TLS",
        "Certificate of the daemon at `ISTHMUS_LISTEN`. The daemon reads it again when the file changes.";
    TLS_CLIENT_AUTHORITIES Daemon: "a path of certificates in PEM", "plugins need a token",
        "Certificate authorities whose certificates identify plugins at `ISTHMUS_LISTEN`. The daemon reads the file again when it \
         changes.";
    TLS_KEY Daemon: "a path of a key in PEM", "no TLS",
        "Key of `ISTHMUS_TLS_CERTIFICATE`. No other user may be able to read it.";
    TOKENS Daemon: "a path", "plugins need a certificate",
        "File whose lines are names and tokens, which identify plugins at `ISTHMUS_LISTEN`. The daemon reads it again when it \
         changes.";
    WRITE_ONLY Run: "`hash` or `secret`", "`secret`",
        "Form of write-only values among the inputs that the engine stores: as secrets, or as salted hashes, with the values in \
         memory only.";
}

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

/// Settings of earlier versions, and what to do instead. What they protected is not left open, and a resource that one named is not
/// replaced because its name is another one: each is an error.
pub(crate) const REMOVED: [(&str, &str); 3] = [
    (
        "ISTHMUS_ALLOW_USERS",
        "a daemon serves its own user and root: unset it, and run a daemon for each user",
    ),
    (
        "ISTHMUS_NAME_PROPERTIES",
        "the names of the legacy engine's resources come from their programs: give each resource that it named a `urnName` with the \
         name that it has, and unset it",
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
    fn a_setting_that_another_crate_names_has_its_name() {
        assert_eq!(EXACT_NUMBERS.name, isthmus_translate::exact_numbers::EXACT_NUMBERS);
    }

    #[test]
    fn the_reference_page_is_the_table() {
        let page = include_str!("../../docs/settings.md");
        assert!(page.contains(&reference()), "docs/settings.md must contain:\n{}", reference());
    }
}
