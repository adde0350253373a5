//! `isthmus install --plugin`: installs this executable as a plugin of the Pulumi CLI.
//!
//! The CLI looks plugins up by exact version: an SDK or a stack that names version 1.0.0 requires
//! `resource-terraform-provider-v1.0.0` in the Pulumi home. So the executable is installed once per
//! version that the project's SDKs, `Pulumi.yaml` and stacks name; without a project, under the
//! version that new packages get. Users of the plugin that this one replaces have some of these
//! directories; their contents are replaced only on request, with a backup.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use isthmus_common::permissions::{DIRECTORY, FILE, create_directories, without_writers};
use isthmus_common::scratch::ScratchDirectory;
use isthmus_common::{Environment, Links, open_regular, require_regular};
use isthmus_install::FileSum;
use isthmus_platform::IS_WINDOWS;
use isthmus_platform::files::{mode, set_mode};
use semver::Version;

use super::progress::Reporter;
use super::stacks::{self, StackError};
use crate::cli::output::{fail, print, warn};
use isthmus_context::home;
use isthmus_context::installed_plugins::{
    CHECKSUM_LABEL, InstalledPlugin, MARK, highest_of_others, installed_plugins, is_same,
    is_taken_unversioned, may_be_asked_for,
};
use isthmus_context::project::document::parse_version;
use isthmus_context::project::{Project, ProjectError, stale};
use isthmus_package::releases::{PLUGIN_VERSION, RELEASES};

/// How many backups a directory may have.
const MOST_BACKUPS: usize = 100;
/// Searches of more directory entries than this show a counter.
const MANY_ENTRIES: usize = 1000;

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// Project directory (default: the nearest directory upwards with a Pulumi.yaml).
    #[arg(long, value_name = "DIRECTORY", requires = "plugin", conflicts_with = "provider")]
    project: Option<PathBuf>,
    /// Output of `pulumi stack export` (`-`: standard input), instead of the project's stacks.
    #[arg(long = "stack", value_name = "FILE", requires = "plugin", conflicts_with = "provider")]
    stacks: Vec<PathBuf>,
    /// Additional version to install the plugin under, such as 1.4.0.
    #[arg(long = "plugin-version", value_name = "VERSION", requires = "plugin", conflicts_with = "provider", value_parser = version)]
    versions: Vec<Version>,
    /// Replace a plugin that isthmus did not install, and keep a backup.
    #[arg(long, requires = "plugin", conflicts_with = "provider")]
    force: bool,
    /// Install the plugin under the default version and every installed one as well, as with --force.
    #[arg(long, requires = "plugin", conflicts_with = "provider")]
    everywhere: bool,
}

#[derive(Debug, thiserror::Error)]
enum PluginError {
    #[error("no Pulumi home directory found\nhelp: set PULUMI_HOME to a directory")]
    NoHome,
    #[error("failed to determine the path of this program")]
    Here(#[source] io::Error),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(
        "failed to write {path}\nhelp: {mend}, and run the command again; the installed versions stay",
        path = .path.display(),
        mend = mend(.path, .error)
    )]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{path} was not written by isthmus, so nothing was changed\nhelp: move it away", path = .0.display())]
    NotMark(PathBuf),
    #[error("failed to replace {path}, so nothing was changed\nhelp: move it away", path = .path.display())]
    NoFile {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(
        "{path} was not installed by isthmus, so nothing was changed\nhelp: replace it with --force, which keeps a backup, {backup}",
        path = .0.display(),
        backup = backup(.0).display()
    )]
    Other(PathBuf),
}

/// The result for a version.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Done {
    Installed,
    /// The backup of the previous plugin.
    Replaced(PathBuf),
    Present,
}

fn version(text: &str) -> Result<Version, String> {
    parse_version(text).map_err(|error| format!("not a semantic version, such as 1.4.0: {error}"))
}

/// The versions to install, and a note if they are the default.
#[derive(Debug, Default)]
struct Wanted {
    versions: BTreeSet<Version>,
    note: Option<String>,
    /// What hosts of HCL may ask for, and others have installed.
    left: Vec<InstalledPlugin>,
    /// What --everywhere leaves alone, because the directory is a link to another one.
    linked: Vec<InstalledPlugin>,
}

impl Options {
    pub(super) fn run(&self) -> ExitCode {
        let done =
            home::pulumi_cli_home(&Environment::current()).ok_or(PluginError::NoHome).and_then(|home| {
                let program = std::env::current_exe().and_then(|program| program.canonicalize());
                let plugins = home.join("plugins");
                let here = std::env::current_dir().map_err(PluginError::Here)?;
                let mut wanted = self.wanted(&here, &plugins)?;
                let left = std::mem::take(&mut wanted.left);
                for linked in &wanted.linked {
                    warn(&is_left_alone(linked));
                }
                let program = program.map_err(PluginError::Here)?;
                self.install(wanted, &plugins, &program, &mut |line| print(&(line + "\n")))?;
                let highest = highest_of_others(&plugins);
                for other in left.iter().filter(|other| highest.as_ref() != Some(*other)) {
                    warn(&may_be_asked_for(other));
                }
                if let Some(highest) = highest {
                    warn(&is_taken_unversioned(&highest));
                }
                Ok(())
            });
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&isthmus_common::error_chain(&error)),
        }
    }

    /// All versions that options and project name; otherwise the one that new packages get.
    fn wanted(&self, here: &Path, plugins: &Path) -> Result<Wanted, PluginError> {
        let mut wanted = Wanted { versions: self.versions.iter().cloned().collect(), ..Wanted::default() };
        let project = match &self.project {
            Some(directory) => Some(Project::at(directory)),
            None => Project::around(here),
        };
        if let Some(project) = &project {
            wanted.versions.extend(self.versions_of(project)?);
        }
        for stack in &self.stacks {
            wanted.versions.extend(stacks::in_file(stack)?);
        }
        if wanted.versions.is_empty() {
            let place = match &project {
                Some(project) => {
                    format!("no version of the plugin is named in {}", project.directory.display())
                }
                None => format!(
                    "no Pulumi project in {} or above (--project DIRECTORY names another one)",
                    here.display()
                ),
            };
            wanted.versions.insert(PLUGIN_VERSION);
            if project.as_ref().is_some_and(Project::is_hcl) {
                let releases = RELEASES.map(|version| InstalledPlugin::at(plugins, version));
                let is_free = |plugin: &InstalledPlugin| {
                    self.force || plugin.is_ours() || plugin.file().symlink_metadata().is_err()
                };
                let (free, left): (Vec<_>, Vec<_>) = releases.into_iter().partition(is_free);
                wanted.versions.extend(free.into_iter().map(|plugin| plugin.version));
                wanted.left = if self.everywhere { Vec::new() } else { left };
                let hosts = "installing the versions that hosts of HCL may ask for";
                wanted.note = Some(format!("{place}: {hosts}"));
            } else {
                wanted.note = Some(format!("{place}: installing the default version {PLUGIN_VERSION}"));
            }
        }
        if self.everywhere {
            // New packages get it, whatever the project names.
            wanted.versions.insert(PLUGIN_VERSION);
            wanted.versions.extend(installed_plugins(plugins).into_iter().map(|plugin| plugin.version));
            // A file elsewhere may belong to others.
            let all = wanted.versions.into_iter().map(|version| InstalledPlugin::at(plugins, version));
            let (linked, own): (Vec<_>, Vec<_>) = all.partition(InstalledPlugin::is_linked);
            wanted.versions = own.into_iter().map(|plugin| plugin.version).collect();
            wanted.linked = linked;
        }
        Ok(wanted)
    }

    /// The versions that a project's files and stacks name.
    fn versions_of(&self, project: &Project) -> Result<BTreeSet<Version>, PluginError> {
        let reporter = Reporter::new();
        let place = project.directory.display();
        reporter.step(&format!("searching {place} for versions of the plugin"));
        let contents = project.read(&|entries| {
            if entries >= MANY_ENTRIES {
                reporter.count(&format!("searching {place}: {} directory entries", entries / 1000 * 1000));
            }
        });
        reporter.clear();
        let contents = contents?;
        contents.warnings.iter().for_each(|warning| warn(warning));
        stale::warnings(&project.directory, &contents.files).iter().for_each(|warning| warn(warning));
        let mut versions: BTreeSet<Version> =
            contents.files.iter().flat_map(|(_, named)| named.versions()).collect();
        if project.file.is_some() && self.stacks.is_empty() {
            let found = stacks::of_project(project, &|step| reporter.step(&step));
            reporter.clear();
            match found {
                Ok(found) => versions.extend(found),
                // Backends may be unreachable, or the CLI missing; the versions of SDKs are used
                // anyway.
                Err(error) => warn(&isthmus_common::error_chain(&error)),
            }
        }
        Ok(versions)
    }

    /// Installs the executable into the plugins directory and reports each version when it is done,
    /// since a later one may fail. A foreign plugin prevents all changes.
    fn install(
        &self,
        wanted: Wanted,
        plugins: &Path,
        program: &Path,
        report: &mut dyn FnMut(String),
    ) -> Result<(), PluginError> {
        let Wanted { versions, note, .. } = wanted;
        let checksum = FileSum::of_file(program).map_err(PluginError::Here)?;
        let targets: Vec<InstalledPlugin> =
            versions.into_iter().map(|version| InstalledPlugin::at(plugins, version)).collect();
        for target in &targets {
            let path = target.file();
            // A link is replaced as one.
            if let Ok(found) = path.symlink_metadata()
                && !found.is_symlink()
            {
                require_regular(&found).map_err(|error| PluginError::NoFile { path: path.clone(), error })?;
            }
            let replaces = self.force || self.everywhere;
            if !replaces && path.symlink_metadata().is_ok() && !target.is_ours() && !is_same(&path, checksum)
            {
                return Err(PluginError::Other(path));
            }
            if !target.has_no_other_mark() {
                return Err(PluginError::NotMark(target.directory.join(MARK)));
            }
        }
        note.into_iter().for_each(&mut *report);
        let mut source = Source { program, checksum, is_ours: false };
        let paths: Vec<PathBuf> = targets.iter().map(InstalledPlugin::file).collect();
        for (target, path) in targets.iter().zip(&paths) {
            let done =
                source.place(target).map_err(|error| PluginError::Write { path: path.clone(), error })?;
            // On one file system, all versions share the installed file from here on, never one
            // that others may change, such as the target of a link.
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                source = Source { program: path, checksum, is_ours: true };
            }
            report(match done {
                Done::Installed => format!("installed {}", path.display()),
                Done::Replaced(backup) => {
                    format!("installed {} (backup: {})", path.display(), backup.display())
                }
                Done::Present => format!("{} is there already", path.display()),
            });
        }
        Ok(())
    }
}

/// Where the executable is copied from.
struct Source<'a> {
    program: &'a Path,
    checksum: FileSum,
    is_ours: bool,
}

impl Source<'_> {
    /// Atomic: a plugin that is started meanwhile is the old or the new one.
    fn place(&self, target: &InstalledPlugin) -> io::Result<Done> {
        create_directories(&target.directory)?;
        let path = target.file();
        let mut done = Done::Present;
        if !is_same(&path, self.checksum) {
            let scratch = ScratchDirectory::beside(&path)?;
            let staged = scratch.path().join("plugin");
            if !self.is_ours || fs::hard_link(self.program, &staged).is_err() {
                fs::copy(self.program, &staged)?;
                set_mode(&staged, without_writers(mode(&staged.metadata()?)))?;
            }
            done = Done::Installed;
            if path.symlink_metadata().is_ok() && !target.is_ours() {
                done = Done::Replaced(back_up(&path)?);
            }
            take_name(&staged, &path, &scratch.path().join("running"))?;
        }
        write_mark(target, self.checksum)?;
        // The Pulumi CLI leaves an empty file if its own installation is interrupted, and then
        // ignores the directory.
        let partial = target.partial();
        match fs::symlink_metadata(&partial) {
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => fs::remove_file(partial)?,
            Ok(_) | Err(_) => {}
        }
        Ok(done)
    }
}

/// Gives a staged file the name of an installed one, which is isthmus's own or has a backup.
///
/// On Windows, a program that runs has its file until it ends. So it gets the name `aside`, and for an instant none is installed. The
/// scratch directory stays with it then, and the next installation removes it.
fn take_name(staged: &Path, path: &Path, aside: &Path) -> io::Result<()> {
    match fs::rename(staged, path) {
        Err(error) if IS_WINDOWS && error.kind() == io::ErrorKind::PermissionDenied => {
            fs::rename(path, aside)?;
            fs::rename(staged, path).inspect_err(|_| {
                let _ = fs::rename(aside, path);
            })
        }
        renamed => renamed,
    }
}

fn is_left_alone(linked: &InstalledPlugin) -> String {
    format!(
        "{directory} is a symbolic link, so isthmus left the plugin in it alone\n\
         help: `isthmus install --plugin --plugin-version {version} --force` replaces it, and keeps a backup",
        directory = linked.directory.display(),
        version = linked.version
    )
}

/// What makes a file writable again.
fn mend(path: &Path, error: &io::Error) -> String {
    match (error.kind(), path.parent()) {
        (io::ErrorKind::PermissionDenied, Some(directory)) => {
            let others = if IS_WINDOWS { "end the programs that use it, or " } else { "" };
            format!("{others}give this user write access to {}", directory.display())
        }
        _ => "remove the cause".to_owned(),
    }
}

fn backup(path: &Path) -> PathBuf {
    path.with_extension("replaced")
}

fn mark(checksum: FileSum) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("The program in this directory is isthmus {version}.\n{CHECKSUM_LABEL}{checksum}\n")
}

/// Links a foreign plugin under another name, so that the file exists at all times. Earlier backups
/// stay.
fn back_up(path: &Path) -> io::Result<PathBuf> {
    let first = backup(path);
    for number in 1..=MOST_BACKUPS {
        let backup = match number {
            1 => first.clone(),
            _ => first.with_extension(format!("replaced-{number}")),
        };
        if backup.symlink_metadata().is_ok() {
            let is_same = FileSum::of_file(&backup).ok().is_some_and(|checksum| is_same(path, checksum));
            if is_same {
                return Ok(backup);
            }
            continue;
        }
        match fs::hard_link(path, &backup) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Without support for hard links it is copied, to a new file only.
            Err(_) => {
                let scratch = ScratchDirectory::beside(&backup)?;
                let mut new = scratch.file(DIRECTORY)?;
                io::copy(&mut open_regular(path, Links::Follow)?, &mut new)?;
                match new.persist_noclobber(&backup) {
                    Ok(_) => return Ok(backup),
                    Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error.error),
                }
            }
        }
    }
    Err(io::Error::other(format!("{MOST_BACKUPS} backups of it exist already; remove some of them")))
}

/// Writes the mark, or replaces an older one.
fn write_mark(target: &InstalledPlugin, checksum: FileSum) -> io::Result<()> {
    if !target.has_no_other_mark() {
        return Err(io::Error::other(format!("{MARK} beside it was not written by isthmus")));
    }
    let path = target.directory.join(MARK);
    let scratch = ScratchDirectory::beside(&path)?;
    let mut new = scratch.file(FILE)?;
    new.write_all(mark(checksum).as_bytes())?;
    new.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests;
