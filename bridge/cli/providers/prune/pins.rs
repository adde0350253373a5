//! The versions that a project's SDKs name: what is known of what else uses the cache.
//!
//! Of all projects, only the one around the working directory is known. Nothing lists the others, or the stacks.

use std::path::PathBuf;

use isthmus_install::{CachedPackage, ProviderAddress};
use semver::Version;

use crate::cli::warn;
use isthmus_context::project::Project;
use isthmus_package::parameters::ParameterSource;

#[derive(Debug)]
pub(super) struct Pins {
    /// The project file.
    file: PathBuf,
    versions: Vec<(ProviderAddress, Version)>,
}

impl Pins {
    /// Those of the project around the working directory; `None` if there is none that can be read.
    pub(super) fn here() -> Option<Self> {
        let project = Project::around(&std::env::current_dir().ok()?)?;
        let contents = match project.read(&|_| {}) {
            Ok(contents) => contents,
            Err(error) => {
                warn(&isthmus_common::error_chain(&error));
                return None;
            }
        };
        let versions = contents.providers().into_iter().filter_map(|source| match source {
            ParameterSource::Remote { url, version } => {
                Some((ProviderAddress::parse(&url).ok()?, Version::parse(&version).ok()?))
            }
            ParameterSource::Local { .. } => None,
        });
        Some(Self { versions: versions.collect(), file: project.file? })
    }

    /// What the project needs a version for.
    pub(super) fn reason(&self, package: &CachedPackage) -> Option<String> {
        let is_named =
            |(address, version): &(_, _)| *address == package.address && *version == package.version;
        self.versions.iter().any(is_named).then(|| format!("{} needs it", self.file.display()))
    }

    /// What is known of projects, for the user.
    pub(super) fn note(known: Option<&Self>) -> String {
        let known = match known {
            Some(Self { file, .. }) => {
                format!("of all projects, only {} was read, and no stack", file.display())
            }
            None => "no project was read, because none is here, and no stack".to_owned(),
        };
        format!(
            "{known}: others may need a version that would be removed; it is downloaded again when it is used"
        )
    }
}
