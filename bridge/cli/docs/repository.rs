//! The provider's repository, for its own documentation: one in a directory, or a clone.

use std::io;
use std::path::Path;
use std::process::Stdio;

use isthmus_common::scratch::{ScratchDirectory, temporary_directory};
use isthmus_common::{Links, read_regular};
use tokio::process::Command;

use super::DocsError;
use crate::package::catalogue::Identity;
use crate::package::parameters::ParameterSource;
use crate::reference::{Documents, Members, candidates};

/// The clone's name in its directory.
pub(super) const CLONE: &str = "repository";

/// Reads the pages about the members of a package.
pub(super) fn read(directory: &Path, provider_type: &str, members: &Members) -> Result<Documents, DocsError> {
    let failed = |path: &Path, error| DocsError::Repository { path: path.to_owned(), error };
    if !directory.is_dir() {
        return Err(failed(directory, io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let mut documents = Documents::default();
    for member in members.all() {
        for candidate in candidates(provider_type, member) {
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
pub(super) async fn clone(identity: &Identity) -> Result<ScratchDirectory, DocsError> {
    let ParameterSource::Remote { url, version } = &identity.parameter.source else {
        return Err(DocsError::FullDocsOfLocal);
    };
    let namespace = url.rsplit('/').nth(1).unwrap_or_default();
    let address = format!("https://github.com/{namespace}/terraform-provider-{}", identity.provider_type);
    let tag = format!("v{version}");
    let directory = temporary_directory("isthmus-docs-").map_err(DocsError::Temporary)?;
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1", "--branch", &tag, "--", &address]);
    git.arg(directory.path().join(CLONE));
    for name in isthmus_common::own_variables() {
        git.env_remove(name);
    }
    // No question can be answered here.
    git.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
    let output = git.output().await.map_err(DocsError::Git)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DocsError::Clone { address, tag, reason });
    }
    Ok(directory)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
