//! Identity of an environment, as far as a provider's schema may depend on it.
//!
//! Any variable may affect the schema. So all count, except those that change with every start and
//! have no meaning for a provider. Only one hash of all values is stored.

use std::ffi::OsStr;

use isthmus_common::{Environment, OWN_VARIABLES};
use sha2::{Digest as _, Sha256};

use crate::plugin::GO_PLUGIN_VARIABLES;

/// Variables that do not count, by name or, with `*`, by prefix, and the reason.
pub(crate) const VOLATILE: [(&str, &str); 24] = [
    ("PWD", "where the program was started"),
    ("OLDPWD", "where the shell was before"),
    ("SHLVL", "how many shells are around it"),
    ("_", "which program a shell has started last"),
    ("TERM", "the terminal's kind"),
    ("TERM_*", "the terminal's program and its session"),
    ("COLORTERM", "the terminal's colours"),
    ("COLUMNS", "the terminal's size"),
    ("LINES", "the terminal's size"),
    ("WINDOWID", "the terminal's window"),
    ("TMUX*", "the terminal's multiplexer"),
    ("STY", "the terminal's multiplexer"),
    ("GPG_TTY", "the terminal's device"),
    ("SSH_*", "the SSH session and its agent"),
    ("XDG_SESSION_*", "the login session"),
    ("DBUS_SESSION_BUS_ADDRESS", "the login session"),
    ("INVOCATION_ID", "which start of a systemd unit it is"),
    ("JOURNAL_STREAM", "where systemd reads its output"),
    ("TRACEPARENT", "which span of a trace it is part of"),
    ("TRACESTATE", "which span of a trace it is part of"),
    ("OTEL_*", "where traces go"),
    ("TF_LOG*", "levels and files of logs"),
    ("TF_REATTACH_PROVIDERS", "which providers are running already"),
    // They include the addresses of the engine, the stack's configuration, and ids of a run.
    ("PULUMI_*", "variables for Pulumi, not for a Terraform provider"),
];

/// A hash of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentPrint([u8; 32]);

impl EnvironmentPrint {
    /// The environment that a provider inherits. What `is_chosen` by its name counts in any case: a provider gets it on purpose.
    pub fn of(environment: &Environment, is_chosen: impl Fn(&OsStr) -> bool) -> Self {
        let mut hash = Sha256::new();
        let counted = environment.iter().filter(|(name, _)| counts(name) || is_chosen(name));
        for text in counted.flat_map(|(name, value)| [name, value]) {
            let bytes = text.as_encoded_bytes();
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(bytes);
        }
        Self(hash.finalize().into())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn counts(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == pattern.as_bytes(),
    };
    let volatile = VOLATILE.iter().any(|(pattern, _)| is(pattern));
    // Set for each process to values without an effect on the schema.
    let go_plugin = GO_PLUGIN_VARIABLES.iter().any(|variable| is(variable));
    !volatile && !go_plugin && !name.starts_with(OWN_VARIABLES.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(variables: &[(&str, &str)]) -> EnvironmentPrint {
        EnvironmentPrint::of(&variables.iter().copied().collect(), |_| false)
    }

    #[test]
    fn what_changes_from_start_to_start_does_not_count() {
        let plain = print(&[("AWS_REGION", "eu-west-1")]);
        let noisy = [
            ("AWS_REGION", "eu-west-1"),
            ("PWD", "/here"),
            ("_", "/usr/bin/pulumi"),
            ("TERM_SESSION_ID", "17"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("TRACEPARENT", "00-1-2-03"),
            ("PULUMI_CONFIG", "{}"),
            ("ISTHMUS_LOG_CALLS", "true"),
            ("PLUGIN_UNIX_SOCKET_DIR", "/tmp/x"),
            ("TF_LOG_PROVIDER", "trace"),
        ];
        assert_eq!(print(&noisy), plain);
    }

    #[test]
    fn everything_else_does() {
        let plain = print(&[("AWS_REGION", "eu-west-1"), ("TERM", "xterm")]);
        for other in [
            &[("AWS_REGION", "us-east-1")][..],
            &[("AWS_REGION", "eu-west-1"), ("TF_APPEND_USER_AGENT", "x")],
            &[("AWS_REGION", "eu-west-1"), ("TERMINUS", "x")],
            &[("AWS_REGIO", "Neu-west-1")],
            &[],
        ] {
            assert_ne!(print(other), plain, "{other:?}");
        }
    }

    #[test]
    fn what_is_chosen_for_providers_counts_whatever_its_name() {
        let print = |value: &str| {
            let environment = Environment::default().with("PULUMI_ACCESS_TOKEN", value);
            EnvironmentPrint::of(&environment, |name| name == "PULUMI_ACCESS_TOKEN")
        };
        assert_ne!(print("one"), print("other"));
    }

    #[test]
    fn the_order_does_not_count_and_the_last_value_wins() {
        assert_eq!(print(&[("A", "1"), ("B", "2")]), print(&[("B", "3"), ("A", "1"), ("B", "2")]));
    }

    #[test]
    fn the_documentation_lists_every_variable_that_does_not_count() {
        let page = include_str!("../../../docs/settings.md");
        for (pattern, reason) in VOLATILE {
            assert!(
                page.contains(&format!("| `{pattern}` | {reason} |")),
                "docs/settings.md: {pattern}, {reason}"
            );
        }
    }
}
