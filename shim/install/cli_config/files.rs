//! The files of the configuration and their order, by OpenTofu's rules, which include Terraform's
//! files.
//!
//! First the main file: that of `TF_CLI_CONFIG_FILE` (formerly `TERRAFORM_CONFIG`); else
//! `~/.tofurc`, or `~/.terraformrc` if only that exists; else `$XDG_CONFIG_HOME/opentofu/tofurc`.
//! Then, unless a variable names the main file, all `*.tfrc` and `*.tfrc.json` in `~/.terraform.d`
//! (in `$XDG_CONFIG_HOME/opentofu` if only that exists), by name. On Windows the application data
//! directory replaces the home, and the names have no dots.

use std::io;
use std::path::{Path, PathBuf};

use super::error::{CliConfigError, ConfigWarning};
use crate::Platform;
use isthmus_common::Environment;
use isthmus_platform::{IS_MACOS, IS_WINDOWS};

/// Variables that name the main file.
pub(super) const VARIABLES: [&str; 2] = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];

/// Limit of files in a directory.
const MOST: usize = 1000;

/// The existing files, in their order.
pub(super) fn find(
    environment: &Environment,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<Vec<PathBuf>, CliConfigError> {
    for variable in VARIABLES {
        if let Some(file) = environment.path(variable) {
            if file.exists() {
                return Ok(vec![file]);
            }
            let text = format!("{variable} names the file {}, which is not there", file.display());
            warnings.push(ConfigWarning { file: None, position: None, text });
            return Ok(Vec::new());
        }
    }
    let mut files = Vec::new();
    files.extend(main_file(environment).filter(|file| file.exists()));
    if let Some(directory) = directory(environment) {
        files.extend(files_in(&directory)?);
    }
    Ok(files)
}

/// The directories of credentials helpers, best first.
pub(super) fn plugin_directories(environment: &Environment) -> Vec<PathBuf> {
    let directories = data_directories(environment).into_iter();
    directories
        .flat_map(|directory| {
            let plugins = directory.join("plugins");
            [plugins.clone(), plugins.join(Platform::CURRENT.to_string())]
        })
        .collect()
}

/// Implied filesystem mirrors, best first. Most do not exist.
pub fn implied_mirrors(environment: &Environment, working_directory: &Path) -> Vec<PathBuf> {
    let mut directories = vec![working_directory.join("terraform.d").join("plugins")];
    directories.extend(data_directories(environment).into_iter().map(|directory| directory.join("plugins")));
    directories.extend(system_directories(environment));
    directories
}

fn home(environment: &Environment) -> Option<PathBuf> {
    if IS_WINDOWS {
        environment.path("APPDATA")
    } else {
        environment.path("HOME").or_else(std::env::home_dir)
    }
}

fn main_file(environment: &Environment) -> Option<PathBuf> {
    let home = home(environment)?;
    let (new, old) = if IS_WINDOWS { ("tofu.rc", "terraform.rc") } else { (".tofurc", ".terraformrc") };
    let (new, old) = (home.join(new), home.join(old));
    if new.exists() {
        return Some(new);
    }
    if old.exists() {
        return Some(old);
    }
    Some(own_directory(environment)?.join("tofurc"))
}

fn directory(environment: &Environment) -> Option<PathBuf> {
    let home = home(environment)?;
    let directory = home.join(if IS_WINDOWS { "terraform.d" } else { ".terraform.d" });
    if directory.exists() { Some(directory) } else { own_directory(environment) }
}

/// OpenTofu's own directory, if any.
fn own_directory(environment: &Environment) -> Option<PathBuf> {
    if IS_WINDOWS { None } else { Some(environment.path("XDG_CONFIG_HOME")?.join("opentofu")) }
}

fn data_directories(environment: &Environment) -> Vec<PathBuf> {
    let home = home(environment);
    let first = home.map(|home| home.join(if IS_WINDOWS { "terraform.d" } else { ".terraform.d" }));
    let second = environment.path("XDG_DATA_HOME").filter(|_| !IS_WINDOWS);
    first.into_iter().chain(second.map(|directory| directory.join("opentofu"))).collect()
}

/// The data directories of the operating system.
fn system_directories(environment: &Environment) -> Vec<PathBuf> {
    let home = home(environment);
    if IS_WINDOWS {
        return home
            .map(|home| home.join("HashiCorp").join("Terraform").join("plugins"))
            .into_iter()
            .collect();
    }
    if IS_MACOS {
        let support = Path::new("Library/Application Support/io.terraform/plugins");
        let own = home.map(|home| home.join(support));
        return own.into_iter().chain([Path::new("/").join(support)]).collect();
    }
    let own = environment.path("XDG_DATA_HOME").or_else(|| Some(home?.join(".local").join("share")));
    let shared = environment.path("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let shared =
        std::env::split_paths(&shared).filter(|directory| directory.is_absolute()).collect::<Vec<_>>();
    own.into_iter().chain(shared).map(|directory| directory.join("terraform").join("plugins")).collect()
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, CliConfigError> {
    let unreadable = |source| CliConfigError::Read { path: directory.to_owned(), source };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".tfrc") || name.ends_with(".tfrc.json") {
            files.push(path);
        }
        if files.len() > MOST {
            return Err(unreadable(io::Error::other(format!("there are more than {MOST} files in it"))));
        }
    }
    files.sort();
    Ok(files)
}
