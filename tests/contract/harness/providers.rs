//! The providers that the tests run on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The provider on HashiCorp's own libraries (`tests/provider`), built when it is not yet.
pub(crate) fn conformance() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("terraform-provider-conformance"))
}

/// The provider that everybody knows, built when it is not yet.
pub(crate) fn random() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("random"))
}

fn build(tool: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(root.join("tests/tools/build"))
        .arg(tool)
        .output()
        .expect("tests/tools/build can be run");
    let said = String::from_utf8_lossy(&built.stdout).into_owned() + &String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "tests/tools/build failed: {said}");
    // Its last word is the path.
    PathBuf::from(said.trim().rsplit_once(": ").expect("the path of what was built").1)
}
