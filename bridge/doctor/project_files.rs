//! The project file and the SDKs below it: whether they can be read, and whether they agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use semver::Version;

use super::finding::{Finding, Judgement};
use super::world::World;
use crate::error_code::ErrorCode;
use crate::package::parameters::{Parameter, ParameterSource};
use crate::project::{Contents, Project, stale};

/// The project around a directory.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) directory: PathBuf,
    file: PathBuf,
    /// The directory that `plugins` names for the plugin, and the only version that it is for.
    pub(super) plugin_directory: Option<(PathBuf, Option<String>)>,
    contents: Result<Contents, String>,
}

/// `None` without a project. Blocks on the file system.
pub(super) fn gather(world: &World) -> Option<Facts> {
    let project = Project::around(&world.directory)?;
    let contents = project.read(&|_| {}).map_err(|error| isthmus_common::error_chain(&error));
    let plugin_directory = project.plugin_directory();
    Some(Facts { file: project.file?, directory: project.directory, plugin_directory, contents })
}

pub(super) fn judge(facts: Option<&Facts>) -> Judgement {
    let Some(Facts { directory, file, contents, .. }) = facts else {
        return Judgement::new("no project here; --project DIRECTORY names one", Vec::new());
    };
    let contents = match contents {
        Ok(contents) => contents,
        Err(text) => {
            let finding = Finding::fault(ErrorCode::ProjectUnreadable, text);
            return Judgement::new(file.display().to_string(), vec![finding]);
        }
    };
    let unread = contents.warnings.iter().map(|text| Finding::warning(ErrorCode::ProjectUnreadable, text));
    let stale = stale::warnings(directory, &contents.files);
    let stale = stale.iter().map(|text| Finding::fault(ErrorCode::StaleSdk, text));
    let findings = unread.chain(stale).collect();
    Judgement::new(file.display().to_string(), findings)
}

impl Facts {
    /// The versions of the plugin that the project's files name, each with the files, relative to the project.
    pub(super) fn versions(&self) -> BTreeMap<Version, BTreeSet<String>> {
        let mut versions: BTreeMap<Version, BTreeSet<String>> = BTreeMap::new();
        for (path, named) in self.contents.iter().flat_map(|contents| &contents.files) {
            let path = path.strip_prefix(&self.directory).unwrap_or(path).display().to_string();
            for version in named.versions() {
                versions.entry(version).or_default().insert(path.clone());
            }
        }
        versions
    }

    /// The providers of the project's SDKs.
    pub(super) fn providers(&self) -> Vec<ParameterSource> {
        let files = self.contents.iter().flat_map(|contents| &contents.files);
        let packages = files.filter_map(|(_, named)| named.sdk.as_ref()?.package.as_ref());
        let mut sources: Vec<ParameterSource> = Vec::new();
        for package in packages {
            // An invalid one is reported where it is used.
            if let Ok(Parameter { source, .. }) = Parameter::decode(&package.value)
                && !sources.contains(&source)
            {
                sources.push(source);
            }
        }
        sources
    }

    /// A path of a parameter, as the plugin sees it: engines start it in the project's directory.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.directory.join(Path::new(path))
    }
}
