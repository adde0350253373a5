//! The command line, and the names that engines start this program by.

mod demo;
mod install;
mod link;
mod lumi;
mod plugin;
mod providers;
mod state;
mod table;
mod verification;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The name that today's engines look for.
pub const PULUMI_PLUGIN: &str = "pulumi-resource-terraform-provider";

/// What the names that the engine of 2017 looks for start with; the package's name follows.
pub const LUMI_PLUGIN_PREFIX: &str = "lumi-resource-";

/// The name that starts the sandbox provider.
pub const SANDBOX_PROVIDER: &str = "terraform-provider-sandbox";

/// What the name that the program was started by asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// A resource plugin for today's engines.
    Plugin,
    /// A resource plugin for the engine of 2017, for this package.
    Lumi(String),
    /// The sandbox provider, which demonstrations and tests run on.
    Sandbox,
    /// The command line.
    Command,
}

/// Runs unmodified Terraform providers under a Pulumi engine.
#[derive(Debug, Parser)]
#[command(name = "isthmus", version)]
struct Command {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Play an engine against the daemon, on a real provider, and show what happens.
    Demo(demo::Demo),
    Install(install::Install),
    Link(link::Link),
    /// Serve as a resource plugin, as under the name `pulumi-resource-terraform-provider`.
    #[command(disable_help_flag = true)]
    Plugin {
        /// What an engine would pass.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Look at the cache of providers, check it, make room in it, and fill mirrors.
    Providers(providers::Providers),
    /// Look at the store of objects, and take them to Terraform or OpenTofu and from there.
    State(state::State),
}

/// Does what the arguments ask for; the first is the name that the program was started by.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().cloned().unwrap_or_default();
    match role(Path::new(&name)) {
        Role::Plugin => plugin::run(arguments.get(1..).unwrap_or_default()),
        Role::Lumi(package) => lumi::run(&package, Path::new(&name), arguments.get(1..).unwrap_or_default()),
        Role::Sandbox => isthmus_sandbox::main_from_environment(),
        Role::Command => match Command::parse_from(&arguments).subcommand {
            Subcommands::Demo(demo) => demo::run(&demo),
            Subcommands::Install(install) => install::run(&install),
            Subcommands::Link(link) => link::run(&link),
            Subcommands::Plugin { arguments } => plugin::run(&arguments),
            Subcommands::Providers(providers) => providers::run(&providers),
            Subcommands::State(state) => state::run(&state),
        },
    }
}

fn role(program: &Path) -> Role {
    let stem = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = stem.strip_suffix(".exe").unwrap_or(stem);
    match stem {
        PULUMI_PLUGIN => Role::Plugin,
        _ if is_sandbox(stem) => Role::Sandbox,
        _ => match stem.strip_prefix(LUMI_PLUGIN_PREFIX) {
            Some(package) if !package.is_empty() => Role::Lumi(package.to_owned()),
            _ => Role::Command,
        },
    }
}

/// Released providers carry their version in their file's name.
fn is_sandbox(stem: &str) -> bool {
    stem.strip_prefix(SANDBOX_PROVIDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Writes to standard output. A reader that has seen enough is no fault.
fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[expect(
    clippy::print_stderr,
    reason = "standard output is for what was asked for, which may be read by a program"
)]
fn warn(text: &str) {
    eprintln!("warning: {text}");
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
        assert_eq!(role(Path::new("/packs/random/lumi-resource-random")), Role::Lumi("random".to_owned()));
        assert_eq!(role(Path::new("lumi-resource-")), Role::Command);
        assert_eq!(role(Path::new("isthmus")), Role::Command);
        assert_eq!(role(Path::new("")), Role::Command);
    }
}
