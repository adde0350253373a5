//! Reading of a configuration's files: those of a directory, and of the modules that it calls by
//! paths.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::MigrateError;
use crate::cli::output::warn;
use crate::cli::state::{StateError, read_file};
use isthmus_migrate::configuration::Configuration;

/// Nesting of modules.
const MAXIMUM_DEPTH: usize = 16;

/// Reads the configuration in a directory. A module that cannot be read is a warning: what refers to
/// it stays a literal.
///
/// # Errors
/// If a file of the root module cannot be read, or is not HCL.
pub(super) fn read(directory: &Path) -> Result<Configuration, MigrateError> {
    let mut configuration = Configuration::default();
    for (name, child) in read_module(directory, &[], &mut configuration)? {
        read_child(&child, &[name], &mut configuration);
    }
    Ok(configuration)
}

fn read_child(directory: &Path, module: &[String], configuration: &mut Configuration) {
    let children = match read_module(directory, module, configuration) {
        Ok(children) => children,
        Err(error) => {
            warn(&format!("a module is not used: {}", isthmus_common::error_chain(&error)));
            return;
        }
    };
    for (name, child) in children {
        let mut module = module.to_vec();
        module.push(name);
        if module.len() < MAXIMUM_DEPTH {
            read_child(&child, &module, configuration);
        }
    }
}

/// Reads the files of a module; returns the directories of its children.
fn read_module(
    directory: &Path,
    module: &[String],
    configuration: &mut Configuration,
) -> Result<Vec<(String, PathBuf)>, MigrateError> {
    let failed = |error| StateError::read(directory, error);
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let files: BTreeSet<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
    let is_native =
        |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "tf" || extension == "tofu");
    let mut children = Vec::new();
    for file in files.iter().filter(is_native) {
        let bytes = read_file(file)?;
        let text = String::from_utf8_lossy(&bytes);
        let calls = configuration
            .add(module, &text)
            .map_err(|error| MigrateError::Configuration { file: file.clone(), error: error.into() })?;
        children.extend(calls.into_iter().map(|(name, source)| (name, directory.join(source))));
    }
    Ok(children)
}
