//! Releases of the plugin that isthmus replaces: `bridge/package/releases.rs` has those that are known, and whatever names the one
//! that the tests compare with says the same.

use std::fs;

use regex::Regex;

use super::root;

/// The Go bridge of the tests: its module, and the release that was made of it. Who changes one has to find out the other.
const GO_BRIDGE: (&str, &str) = ("v3.136.0", "1.3.0");

/// What an expression captures first in a file of this repository.
fn captured(file: &str, expression: &str) -> String {
    let text = fs::read_to_string(root().join(file)).expect(file);
    let found = Regex::new(expression).expect("an expression").captures(&text);
    found.unwrap_or_else(|| panic!("{file} has no {expression}"))[1].to_owned()
}

#[test]
fn the_go_bridge_of_the_tests_is_named_by_the_release_of_its_module() {
    let (module, release) = GO_BRIDGE;
    let bridge = r"pulumi-terraform-bridge/v3 (v\S+)";
    assert_eq!(captured("tests/tools/go-bridge/go.mod", bridge), module);
    for (file, expression) in [
        ("tests/tools/build", r"version\.version=v(\S+)'"),
        ("tests/e2e/harness/project.rs", "GO_BRIDGE_VERSION: &str = \"(.+)\""),
        ("tests/oracle/bridge.rs", "resource-terraform-provider-v([0-9.]+)"),
        ("tests/oracle/page.rs", r"version ([0-9]+\.[0-9]+\.[0-9]+)\)"),
        ("docs/differences.md", r"version ([0-9]+\.[0-9]+\.[0-9]+)\)"),
    ] {
        assert_eq!(captured(file, expression), release, "{file}");
    }
    let known = captured("bridge/package/releases.rs", r"(?s)const RELEASES: .*? = \[(.*?)\];");
    let version = release.replace('.', ", ");
    assert!(known.contains(&format!("Version::new({version})")), "{known}");
    assert!(known.trim_end().ends_with("PLUGIN_VERSION,"), "new packages name the newest release: {known}");
    let newest = captured("bridge/package/releases.rs", r"const PLUGIN_VERSION: .*Version::new\((.+)\);");
    let newest = newest.replace(", ", ".");
    assert_eq!(captured("tests/e2e/harness/project.rs", " PLUGIN_VERSION: &str = \"(.+)\""), newest);
}
