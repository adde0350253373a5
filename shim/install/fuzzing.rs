//! Entrances for the fuzzer (`fuzz/`), which decodes what is private to this crate.
//!
//! Each takes the bytes of an input, and panics where the decoder breaks a promise: what it accepts
//! has one canonical form, and stays within its limits.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use semver::Version;

use crate::auth::{OciAuthenticator, OciDefaultCredentials, RegistryCredentials};
use crate::checksums::Checksums;
use crate::cli_config::{ProviderPattern, RepositoryTemplate, decode};
use crate::mirror::{NetworkMirror, OciMirror};
use crate::registry::{RegistryClient, ServiceOverrides};
use crate::unpack::UnpackLimits;
use crate::web::WebClient;
use crate::web::scripted::{ImmediateClock, ScriptedTransport};
use isthmus_common::Environment;

use crate::{CliConfig, FileSum, LockFile, Platform, ProviderAddress, Sources};

/// A file of the CLI configuration, `.terraformrc`.
pub fn cli_config(bytes: &[u8]) {
    let read = || {
        let mut config = CliConfig::default();
        let environment = Environment::default();
        decode::content(Path::new("terraformrc"), bytes, &environment, &mut config).map(|()| config)
    };
    match (read(), read()) {
        (Ok(config), Ok(again)) => {
            assert_eq!(config, again, "the same file has the same meaning");
            let sources = Sources::new(&config, []);
            for address in addresses() {
                sources.of(&address).for_each(drop);
                sources.dev_override(&address);
            }
        }
        (Err(error), Err(again)) => assert_eq!(error.to_string(), again.to_string()),
        (one, other) => panic!("{one:?} is not {other:?}"),
    }
}

/// A lock file.
pub fn lock_file(bytes: &[u8]) {
    let path = Path::new("lock");
    let Ok(lock) = LockFile::parse(bytes, path) else { return };
    let written = lock.to_string();
    let again = LockFile::parse(written.as_bytes(), path);
    let again = again.unwrap_or_else(|error| panic!("{error}, in what was written:\n{written}"));
    assert!(lock.providers().eq(again.providers()), "{written}");
    assert_eq!(again.to_string(), written);
}

/// A lock file as it is written again; `None` if it is refused.
pub fn rewritten_lock_file(bytes: &[u8]) -> Option<String> {
    LockFile::parse(bytes, Path::new("lock")).ok().map(|lock| lock.to_string())
}

/// The list of checksums of a release, `SHA256SUMS`.
pub fn checksums(bytes: &[u8]) {
    let Ok(sums) = Checksums::parse(bytes) else { return };
    let written: String = sums.iter().map(|(file, sum)| format!("{sum} *{file}\n")).collect();
    let again = Checksums::parse(written.as_bytes()).expect("what was written");
    assert!(sums.iter().eq(again.iter()), "{written}");
    for (file, sum) in sums.iter() {
        assert_eq!(sums.of(file), Some(sum));
        assert_eq!(FileSum::parse(&sum.to_string()), Ok(sum));
    }
}

/// A detached signature, and the keys of a registry in ASCII armor. A valid signature is not one of
/// another document.
pub fn signature(document: &[u8], signature: &[u8], key: &str) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let verify =
        |document: &[u8]| crate::signature::verify(document, signature, &[key.to_owned()], now).is_ok();
    if verify(document) {
        let other = [document, b"!"].concat();
        assert!(!verify(&other), "a signature of another document is accepted");
    }
}

/// Unpacks an archive into an empty directory, with limits for a fuzzer: the maximum of bytes, and
/// of files and directories.
pub fn unpack(archive: &Path, directory: &Path) -> (u64, usize) {
    let limits =
        UnpackLimits { entries: 32, bytes: 1 << 20, ratio: 100, small: 1 << 18, name: 200, depth: 8 };
    // An archive that is refused may have been unpacked in part, within the same limits.
    let _ = crate::unpack::unpack(archive, directory, &limits);
    (limits.bytes, limits.entries * limits.depth)
}

/// A registry's responses: service discovery, versions, and the package of one.
pub fn registry(bytes: &[u8]) {
    let web = web_client(bytes);
    let client = RegistryClient::new(web, ServiceOverrides::new());
    let [address, _] = addresses();
    block_on(async {
        if let Ok(listing) = client.versions(&address).await {
            for listed in &listing.versions {
                assert_eq!(Version::parse(&listed.version.to_string()).ok().as_ref(), Some(&listed.version));
            }
        }
        if let Ok(package) = client.package(&address, &Version::new(3, 6, 0), platform()).await {
            assert!(!package.file.contains(['/', '\\', '\0']), "{:?}", package.file);
            for url in [&package.archive, &package.sums, &package.signature] {
                assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{url}");
            }
        }
    });
}

/// A network mirror's responses: the index of a provider, and that of a version.
pub fn network_mirror(bytes: &[u8]) {
    let web = web_client(bytes);
    let mirror = NetworkMirror::new("https://mirror.example/", true).expect("a URL");
    let [address, _] = addresses();
    block_on(async {
        let _ = mirror.versions(&web, &address).await;
        if let Ok(package) = mirror.package(&web, &address, &Version::new(3, 6, 0), platform()).await {
            let is_verified = package.url.scheme() == "https" || !package.hashes.is_empty();
            assert!(is_verified, "{}", package.url);
        }
    });
}

/// An OCI registry's responses: challenge, token, tags, index and manifest.
pub fn oci_mirror(bytes: &[u8]) {
    let web = web_client(bytes);
    let include = [ProviderPattern::parse("*/*").expect("a pattern")];
    let template = RepositoryTemplate::parse("r.example:5000/p/${namespace}-${type}", &include);
    let credentials = OciAuthenticator::new(&[], &OciDefaultCredentials::default(), &Environment::default());
    let mirror = OciMirror::new(template.expect("a template"), Arc::new(credentials));
    let [address, _] = addresses();
    block_on(async {
        if let Ok(Some(versions)) = mirror.versions(&web, &address).await {
            assert!(versions.is_sorted());
        }
        if let Ok(package) = mirror.package(&web, &address, &Version::new(3, 6, 0), platform()).await {
            assert!(package.url.as_str().starts_with("https://r.example:5000/v2/p/"), "{}", package.url);
            assert_eq!(package.hashes.len(), 1);
        }
    });
}

fn addresses() -> [ProviderAddress; 2] {
    ["hashicorp/random", "example.com:8443/a/b"].map(|text| ProviderAddress::parse(text).expect("an address"))
}

fn platform() -> Platform {
    Platform::parse("linux_amd64").expect("a platform")
}

fn web_client(script: &[u8]) -> WebClient {
    let environment = Environment::default();
    let credentials = RegistryCredentials::new(Default::default(), None, &environment);
    let web = WebClient::new(Arc::new(ScriptedTransport::new(script)), Arc::new(credentials));
    web.with_clock(Arc::new(ImmediateClock))
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(future);
}
