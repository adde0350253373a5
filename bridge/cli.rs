//! The command line, and the roles that the executable's name selects.

mod completions;
mod consent;
mod daemon;
mod demo;
mod docs;
mod doctor;
mod explain;
mod inspect;
mod install;
mod json_root;
mod legacy_plugin;
mod limits;
mod link;
mod man;
mod migrate;
mod operate;
mod output;
mod plugin;
mod providers;
mod record;
mod recover;
mod replay;
mod runtime;
mod secret_settings;
mod service_manager;
mod shell;
mod state;
mod table;
mod unknown_provider;
mod verification;
mod version;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};

use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::{InvalidSettings, Settings};
use isthmus_platform::process;
use isthmus_services::lumirpc;
use output::USAGE_ERROR;
pub(crate) use output::{fail, fail_with, print, warn};
#[cfg(feature = "fuzzing")]
pub(crate) use state::inspected;

/// Runs unmodified Terraform providers under a Pulumi engine.
#[derive(Debug, Parser)]
#[command(name = "isthmus", version)]
struct Command {
    #[command(subcommand)]
    subcommand: Subcommands,
    /// Print no notes and no progress; errors and warnings stay.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more about each step, on standard error.
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Completions(completions::Completions),
    Daemon(daemon::Daemon),
    /// Run a resource through its lifecycle against the daemon.
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
    Docs(docs::Docs),
    Inspect(inspect::Inspect),
    Install(install::Install),
    Link(link::Link),
    Logs(operate::Logs),
    Man(man::Man),
    Migrate(migrate::Migrate),
    /// Serve a Pulumi engine as `pulumi-resource-terraform-provider` does.
    #[command(disable_help_flag = true)]
    Plugin {
        /// Arguments as an engine passes them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// List, verify, prune and mirror installed providers.
    Providers(providers::Providers),
    Ps(operate::Ps),
    Record(record::Record),
    Recover(recover::Recover),
    Replay(replay::Replay),
    State(state::State),
    Top(operate::Top),
    Version(version::Version),
}

/// Runs the role and command that the arguments select; the first is the executable's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    process::forbid_core_dumps();
    process::survive_limit_of_file_sizes();
    secret_settings::hide();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().cloned().unwrap_or_default();
    let code = match role(Path::new(&name)) {
        Role::Plugin => plugin::run(arguments.get(1..).unwrap_or_default()),
        Role::Lumi(package) => {
            legacy_plugin::run(&package, Path::new(&name), arguments.get(1..).unwrap_or_default())
        }
        Role::Sandbox => isthmus_sandbox::main_from_environment(),
        // Its arguments are those of an engine, such as `-version`, which are not parsed as options of a command.
        Role::Command if arguments.get(1).is_some_and(|argument| argument == "plugin") => {
            plugin::run(arguments.get(2..).unwrap_or_default())
        }
        Role::Command => command(&arguments),
    };
    output::finish(code)
}

/// Apart from the other roles: its parsed arguments and futures take tens of KiB of stack, which every plugin and guardian would
/// have in memory.
#[inline(never)]
fn command(arguments: &[OsString]) -> ExitCode {
    match parse(arguments) {
        Ok(command) => {
            output::set_verbosity(command.quiet, command.verbose);
            run_command(command.subcommand)
        }
        Err(message) => output::show(&message),
    }
}

fn run_command(subcommand: Subcommands) -> ExitCode {
    match subcommand {
        Subcommands::Completions(completions) => completions::run(&completions, Command::command()),
        // It reports invalid settings itself.
        Subcommands::Doctor(doctor) => doctor::run(&doctor),
        Subcommands::Explain(explain) => explain::run(&explain),
        Subcommands::Man(man) => man::run(&man, Command::command()),
        // The command that it runs reports invalid settings.
        Subcommands::Record(record) => record::run(&record),
        Subcommands::Version(version) => version::run(&version),
        Subcommands::Demo(demo) => with_settings(|_| demo::run(&demo)),
        Subcommands::Docs(docs) => with_settings(|settings| docs::run(&docs, settings)),
        Subcommands::Daemon(daemon) => match secret_settings::environment_of_daemon() {
            Ok(environment) => {
                with_parsed(Settings::parse(environment), |settings| daemon::run(&daemon, settings))
            }
            Err(error) => fail(&format!("failed to hide the secrets among the settings: {error}")),
        },
        Subcommands::Inspect(inspect) => with_settings(|settings| inspect::run(&inspect, settings)),
        Subcommands::Install(install) => with_settings(|settings| install::run(&install, settings)),
        Subcommands::Logs(logs) => with_settings(|settings| operate::logs(&logs, settings)),
        Subcommands::Ps(ps) => with_settings(|settings| operate::ps(&ps, settings)),
        Subcommands::Top(top) => with_settings(|settings| operate::top(&top, settings)),
        Subcommands::Link(link) => with_settings(|settings| link::run(&link, settings)),
        Subcommands::Migrate(migrate) => with_settings(|settings| migrate::run(&migrate, settings)),
        // Invalid settings are reported to the engine.
        Subcommands::Plugin { arguments } => plugin::run(&arguments),
        Subcommands::Providers(providers) => with_settings(|settings| providers::run(&providers, settings)),
        Subcommands::Recover(recover) => with_settings(|settings| recover::run(&recover, settings)),
        Subcommands::Replay(command) => with_settings(|settings| replay::run(&command, settings)),
        Subcommands::State(state) => with_settings(|settings| state::run(&state, settings)),
    }
}

/// Runs a command, unless a setting is invalid.
fn with_settings(command: impl FnOnce(&Arc<Settings>) -> ExitCode) -> ExitCode {
    with_parsed(Settings::from_environment(), command)
}

fn with_parsed(
    settings: Result<Settings, InvalidSettings>,
    command: impl FnOnce(&Arc<Settings>) -> ExitCode,
) -> ExitCode {
    match settings {
        Ok(settings) => {
            settings.warnings.iter().for_each(|warning| warn(warning));
            command(&Arc::new(settings))
        }
        Err(invalid) => {
            fail_with(&invalid.to_string(), ErrorCode::InvalidSetting);
            ExitCode::from(USAGE_ERROR)
        }
    }
}

/// Parses the arguments; a usage error gets a suggestion.
fn parse(arguments: &[OsString]) -> Result<Command, clap::Error> {
    Command::try_parse_from(without_suffix_of_program(arguments)).map_err(|mut error| {
        if let Some(tip) = tip(error.kind(), arguments) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error
    })
}

/// The arguments, with the name of the program as the manual has it: without the suffix of executables.
fn without_suffix_of_program(arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    if let Some(program) = arguments.first_mut() {
        *program = without_suffix(Path::new(&*program)).into();
    }
    arguments
}

/// The path of a program without the suffix of executables of Windows, which shells write in either case.
fn without_suffix(program: &Path) -> PathBuf {
    match program.extension() {
        Some(suffix) if suffix.eq_ignore_ascii_case("exe") => program.with_extension(""),
        Some(_) | None => program.to_owned(),
    }
}

/// The suggestion for a usage error.
fn tip(kind: ErrorKind, arguments: &[OsString]) -> Option<&'static str> {
    let is_install = arguments.get(1).is_some_and(|argument| argument == "install");
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    match kind {
        ErrorKind::UnknownArgument if arguments.iter().any(|argument| shell::is_lone_operator(argument)) => {
            Some("a version constraint is one argument: put quotes around the whole of it, as in '~> 3.8'")
        }
        ErrorKind::MissingRequiredArgument if is_install && !has("--plugin") => {
            Some("`isthmus install --plugin` installs the plugin for the Pulumi CLI")
        }
        ErrorKind::ArgumentConflict if is_install && has("--plugin") => {
            Some("--plugin installs no provider; a version of the plugin is named with --plugin-version")
        }
        _ => None,
    }
}

/// The plugin's name for today's engines.
const PULUMI_PLUGIN: &str = "pulumi-resource-terraform-provider";

/// The sandbox provider's name.
const SANDBOX_PROVIDER: &str = "terraform-provider-sandbox";

/// The role that the executable's name selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// A resource plugin for today's engines.
    Plugin,
    /// A resource plugin for the legacy engine, for this package.
    Lumi(String),
    /// The sandbox provider, for demonstrations and tests.
    Sandbox,
    /// The command line.
    Command,
}

fn role(program: &Path) -> Role {
    let program = without_suffix(program);
    let stem = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match stem {
        PULUMI_PLUGIN => Role::Plugin,
        _ if is_sandbox(stem) => Role::Sandbox,
        _ => match stem.strip_prefix(lumirpc::PLUGIN_PREFIX) {
            Some(package) if !package.is_empty() => Role::Lumi(package.to_owned()),
            _ => Role::Command,
        },
    }
}

/// Released provider binaries carry a version in their names.
fn is_sandbox(stem: &str) -> bool {
    stem.strip_prefix(SANDBOX_PROVIDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_role() {
        assert_eq!(role(Path::new("/plugins/pulumi-resource-terraform-provider")), Role::Plugin);
        assert_eq!(role(Path::new("./terraform-provider-sandbox")), Role::Sandbox);
        assert_eq!(role(Path::new("./terraform-provider-sandbox_v1.2.3")), Role::Sandbox);
        assert_eq!(role(Path::new("./terraform-provider-sandboxes")), Role::Command);
        assert_eq!(role(Path::new("Pulumi-resource-terraform-provider.exe")), Role::Command);
        assert_eq!(role(Path::new("pulumi-resource-terraform-provider.EXE")), Role::Plugin);
        assert_eq!(role(Path::new("terraform-provider-sandbox_v1.2.3.exe")), Role::Sandbox);
        assert_eq!(role(Path::new("/packs/random/lumi-resource-random")), Role::Lumi("random".to_owned()));
        assert_eq!(role(Path::new("lumi-resource-")), Role::Command);
        assert_eq!(role(Path::new("isthmus")), Role::Command);
        assert_eq!(role(Path::new("")), Role::Command);
    }
}
