//! The Go programs that the tests run: built once a run, by the same script that people use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What `tests/tools/build` is asked for; the rest of what it can build is for other tests.
const NEEDED: [&str; 8] = ["pulumi", "yaml", "random", "tls", "time", "local", "conformance", "go-bridge"];

/// The directory of the tools, all of which exist when this returns. The first call builds what is missing, which from nothing
/// takes minutes; later ones, and other tests meanwhile, wait for it.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOLDER.get_or_init(|| build(&NEEDED)) {
        Ok(folder) => folder,
        // Each test that needs a tool fails with the reason, none is skipped.
        Err(reason) => panic!("the tools of the end-to-end tests are missing: {reason}"),
    }
}

/// Builds the tools of those names, unless they are there, and returns their directory; the reason why it could not otherwise.
pub(crate) fn build(names: &[&str]) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/build");
    let folder = std::env::var_os("ISTHMUS_TOOLS_DIR").map_or_else(|| target().join("tools"), PathBuf::from);
    run(Command::new(&script).args(names).env("ISTHMUS_TOOLS_DIR", &folder))?;
    folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))
}

/// Runs a script that prepares something for the tests; the reason of a failure has all that it said.
pub(crate) fn run(script: &mut Command) -> Result<(), String> {
    let name = script.get_program().display().to_string();
    let output = script.output().map_err(|error| format!("{name} does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{name} failed with {}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(())
}

/// Cargo's target directory, wherever the user has put it.
pub(crate) fn target() -> &'static Path {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().expect("Cargo puts this directory below the target directory")
}
