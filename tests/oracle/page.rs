//! `docs/differences.md`, made from the table of differences; the features in it come from a test of their own.

use std::path::PathBuf;

use crate::entries::{SECTIONS, Section};
use crate::rules::Entry;

/// Set to anything, it has the page written anew instead of compared.
const UPDATE: &str = "UPDATE_EXPECT";

const HEAD: &str = "\
# Differences from \"Any Terraform Provider\"

<!-- Made from tests/oracle/entries.rs. Change it there, then: UPDATE_EXPECT=1 cargo test --test oracle page -->

Isthmus takes the place of Pulumi's `pulumi-resource-terraform-provider`, a Go program (\"the Go bridge\" below; compared with
version 1.3.0). Names, package schemas, mappings, the parameter in SDKs and the format of stored state are the same. What
follows is different on purpose, and nothing else is: a test asks both programs the same and compares what they answer
(`tests/oracle`), and every difference that it finds must be on this page. What such a test cannot see, for instance which
processes are left running, is on this page as well and has tests of its own. At its end stands, feature by feature, what OpenTofu,
the Go bridge and isthmus were seen to do.

The last column says how to have the Go bridge's behaviour all the same, where that is possible. The Go bridge itself can
always be used again: stacks go over and back, and only what it has no form for (that a resource is tainted, what an import could not read) is
lost once it writes the state (see [State for today's engine](decisions/state-format.md)).
";

/// Between these, another test keeps what it saw (`tests/tofu/features.rs`); it is taken over as it is.
const FEATURES: [&str; 2] =
    ["<!-- Features: made by tests/tofu/features.rs -->\n", "<!-- End of features -->\n"];

/// The page, with the features of the page as it is.
fn page(kept: &str) -> String {
    let mut page = HEAD.to_owned();
    for Section { title, entries } in SECTIONS {
        page += &format!(
            "\n## {title}\n\n| what | Go bridge | isthmus | why | the old way |\n|---|---|---|---|---|\n"
        );
        for Entry { what, go_bridge, isthmus, why, back, .. } in *entries {
            page += &format!("| {what} | {go_bridge} | {isthmus} | {why} | {back} |\n");
        }
    }
    let [begin, end] = FEATURES;
    let features =
        kept.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(features, _)| features);
    page + "\n" + begin + features.unwrap_or_default() + end
}

#[test]
fn the_page_of_differences_is_made_from_the_table() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/differences.md");
    let kept = std::fs::read_to_string(&file).expect("the page can be read");
    let made = page(&kept);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    let differing = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "docs/differences.md is not what the table makes; run `{UPDATE}=1 cargo test --test oracle page`. \
         The first line that differs is {differing:?}:\n{:?}\n{:?}",
        differing.and_then(|line| kept.lines().nth(line)),
        differing.and_then(|line| made.lines().nth(line)),
    );
}

#[test]
fn every_cell_of_the_page_says_something_and_keeps_to_its_cell() {
    for entry in crate::entries::all() {
        let Entry { id, what, go_bridge, isthmus, why, back, .. } = entry;
        for cell in [what, go_bridge, isthmus, why, back] {
            assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{id}: {cell:?}");
        }
    }
}
