//! A network mirror: Terraform's provider network mirror protocol.
//!
//! `BASE/HOST/NAMESPACE/TYPE/index.json` lists versions, and `VERSION.json` next to it the archives
//! of one, with their hashes. There are no signatures: a configured mirror is trusted, and the lock
//! file can pin its packages.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;
use url::Url;

use super::{MissingPlatform, RemoteMirrorError, RemotePackage};
use crate::address::{host_in_ascii, normalise_any_host};
use crate::shown::shown_text;
use crate::web::{Ask, WebClient};
use crate::{PackageHash, Platform, ProviderAddress};

/// A network mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NetworkMirror {
    base: Url,
    host: String,
    trust_all_hashes: bool,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    versions: BTreeMap<String, serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct VersionIndex {
    #[serde(default)]
    archives: BTreeMap<String, Archive>,
}

#[derive(Deserialize)]
struct Archive {
    url: String,
    #[serde(default)]
    hashes: Option<Vec<String>>,
}

impl NetworkMirror {
    /// The mirror at an address, which must be https. Its hashes for other platforms may be trusted
    /// too.
    pub(crate) fn new(url: &str, trust_all_hashes: bool) -> Result<Self, RemoteMirrorError> {
        let fault = |reason: String| RemoteMirrorError::Address { url: url.to_owned(), reason };
        let base = Url::parse(url).map_err(|error| fault(error.to_string()))?;
        let name = base.host_str().filter(|_| base.scheme() == "https");
        let name = name.ok_or_else(|| fault("it must start with https:// and a host".to_owned()))?;
        let port = base.port().map_or_else(String::new, |port| format!(":{port}"));
        // A host that no address can have, such as an IPv6 address, has no token.
        let host = normalise_any_host(&format!("{name}{port}")).unwrap_or_default();
        Ok(Self { base, host, trust_all_hashes })
    }

    /// Its versions of a provider; `None` if it does not have the provider.
    pub(crate) async fn versions(
        &self,
        web: &WebClient,
        address: &ProviderAddress,
    ) -> Result<Option<Vec<Version>>, RemoteMirrorError> {
        let url = self.document(address, "index.json")?;
        match web.fetch_json::<Index>(&self.ask(&url)).await {
            Ok((index, _)) => {
                // As elsewhere, invalid versions are ignored.
                let mut versions: Vec<Version> =
                    index.versions.keys().filter_map(|text| Version::parse(text).ok()).collect();
                versions.sort();
                Ok(Some(versions))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The package of a version for a platform.
    pub(crate) async fn package(
        &self,
        web: &WebClient,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<RemotePackage, RemoteMirrorError> {
        let url = self.document(address, &format!("{version}.json"))?;
        let (mut index, found_at) = web.fetch_json::<VersionIndex>(&self.ask(&url)).await?;
        let Some(archive) = index.archives.remove(&platform.to_string()) else {
            return Err(RemoteMirrorError::NoPlatform(Box::new(MissingPlatform {
                address: address.clone(),
                version: version.clone(),
                platform,
                others: index.archives.into_keys().collect(),
            })));
        };
        let sums = |archive: &Archive| {
            let hashes = archive.hashes.iter().flatten().map(|text| PackageHash::parse(text));
            hashes
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| RemoteMirrorError::answer(&url, error.to_string()))
        };
        let hashes = sums(&archive)?;
        let mut other_hashes = Vec::new();
        if self.trust_all_hashes {
            for other in index.archives.values() {
                other_hashes.extend(sums(other)?);
            }
        }
        let link = found_at.join(&archive.url).ok().filter(|link| matches!(link.scheme(), "https" | "http"));
        let link = link.ok_or_else(|| {
            RemoteMirrorError::answer(
                &url,
                format!("{:?} is not the address of an archive", shown_text(&archive.url)),
            )
        })?;
        // Without TLS, only the hashes verify the archive.
        if link.scheme() == "http" && hashes.is_empty() {
            let reason = "its archive is not served by https, and has no hash";
            return Err(RemoteMirrorError::answer(&url, reason));
        }
        let file_name =
            link.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default().to_owned();
        // A mirror may require its token for downloads, which is not sent to other servers.
        let token_of =
            (link.origin() == self.base.origin() && !self.host.is_empty()).then(|| self.host.clone());
        Ok(RemotePackage { url: link, file_name, hashes, other_hashes, token_of, authorization: None })
    }

    fn ask<'a>(&'a self, url: &'a Url) -> Ask<'a> {
        let ask = Ask::json(url);
        if self.host.is_empty() { ask } else { ask.with_token_of(&self.host) }
    }

    fn document(&self, address: &ProviderAddress, name: &str) -> Result<Url, RemoteMirrorError> {
        let host = host_in_ascii(address.host());
        // Without the slash, a host with a port would be parsed as a scheme.
        let path = format!("./{host}/{}/{}/{name}", address.namespace(), address.provider_type());
        self.base.join(&path).map_err(|error| RemoteMirrorError::Address {
            url: self.base.to_string(),
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::web::testing::{OneToken, Scripted, ScriptedTransport};

    const BASE: &str = "https://mirror.example:8443/tf/";

    struct Fixture {
        transport: Arc<ScriptedTransport>,
        web: WebClient,
        mirror: NetworkMirror,
    }

    fn fixture(answers: &[(&str, &str)], trust: bool) -> Fixture {
        let transport = Arc::new(ScriptedTransport::default());
        for (path, body) in answers {
            transport.put(&format!("{BASE}{path}"), Scripted::body((*body).to_owned()));
        }
        let web = WebClient::new(transport.clone(), Arc::new(OneToken("mirror.example:8443", "s3cret")));
        Fixture { transport, web, mirror: NetworkMirror::new(BASE, trust).expect("an address") }
    }

    impl Fixture {
        async fn versions(&self, address: &str) -> Result<Option<Vec<String>>, String> {
            let address = ProviderAddress::parse(address).expect(address);
            let versions =
                self.mirror.versions(&self.web, &address).await.map_err(|error| error.to_string())?;
            Ok(versions.map(|versions| versions.iter().map(Version::to_string).collect()))
        }

        async fn package(&self, version: &str) -> Result<RemotePackage, String> {
            let address = ProviderAddress::parse("example.com:81/a/b").expect("an address");
            let version = Version::parse(version).expect(version);
            let linux = Platform::parse("linux_amd64").expect("a platform");
            let package = self.mirror.package(&self.web, &address, &version, linux).await;
            package.map_err(|error| error.to_string())
        }
    }

    #[tokio::test]
    async fn versions_are_what_the_index_lists() {
        let mirror = fixture(
            &[
                (
                    "registry.opentofu.org/hashicorp/random/index.json",
                    r#"{"versions": {"3.10.0": {}, "3.9.0": {"x": 1}, "latest": {}}}"#,
                ),
                ("xn--bcher-kva.example/a/b/index.json", r#"{"versions": {}}"#),
                ("example.com:81/a/b/index.json", "<html>"),
            ],
            false,
        );
        let both = ["3.9.0".to_owned(), "3.10.0".to_owned()];
        assert_eq!(mirror.versions("random").await, Ok(Some(both.into())));
        assert_eq!(mirror.versions("bücher.example/a/b").await, Ok(Some(Vec::new())));
        assert_eq!(mirror.versions("tls").await, Ok(None));
        let error = mirror.versions("example.com:81/a/b").await.expect_err("no index");
        assert!(
            error.starts_with(&format!("{BASE}example.com:81/a/b/index.json: it answered with a web page")),
            "{error}"
        );
        let url = format!("{BASE}registry.opentofu.org/hashicorp/random/index.json Bearer s3cret");
        assert_eq!(mirror.transport.asked()[0], url, "the mirror's own token goes along");
    }

    #[tokio::test]
    async fn a_package_is_where_the_index_of_its_version_says() {
        let index = r#"{"archives": {
            "linux_amd64": {"url": "b_1.0.0.zip?x=y", "hashes": ["h1:a", "zh:b"]},
            "darwin_arm64": {"url": "https://x.example/c.zip", "hashes": ["h1:c"]},
            "windows_386": {"url": "d.zip"}}}"#;
        let answers = [
            ("example.com:81/a/b/1.0.0.json", index),
            (
                "example.com:81/a/b/2.0.0.json",
                r#"{"archives": {"linux_amd64": {"url": "https://cdn.example/z/b.zip", "hashes": null}}}"#,
            ),
            (
                "example.com:81/a/b/3.0.0.json",
                r#"{"archives": {"linux_arm": {"url": "x"}, "windows_386": {"url": "x"}}}"#,
            ),
            (
                "example.com:81/a/b/4.0.0.json",
                r#"{"archives": {"linux_amd64": {"url": "b.zip", "hashes": ["what"]}}}"#,
            ),
            (
                "example.com:81/a/b/5.0.0.json",
                r#"{"archives": {"linux_amd64": {"url": "file:///etc/passwd"}}}"#,
            ),
            (
                "example.com:81/a/b/6.0.0.json",
                r#"{"archives": {"linux_amd64": {"url": "http://cdn.example/b.zip"}}}"#,
            ),
        ];
        let mirror = fixture(&answers, true);
        let parse = |text: &str| PackageHash::parse(text).expect(text);
        let package = mirror.package("1.0.0").await.expect("it is there");
        assert_eq!(package.url.as_str(), format!("{BASE}example.com:81/a/b/b_1.0.0.zip?x=y"));
        assert_eq!(package.file_name, "b_1.0.0.zip");
        assert_eq!(package.hashes, [parse("h1:a"), parse("zh:b")]);
        assert_eq!(package.other_hashes, [parse("h1:c")]);
        assert_eq!(package.token_of.as_deref(), Some("mirror.example:8443"));
        assert_eq!(fixture(&answers, false).package("1.0.0").await.expect("it is there").other_hashes, []);

        let package = mirror.package("2.0.0").await.expect("it is there");
        assert_eq!((package.token_of, package.hashes), (None, Vec::new()));
        for (version, reason) in [
            (
                "3.0.0",
                "the mirror has version 3.0.0 of example.com:81/a/b for linux_arm, windows_386, but not for linux_amd64",
            ),
            ("4.0.0", "\"what\" is not a package hash"),
            ("5.0.0", "\"file:///etc/passwd\" is not the address of an archive"),
            ("6.0.0", "not served by https, and has no hash"),
            ("7.0.0", "it answered 404 Not Found"),
        ] {
            let error = mirror.package(version).await.expect_err(version);
            assert!(error.contains(reason), "{version}: {error}");
        }
    }

    #[test]
    fn a_mirror_is_behind_https() {
        for url in ["http://a/", "https://", "a", "file:///a", "ftp://a/"] {
            let error = NetworkMirror::new(url, false).expect_err(url).to_string();
            assert!(
                error.starts_with(&format!("{url:?} cannot be the address of a network mirror")),
                "{error}"
            );
        }
        let punycode = NetworkMirror::new("https://bücher.example/", false).expect("an address");
        assert_eq!(punycode.host, "bücher.example");
    }
}
