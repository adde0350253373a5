//! The provider's own documentation, for a package that is asked for with it: from its repository in a directory, or from a clone.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use isthmus_common::scratch::{ScratchDirectory, temporary_directory};
use isthmus_common::{Links, read_regular};
use tokio::process::Command;

use isthmus_package::catalogue::Package;
use isthmus_package::parameters::{Arguments, LocalArguments, ParameterSource, RemoteArguments, Source};
use isthmus_reference::{Documents, MADE, Members, candidates};

/// The clone's name in its directory.
const CLONE: &str = "repository";

/// The file of `--indexDocOutDir`.
const OVERVIEW: &str = "_index.md";

/// The documentation that a package was asked for with.
#[derive(Clone, Debug, Default)]
pub struct Documentation {
    pub documents: Arc<Documents>,
    /// Where GetSchema also writes the overview.
    overview_directory: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentationError {
    #[error("failed to read the provider's repository {path}", path = .path.display())]
    Repository {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("failed to clone {address} at {tag}: {reason}")]
    Clone { address: String, tag: String, reason: String },
    #[error("failed to run git, which --fullDocs needs")]
    Git(#[source] io::Error),
    #[error("failed to create a temporary directory")]
    Temporary(#[source] io::Error),
}

/// Where documentation comes from, by the arguments of a package.
#[derive(Debug)]
pub(super) struct DocumentationSource {
    source: Option<RepositorySource>,
    overview_directory: Option<PathBuf>,
}

#[derive(Debug)]
enum RepositorySource {
    Directory(PathBuf),
    Clone,
}

impl DocumentationSource {
    /// `None` if the arguments ask for none. Relative paths are of the working directory.
    pub(super) fn of(arguments: &Arguments, working_directory: Option<&Path>) -> Option<Self> {
        let absolute = |path: &String| working_directory.unwrap_or(Path::new("")).join(path);
        let source = match &arguments.source {
            Source::Remote(RemoteArguments { full_documentation: true, .. }) => Some(RepositorySource::Clone),
            Source::Local(LocalArguments { upstream_repository: Some(path), .. }) => {
                Some(RepositorySource::Directory(absolute(path)))
            }
            Source::Remote(_) | Source::Local(_) => None,
        };
        let overview_directory = arguments.index_document_directory.as_ref().map(absolute);
        (source.is_some() || overview_directory.is_some()).then_some(Self { source, overview_directory })
    }

    /// Reads the pages about the members of a package.
    pub(super) async fn read(self, package: &Arc<Package>) -> Result<Documentation, DocumentationError> {
        let identity = package.identity();
        let (directory, _clone) = match (self.source, &identity.parameter.source) {
            (Some(RepositorySource::Directory(path)), _) => (Some(path), None),
            (Some(RepositorySource::Clone), ParameterSource::Remote { url, version }) => {
                let clone = clone(url, version, &identity.provider_type).await?;
                (Some(clone.path().join(CLONE)), Some(clone))
            }
            (Some(RepositorySource::Clone), ParameterSource::Local { .. }) | (None, _) => (None, None),
        };
        let documents = match directory {
            Some(directory) => {
                let package = Arc::clone(package);
                isthmus_common::blocking(move || read(&directory, &package)).await?
            }
            None => Documents::default(),
        };
        Ok(Documentation { documents: documents.into(), overview_directory: self.overview_directory })
    }

    /// Whether a repository is read.
    pub(super) fn reads_pages(&self) -> bool {
        self.source.is_some()
    }
}

impl Documentation {
    /// Writes the overview of a package, if this was asked for. Returns the file, and why it could not be written. Blocks on the file
    /// system.
    pub(super) fn write_overview(&self, package: &Package) -> Option<(PathBuf, io::Result<()>)> {
        let file = self.overview_directory.as_ref()?.join(OVERVIEW);
        let written = write(&file, &self.documents.overview(package));
        Some((file, written))
    }
}

/// Writes a file that is not there, or that was made by isthmus.
fn write(file: &Path, text: &str) -> io::Result<()> {
    match read_regular(file, Links::Refuse) {
        Ok(old) if String::from_utf8_lossy(&old).contains(MADE) => {}
        Ok(_) => return Err(io::Error::other("the file was not made by isthmus")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(file, text)
}

fn read(directory: &Path, package: &Package) -> Result<Documents, DocumentationError> {
    let failed = |path: &Path, error| DocumentationError::Repository { path: path.to_owned(), error };
    if !directory.is_dir() {
        return Err(failed(directory, io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let mut documents = Documents::default();
    for member in Members::of(package).all() {
        for candidate in candidates(&package.identity().provider_type, member) {
            let path = directory.join(candidate);
            match read_regular(&path, Links::Refuse) {
                Ok(text) => documents.add(member, &String::from_utf8_lossy(&text)),
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(failed(&path, error)),
            }
            break;
        }
    }
    Ok(documents)
}

/// Clones the repository that the Go bridge takes: that of the address' namespace at GitHub, at the version's tag.
async fn clone(
    url: &str,
    version: &str,
    provider_type: &str,
) -> Result<ScratchDirectory, DocumentationError> {
    let namespace = url.rsplit('/').nth(1).unwrap_or_default();
    let address = format!("https://github.com/{namespace}/terraform-provider-{provider_type}");
    let tag = format!("v{version}");
    let directory = temporary_directory("isthmus-docs-").map_err(DocumentationError::Temporary)?;
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1", "--branch", &tag, "--", &address]);
    git.arg(directory.path().join(CLONE));
    for name in isthmus_common::own_variables() {
        git.env_remove(name);
    }
    // No question can be answered here.
    git.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
    let output = git.output().await.map_err(DocumentationError::Git)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DocumentationError::Clone { address, tag, reason });
    }
    Ok(directory)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
