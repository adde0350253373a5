//! The fuzzer of Pulumi's own engine (`tests/tools/engine-fuzzer`), which calls isthmus where its makers call mocks.

use std::process::Command;

use fixtures::tools::tool;
use isthmus_platform::files::symlink;

/// A slice, of a seed whose first fixtures have every call.
const SLICE: [&str; 4] = ["--fixtures", "150", "--seed", "3"];

#[test]
fn the_fuzzer_of_the_engine_finds_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let [plugin, provider] =
        ["pulumi-resource-terraform-provider", "terraform-provider-sandbox"].map(|name| {
            let path = directory.path().join(name);
            symlink(env!("CARGO_BIN_EXE_isthmus"), &path).expect("a new name");
            path
        });
    let mut fuzzer = Command::new(tool("engine-fuzzer"));
    fuzzer.arg("--plugin").arg(plugin).arg("--provider").arg(provider).args(SLICE);
    let output = fuzzer.env("HOME", directory.path()).output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    for call in [
        "Create well",
        "Diff well",
        "Update well",
        "Delete well",
        "Read well",
        "Create provider.create-failure",
    ] {
        assert!(said.contains(call), "no {call}: {said}");
    }
}
