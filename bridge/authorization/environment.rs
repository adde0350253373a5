//! The environment of the providers of another identity than the user of the daemon.
//!
//! A plugin sends its environment, because providers depend on it. What names files, executables and settings of the machine
//! is the daemon's own instead: it would name other files here, and could make the daemon or a provider read, load or write
//! them. A policy can say which variables count at all, and which of the daemon's own providers get, such as credentials that
//! no plugin has then.

use std::ffi::OsStr;

use isthmus_common::Environment;
use serde::Deserialize;

use super::pattern::Pattern;
use crate::settings;

/// Variables of the machine, by their names.
const NAMES: [&str; 16] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "TMP",
    "TEMP",
    "NETRC",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSLKEYLOGFILE",
    "GOCOVERDIR",
    "LANG",
];

/// Variables of the machine, by the beginnings of their names: of the loader, of desktops and locales, of plugins of Go, and of
/// Terraform, OpenTofu and Pulumi, which are configured by files, write logs into files, and attach to running processes.
const PREFIXES: [&str; 11] = [
    "LD_",
    "DYLD_",
    "GLIBC_",
    "XDG_",
    "LC_",
    "PLUGIN_",
    "TF_",
    "TERRAFORM_",
    "TOFU_",
    "OPENTOFU_",
    "PULUMI_",
];

/// What begins like a variable of the machine, and is the plugin's: credentials of registries, and the level of logs.
const EXCEPTIONS: [&str; 2] = ["TF_TOKEN_", "TF_LOG"];

/// Logs are the engine's, not files of this machine.
const LOG_FILES: [&str; 2] = ["TF_LOG_PATH", "TF_LOG_PATH_MASK"];

/// A table `[[environment]]` of a policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvironmentRule {
    pub(super) identities: Vec<Pattern>,
    /// Variables of the plugin that count. All, or none where variables of the daemon are given: with a proxy or an endpoint of
    /// its own, a plugin could get hold of them.
    from_plugin: Option<Vec<Pattern>>,
    /// Variables of the daemon that providers get.
    #[serde(default)]
    from_daemon: Vec<Pattern>,
}

/// The environment of a session, from the plugin's and the daemon's. `is_own`: the plugin is of the user of the daemon, or of root.
pub(crate) fn of_session(
    plugin: &Environment,
    daemon: &Environment,
    is_own: bool,
    rule: Option<&EnvironmentRule>,
) -> Environment {
    let is_of_machine = |name: &OsStr| !is_own && is_of_machine(name);
    let counts = |name: &OsStr| match rule {
        None => true,
        Some(EnvironmentRule { from_plugin: Some(patterns), .. }) => matches(patterns, name),
        Some(rule) => rule.from_daemon.is_empty(),
    };
    let is_given = |name: &OsStr| rule.is_some_and(|rule| matches(&rule.from_daemon, name));
    // The settings of isthmus in it are about the run, and name no files where the machine's are left out.
    let is_setting = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with(settings::PREFIX));
    let of_plugin = plugin
        .iter()
        .filter(|(name, _)| (counts(name) || is_setting(name)) && !is_of_machine(name) && !is_given(name));
    let of_daemon =
        daemon.iter().filter(|(name, _)| !is_setting(name) && (is_given(name) || is_of_machine(name)));
    of_plugin.chain(of_daemon).collect()
}

fn matches(patterns: &[Pattern], name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| patterns.iter().any(|pattern| pattern.matches(name)))
}

/// Whether a variable names files or executables of the machine that it is set on.
fn is_of_machine(name: &OsStr) -> bool {
    // A name that is no text is no provider's.
    let Some(name) = name.to_str() else { return true };
    let starts_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_setting = [settings::LOCK_FILE, settings::PROVIDER].iter().any(|setting| setting.name == name);
    NAMES.contains(&name)
        || LOG_FILES.contains(&name)
        || is_setting
        || !settings::is_sent(OsStr::new(name))
        || (starts_with(&PREFIXES) && !starts_with(&EXCEPTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(environment: &Environment) -> Vec<String> {
        environment.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
    }

    #[test]
    fn what_names_files_of_a_machine_is_the_daemons() {
        let plugin = Environment::from_iter([
            ("AWS_REGION", "plugin"),
            ("HOME", "plugin"),
            ("LD_PRELOAD", "plugin"),
            ("TF_REATTACH_PROVIDERS", "plugin"),
            ("TF_LOG", "plugin"),
            ("TF_LOG_PATH", "plugin"),
            ("ISTHMUS_PROVIDER", "plugin"),
            ("ISTHMUS_EXACT_NUMBERS", "plugin"),
        ]);
        let daemon =
            Environment::from_iter([("HOME", "daemon"), ("AWS_REGION", "daemon"), ("ISTHMUS_KEY", "daemon")]);
        let others = of_session(&plugin, &daemon, false, None);
        assert_eq!(
            names(&others),
            ["AWS_REGION=plugin", "HOME=daemon", "ISTHMUS_EXACT_NUMBERS=plugin", "TF_LOG=plugin"]
        );
        assert_eq!(of_session(&plugin, &daemon, true, None), plugin);
    }

    #[test]
    fn nothing_that_this_program_reads_as_a_file_or_a_process_is_of_another_machine() {
        for name in [
            "DYLD_INSERT_LIBRARIES",
            "LD_AUDIT",
            "PLUGIN_UNIX_SOCKET_DIR",
            "PULUMI_BRIDGE_REATTACH_PROVIDERS",
            "PULUMI_CREDENTIALS_PATH",
            "PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR",
            "PULUMI_HOME",
            "PULUMI_TF_DEBUG_GRPC",
            "SSL_CERT_DIR",
            "SSL_CERT_FILE",
            "TERRAFORM_CONFIG",
            "TF_CLI_CONFIG_FILE",
            "TF_LOG_PATH",
            "TF_PLUGIN_CACHE_DIR",
            "TF_REATTACH_PROVIDERS",
            "XDG_CONFIG_HOME",
        ] {
            assert!(is_of_machine(OsStr::new(name)), "{name}");
        }
        for name in
            ["AWS_REGION", "HTTPS_PROXY", "TF_LOG_PROVIDER", "TF_TOKEN_app_example_org", "TRACEPARENT"]
        {
            assert!(!is_of_machine(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn with_credentials_of_the_daemon_only_named_variables_of_the_plugin_count() {
        let plugin = Environment::from_iter([("AWS_ENDPOINT_URL", "plugin"), ("AWS_REGION", "plugin")]);
        let daemon = Environment::from_iter([("AWS_SECRET_ACCESS_KEY", "daemon"), ("OTHER", "daemon")]);
        let rule = |from_plugin: Option<Vec<Pattern>>| EnvironmentRule {
            identities: Vec::new(),
            from_plugin,
            from_daemon: vec![Pattern::new("AWS_SECRET_*")],
        };
        let given = of_session(&plugin, &daemon, false, Some(&rule(None)));
        assert_eq!(names(&given), ["AWS_SECRET_ACCESS_KEY=daemon"]);
        let named = rule(Some(vec![Pattern::new("AWS_REGION")]));
        let given = of_session(&plugin, &daemon, false, Some(&named));
        assert_eq!(names(&given), ["AWS_REGION=plugin", "AWS_SECRET_ACCESS_KEY=daemon"]);
    }
}
