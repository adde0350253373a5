//! The log levels in a provider's environment.
//!
//! Providers log every step of every call unless their environment says otherwise, and formatting those lines takes half
//! of their time. Terraform shows none of them without `TF_LOG`. So a provider's level is the one that its user has set,
//! and otherwise that of warnings.
//!
//! HashiCorp's SDKs have a variable for each part: `TF_LOG_SDK`, one for each subsystem, which follows it if it is not set
//! itself (terraform-plugin-log `tfsdklog.NewSubsystem`), and `TF_LOG_PROVIDER_` with the provider's type for its own lines
//! (terraform-plugin-go `internal/logging`, also in terraform-plugin-framework, -sdk and -mux). None of them reads `TF_LOG`
//! or `TF_LOG_PROVIDER`, which are Terraform's.

use std::ffi::OsStr;

use isthmus_common::Environment;

/// Level of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Details of every step.
    Trace,
    /// For developers; also lines without a level.
    Debug,
    /// An ordinary event.
    Info,
    /// A possible problem.
    Warn,
    /// A failure; also every line of a panic.
    Error,
}

/// Lowest level of the lines that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Lines of this level and above.
    From(Level),
    /// No lines.
    Off,
}

/// Variables of Terraform for the lines to show. The first one that is set applies: the more specific one.
pub const LOG_VARIABLES: [&str; 2] = ["TF_LOG_PROVIDER", "TF_LOG"];

/// The variable of HashiCorp's SDKs that others follow.
const SDK_VARIABLE: &str = "TF_LOG_SDK";

/// Variables of HashiCorp's SDKs.
const SDK_VARIABLES: [&str; 6] = [
    SDK_VARIABLE,
    "TF_LOG_SDK_FRAMEWORK",
    "TF_LOG_SDK_HELPER_RESOURCE",
    "TF_LOG_SDK_HELPER_SCHEMA",
    "TF_LOG_SDK_MUX",
    "TF_LOG_SDK_PROTO",
];

/// Prefix of the variables for providers' own lines, and for their subsystems.
const PROVIDER_PREFIX: &str = "TF_LOG_PROVIDER_";

impl LogLevel {
    /// The level of a provider whose user has set none.
    pub const QUIET: Self = Self::From(Level::Warn);

    /// Parses a value of `TF_LOG`; `JSON` means all lines, as JSON.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "TRACE" | "JSON" => Some(Self::From(Level::Trace)),
            "DEBUG" => Some(Self::From(Level::Debug)),
            "INFO" => Some(Self::From(Level::Info)),
            "WARN" => Some(Self::From(Level::Warn)),
            "ERROR" => Some(Self::From(Level::Error)),
            "OFF" => Some(Self::Off),
            _ => None,
        }
    }

    /// Whether lines of this level are wanted.
    pub fn includes(self, level: Level) -> bool {
        self <= Self::From(level)
    }

    /// The lowest level that these variables set for any part of a provider, or [`Self::QUIET`].
    pub fn lowest(environment: &Environment) -> Self {
        let special = environment.iter().filter_map(|(name, value)| {
            let name = name.to_str()?;
            let is_level = SDK_VARIABLES.contains(&name) || name.starts_with(PROVIDER_PREFIX);
            // To an SDK, what is no level means all lines.
            (is_level && !value.is_empty()).then(|| of_value(value).unwrap_or(Self::From(Level::Trace)))
        });
        special.chain([Self::requested(|name| environment.value(name))]).min().unwrap_or(Self::QUIET)
    }

    fn requested<'a>(get: impl Fn(&str) -> Option<&'a OsStr>) -> Self {
        let set = LOG_VARIABLES.into_iter().find_map(|name| get(name).filter(|value| !value.is_empty()));
        set.and_then(of_value).unwrap_or(Self::QUIET)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::From(Level::Trace) => "TRACE",
            Self::From(Level::Debug) => "DEBUG",
            Self::From(Level::Info) => "INFO",
            Self::From(Level::Warn) => "WARN",
            Self::From(Level::Error) => "ERROR",
            Self::Off => "OFF",
        }
    }
}

fn of_value(value: &OsStr) -> Option<LogLevel> {
    LogLevel::parse(value.to_str()?)
}

/// Variables to add to the environment of the provider `name`, of which `get` reads. What is set stays as it is.
pub(super) fn variables<'a>(
    name: &str,
    get: impl Fn(&str) -> Option<&'a OsStr>,
) -> impl Iterator<Item = (String, &'static str)> {
    // To an SDK, an empty variable means all lines.
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let level = LogLevel::requested(&get);
    // What follows a variable gets its level too: a line is otherwise formatted before it is dropped.
    let followed = set(SDK_VARIABLE).map_or(Some(level), of_value);
    let own = format!("{PROVIDER_PREFIX}{}", name.replace('-', "_").to_ascii_uppercase());
    let all = SDK_VARIABLES.into_iter().map(|name| (name.to_owned(), followed)).chain([(own, Some(level))]);
    let missing = all.filter(|(name, _)| set(name).is_none());
    let added: Vec<_> = missing.filter_map(|(name, level)| Some((name, level?.as_str()))).collect();
    added.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowest(set: &[(&str, &str)]) -> LogLevel {
        LogLevel::lowest(&set.iter().copied().collect())
    }

    fn added(name: &str, set: &[(&str, &str)]) -> Vec<(String, &'static str)> {
        let get = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| OsStr::new(*value));
        variables(name, get).collect()
    }

    #[test]
    fn the_level_is_that_of_warnings_unless_the_user_sets_another() {
        for (set, level) in [
            (&[][..], "WARN"),
            (&[("TF_LOG", "")], "WARN"),
            (&[("TF_LOG", "loud")], "WARN"),
            (&[("TF_LOG", "debug")], "DEBUG"),
            (&[("TF_LOG", "json")], "TRACE"),
            (&[("TF_LOG", "off")], "OFF"),
            (&[("TF_LOG", "trace"), ("TF_LOG_PROVIDER", "error")], "ERROR"),
        ] {
            let added = added("google-beta", set);
            let names: Vec<&str> = added.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [&SDK_VARIABLES[..], &["TF_LOG_PROVIDER_GOOGLE_BETA"]].concat());
            assert!(added.iter().all(|(_, set)| *set == level), "{set:?}: {added:?}");
        }
    }

    #[test]
    fn what_the_user_has_set_stays_unless_it_is_empty() {
        let set = [("TF_LOG_SDK_MUX", "TRACE"), ("TF_LOG_SDK_PROTO", ""), ("TF_LOG_PROVIDER_RANDOM", "none")];
        let names: Vec<String> = added("random", &set).into_iter().map(|(name, _)| name).collect();
        let others = ["", "_FRAMEWORK", "_HELPER_RESOURCE", "_HELPER_SCHEMA", "_PROTO"];
        assert_eq!(names, others.map(|part| format!("TF_LOG_SDK{part}")));
    }

    #[test]
    fn the_parts_of_the_sdks_follow_the_variable_of_all() {
        let parts = ["FRAMEWORK", "HELPER_RESOURCE", "HELPER_SCHEMA", "MUX", "PROTO"];
        for (level, expected) in [("trace", "TRACE"), ("off", "OFF")] {
            let added = added("random", &[("TF_LOG", "info"), ("TF_LOG_SDK", level)]);
            let sdk = parts.map(|part| (format!("TF_LOG_SDK_{part}"), expected));
            let own = ("TF_LOG_PROVIDER_RANDOM".to_owned(), "INFO");
            assert_eq!(added, [&sdk[..], &[own]].concat());
        }
        // They follow what only an SDK understands by themselves.
        let added = added("random", &[("TF_LOG_SDK", "loud")]);
        assert_eq!(added, [("TF_LOG_PROVIDER_RANDOM".to_owned(), "WARN")]);
    }

    #[test]
    fn a_variable_for_one_part_lowers_the_level_of_what_is_wanted() {
        assert_eq!(lowest(&[]), LogLevel::QUIET);
        assert_eq!(lowest(&[("TF_LOG", "off")]), LogLevel::Off);
        assert_eq!(lowest(&[("TF_LOG", "off"), ("TF_LOG_SDK_MUX", "info")]), LogLevel::From(Level::Info));
        assert_eq!(lowest(&[("TF_LOG_PROVIDER_RANDOM_CLIENT", "all")]), LogLevel::From(Level::Trace));
        assert_eq!(lowest(&[("TF_LOG_SDK_PROTO_DATA_DIR", "/tmp"), ("TF_LOG_PATH", "x")]), LogLevel::QUIET);
    }

    #[test]
    fn a_level_includes_those_above_it() {
        assert!(LogLevel::From(Level::Info).includes(Level::Warn));
        assert!(!LogLevel::From(Level::Info).includes(Level::Debug));
        assert!(!LogLevel::Off.includes(Level::Error));
    }
}
