//! The programs that are measured: whether they are there, what they are, and how to come by them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::options::{Contestant, Options};
use crate::workload::Suite;

/// The name by which isthmus knows that an engine started it, and the directory that tells it its plugin version.
pub(crate) const PLUGIN: &str = "pulumi-resource-terraform-provider";
const PLUGIN_DIRECTORY: &str = "resource-terraform-provider-v1.4.0";
/// The version in it.
pub(crate) const PLUGIN_VERSION: &str = "1.4.0";

/// The plugin by which the Pulumi CLI runs YAML programs; it is looked for beside the CLI.
const YAML_HOST: &str = "pulumi-language-yaml";

/// How far the linker's list of modules is read, in bytes. The Go bridge's has 25,000.
const LONGEST_MODULE_LIST: usize = 65_536;

/// The programs, as they are run.
#[derive(Debug)]
pub(crate) struct Tools {
    /// isthmus under its name as a plugin, in a directory of its own.
    pub(crate) isthmus: PathBuf,
    /// The Go bridge.
    pub(crate) go_bridge: PathBuf,
    /// The engine's side of the wire.
    pub(crate) engine: PathBuf,
    /// The provider `random`.
    pub(crate) random: PathBuf,
    /// The provider `time`.
    pub(crate) time: PathBuf,
    /// The provider `tls`.
    pub(crate) tls: PathBuf,
    /// The project's own provider, where a part needs it.
    pub(crate) sandbox: PathBuf,
    /// The Pulumi CLI, with its YAML host beside it.
    pub(crate) pulumi: PathBuf,
    /// OpenTofu.
    pub(crate) tofu: PathBuf,
    /// What they are, for the record.
    pub(crate) programs: Vec<Program>,
    null: PathBuf,
    _directory: TempDir,
}

/// A program that is needed besides the contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The provider `random`.
    Random,
    /// The provider `time`.
    Time,
    /// The provider `tls`.
    Tls,
    /// The sandbox provider.
    Sandbox,
    /// The Pulumi CLI with its YAML host.
    Pulumi,
    /// OpenTofu.
    OpenTofu,
}

/// One program, so that a result can be told from that of another build.
#[derive(Debug, Serialize)]
pub(crate) struct Program {
    /// What it is.
    pub(crate) name: &'static str,
    /// What it says of itself, or what the Go linker wrote into it.
    pub(crate) version: Option<String>,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of its file, in hexadecimal digits.
    pub(crate) sha256: String,
}

impl Tools {
    /// Finds the chosen contestants, and other programs.
    ///
    /// # Errors
    /// Names everything that is missing at once, each with the command that builds it.
    pub(crate) fn find(options: &Options, needs: &[Need]) -> anyhow::Result<Self> {
        let chosen = |contestant| options.contestants.contains(&contestant);
        let yaml_host = options.pulumi.with_file_name(YAML_HOST);
        let wanted = [
            (chosen(Contestant::Isthmus), "isthmus", &options.isthmus, "cargo build --release --bin isthmus"),
            (
                chosen(Contestant::GoBridge),
                "the Go bridge",
                &options.go_bridge,
                "tests/tools/build go-bridge",
            ),
            (true, "the engine", &options.engine, "tests/tools/build bench-engine"),
            (
                needs.contains(&Need::Random),
                "the provider random",
                &options.provider,
                "tests/tools/build random",
            ),
            (
                needs.contains(&Need::Time),
                "the provider time",
                &options.time_provider,
                "tests/tools/build time",
            ),
            (needs.contains(&Need::Tls), "the provider tls", &options.tls_provider, "tests/tools/build tls"),
            (
                needs.contains(&Need::Sandbox),
                "the sandbox provider",
                &options.sandbox,
                "cargo build --release -p isthmus-sandbox --features misbehaviour",
            ),
            (needs.contains(&Need::Pulumi), "the Pulumi CLI", &options.pulumi, "tests/tools/build pulumi"),
            (needs.contains(&Need::Pulumi), "its YAML host", &yaml_host, "tests/tools/build yaml"),
            (needs.contains(&Need::OpenTofu), "OpenTofu", &options.tofu, "tests/tools/build tofu"),
        ];
        let mut missing = String::new();
        let mut programs = Vec::new();
        for (_, name, path, build) in wanted.iter().filter(|(needed, ..)| *needed) {
            if path.is_file() {
                programs.push(Program::describe(name, path)?);
            } else {
                let path = path.display();
                // Writing to a text cannot fail.
                let _ = write!(missing, "\n  {name} is not at {path}; `{build}` in the workspace builds it");
            }
        }
        if !missing.is_empty() {
            bail!("programs are missing (or give their places by options, see --help):{missing}");
        }
        let directory = TempDir::with_prefix("isthmus-benches-").context("no temporary directory")?;
        let isthmus = if chosen(Contestant::Isthmus) {
            place_plugin(&options.isthmus, directory.path())?
        } else {
            options.isthmus.clone()
        };
        Ok(Self {
            isthmus,
            go_bridge: absolute(&options.go_bridge)?,
            engine: absolute(&options.engine)?,
            random: absolute(&options.provider)?,
            time: absolute(&options.time_provider)?,
            tls: absolute(&options.tls_provider)?,
            sandbox: absolute(&options.sandbox)?,
            pulumi: absolute(&options.pulumi)?,
            tofu: absolute(&options.tofu)?,
            null: std::env::current_exe().context("the path of this program is not known")?,
            programs,
            _directory: directory,
        })
    }

    /// The plugin's file under the name of the command, as `isthmus install --plugin` links it.
    pub(crate) fn command(&self) -> anyhow::Result<PathBuf> {
        let command = self.isthmus.with_file_name("isthmus");
        if !command.exists() {
            fs::hard_link(&self.isthmus, &command)
                .with_context(|| format!("{} cannot be linked", command.display()))?;
        }
        Ok(command)
    }

    /// The executable of a contestant, if it is a plugin.
    pub(crate) fn bridge(&self, contestant: Contestant) -> Option<&Path> {
        match contestant {
            Contestant::Daemon | Contestant::Isthmus => Some(&self.isthmus),
            Contestant::GoBridge => Some(&self.go_bridge),
            // It is this program by the name of a plugin.
            Contestant::Null => Some(&self.null),
            Contestant::Floor | Contestant::OpenTofu => None,
        }
    }

    /// The provider of a suite.
    pub(crate) fn provider(&self, suite: Suite) -> &Path {
        match suite {
            Suite::Random => &self.random,
            Suite::Time => &self.time,
            Suite::Sandbox => &self.sandbox,
        }
    }
}

impl Program {
    fn describe(name: &'static str, path: &Path) -> anyhow::Result<Self> {
        let content = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let version = match name {
            "isthmus" => answer(path, "--version"),
            "the Go bridge" => answer(path, "-version"),
            _ => go_version(&content),
        };
        let bytes = content.len() as u64;
        Ok(Self { name, version, bytes, sha256: hex::encode(Sha256::digest(&content)) })
    }
}

/// Puts a bridge into a directory of plugins, and returns its path: by a link where the file system allows it, else as a
/// copy.
pub(crate) fn place_plugin(bridge: &Path, plugins: &Path) -> anyhow::Result<PathBuf> {
    let directory = plugins.join(PLUGIN_DIRECTORY);
    let plugin = directory.join(PLUGIN);
    let failed = || format!("{} cannot be put at {}", bridge.display(), plugin.display());
    fs::create_dir_all(&directory).with_context(failed)?;
    if fs::hard_link(bridge, &plugin).is_err() {
        fs::copy(bridge, &plugin).with_context(failed)?;
    }
    Ok(plugin)
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is not a path", path.display()))
}

/// The first line that a program answers to an option, if it succeeds.
fn answer(path: &Path, option: &str) -> Option<String> {
    let output = Command::new(path).arg(option).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// The version of a Go program's main package, from the list of modules that the linker puts into every program:
/// `path⇥PACKAGE`, then a line `mod` or `dep` for each module, of which the package's own is the longest prefix.
fn go_version(content: &[u8]) -> Option<String> {
    let marker = b"path\t";
    let list = content.windows(marker.len()).enumerate().filter(|(_, window)| window == marker).find_map(
        |(at, _)| {
            let end = (at + LONGEST_MODULE_LIST).min(content.len());
            let text = String::from_utf8_lossy(&content[at + marker.len()..end]);
            text.lines().nth(1)?.starts_with("mod\t").then(|| text.into_owned())
        },
    )?;
    let mut lines = list.lines();
    let package = lines.next()?;
    lines
        .take_while(|line| line.contains('\t'))
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let kind = fields.next()?;
            let (module, version) = (fields.next()?, fields.next()?);
            (matches!(kind, "mod" | "dep") && package.starts_with(module)).then_some((module.len(), version))
        })
        .max()
        .map(|(_, version)| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_go_program_built_as_a_tool_of_another_module_has_the_version_of_its_own() {
        let content = b"\xff Go buildinf:\x08path\texample.org/a/b/cmd\nmod\texample.org/tools\t(devel)\t\n\
            dep\texample.org/a\tv1.0.0\th1:x=\ndep\texample.org/a/b\tv2.0.0\th1:y=\nbuild\t-compiler=gc\n\xf9\x32";
        assert_eq!(go_version(content).as_deref(), Some("v2.0.0"));
    }

    #[test]
    fn a_program_of_another_language_has_none() {
        assert_eq!(go_version(b"\x7fELF path\tto nowhere\n"), None);
    }
}
