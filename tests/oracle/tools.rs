//! The providers that the comparison runs.

use std::path::Path;

use fixtures::tools::{built, tool};
use tempfile::TempDir;

/// Builds what is missing of the programs to compare, which from nothing takes minutes.
pub(crate) fn build() {
    built(&["random", "tls", "time", "local", "conformance", "go-bridge"]);
}

/// The provider of this type.
pub(crate) fn provider(provider_type: &str) -> String {
    let path = tool(&format!("terraform-provider-{provider_type}"));
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// A cache of providers, as both programs keep one: what lies there is not downloaded.
#[derive(Debug)]
pub(crate) struct Cache {
    directory: TempDir,
}

/// What lies in it: the address, the version, and the end that real files have after the provider's type.
const CACHED: [(&str, &str, &str); 6] = [
    ("registry.opentofu.org/hashicorp/random", "3.9.0", "_v3.9.0_x5"),
    ("registry.opentofu.org/hashicorp/random", "3.8.1", "_v3.8.1_x5"),
    ("registry.opentofu.org/hashicorp/time", "0.13.1", "_v0.13.1_x5.exe"),
    ("registry.terraform.io/hashicorp/tls", "4.1.0", ""),
    ("registry.opentofu.org/pulumi/local", "1.0.0-rc.1", "_v1.0.0-rc.1"),
    ("registry.example.com/isthmus/conformance", "12.3.4", ""),
];

impl Cache {
    /// Fills one with the providers of the tests.
    pub(crate) fn filled() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let system = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", "aarch64") => "darwin_arm64",
            ("macos", _) => "darwin_amd64",
            (_, "aarch64") => "linux_arm64",
            _ => "linux_amd64",
        };
        for (address, version, suffix) in CACHED {
            let provider_type = address.rsplit('/').next().expect("an address has three parts");
            let place = directory.path().join(address).join(version).join(system);
            std::fs::create_dir_all(&place).expect("directories in a new directory");
            let link = place.join(format!("terraform-provider-{provider_type}{suffix}"));
            std::os::unix::fs::symlink(provider(provider_type), link).expect("a link in a new directory");
        }
        Self { directory }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}
