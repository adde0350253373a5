//! The fuzzer of Pulumi's own engine (`tests/tools/engine-fuzzer`), which calls isthmus where its makers call mocks.
//!
//! `ISTHMUS_FUZZER_FIXTURES` and `ISTHMUS_FUZZER_SEED` make it a run for `docs/reliability.md`.

use std::env;
use std::process::Command;

use fixtures::tools::tool;
use isthmus_platform::files::symlink;

/// A slice: fixtures of a seed that has every call in them.
const SLICE: (&str, &str) = ("150", "3");

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
    fuzzer.arg("--plugin").arg(plugin).arg("--provider").arg(provider);
    for (name, variable, slice) in
        [("--fixtures", "ISTHMUS_FUZZER_FIXTURES", SLICE.0), ("--seed", "ISTHMUS_FUZZER_SEED", SLICE.1)]
    {
        fuzzer.arg(name).arg(env::var_os(variable).unwrap_or_else(|| slice.into()));
    }
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
    println!("{said}");
}
