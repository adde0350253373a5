//! The Go programs that the tests run: built once a run, by the same script that people use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What `tests/tools/build` is asked for; the rest of what it can build is for other tests.
const NEEDED: [&str; 7] = ["pulumi", "yaml", "random", "tls", "time", "local", "go-bridge"];

/// The folder of the tools, all of which exist when this returns. The first call builds what is missing, which from nothing
/// takes minutes; later ones, and other tests meanwhile, wait for it.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOLDER.get_or_init(build) {
        Ok(folder) => folder,
        // Each test that needs a tool fails with the reason, none is skipped.
        Err(reason) => panic!("the tools of the end-to-end tests are missing: {reason}"),
    }
}

fn build() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/build");
    let folder = std::env::var_os("ISTHMUS_TOOLS_DIR").map_or_else(|| target().join("tools"), PathBuf::from);
    let output = Command::new(&script)
        .args(NEEDED)
        .env("ISTHMUS_TOOLS_DIR", &folder)
        .output()
        .map_err(|error| format!("{} does not start: {error}", script.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{} failed with {}\n{}\n{}",
            script.display(),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))
}

/// Cargo's target folder, wherever the user has put it.
fn target() -> &'static Path {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().expect("Cargo puts this folder below the target folder")
}
