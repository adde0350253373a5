//! The installer with a registry on loopback with TLS.

mod cached;
mod classes;
mod failures;
mod mirrors;
mod processes;
mod registries;
mod trust;
mod unverified;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use isthmus_test_registry::{Archive, Document, PublisherKey, Registry, Release};
use serde_json::json;

use super::*;
use crate::auth::{CredentialsSource, NoCredentials, OciAuthenticator};
use crate::download::Progress;
use crate::registry::{RegistryClient, ServiceOverrides};
use crate::web::testing::SteppedClock;
use crate::web::{HttpSettings, HttpTransport, WebClient};
use isthmus_common::Environment;

use crate::{CliConfig, DEFAULT_HOST, PackageHash, Sources};

const PROGRAM: &[u8] = b"\x7fELF a provider";

/// A registry and an empty cache.
struct Fixture {
    registry: Registry,
    directory: tempfile::TempDir,
    clock: Arc<SteppedClock>,
    key: PublisherKey,
}

impl Fixture {
    fn new() -> Self {
        Self {
            registry: Registry::start(),
            directory: tempfile::tempdir().expect("a directory"),
            clock: Arc::new(SteppedClock::at(seconds(SystemTime::now()))),
            key: PublisherKey::new(),
        }
    }

    fn release(&self, version: &str) -> Release {
        let archive = Archive::of_programs(&[("terraform-provider-b_v1_x5", PROGRAM)]);
        Release::new("a/b", version, archive).signed_by(&self.key)
    }

    fn publish(&self, version: &str) -> Release {
        let release = self.release(version);
        self.registry.publish(&release);
        release
    }

    fn web(&self, credentials: impl CredentialsSource) -> WebClient {
        let settings =
            HttpSettings { extra_roots: vec![self.registry.authority()], ..HttpSettings::default() };
        WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(credentials))
            .with_clock(self.clock.clone())
    }

    fn cache(&self) -> ProviderCache {
        ProviderCache::new(self.directory.path())
    }

    fn address(&self) -> ProviderAddress {
        provider(&format!("{}/a/b", self.registry.host()))
    }

    fn registry_client(&self) -> RegistryClient {
        RegistryClient::new(self.web(NoCredentials), ServiceOverrides::new())
    }

    fn installer(&self) -> Installer {
        self.installer_with(SignaturePolicy::default())
    }

    fn installer_with(&self, policy: SignaturePolicy) -> Installer {
        from_registries(self.cache(), self.registry_client(), policy)
    }

    /// An installer that trusts only another registry's CA.
    fn trusting(&self, other: &Registry) -> Installer {
        let settings = HttpSettings { extra_roots: vec![other.authority()], ..HttpSettings::default() };
        let web = WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(NoCredentials));
        let registry = RegistryClient::new(web, ServiceOverrides::new());
        from_registries(self.cache(), registry, SignaturePolicy::default())
    }

    fn offline(&self) -> Installer {
        let origins = Origins::offline(Sources::new(&CliConfig::default(), []), "a test says so");
        Installer::new(self.cache(), origins, SignaturePolicy::default())
    }

    async fn install(&self, constraint: &str) -> Result<Installed, String> {
        install(&self.installer(), &self.address(), constraint).await
    }

    async fn installed(&self, constraint: &str) -> Installed {
        installed(&self.installer(), &self.address(), constraint).await
    }

    async fn refused(&self, constraint: &str) -> String {
        let error = self.install(constraint).await.expect_err("it is refused");
        self.is_empty();
        error
    }

    /// Nothing was installed, and the attempt left no files.
    fn is_empty(&self) {
        let directory = self.cache().provider_directory(&self.address());
        for version in std::fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok) {
            for left in std::fs::read_dir(version.path()).into_iter().flatten().filter_map(Result::ok) {
                let name = left.file_name();
                assert!(name.to_string_lossy().ends_with(".lock"), "{} is left", left.path().display());
            }
        }
    }

    fn package(&self, version: &str) -> PathBuf {
        self.cache().package_directory(&self.address(), &Version::parse(version).expect(version))
    }

    /// A binary of the Go bridge, without a record.
    fn leave(&self, version: &str, content: &[u8]) -> PathBuf {
        let directory = self.package(version);
        std::fs::create_dir_all(&directory).expect("a directory");
        let program = directory.join("terraform-provider-b_v1_x5");
        std::fs::write(&program, content).expect("a file");
        program
    }
}

async fn installed(installer: &Installer, address: &ProviderAddress, constraint: &str) -> Installed {
    install(installer, address, constraint).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn refusal(installer: &Installer, address: &ProviderAddress, constraint: &str) -> String {
    install(installer, address, constraint)
        .await
        .map(|installed| installed.warnings)
        .expect_err("it is refused")
}

fn provider(text: &str) -> ProviderAddress {
    ProviderAddress::parse(text).expect(text)
}

/// Installs providers of the default host from a test's registry.
fn at_default_host(fixture: &Fixture, policy: SignaturePolicy) -> Installer {
    let services = [("providers.v1".to_owned(), format!("{}/v1/providers/", fixture.registry.url()))];
    let overrides = ServiceOverrides::from([(DEFAULT_HOST.to_owned(), services.into())]);
    from_registries(fixture.cache(), RegistryClient::new(fixture.web(NoCredentials), overrides), policy)
}

fn from_registries(cache: ProviderCache, registry: RegistryClient, policy: SignaturePolicy) -> Installer {
    let sources = Sources::new(&CliConfig::default(), []);
    Installer::new(cache, Origins::asked_by(sources, registry, OciAuthenticator::default()), policy)
}

async fn install(
    installer: &Installer,
    address: &ProviderAddress,
    constraint: &str,
) -> Result<Installed, String> {
    let constraint = VersionConstraint::parse(constraint).expect(constraint);
    let installed = installer.install(address, &constraint, &|_| {}).await;
    installed.map_err(|error| isthmus_common::with_help(error.to_string(), error.help()))
}
