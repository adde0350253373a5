//! The project file and the SDKs below it: whether they can be read, and whether they agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use semver::Version;

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::project::names_file::NamesFile;
use isthmus_context::project::{Contents, Project, stale};
use isthmus_package::parameters::ParameterSource;

/// The project around a directory.
#[derive(Debug)]
pub(super) struct ProjectFiles {
    pub(super) directory: PathBuf,
    file: PathBuf,
    pub(super) is_hcl: bool,
    /// The directory that `plugins` names for the plugin, and the only version that it is for.
    pub(super) plugin_directory: Option<(PathBuf, Option<String>)>,
    contents: Result<Contents, String>,
    /// The member of the project file that the Pulumi CLI needs and that is missing.
    missing: Option<&'static str>,
    /// What is wrong with the file of chosen names.
    names_fault: Option<String>,
}

/// `None` without a project. Blocks on the file system.
pub(super) fn gather(world: &World) -> Option<ProjectFiles> {
    let project = Project::around(&world.directory)?;
    let contents = project.read(&|_| {}).map_err(|error| isthmus_common::error_chain(&error));
    let plugin_directory = project.plugin_directory();
    let missing = project.missing_member();
    let names_fault =
        NamesFile::around(&project.directory).err().map(|error| isthmus_common::error_chain(&error));
    let is_hcl = project.is_hcl();
    let Project { directory, file } = project;
    Some(ProjectFiles { file: file?, is_hcl, directory, plugin_directory, contents, missing, names_fault })
}

pub(super) fn judge(facts: Option<&ProjectFiles>) -> Judgement {
    let Some(ProjectFiles { directory, file, contents, missing, names_fault, .. }) = facts else {
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
    let missing = missing.map(|member| {
        let text = format!("the project file {} has no {member}", file.display());
        Finding::fault(ErrorCode::ProjectUnreadable, &text)
    });
    let names_fault = names_fault.iter().map(|text| Finding::fault(ErrorCode::ProjectUnreadable, text));
    let findings = missing.into_iter().chain(names_fault).chain(unread).chain(stale).collect();
    Judgement::new(file.display().to_string(), findings)
}

impl ProjectFiles {
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

    /// Whether the project's files name packages of the plugin.
    pub(super) fn has_packages(&self) -> bool {
        self.contents.iter().flat_map(|contents| &contents.files).any(|(_, named)| !named.packages.is_empty())
    }

    /// The providers of the project's SDKs.
    pub(super) fn providers(&self) -> Vec<ParameterSource> {
        self.contents.as_ref().map(Contents::providers).unwrap_or_default()
    }

    /// A path of a parameter, as the plugin sees it: engines start it in the project's directory.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.directory.join(Path::new(path))
    }
}
