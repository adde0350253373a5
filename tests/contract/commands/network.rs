//! A registry on loopback with TLS, a user whose CLI configuration leads to it, and OpenTofu beside.

use std::path::{Path, PathBuf};
use std::process::Command;

use isthmus_install::{DEFAULT_HOST, Platform};
use isthmus_test_registry::{Archive, Document, PublisherKey, Registry, Release};

use super::{Machine, Said};
use crate::harness::json;

/// Another machine than this one.
pub(super) const OTHER: &str = "plan9_386";

pub(super) struct Network {
    pub(super) registry: Registry,
    pub(super) machine: Machine,
    pub(super) key: PublisherKey,
    /// The host in the provider's address.
    host: String,
}

impl Network {
    /// A registry that addresses name.
    pub(super) fn new() -> Self {
        let registry = Registry::start();
        let host = registry.host();
        Self::at(registry, host)
    }

    /// A registry that takes the place of the default one, by the CLI configuration. (Hosts with a port are beyond OpenTofu's network
    /// mirrors.)
    pub(super) fn at_default_host() -> Self {
        Self::at(Registry::start(), DEFAULT_HOST.to_owned())
    }

    fn at(registry: Registry, host: String) -> Self {
        let network = Self { registry, machine: Machine::new(), key: PublisherKey::new(), host };
        network.machine.write("authority.pem", network.registry.authority_pem().as_bytes());
        network.configure("");
        network
    }

    /// The provider that is published here.
    pub(super) fn address(&self) -> String {
        self.directory().trim_start_matches(&format!("{DEFAULT_HOST}/")).to_owned()
    }

    /// Where it lies in caches and mirrors.
    pub(super) fn directory(&self) -> String {
        format!("{}/acme/thing", self.host)
    }

    /// A release's program, which nobody starts here.
    pub(super) fn program(version: &str, platform: &str) -> Vec<u8> {
        format!("\u{7f}ELF thing {version} for {platform}").into_bytes()
    }

    /// Publishes a version for this machine and another one.
    pub(super) fn publish(&self, version: &str) -> Release {
        let current = Platform::CURRENT.to_string();
        let releases = [current.as_str(), OTHER].map(|platform| {
            let name = format!("terraform-provider-thing_v{version}");
            let archive = Archive::of_programs(&[(&name, &Self::program(version, platform))]);
            let (os, arch) = platform.split_once('_').expect("two names");
            Release::new("acme/thing", version, archive).for_platform(os, arch).signed_by(&self.key)
        });
        releases.iter().for_each(|release| self.registry.publish(release));
        let [release, _] = &releases;
        // One list of sums for both, as publishers have it.
        let sums: String = releases.iter().map(Release::sums).collect();
        self.registry.put(&release.signature_path(), Document::of(self.key.sign(sums.as_bytes())));
        self.registry.put(&release.sums_path(), Document::of(sums));
        release.clone()
    }

    /// How the user's configuration says where providers come from.
    pub(super) fn configure(&self, text: &str) {
        let services = format!("{}/v1/providers/", self.registry.url());
        let host =
            format!("host {DEFAULT_HOST:?} {{\n services = {{ \"providers.v1\" = {services:?} }}\n}}\n");
        self.machine.write("cli.tfrc", (host + text).as_bytes());
    }

    pub(super) fn on(&self, command: &mut Command) -> Said {
        Said::of(self.configured(command))
    }

    fn configured<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("SSL_CERT_FILE", self.machine.path("authority.pem"))
            .env("TF_CLI_CONFIG_FILE", self.machine.path("cli.tfrc"))
            .env("CHECKPOINT_DISABLE", "1")
    }

    /// This program, without any arguments yet.
    pub(super) fn command(&self) -> Command {
        let mut command = self.machine.command(env!("CARGO_BIN_EXE_isthmus"));
        self.configured(&mut command);
        command
    }

    pub(super) fn isthmus(&self, words: &[&str]) -> Said {
        self.isthmus_in("", words)
    }

    /// In a directory of the user's.
    pub(super) fn isthmus_in(&self, directory: impl AsRef<Path>, words: &[&str]) -> Said {
        let mut command = self.machine.command(env!("CARGO_BIN_EXE_isthmus"));
        self.on(command.args(words).current_dir(self.machine.path(directory)))
    }

    /// OpenTofu, in a directory of the user's.
    pub(super) fn tofu(&self, directory: impl AsRef<Path>, words: &[&str]) -> Said {
        let mut command = self.machine.command(fixtures::tools::tool("tofu"));
        self.on(command.args(words).current_dir(self.machine.path(directory)))
    }

    /// A project that requires the provider.
    pub(super) fn project(&self, name: &str, constraint: &str) -> PathBuf {
        let required = json!({ "thing": { "source": self.address(), "version": constraint } });
        let program = json!({ "terraform": { "required_providers": required } });
        let file = self.machine.write(Path::new(name).join("main.tf.json"), program.to_string().as_bytes());
        file.parent().expect("a directory").to_owned()
    }
}
