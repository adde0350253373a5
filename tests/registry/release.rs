//! A version of a provider, and its documents.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Document, PublisherKey};

/// A version of a provider for one platform.
#[derive(Clone, Debug)]
pub struct Release {
    pub(crate) provider: String,
    pub(crate) version: String,
    platform: (String, String),
    protocols: Vec<String>,
    archive: Bytes,
    key: Option<PublisherKey>,
}

impl Release {
    /// A version of `NAMESPACE/TYPE` with this archive, for protocol 5.0, not signed.
    pub fn new(provider: &str, version: &str, archive: impl Into<Bytes>) -> Self {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
        Self {
            provider: provider.to_owned(),
            version: version.to_owned(),
            platform: (os.to_owned(), arch.to_owned()),
            protocols: vec!["5.0".to_owned()],
            archive: archive.into(),
            key: None,
        }
    }

    /// Signs it.
    #[must_use]
    pub fn signed_by(self, key: &PublisherKey) -> Self {
        Self { key: Some(key.clone()), ..self }
    }

    /// For other protocols.
    #[must_use]
    pub fn speaking(self, protocols: &[&str]) -> Self {
        Self { protocols: protocols.iter().map(|protocol| (*protocol).to_owned()).collect(), ..self }
    }

    /// For another platform.
    #[must_use]
    pub fn for_platform(self, os: &str, arch: &str) -> Self {
        Self { platform: (os.to_owned(), arch.to_owned()), ..self }
    }

    /// The archive's name.
    pub fn file(&self) -> String {
        let (os, arch) = &self.platform;
        format!("terraform-provider-{}_{}_{os}_{arch}.zip", self.provider_type(), self.version)
    }

    /// The path of the archive.
    pub fn archive_path(&self) -> String {
        format!("/files/{}/{}", self.version, self.file())
    }

    /// The path of the list of checksums.
    pub fn sums_path(&self) -> String {
        format!("/files/{}/SHA256SUMS", self.version)
    }

    /// The path of the signature.
    pub fn signature_path(&self) -> String {
        format!("{}.sig", self.sums_path())
    }

    /// The path of the download document.
    pub fn download_path(&self) -> String {
        let (os, arch) = &self.platform;
        format!("/v1/providers/{}/{}/download/{os}/{arch}", self.provider, self.version)
    }

    /// The list of checksums.
    pub fn sums(&self) -> String {
        format!("{}  {}\n", self.sum(), self.file())
    }

    /// The archive's checksum.
    pub fn sum(&self) -> String {
        hex::encode(Sha256::digest(&self.archive))
    }

    /// The download document.
    pub fn download(&self) -> Value {
        let (os, arch) = &self.platform;
        let keys: Vec<Value> = self.key.iter().map(|key| json!({ "ascii_armor": key.armored() })).collect();
        json!({
            "protocols": self.protocols,
            "os": os,
            "arch": arch,
            "filename": self.file(),
            // Relative to the document.
            "download_url": self.archive_path(),
            "shasum": self.sum(),
            "shasums_url": self.sums_path(),
            "shasums_signature_url": self.signature_path(),
            "signing_keys": { "gpg_public_keys": keys },
        })
    }

    pub(crate) fn listed(&self) -> Value {
        let (os, arch) = &self.platform;
        json!({
            "version": self.version,
            "protocols": self.protocols,
            "platforms": [{ "os": os, "arch": arch }],
        })
    }

    pub(crate) fn documents(&self) -> Vec<(String, Document)> {
        let sums = self.sums();
        let signature = self.key.as_ref().map_or_else(Vec::new, |key| key.sign(sums.as_bytes()));
        vec![
            (self.download_path(), Document::json(&self.download())),
            (self.archive_path(), Document::of(self.archive.clone())),
            (self.signature_path(), Document::of(signature)),
            (self.sums_path(), Document::of(sums)),
        ]
    }

    fn provider_type(&self) -> &str {
        self.provider.split('/').next_back().unwrap_or_default()
    }
}
