//! Variables of a machine: its executables, directories, language, certificates and way to the network.
//!
//! A plugin on another machine sends its environment, and there these name what is not here. An engine that attaches to a daemon
//! sends none, and its providers do without the credentials in the daemon's environment, which belong to no run; without these
//! they do not work. So both have those of the machine that the providers run on.

use std::ffi::OsStr;

use isthmus_common::Environment;

use isthmus_context::settings::{Settings, VariableNames};

/// Variables that describe a machine: paths, proxies, sockets and process numbers have a meaning there only. `*` at
/// the end stands for the rest of a name. `docs/daemon.md` lists them.
const OF_MACHINE: &str = "PATH,HOME,USER,LOGNAME,SHELL,PWD,OLDPWD,TMPDIR,TMP,TEMP,TZ,LANG,LC_*,XDG_*,LD_*,DYLD_*,\
    HTTP_PROXY,HTTPS_PROXY,NO_PROXY,ALL_PROXY,http_proxy,https_proxy,no_proxy,all_proxy,\
    SSL_CERT_FILE,SSL_CERT_DIR,SSLKEYLOGFILE,NETRC,OPENTOFU_*,\
    TF_CLI_CONFIG_FILE,TERRAFORM_CONFIG,TF_PLUGIN_CACHE_DIR,TF_REATTACH_PROVIDERS,TF_LOG_PATH,TF_LOG_PATH_MASK,\
    PULUMI_HOME,PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR,PULUMI_BRIDGE_REATTACH_PROVIDERS,PULUMI_TF_DEBUG_GRPC";

/// What providers inherit for an engine that sends no environment: of the daemon's, the machine's variables and those that
/// `ISTHMUS_PROVIDER_ENVIRONMENT` names.
pub(super) fn without_plugin(daemon: &Environment, settings: &Settings) -> Environment {
    let machine = VariableNames::of(OF_MACHINE);
    let is_inherited = |name: &OsStr| machine.contain(name) || settings.provider_environment.names(name);
    daemon.iter().filter(|(name, _)| is_inherited(name)).collect()
}

/// The environment of a plugin on another machine, with this machine's variables instead of those of that one.
pub(super) fn of_remote_plugin(plugin: &Environment, daemon: &Environment) -> Environment {
    let machine = VariableNames::of(OF_MACHINE);
    let of_plugin = plugin.iter().filter(|(name, _)| !machine.contain(name));
    of_plugin.chain(daemon.iter().filter(|(name, _)| machine.contain(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(environment: &Environment) -> Vec<String> {
        environment.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
    }

    #[test]
    fn what_only_the_daemon_has_reaches_no_provider_unless_it_is_of_the_machine_or_named() {
        let daemon = Environment::from_iter([
            ("AWS_SECRET_ACCESS_KEY", "daemon"),
            ("CLOUD_REGION", "daemon"),
            ("LC_ALL", "daemon"),
            ("PATH", "daemon"),
            ("https_proxy", "daemon"),
        ]);
        let unnamed = without_plugin(&daemon, &Settings::default());
        assert_eq!(texts(&unnamed), ["LC_ALL=daemon", "PATH=daemon", "https_proxy=daemon"]);
        let settings = Settings::parse([("ISTHMUS_PROVIDER_ENVIRONMENT".into(), "CLOUD_*".into())]);
        let named = without_plugin(&daemon, &settings.expect("settings"));
        assert_eq!(
            texts(&named),
            ["CLOUD_REGION=daemon", "LC_ALL=daemon", "PATH=daemon", "https_proxy=daemon"]
        );
        let plugin =
            Environment::from_iter([("AWS_REGION", "plugin"), ("HOME", "plugin"), ("PATH", "plugin")]);
        assert_eq!(
            texts(&of_remote_plugin(&plugin, &daemon)),
            ["AWS_REGION=plugin", "LC_ALL=daemon", "PATH=daemon", "https_proxy=daemon"]
        );
    }

    #[test]
    fn nothing_that_this_program_reads_as_a_file_or_a_process_is_of_another_machine() {
        let machine = VariableNames::of(OF_MACHINE);
        for name in [
            "DYLD_INSERT_LIBRARIES",
            "LD_AUDIT",
            "PULUMI_BRIDGE_REATTACH_PROVIDERS",
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
            assert!(machine.contain(OsStr::new(name)), "{name}");
        }
        for name in ["AWS_REGION", "PATHS", "TF_LOG", "TF_TOKEN_app_example_org", "TRACEPARENT"] {
            assert!(!machine.contain(OsStr::new(name)), "{name}");
        }
    }
}
