//! The environment of a provider process: the one that it inherits without this program's own variables, go-plugin's
//! variables, and those that limit what it logs.
//!
//! Terraform passes its whole environment to providers, because it contains credentials, proxies
//! and `TF_LOG*` settings. Except for go-plugin's variables: isthmus may itself run under a
//! go-plugin host, whose certificate, socket group or multiplexing must not reach our children.
//! They are removed and then set, so that neither the daemon's environment nor a caller can
//! override them.
//!
//! Variables with the prefix `ISTHMUS_` are not passed on: they include the key of the state store
//! and the password in its address.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use isthmus_common::{Environment, is_for_others};

use super::log_level;

/// The magic cookie by which a provider recognises a Terraform-like host.
const MAGIC_COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/// All variables of go-plugin servers; they must not be inherited.
pub(crate) const GO_PLUGIN_VARIABLES: [&str; 8] = [
    "TF_PLUGIN_MAGIC_COOKIE",
    "PLUGIN_PROTOCOL_VERSIONS",
    "PLUGIN_MIN_PORT",
    "PLUGIN_MAX_PORT",
    "PLUGIN_CLIENT_CERT",
    "PLUGIN_MULTIPLEX_GRPC",
    "PLUGIN_UNIX_SOCKET_DIR",
    "PLUGIN_UNIX_SOCKET_GROUP",
];

/// The complete environment of a provider: `inherited`, overridden by go-plugin's variables; and the variables for log
/// levels that are not set in it, for a provider of this `name`.
///
/// `client_certificate` in PEM enables mutual TLS. The multiplexing variable is never set: a server
/// with it does not support plain gRPC on its socket.
pub(super) fn child_environment(
    name: &str,
    inherited: &Environment,
    client_certificate: Option<&str>,
    socket_directory: Option<&Path>,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> =
        inherited.iter().filter(|(name, _)| is_for_others(name)).map(owned).collect();
    for name in GO_PLUGIN_VARIABLES {
        environment.remove(OsStr::new(name));
    }
    let levels =
        log_level::variables(name, |name| environment.get(OsStr::new(name)).map(OsString::as_os_str));
    let levels: Vec<(String, &str)> = levels.collect();
    environment.extend(levels.into_iter().map(|(name, level)| (name.into(), level.into())));
    let mut set = |name: &str, value: &OsStr| environment.insert(name.into(), value.to_owned());
    set("TF_PLUGIN_MAGIC_COOKIE", MAGIC_COOKIE.as_ref());
    set("PLUGIN_PROTOCOL_VERSIONS", "5,6".as_ref());
    set("PLUGIN_MIN_PORT", "10000".as_ref());
    set("PLUGIN_MAX_PORT", "25000".as_ref());
    if let Some(directory) = socket_directory {
        set("PLUGIN_UNIX_SOCKET_DIR", directory.as_os_str());
    }
    if let Some(certificate) = client_certificate {
        set("PLUGIN_CLIENT_CERT", certificate.as_ref());
    }
    environment
}

fn owned((name, value): (&OsStr, &OsStr)) -> (OsString, OsString) {
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(environment: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a str> {
        environment.get(OsStr::new(name)).and_then(|value| value.to_str())
    }

    #[test]
    fn a_child_gets_what_it_inherits_and_the_variables_of_go_plugin() {
        let environment = child_environment(
            "random",
            &Environment::from_iter([
                ("HOME", "/home/a"),
                ("AWS_REGION", "us-east-1"),
                ("TF_REATTACH_PROVIDERS", "{}"),
                ("TF_LOG", "INFO"),
            ]),
            Some("PEM"),
            Some(Path::new("/tmp/isthmus-a")),
        );
        let expected = [
            ("AWS_REGION", "us-east-1"),
            ("HOME", "/home/a"),
            ("PLUGIN_CLIENT_CERT", "PEM"),
            ("PLUGIN_MAX_PORT", "25000"),
            ("PLUGIN_MIN_PORT", "10000"),
            ("PLUGIN_PROTOCOL_VERSIONS", "5,6"),
            ("PLUGIN_UNIX_SOCKET_DIR", "/tmp/isthmus-a"),
            ("TF_LOG", "INFO"),
            ("TF_LOG_PROVIDER_RANDOM", "INFO"),
            ("TF_LOG_SDK", "INFO"),
            ("TF_LOG_SDK_FRAMEWORK", "INFO"),
            ("TF_LOG_SDK_HELPER_RESOURCE", "INFO"),
            ("TF_LOG_SDK_HELPER_SCHEMA", "INFO"),
            ("TF_LOG_SDK_MUX", "INFO"),
            ("TF_LOG_SDK_PROTO", "INFO"),
            ("TF_PLUGIN_MAGIC_COOKIE", MAGIC_COOKIE),
            ("TF_REATTACH_PROVIDERS", "{}"),
        ];
        assert_eq!(environment, expected.map(|(name, value)| (name.into(), value.into())).into());
    }

    #[test]
    fn the_variables_of_this_program_do_not_reach_the_child() {
        let ours = Environment::from_iter([
            ("ISTHMUS_KEY", "0123"),
            ("ISTHMUS_PASSPHRASE", "correct horse"),
            ("ISTHMUS_STORE", "postgres://user:password@db/states"),
            ("ISTHMUS_OF_A_LATER_VERSION", "x"),
            ("ISTHMUS_", "x"),
            ("ISTHMUSES", "of others"),
        ]);
        let environment = child_environment("random", &ours, None, Some(Path::new("/tmp/isthmus-a")));
        let names: Vec<_> = environment.keys().filter_map(|name| name.to_str()).collect();
        assert!(!names.iter().any(|name| name.starts_with("ISTHMUS_")), "{names:?}");
        assert_eq!(value(&environment, "ISTHMUSES"), Some("of others"));
    }

    #[test]
    fn the_variables_of_a_host_above_us_do_not_reach_the_child() {
        let above = Environment::from_iter([
            ("PLUGIN_CLIENT_CERT", "the certificate of the host above"),
            ("PLUGIN_MULTIPLEX_GRPC", "true"),
            ("PLUGIN_UNIX_SOCKET_GROUP", "staff"),
            ("PLUGIN_PROTOCOL_VERSIONS", "4"),
        ]);
        let environment = child_environment("random", &above, None, Some(Path::new("/tmp/isthmus-a")));
        assert_eq!(value(&environment, "PLUGIN_CLIENT_CERT"), None);
        assert_eq!(value(&environment, "PLUGIN_MULTIPLEX_GRPC"), None);
        assert_eq!(value(&environment, "PLUGIN_UNIX_SOCKET_GROUP"), None);
        assert_eq!(value(&environment, "PLUGIN_PROTOCOL_VERSIONS"), Some("5,6"));
    }
}
