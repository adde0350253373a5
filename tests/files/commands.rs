//! Commands of pages: each block of commands is run by a test, or a comment after it says why it is not.
//!
//! A page that a test runs is one that a test reads (`include_str!`, or by its path): `tests/e2e/pages.rs` runs pages as a whole, other
//! tests the blocks that they look for. A page with a section "What is checked" says there which of its commands no test runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fixtures::pages::{Block, blocks, shows};

use super::root;

/// The heading of the section that says which commands of a page are run.
const CHECKED: &str = "\n## What is checked\n";

/// Pages whose commands are for those who work on isthmus; CI runs the scripts that they name.
const FOR_DEVELOPERS: [&str; 1] = ["CONTRIBUTING.md"];

/// The pages for users: the book, READMEs, and examples.
pub(super) fn pages() -> Vec<PathBuf> {
    let mut found =
        vec![root().join("README.md"), root().join("SECURITY.md"), root().join("CONTRIBUTING.md")];
    for directory in ["docs", "examples"] {
        collect(&root().join(directory), "md", &mut found);
    }
    assert!(found.len() > 60, "only {} pages were found", found.len());
    found
}

fn collect(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in directory.read_dir().expect("a directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// The pages that tests read, as their sources name them.
fn read_by_tests() -> BTreeSet<String> {
    let mut sources = Vec::new();
    collect(&root().join("tests"), "rs", &mut sources);
    // This program looks at all pages, and runs none; but for those of deployments.
    sources.retain(|source| {
        !source.starts_with(root().join("tests/files")) || source.ends_with("deployment.rs")
    });
    let name =
        regex::Regex::new(r#""(?:\.\./)*((?:docs/|examples/)?[A-Za-z0-9_/-]+\.md)""#).expect("a pattern");
    let texts = sources.iter().map(|source| std::fs::read_to_string(source).expect("a text"));
    texts
        .flat_map(|text| name.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_command_of_a_page_is_run_or_says_why_it_is_not() {
    let run = read_by_tests();
    let (mut commands, mut faults) = (0, Vec::new());
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("a text");
        let name = path.strip_prefix(root()).expect("it is below").to_str().expect("a plain name").to_owned();
        let is_checked = run.contains(&name) || page.contains(CHECKED) || FOR_DEVELOPERS.contains(&&*name);
        for block in blocks(&page).into_iter().filter(Block::has_commands) {
            commands += 1;
            match block.not_run {
                Some(reason) if reason.len() < 10 => faults.push(format!("{name}:{}: no reason", block.line)),
                None if !is_checked => faults.push(format!("{name}:{}: no test runs it", block.line)),
                _ => {}
            }
        }
    }
    assert!(commands > 60, "only {commands} blocks were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const PAGE: &str = "# Page\n\nFirst.\n\n```sh\nisthmus version\n```\n\nWrite this to `a/b.yaml`:\n\n```yaml\nname: x\n```\n\n\
                    ```console\n$ ls\nb.yaml\n```\n\n<!-- Not run by a test: there is\nno such machine. -->\n\nEnd.\n";

#[test]
fn blocks_have_their_languages_files_and_reasons() {
    let found = blocks(PAGE);
    let [commands, file, session] = found[..] else { panic!("{found:#?}") };
    assert_eq!((commands.language, commands.text, commands.line), ("sh", "isthmus version\n", 6));
    assert_eq!((file.file, file.text, file.not_run), (Some("a/b.yaml"), "name: x\n", None));
    assert_eq!(session.not_run, Some("there is\nno such machine."));
    assert!(commands.has_commands() && session.has_commands() && !file.has_commands());
}

#[test]
fn what_a_page_shows_is_compared_line_by_line() {
    assert!(shows("a … c\n…\nlast\n", "first\na b c\nelse\nlast  \n"));
    for other in ["a c\nlast", "last\na b c", "a b c\n", "xa b c\nlast"] {
        assert!(!shows("a … c\nlast\n", other), "{other}");
    }
    assert!(shows("…-…", "able-dog") && !shows("…-…", "dog") && !shows("dog", "a dog"));
}
