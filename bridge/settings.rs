//! Every environment variable of this program's own, in one table.
//!
//! Variables that belong to others (`TF_LOG`, `PULUMI_HOME`, …) are read where they are used. One that starts like ours and
//! is not in the table is most likely misspelt, and is warned about.

use std::ffi::OsString;
use std::time::Duration;

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

/// How long what was asked to end may take.
pub const GRACE: Setting = Setting {
    name: "ISTHMUS_GRACE",
    value: "a number of seconds",
    default: "30",
    effect: "How long a provider that was asked to stop may take to end its calls: when it is asked a second time, when the \
             program ends, when a timeout of the user's runs out. Then they are broken off, and what is known of them is told.",
};

/// The grace where nothing is set.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// The longest grace: a day. Beyond that, clocks may not hold it.
const LONGEST_GRACE: f64 = 86_400.0;

/// The folder that holds the store, keys and caches.
pub const HOME: Setting = Setting {
    name: "ISTHMUS_HOME",
    value: "a folder",
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
    value: "`true`",
    default: "registries and mirrors are asked",
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
    value: "words",
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

/// Whether the calls of providers are logged.
pub const LOG_CALLS: Setting = Setting {
    name: "ISTHMUS_LOG_CALLS",
    value: "`true`",
    default: "they are not logged",
    effect: "Logs every call of a Terraform provider with the time that it took, for debugging.",
};

/// Whether schemas are remembered.
pub const SCHEMA_CACHE: Setting = Setting {
    name: "ISTHMUS_SCHEMA_CACHE",
    value: "`off`",
    default: "they are kept",
    effect: "Does not keep providers' schemas in `ISTHMUS_HOME`, so that every start starts the provider.",
};

/// Whether an engine that cannot keep a secret is told sensitive outputs.
pub const SENSITIVE_OUTPUTS: Setting = Setting {
    name: "ISTHMUS_SENSITIVE_OUTPUTS",
    value: "`withhold`",
    default: "they are told, with a warning",
    effect: "Keeps sensitive outputs from an engine of 2017, which stores everything in the clear. They are in the store of objects alone.",
};

/// Whether engines store write-only values.
pub const WRITE_ONLY: Setting = Setting {
    name: "ISTHMUS_WRITE_ONLY",
    value: "`hash`",
    default: "the engine stores them among the inputs, as secrets",
    effect: "Keeps a salted hash of each write-only value among the inputs that the engine stores, and the value only in memory.",
};

/// Where the project's own tests find their tools; the program does not use it, but must not warn about it either.
const TOOLS_DIR: Setting = Setting {
    name: "ISTHMUS_TOOLS_DIR",
    value: "a folder",
    default: "`target/tools`",
    effect: "Where the project's tests build the tools that they need. Has no effect on the program.",
};

/// All of them, in the order of the reference page.
pub const ALL: [Setting; 17] = [
    GRACE,
    HOME,
    KEY,
    KEY_FILE,
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

impl Setting {
    /// Its value, where it is set to something.
    pub fn read(&self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }

    /// Whether it is set to `off`.
    pub fn is_off(&self) -> bool {
        self.read().is_some_and(|value| value == "off")
    }

    /// Whether it is set to `hash`.
    pub fn is_hash(&self) -> bool {
        self.read().is_some_and(|value| value == "hash")
    }

    /// Whether it is set to `withhold`.
    pub fn is_withhold(&self) -> bool {
        self.read().is_some_and(|value| value == "withhold")
    }

    /// Whether it is set to `true` or `1`.
    pub fn is_on(&self) -> bool {
        self.read().is_some_and(|value| value == "true" || value == "1")
    }
}

/// How long what was asked to end may take.
///
/// # Errors
/// When what is set is no such time; the text is for the user.
pub fn grace() -> Result<Duration, String> {
    let Some(text) = GRACE.read() else { return Ok(DEFAULT_GRACE) };
    seconds(&text.to_string_lossy()).ok_or_else(|| {
        let default = DEFAULT_GRACE.as_secs();
        format!(
            "{} is {text:?}, which is no number of seconds from 0 to a day; {default} is used",
            GRACE.name
        )
    })
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.0..=LONGEST_GRACE).contains(seconds))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A warning for each variable of the environment that looks like ours and is none.
pub fn warnings(environment: impl Iterator<Item = OsString>) -> Vec<String> {
    let mut warnings: Vec<String> = environment
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with(PREFIX) && !ALL.iter().any(|setting| setting.name == name))
        .map(|name| {
            let known = ALL.iter().map(|setting| setting.name);
            match crate::names::tokens::nearest(&name, known) {
                Some(nearest) => format!("the variable {name} has no effect; perhaps {nearest} was meant"),
                None => format!("the variable {name} has no effect"),
            }
        })
        .collect();
    warnings.sort();
    warnings
}

/// The reference page of all variables, in Markdown.
pub fn reference() -> String {
    let mut page = String::from("| variable | value | without it | effect |\n|---|---|---|---|\n");
    for setting in ALL {
        let Setting { name, value, default, effect } = setting;
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
    fn a_grace_is_a_number_of_seconds_up_to_a_day() {
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(seconds("0"), Some(Duration::ZERO));
        for text in ["", "5s", "-1", "NaN", "inf", "86401"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_misspelt_variable_is_warned_about() {
        let environment = ["ISTHMUS_HOME", "ISTHMUS_LOG_CALL", "PATH"].map(OsString::from);
        assert_eq!(
            warnings(environment.into_iter()),
            ["the variable ISTHMUS_LOG_CALL has no effect; perhaps ISTHMUS_LOG_CALLS was meant"]
        );
    }

    #[test]
    fn the_reference_page_is_the_table() {
        let page = include_str!("../docs/settings.md");
        assert!(page.contains(&reference()), "docs/settings.md must contain:\n{}", reference());
    }
}
