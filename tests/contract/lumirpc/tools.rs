//! The Go providers that the tests run, built by the same script that people use.

use std::path::{Path, PathBuf};

/// The provider of that type. It exists when this returns; building it the first time takes some seconds.
pub(crate) fn provider(provider_type: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/build");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("Cargo puts this directory below its target directory");
    let folder = std::env::var_os("ISTHMUS_TOOLS_DIR").map_or_else(|| target.join("tools"), PathBuf::from);
    let built = std::process::Command::new(&script)
        .arg(provider_type)
        .env("ISTHMUS_TOOLS_DIR", &folder)
        .output()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()));
    assert!(
        built.status.success(),
        "{} {provider_type} failed with {}\n{}",
        script.display(),
        built.status,
        String::from_utf8_lossy(&built.stderr)
    );
    folder.join(format!("terraform-provider-{provider_type}"))
}
