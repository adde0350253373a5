//! The crates of the workspace: the page of the architecture names each with those that it uses. The compiler refuses circles.

use std::collections::BTreeSet;
use std::fs;

use super::root;

/// The crates of the workspace that a manifest names as dependencies, without `isthmus-`.
fn used(directory: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join(directory).join("Cargo.toml")).expect(directory);
    let (_, dependencies) = manifest.split_once("\n[dependencies]\n").expect("dependencies");
    let dependencies = dependencies.lines().take_while(|line| !line.starts_with('['));
    let own = dependencies.filter_map(|line| line.strip_prefix("isthmus-")?.split(['.', ' ']).next());
    own.map(ToOwned::to_owned).collect()
}

#[test]
fn the_page_of_the_architecture_has_each_crate_below_those_that_it_uses() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| `isthmus"));
    let mut above = BTreeSet::new();
    for row in rows {
        let columns: Vec<_> = row.trim_matches('|').split('|').map(|column| column.trim()).collect();
        let [name, directory, uses] = columns[..] else { continue };
        let (name, directory) = (name.trim_matches('`'), directory.trim_matches('`'));
        let used = used(if name == "isthmus" { "." } else { directory });
        let named = if uses == "all others" {
            above.clone()
        } else {
            uses.split(", ")
                .map(|name| name.trim_matches('`').to_owned())
                .filter(|name| !name.is_empty())
                .collect()
        };
        assert_eq!(named, used, "{name}");
        assert!(used.is_subset(&above), "{name} uses {used:?}, and above it are {above:?}");
        above.insert(name.trim_start_matches("isthmus-").to_owned());
    }
    assert_eq!(above.len(), 21, "{above:?}");
}
