//! OCI registries with providers, as in OpenTofu since 1.10.
//!
//! A provider is a repository, and a version is a tag (with `_` for `+`). The tag refers to an
//! index with one manifest per platform, and each of those to one layer: the provider's archive.
//! All of these are addressed by digest, so the archive's checksum is known before the download.

mod session;

use std::sync::Arc;

use semver::Version;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{MissingPlatform, RemoteMirrorError, RemotePackage};
use crate::auth::OciAuthenticator;
use crate::cli_config::RepositoryTemplate;
use crate::web::WebClient;
use crate::{PackageHash, Platform, ProviderAddress};
use session::Session;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_ARTIFACT: &str = "application/vnd.opentofu.provider";
const MANIFEST_ARTIFACT: &str = "application/vnd.opentofu.provider-target";
const ARCHIVE: &str = "archive/zip";

/// Limit of pages of a list of tags.
const MOST_PAGES: usize = 100;

/// OCI registries with providers.
#[derive(Clone, Debug)]
pub(crate) struct OciMirror {
    template: RepositoryTemplate,
    authenticator: Arc<OciAuthenticator>,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    digest: String,
    platform: Option<OciPlatform>,
}

#[derive(Deserialize)]
struct OciPlatform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    /// Packages for one release of an operating system are ignored.
    #[serde(default, rename = "os.version")]
    os_version: String,
}

impl OciMirror {
    /// The repositories of a template, and their credentials.
    pub(crate) fn new(template: RepositoryTemplate, authenticator: Arc<OciAuthenticator>) -> Self {
        Self { template, authenticator }
    }

    /// Its versions of a provider; `None` if there is no such repository.
    pub(crate) async fn versions(
        &self,
        web: &WebClient,
        address: &ProviderAddress,
    ) -> Result<Option<Vec<Version>>, RemoteMirrorError> {
        let session = self.session(web, address).await?;
        let mut versions = Vec::new();
        let mut url = session.url("tags/list")?;
        for _ in 0..MOST_PAGES {
            let fetched = match session.fetch(&url, "application/json").await {
                Ok(fetched) => fetched,
                Err(RemoteMirrorError::Web(error)) if error.is_not_found() => return Ok(None),
                Err(error) => return Err(error),
            };
            let tags: Tags = fetched.json()?;
            let tags = tags.tags.unwrap_or_default();
            let Some(last) = tags.last() else { break };
            // Other tags are ignored.
            versions.extend(tags.iter().filter_map(|tag| Version::parse(&tag.replace('_', "+")).ok()));
            // Computed instead of taken from the link header; registries without pages return the
            // end of the list or all of it again.
            let mut next = session.url("tags/list")?;
            next.query_pairs_mut().append_pair("last", last);
            if next == url {
                break;
            }
            url = next;
        }
        versions.sort();
        versions.dedup();
        Ok(Some(versions))
    }

    /// The package of a version for a platform.
    pub(crate) async fn package(
        &self,
        web: &WebClient,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<RemotePackage, RemoteMirrorError> {
        let session = self.session(web, address).await?;
        let tag = version.to_string().replace('+', "_");
        let url = session.url(&format!("manifests/{tag}"))?;
        let fetched = session.fetch(&url, INDEX).await?;
        let index: Index = fetched.json()?;
        let wrong = |reason: String| RemoteMirrorError::answer(&url, reason);
        if index.media_type == MANIFEST || fetched.content_type.as_deref() == Some(MANIFEST) {
            return Err(wrong(
                "the tag leads to one manifest, but there must be an index of several machines".to_owned(),
            ));
        }
        if index.media_type != INDEX || index.artifact_type != INDEX_ARTIFACT {
            let Index { media_type, artifact_type, .. } = index;
            return Err(wrong(format!(
                "it is not a provider, but {artifact_type:?} of the kind {media_type:?}"
            )));
        }
        let digest = select(&index.manifests, address, version, platform, &wrong)?;
        let url = session.url(&format!("manifests/{digest}"))?;
        let wrong = |reason: String| RemoteMirrorError::answer(&url, reason);
        let fetched = session.fetch(&url, MANIFEST).await.map_err(|error| match error {
            // It has the version, and may have withdrawn it.
            RemoteMirrorError::Web(error) if error.is_not_found() => {
                wrong("the manifest that the index names does not exist".to_owned())
            }
            error => error,
        })?;
        if hex::encode(Sha256::digest(&fetched.body)) != hex_of(digest).unwrap_or_default() {
            return Err(wrong("the manifest does not have the digest in the index".to_owned()));
        }
        let manifest: Manifest = fetched.json()?;
        if manifest.media_type != MANIFEST || manifest.artifact_type != MANIFEST_ARTIFACT {
            let Manifest { media_type, artifact_type, .. } = manifest;
            return Err(wrong(format!(
                "it is not a provider's package, but {artifact_type:?} of the kind {media_type:?}"
            )));
        }
        let mut archives = manifest.layers.iter().filter(|layer| layer.media_type == ARCHIVE);
        let (Some(archive), None) = (archives.next(), archives.next()) else {
            return Err(wrong(format!("the manifest must name one layer of the kind {ARCHIVE:?}")));
        };
        let sum = hex_of(&archive.digest)
            .ok_or_else(|| wrong(format!("{:?} is not a SHA-256 digest", archive.digest)))?;
        let hash = PackageHash::parse(&format!("zh:{sum}")).map_err(|error| wrong(error.to_string()))?;
        Ok(RemotePackage {
            url: session.url(&format!("blobs/{}", archive.digest))?,
            file_name: format!("terraform-provider-{}_{version}_{platform}.zip", address.provider_type()),
            hashes: vec![hash],
            other_hashes: Vec::new(),
            token_of: None,
            authorization: session.authorization,
        })
    }

    async fn session<'a>(
        &self,
        web: &'a WebClient,
        address: &ProviderAddress,
    ) -> Result<Session<'a>, RemoteMirrorError> {
        let repository = self.template.repository(address).map_err(|source| {
            RemoteMirrorError::Repository { address: Box::new(address.clone()), source: Box::new(source) }
        })?;
        Session::open(web, &self.authenticator, repository).await
    }
}

/// The digest of the one manifest for a platform.
fn select<'a>(
    manifests: &'a [Descriptor],
    address: &ProviderAddress,
    version: &Version,
    platform: Platform,
    wrong: &impl Fn(String) -> RemoteMirrorError,
) -> Result<&'a str, RemoteMirrorError> {
    let mut selected = None;
    let mut others = Vec::new();
    // The index may also contain signatures, for instance.
    for descriptor in manifests.iter().filter(|descriptor| descriptor.artifact_type == MANIFEST_ARTIFACT) {
        if descriptor.media_type != MANIFEST {
            return Err(wrong(format!("a manifest in the index is of the kind {:?}", descriptor.media_type)));
        }
        let Some(OciPlatform { os, architecture, os_version }) = &descriptor.platform else {
            return Err(wrong("a manifest in the index does not say for which machine it is".to_owned()));
        };
        if !os_version.is_empty() || os != platform.os || architecture != platform.arch {
            others.push(format!("{os}_{architecture}"));
        } else if selected.replace(descriptor.digest.as_str()).is_some() {
            return Err(wrong(format!("the index names several manifests for {platform}")));
        }
    }
    let selected = selected.ok_or_else(|| {
        RemoteMirrorError::NoPlatform(Box::new(MissingPlatform {
            address: address.clone(),
            version: version.clone(),
            platform,
            others,
        }))
    })?;
    // It becomes a part of an address.
    hex_of(selected).map(|_| selected).ok_or_else(|| wrong(format!("{selected:?} is not a SHA-256 digest")))
}

fn hex_of(digest: &str) -> Option<&str> {
    let sum = digest.strip_prefix("sha256:")?;
    let is_one = sum.len() == 64 && sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_one.then_some(sum)
}

#[cfg(test)]
mod tests;
