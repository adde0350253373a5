//! The tests that pages name exist.
//!
//! A test is a function in a source of its name: the compiler warns of one that nothing calls, and reviews see one that is ignored.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::commands::pages;
use super::{root, sources};

/// The functions and modules of all sources: the file, and the name with its modules, of which the first is the program for those in `tests`.
static FUNCTIONS: LazyLock<BTreeSet<(String, String)>> = LazyLock::new(|| {
    let function = Regex::new(r"(?-u:\b)(?:fn|mod) ([a-z0-9_]+)").expect("a pattern");
    let mut functions = BTreeSet::new();
    for (file, text) in ["shim", "bridge", "sandbox", "tests"].into_iter().flat_map(sources) {
        let module = file.rsplit_once("tests/").map_or(&*file, |(_, module)| module);
        let module = module.trim_end_matches(".rs").replace('/', "::");
        let names = function.captures_iter(&text).map(|found| format!("{module}::{}", &found[1]));
        functions.extend(names.map(|name| (file.clone(), name)));
    }
    functions
});

/// Whether a function of this name is in a file; in any without one.
fn exists(file: Option<&str>, name: &str) -> bool {
    let is_named = |path: &str| path.rsplit("::").next() == Some(name);
    FUNCTIONS.iter().any(|(of, path)| is_named(path) && file.is_none_or(|file| of == file))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names in a text, as `FILE::NAME`, that are no tests.
#[track_caller]
fn missing(text: &str) -> Vec<String> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("[`\"]([A-Za-z0-9_/.-]+\\.rs)::([a-z0-9_]+)[`\"]").expect("a pattern"));
    assert!(NAME.is_match(text), "no test is named: {text}");
    let named = NAME.captures_iter(text).map(|found| (found[1].to_owned(), found[2].to_owned()));
    let gone = named.filter(|(file, name)| !exists(Some(file), name));
    gone.map(|(file, name)| format!("{file}::{name}")).collect()
}

#[test]
fn every_threat_of_the_security_page_has_tests() {
    let page = text("SECURITY.md");
    let is_head = |line: &&str| line.starts_with("| threat") || line.starts_with("|---");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|') && !is_head(line)).collect();
    assert!(rows.len() > 20, "the page has its tables: {}", rows.len());
    for row in rows {
        let tests = row.rsplit('|').nth(1).expect("cells");
        assert_eq!(missing(tests), [""; 0], "{row}");
    }
}

#[test]
fn every_difference_that_no_answer_shows_has_tests() {
    let entries = text("tests/oracle/entries.rs");
    let elsewhere = entries.split("Shown::Elsewhere(").skip(1).map(|rest| rest.split(')').next());
    let elsewhere: Vec<&str> = elsewhere.map(|tests| tests.expect("it is closed")).collect();
    assert!(elsewhere.len() > 40, "{}", elsewhere.len());
    for tests in elsewhere {
        assert_eq!(missing(tests), [""; 0]);
    }
}

#[test]
fn every_place_that_changes_files_has_tests() {
    for (place, tests) in super::rows() {
        for test in tests.split(',').map(|test| test.trim().trim_matches('`')) {
            assert!(exists(None, test), "{test} is not a test, in the row of {place}");
        }
    }
    // Elsewhere on the page, what has so many words is the name of a test.
    let name = Regex::new("`([a-z0-9]+(?:_[a-z0-9]+){4,})`").expect("a pattern");
    let page = text("docs/files.md");
    let named: Vec<&str> = name.captures_iter(&page).map(|found| found.extract::<1>().1[0]).collect();
    assert!(named.len() > 100, "{}", named.len());
    let gone: Vec<&str> = named.into_iter().filter(|test| !exists(None, test)).collect();
    assert_eq!(gone, [""; 0], "these are not tests");
}

/// What a page calls by the name of a module, or of a part of a test's path: `daemons::network`.
#[test]
fn every_command_that_names_tests_runs_some() {
    let command = Regex::new("cargo test [^`<\n]*--test ([a-z0-9_-]+)((?: [^`<\n ]+)*)").expect("a pattern");
    let module = Regex::new("`((?:[a-z_]+::)+[a-z_]+)`").expect("a pattern");
    let (mut seen, mut faults) = (0, Vec::new());
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("a text");
        let mut expect = |program: Option<&str>, filter: &str| {
            seen += 1;
            let is_in = |name: &str| program.is_none_or(|program| name.starts_with(&format!("{program}::")));
            if !FUNCTIONS.iter().any(|(_, name)| is_in(name) && name.contains(filter)) {
                faults.push(format!("{}: {program:?} {filter}", path.display()));
            }
        };
        for found in command.captures_iter(&page) {
            let filter = found[2].split_whitespace().next().filter(|word| !word.starts_with(['-', '#']));
            expect(Some(&found[1].replace('-', "_")), filter.unwrap_or_default());
        }
        // Those for developers name modules of the program, too.
        let is_of_program = |path: &PathBuf| {
            ["architecture.md", "files.md", "CONTRIBUTING.md"].iter().any(|page| path.ends_with(page))
                || path.starts_with(root().join("docs/decisions"))
        };
        for found in module.captures_iter(&page).filter(|_| !is_of_program(&path)) {
            expect(None, &found[1]);
        }
    }
    assert!(seen > 30, "{seen}");
    assert_eq!(faults, [""; 0], "no test is called so");
}
