//! `docs/differences.md`, made from the table of differences; the features in it come from a test of their own.

use std::path::PathBuf;

use crate::entries::{SECTIONS, Section};
use crate::rules::Entry;

/// If this variable is set, the test writes the page instead of comparing it.
const UPDATE: &str = "UPDATE_EXPECT";

const HEAD: &str = "\
# Differences from \"Any Terraform Provider\"

<!-- Made from tests/oracle/entries.rs. Change it there, then: UPDATE_EXPECT=1 cargo test --test oracle page -->

Isthmus takes the place of Pulumi's `pulumi-resource-terraform-provider`, a Go program (\"the Go bridge\" below; compared with
version 1.3.0). Names, package schemas, mappings, the parameter in SDKs and the format of stored state are the same. This page has
every deliberate difference. A test sends the same requests to both programs and compares the responses (`tests/oracle`): each
difference that it finds must be on this page. Differences outside of responses, such as processes that stay behind, have tests of
their own. The last section compares OpenTofu, the Go bridge and isthmus, feature by feature.

You can go back to the Go bridge at any time: stacks work with either. Once the Go bridge writes the state, that state loses the
parts that its format lacks: marks of tainted resources, and attributes that an import could not read (see
[State for today's engine](decisions/state-format.md)).
";

/// Between these, another test writes its results (`tests/tofu/features.rs`); they stay as they are.
const FEATURES: [&str; 2] =
    ["<!-- Features: made by tests/tofu/features.rs -->\n", "<!-- End of features -->\n"];

/// The page, with the features of the page as it is.
fn page(kept: &str) -> String {
    let mut page = HEAD.to_owned();
    for Section { title, entries } in SECTIONS {
        let way_back = entries.iter().any(|entry| entry.back.is_some());
        let (column, rule) = if way_back { (" how to opt out |", "---|") } else { ("", "") };
        page += &format!("\n## {title}\n\n| Go bridge | isthmus | why |{column}\n|---|---|---|{rule}\n");
        for Entry { what, go_bridge, isthmus, why, back, .. } in *entries {
            let back = if way_back { format!(" {} |", back.unwrap_or_default()) } else { String::new() };
            page += &format!("| **{what}**: {go_bridge} | {isthmus} | {why} |{back}\n");
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
        for cell in [what, go_bridge, isthmus, why].into_iter().chain(back) {
            assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{id}: {cell:?}");
        }
    }
}
