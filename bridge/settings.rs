//! Every environment variable of this program's own: the table of them, and [`Settings`], which their values are parsed into.
//!
//! The environment is read once, when the program starts, and strictly: a value that is not understood is an error and never
//! the default, because several of these settings protect secrets. What is parsed is passed down.
//!
//! A new variable needs a [`Setting`] in [`ALL`], and a field of [`Settings`] with its line in [`Settings::parse`]; nothing else.
//!
//! Variables that belong to others (`TF_LOG`, `PULUMI_HOME`, …) are read where they are used; `foreign` warns of their values.

mod allowed_users;
pub(crate) mod foreign;
mod json;
mod parsed;
mod values;

use std::time::Duration;

pub use allowed_users::AllowedUsers;
pub use json::{NameProperties, ProviderMeta};
pub use parsed::{InvalidSettings, SensitiveOutputs, Settings, WriteOnly};

/// What the names of all of them start with.
const PREFIX: &str = "ISTHMUS_";

/// One variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub value: &'static str,
    /// What happens without it.
    pub default: &'static str,
    /// What it does.
    pub effect: &'static str,
}

/// What the value of a boolean is; [`values`] takes more spellings.
const BOOLEAN: &str = "`true` or `false`";

/// Which users are served beside the program's own and root.
pub const ALLOW_USERS: Setting = Setting {
    name: "ISTHMUS_ALLOW_USERS",
    value: "user names or numeric user ids, separated by commas, or `*`",
    default: "its own user and root",
    effect: "Serves the connections of these local users too; `*` serves every user; see below.",
};

/// How long what was asked to end may take.
pub const GRACE: Setting = Setting {
    name: "ISTHMUS_GRACE",
    value: "a number of seconds, up to a day (86400)",
    default: "30",
    effect: "How long a provider that was asked to stop may take to end its calls: when it is asked a second time, when the \
             program ends, when a timeout of the user's runs out. Then they are broken off, and what is known of them is told.",
};

/// The grace where nothing is set.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// The folder that holds the store, keys and caches.
pub const HOME: Setting = Setting {
    name: "ISTHMUS_HOME",
    value: "a directory",
    default: "`isthmus` in the Pulumi home",
    effect: "Holds the store of objects, the key that they are encrypted with, and caches.",
};

/// What fixes the versions and packages of providers.
pub const LOCK_FILE: Setting = Setting {
    name: "ISTHMUS_LOCK_FILE",
    value: "a file, such as `.terraform.lock.hcl`",
    default: "no lock file counts",
    effect: "Takes of each provider the version that this lock file has, and refuses a package that it does not know, or that is \
             not in it at all.",
};

/// Whether networks are used to find providers.
pub const OFFLINE: Setting = Setting {
    name: "ISTHMUS_OFFLINE",
    value: BOOLEAN,
    default: "`false`: registries and mirrors are queried",
    effect: "Finds providers in the cache and in folders, and uses no network for that.",
};

/// The key that the store is encrypted with.
pub const KEY: Setting = Setting {
    name: "ISTHMUS_KEY",
    value: "64 hexadecimal digits",
    default: "`ISTHMUS_KEY_FILE` or `ISTHMUS_PASSPHRASE`",
    effect: "The key that the store of objects is encrypted with, itself. Only one of the three may be set.",
};

/// The key that the store is encrypted with.
pub const KEY_FILE: Setting = Setting {
    name: "ISTHMUS_KEY_FILE",
    value: "a file of 64 hexadecimal digits",
    default: "a random key in `state.key` in `ISTHMUS_HOME`, made when it is first needed",
    effect: "The key that the store of objects is encrypted with.",
};

/// What the key is derived from that the store is encrypted with.
pub const PASSPHRASE: Setting = Setting {
    name: "ISTHMUS_PASSPHRASE",
    value: "text",
    default: "`ISTHMUS_KEY_FILE` or `ISTHMUS_KEY`",
    effect: "What the key that the store of objects is encrypted with is derived from, by Argon2id.",
};

/// Where the store of objects is.
pub const STORE: Setting = Setting {
    name: "ISTHMUS_STORE",
    value: "a file, or `postgres://USER:PASSWORD@HOST/DATABASE`",
    default: "`state.sqlite` in `ISTHMUS_HOME`",
    effect: "Where the store of objects and the journal are; see below.",
};

/// Whom a server's certificate has to be from.
pub const STORE_CA: Setting = Setting {
    name: "ISTHMUS_STORE_CA",
    value: "a file of certificates in PEM",
    default: "the system's authorities",
    effect: "The authorities that the certificate of the server in `ISTHMUS_STORE` is checked with.",
};

/// What providers are told of the program.
pub const PROVIDER_META: Setting = Setting {
    name: "ISTHMUS_PROVIDER_META",
    value: "a JSON object of objects, by the provider's type",
    default: "nothing",
    effect: "What a Terraform module would say in its `provider_meta` blocks; see below.",
};

/// What names resources to an engine of 2017.
pub const NAME_PROPERTIES: Setting = Setting {
    name: "ISTHMUS_NAME_PROPERTIES",
    value: "a JSON object of properties or lists of them, by Terraform's types",
    default: "the type's own name",
    effect: "Which properties name a resource to an engine of 2017 when its program gives neither `urnName` nor `name`; see below.",
};

/// The provider of a plugin that is started for a 2017 engine.
pub const PROVIDER: Setting = Setting {
    name: "ISTHMUS_PROVIDER",
    value: "a file",
    default: "what `isthmus link` has linked, else `terraform-provider-PKG` on `PATH`",
    effect: "The provider that `lumi-resource-PKG` runs.",
};

/// What becomes of processes that a provider has detached.
pub const KILL_SESSIONS: Setting = Setting {
    name: "ISTHMUS_KILL_SESSIONS",
    value: BOOLEAN,
    default: "`false`: they keep running, as under Terraform, with a warning",
    effect: "Kills processes that a provider has moved into a session of their own (`setsid`) when the provider ends. All other \
             processes of a provider are always killed with it.",
};

/// Whether the calls of providers are logged.
pub const LOG_CALLS: Setting = Setting {
    name: "ISTHMUS_LOG_CALLS",
    value: BOOLEAN,
    default: "`false`",
    effect: "Logs every call of a Terraform provider with the time that it took, for debugging.",
};

/// Whether schemas are remembered.
pub const SCHEMA_CACHE: Setting = Setting {
    name: "ISTHMUS_SCHEMA_CACHE",
    value: BOOLEAN,
    default: "`true`",
    effect: "Stores the schemas of providers in `ISTHMUS_HOME`. Without the schema cache, every start of the plugin starts the \
             provider.",
};

/// Whether an engine that cannot keep a secret is told sensitive outputs.
pub const SENSITIVE_OUTPUTS: Setting = Setting {
    name: "ISTHMUS_SENSITIVE_OUTPUTS",
    value: "`withhold` or `show`",
    default: "`show`, with a warning",
    effect: "Sensitive outputs for a legacy engine, which stores everything in the clear: `withhold` leaves them in the store of objects \
             alone.",
};

/// Whether engines store write-only values.
pub const WRITE_ONLY: Setting = Setting {
    name: "ISTHMUS_WRITE_ONLY",
    value: "`hash` or `secret`",
    default: "`secret`",
    effect: "Form of write-only values among the inputs that the engine stores: as secrets, or as salted hashes, with the values in \
             memory only.",
};

/// Where the project's own tests find their tools; the program does not use it, but must not warn about it either.
const TOOLS_DIR: Setting = Setting {
    name: "ISTHMUS_TOOLS_DIR",
    value: "a directory",
    default: "`target/tools`",
    effect: "Where the project's tests build the tools that they need. Has no effect on the program.",
};

/// All of them, in the order of the reference page.
pub const ALL: &[Setting] = &[
    ALLOW_USERS,
    GRACE,
    HOME,
    KEY,
    KEY_FILE,
    KILL_SESSIONS,
    LOCK_FILE,
    LOG_CALLS,
    NAME_PROPERTIES,
    OFFLINE,
    PASSPHRASE,
    PROVIDER,
    PROVIDER_META,
    SCHEMA_CACHE,
    SENSITIVE_OUTPUTS,
    STORE,
    STORE_CA,
    TOOLS_DIR,
    WRITE_ONLY,
];

/// The reference page of all variables, in Markdown.
pub fn reference() -> String {
    let mut page = String::from("| variable | value | without it | effect |\n|---|---|---|---|\n");
    for Setting { name, value, default, effect } in ALL {
        page.push_str(&format!("| `{name}` | {value} | {default} | {effect} |\n"));
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
        let page = include_str!("../docs/settings.md");
        assert!(page.contains(&reference()), "docs/settings.md must contain:\n{}", reference());
    }
}
