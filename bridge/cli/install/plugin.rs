//! `isthmus install --plugin`: puts this program where the Pulumi CLI looks for it.
//!
//! The lookup is by exact version: an SDK or a stack that was made with version 1.0.0 of the plugin asks for
//! `resource-terraform-provider-v1.0.0` in the Pulumi home, and for nothing else. So the program is put there once for each
//! version that the project's SDKs, its `Pulumi.yaml` and its stacks name. Everybody who has the plugin that this one replaces has
//! some of these folders already; what is in them is only replaced when that is asked for, and kept beside.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use isthmus_shim::install::FileSum;
use semver::Version;

use super::stacks::{self, StackError};
use super::versions::{self, ProjectError};
use crate::cli::plugin::{PLUGIN_VERSION, fail, print};
use crate::cli::{PULUMI_PLUGIN, warn};
use crate::daemon;

/// Beside the program: tells our own from others.
const MARK: &str = "isthmus.txt";

/// What comes before the program's sum in it.
const MARK_SUM: &str = "SHA-256 ";

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// The folder in and below which SDKs and projects name versions; without it, the nearest one upwards with a Pulumi.yaml.
    #[arg(long, value_name = "FOLDER", requires = "plugin", conflicts_with = "provider")]
    project: Option<PathBuf>,
    /// What `pulumi stack export` wrote (`-`: standard input), instead of asking the Pulumi CLI for the project's stacks.
    #[arg(long = "stack", value_name = "FILE", requires = "plugin", conflicts_with = "provider")]
    stacks: Vec<PathBuf>,
    /// One more version to be found by.
    #[arg(long = "plugin-version", value_name = "VERSION", requires = "plugin", conflicts_with = "provider")]
    versions: Vec<Version>,
    /// Replace programs of others, and keep them beside.
    #[arg(long, requires = "plugin", conflicts_with = "provider")]
    force: bool,
}

/// The program cannot be put there.
#[derive(Debug, thiserror::Error)]
enum PluginError {
    #[error("there is no Pulumi home; set PULUMI_HOME to a folder")]
    NoHome,
    #[error("this program cannot find itself, or the folder that it was started in")]
    Here(#[source] io::Error),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error("{path} cannot be written", path = .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(
        "{path} is another program, and was left alone; with --force it is replaced, and kept beside as {kept}. Nothing was \
         changed",
        path = .0.display(),
        kept = kept(.0).display()
    )]
    Other(PathBuf),
}

/// What was done for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Installed,
    Replaced,
    Present,
}

impl Options {
    pub(super) fn run(&self) -> ExitCode {
        let done = daemon::pulumi_home().ok_or(PluginError::NoHome).and_then(|home| {
            let program = std::env::current_exe().and_then(|program| program.canonicalize());
            let versions = self.versions()?;
            self.install(versions, &home, &program.map_err(PluginError::Here)?)
        });
        match done {
            Ok(lines) => print(&lines.join("\n")),
            Err(error) => fail(&isthmus_shim::error_chain(&error)),
        }
    }

    /// All versions that are named anywhere.
    fn versions(&self) -> Result<BTreeSet<Version>, PluginError> {
        let project = match &self.project {
            Some(project) => project.clone(),
            None => versions::nearest_project(&std::env::current_dir().map_err(PluginError::Here)?),
        };
        let named = versions::by_project(&project)?;
        let mut versions: BTreeSet<Version> = self.versions.iter().cloned().collect();
        versions.extend(named.versions);
        for stack in &self.stacks {
            versions.extend(stacks::in_file(stack)?);
        }
        if self.stacks.is_empty() {
            for project in &named.projects {
                match stacks::of_project(project) {
                    Ok(found) => versions.extend(found),
                    // Stacks may be out of reach, or there may be no CLI yet; what SDKs name is a good deal already.
                    Err(error) => warn(&isthmus_shim::error_chain(&error)),
                }
            }
        }
        Ok(versions)
    }

    /// Puts the program into the home, and tells what was done. Nothing is changed where a program of others is in the way.
    fn install(
        &self,
        mut versions: BTreeSet<Version>,
        home: &Path,
        program: &Path,
    ) -> Result<Vec<String>, PluginError> {
        let mut lines = Vec::new();
        if versions.is_empty() {
            lines.push(format!("the project names no version of the plugin, so {PLUGIN_VERSION} is taken"));
            versions.insert(PLUGIN_VERSION);
        }
        let sum = FileSum::of_file(program).map_err(PluginError::Here)?;
        let folders: Vec<PathBuf> = versions
            .iter()
            .map(|version| home.join("plugins").join(format!("resource-terraform-provider-v{version}")))
            .collect();
        for folder in &folders {
            let path = folder.join(file_name());
            if !self.force && path.symlink_metadata().is_ok() && !is_ours(folder) && !is_same(&path, sum) {
                return Err(PluginError::Other(path));
            }
        }
        let mut source = Source { program, sum, is_ours: false };
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.join(file_name())).collect();
        for (folder, path) in folders.iter().zip(&paths) {
            let done =
                source.place(folder).map_err(|error| PluginError::Write { path: path.clone(), error })?;
            // On one disk, all versions share one file from here on; never one that is somebody else's to change.
            source = Source { program: path, sum, is_ours: true };
            lines.push(match done {
                Done::Installed => format!("installed {}", path.display()),
                Done::Replaced => {
                    format!(
                        "installed {}, and kept what was there as {}",
                        path.display(),
                        kept(path).display()
                    )
                }
                Done::Present => format!("{} is there already", path.display()),
            });
        }
        Ok(lines)
    }
}

/// Where the program comes from.
struct Source<'a> {
    program: &'a Path,
    sum: FileSum,
    is_ours: bool,
}

impl Source<'_> {
    /// Whoever starts the plugin meanwhile finds the one or the other.
    fn place(&self, folder: &Path) -> io::Result<Done> {
        fs::create_dir_all(folder)?;
        let path = folder.join(file_name());
        let mut done = Done::Present;
        if !is_same(&path, self.sum) {
            let staging = tempfile::Builder::new().prefix(".isthmus-").tempdir_in(folder)?;
            let staged = staging.path().join(file_name());
            if !self.is_ours || fs::hard_link(self.program, &staged).is_err() {
                fs::copy(self.program, &staged)?;
            }
            done = Done::Installed;
            if path.exists() && !is_ours(folder) {
                // A second name, so that at no time there is none.
                let kept = kept(&path);
                let _ = fs::remove_file(&kept);
                if fs::hard_link(&path, &kept).is_err() {
                    fs::copy(&path, &kept)?;
                }
                done = Done::Replaced;
            }
            fs::rename(&staged, &path)?;
        }
        fs::write(folder.join(MARK), mark(self.sum))?;
        // Left behind by an installation that was broken off, it would keep the CLI from looking into the folder.
        let mut partial = folder.as_os_str().to_owned();
        partial.push(".partial");
        match fs::remove_file(partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(done),
        }
    }
}

fn file_name() -> String {
    format!("{PULUMI_PLUGIN}{}", std::env::consts::EXE_SUFFIX)
}

fn kept(path: &Path) -> PathBuf {
    path.with_extension("replaced")
}

fn mark(sum: FileSum) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("The program in this folder is isthmus {version}.\n{MARK_SUM}{sum}\n")
}

/// Whether the program in a folder is the one that was put there: others may have replaced it since.
fn is_ours(folder: &Path) -> bool {
    let Ok(mark) = fs::read_to_string(folder.join(MARK)) else { return false };
    let sum = mark.lines().find_map(|line| FileSum::parse(line.strip_prefix(MARK_SUM)?).ok());
    sum.is_some_and(|sum| is_same(&folder.join(file_name()), sum))
}

fn is_same(path: &Path, sum: FileSum) -> bool {
    path.is_file() && FileSum::of_file(path).is_ok_and(|found| found == sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        folder: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join("isthmus"), "ours").expect("a file");
            Self { folder }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        /// What is said, without the folder.
        fn run(&self, versions: &[&str], force: bool) -> Result<Vec<String>, String> {
            let versions = versions.iter().map(|version| Version::parse(version).expect("a version"));
            let options = Options { project: None, stacks: Vec::new(), versions: Vec::new(), force };
            let short = |text: String| text.replace(&format!("{}/", self.folder.path().display()), "");
            let lines = options.install(versions.collect(), &self.path("home"), &self.path("isthmus"));
            let lines = lines.map_err(|error| short(isthmus_shim::error_chain(&error)))?;
            Ok(lines.into_iter().map(short).collect())
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
        }

        fn others(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
    }

    fn path(version: &str) -> String {
        format!("home/plugins/resource-terraform-provider-v{version}/pulumi-resource-terraform-provider")
    }

    fn installed(version: &str) -> String {
        format!("installed {}", path(version))
    }

    #[test]
    fn the_program_is_put_under_each_version_once() {
        let fixture = Fixture::new();
        let done = fixture.run(&["1.0.0", "0.9.0-rc1"], false);
        assert_eq!(done, Ok(vec![installed("0.9.0-rc1"), installed("1.0.0")]));
        assert_eq!(fixture.read(&path("1.0.0")), "ours");
        let again = fixture.run(&["1.0.0"], false);
        assert_eq!(again, Ok(vec![format!("{} is there already", path("1.0.0"))]));
        // A newer one of ours takes the place of an older one, in which nothing was changed.
        fs::write(fixture.path("isthmus"), "newer").expect("a file");
        assert_eq!(fixture.read(&path("0.9.0-rc1")), "ours", "it does not share the file that it came from");
        assert_eq!(fixture.run(&["1.0.0"], false), Ok(vec![installed("1.0.0")]));
        assert_eq!(fixture.read(&path("1.0.0")), "newer");
        let said = "the project names no version of the plugin, so 1.1.3 is taken".to_owned();
        assert_eq!(fixture.run(&[], false), Ok(vec![said, installed("1.1.3")]));
        let folder = fixture.path("home/plugins/resource-terraform-provider-v1.1.3");
        assert_eq!(
            fs::read_dir(folder).expect("a folder").count(),
            2,
            "nothing but the program and its mark"
        );
    }

    #[test]
    fn a_program_of_others_is_replaced_when_that_is_asked_for_and_kept() {
        let fixture = Fixture::new();
        let other = path("1.1.0");
        fixture.others(&other, "theirs");
        let refused = fixture.run(&["1.0.0", "1.1.0"], false).expect_err("it is another one");
        let told =
            format!("{other} is another program, and was left alone; with --force it is replaced, and");
        assert!(refused.starts_with(&told) && refused.contains(&format!("{other}.replaced")), "{refused}");
        assert!(!fixture.path(&path("1.0.0")).exists(), "all or nothing");
        let replaced = Ok(vec![format!("installed {other}, and kept what was there as {other}.replaced")]);
        assert_eq!(fixture.run(&["1.1.0"], true), replaced);
        assert_eq!(fixture.read(&other), "ours");
        assert_eq!(fixture.read(&format!("{other}.replaced")), "theirs");
        assert_eq!(fixture.run(&["1.1.0"], false), Ok(vec![format!("{other} is there already")]));
        // Somebody puts theirs back over ours.
        fixture.others(&other, "theirs again");
        fixture.run(&["1.1.0"], false).expect_err("it is another one again");
        assert_eq!(fixture.run(&["1.1.0"], true), replaced);
        assert_eq!(fixture.read(&format!("{other}.replaced")), "theirs again");
    }

    #[test]
    fn what_a_broken_installation_left_does_not_hide_the_plugin() {
        let fixture = Fixture::new();
        let partial = "home/plugins/resource-terraform-provider-v1.0.0.partial";
        fixture.others(partial, "");
        assert_eq!(fixture.run(&["1.0.0"], false), Ok(vec![installed("1.0.0")]));
        assert!(!fixture.path(partial).exists());
    }

    #[test]
    fn a_home_that_cannot_be_written_is_told() {
        let fixture = Fixture::new();
        fixture.others("home/plugins", "a file");
        let error = fixture.run(&["1.0.0"], false).expect_err("no folder can be there");
        assert!(error.starts_with(&format!("{} cannot be written: ", path("1.0.0"))), "{error}");
    }
}
