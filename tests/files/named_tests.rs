//! The tests that pages name exist, and run.
//!
//! A name in a page proves nothing by itself: its function may have lost its attribute, be ignored, or be in a file that no module
//! declares. So the tests are found as the compiler finds them, from the roots of the test programs that `cargo metadata` lists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::commands::pages;
use super::cycles::{closing, end_of_item, token, tokens};
use super::root;

/// Macros whose content is items, of which each function with the attribute is a test.
const WITH_ATTRIBUTES: [&str; 1] = ["proptest"];

/// Macros that make tests of each function in them.
const OF_FUNCTIONS: [&str; 2] = ["on_both_protocols", "rules"];

/// A macro that makes tests of the functions that it lists.
const OF_NAMES: &str = "over_each_store";

/// A test of a program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    /// The program, as `--test` names it.
    program: String,
    /// Its source, from the root.
    file: String,
    /// Its modules and its name.
    path: String,
}

/// All tests, and the programs of them.
#[derive(Debug, Default)]
struct Tests {
    programs: BTreeSet<String>,
    all: BTreeSet<Test>,
}

/// What is read, and where it is in its program.
struct Place<'a> {
    program: &'a str,
    file: &'a Path,
    /// The directory of the files of child modules.
    directory: &'a Path,
    modules: &'a [String],
}

impl Tests {
    /// Those of the workspace.
    fn all() -> &'static Self {
        static ALL: LazyLock<Tests> = LazyLock::new(|| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut metadata = Command::new(cargo);
            metadata.current_dir(root()).args(["metadata", "--offline", "--locked", "--no-deps"]);
            let output = metadata.args(["--format-version", "1"]).output().expect("cargo runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let mut tests = Tests::default();
            let packages = metadata["packages"].as_array().expect("packages").iter();
            for target in packages.flat_map(|package| package["targets"].as_array().expect("targets")) {
                let text = |member: &str| target[member].as_str().expect("text");
                let (program, file) = (text("name"), Path::new(text("src_path")));
                tests.programs.insert(program.to_owned());
                if target["test"] == Value::Bool(true) {
                    let directory = file.parent().expect("a directory");
                    tests.file(&Place { program, file, directory, modules: &[] });
                }
            }
            tests
        });
        &ALL
    }

    fn file(&mut self, place: &Place<'_>) {
        let text = std::fs::read_to_string(place.file)
            .unwrap_or_else(|error| panic!("{}: {error}", place.file.display()));
        self.items(&tokens(&text), place, false);
    }

    /// Takes in items. `are_tests`: functions are tests without an attribute.
    fn items(&mut self, tokens: &[String], place: &Place<'_>, are_tests: bool) {
        let mut at = 0;
        while at < tokens.len() {
            let mut attributes = Vec::new();
            while token(tokens, at) == "#" {
                let bracket = at + 1 + usize::from(token(tokens, at + 1) == "!");
                let end = closing(tokens, bracket);
                attributes.push(tokens[bracket + 1..end - 1].concat());
                at = end;
            }
            if token(tokens, at) == "pub" {
                at = if token(tokens, at + 1) == "(" { closing(tokens, at + 1) } else { at + 1 };
            }
            let end = end_of_item(tokens, at);
            self.item(&tokens[at..end], &attributes, place, are_tests);
            at = end;
        }
    }

    fn item(&mut self, item: &[String], attributes: &[String], place: &Place<'_>, are_tests: bool) {
        let body = item.iter().position(|token| token == "{").unwrap_or(item.len());
        if token(item, 0) == "mod" {
            return self.child(item, attributes, place);
        }
        if let Some(mark) = item[..body].iter().position(|token| token == "!").filter(|mark| *mark > 0) {
            let name = token(item, mark - 1);
            let content = || &item[mark + 2..closing(item, mark + 1) - 1];
            if WITH_ATTRIBUTES.contains(&name) || OF_FUNCTIONS.contains(&name) {
                self.items(content(), place, OF_FUNCTIONS.contains(&name));
            } else if name == OF_NAMES {
                content().iter().filter(|name| *name != ",").for_each(|name| self.add(name, place));
            }
            return;
        }
        let is_test = are_tests
            || attributes.iter().any(|attribute| attribute == "test" || attribute.starts_with("tokio::test"));
        let is_run = !attributes.iter().any(|attribute| attribute.starts_with("ignore"));
        if let Some(function) = item[..body].iter().position(|token| token == "fn")
            && is_test
            && is_run
        {
            self.add(token(item, function + 1), place);
        }
    }

    /// Takes in a module; `#[path]` counts from the directory of the file.
    fn child(&mut self, item: &[String], attributes: &[String], place: &Place<'_>) {
        let Place { program, file, directory, modules } = *place;
        let name = &item[1];
        let modules = &[modules, std::slice::from_ref(name)].concat()[..];
        let beside = file.parent().expect("a directory");
        let named = attributes.iter().find_map(|attribute| attribute.strip_prefix("path="));
        let named = named.map(|path| beside.join(path.trim_matches('"')));
        if token(item, 2) == ";" {
            let below = if named.is_some() { beside.to_owned() } else { directory.join(name) };
            let file = &named.unwrap_or_else(|| directory.join(format!("{name}.rs")));
            self.file(&Place { program, file, directory: &below, modules });
        } else {
            let directory = &named.unwrap_or_else(|| directory.join(name));
            self.items(&item[3..item.len() - 1], &Place { program, file, directory, modules }, false);
        }
    }

    fn add(&mut self, name: &str, place: &Place<'_>) {
        let file = place.file.strip_prefix(root()).unwrap_or(place.file).to_string_lossy().into_owned();
        let path = place.modules.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
        self.all.insert(Test { program: place.program.to_owned(), file, path });
    }

    /// Whether a test of this name is in a file; in any without one.
    fn has(&self, file: Option<&str>, name: &str) -> bool {
        let is_named = |test: &Test| test.path.rsplit("::").next() == Some(name);
        self.all.iter().any(|test| is_named(test) && file.is_none_or(|file| test.file == file))
    }
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
    let gone = named.filter(|(file, name)| !Tests::all().has(Some(file), name));
    gone.map(|(file, name)| format!("{file}::{name}")).collect()
}

#[test]
fn the_tests_that_are_found_are_those_that_this_program_has() {
    let own = std::env::current_exe().expect("it is known");
    let output = Command::new(own).args(["--list", "--format", "terse"]).output().expect("it runs");
    let listed = String::from_utf8(output.stdout).expect("text");
    let listed: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let found = Tests::all().all.iter().filter(|test| test.program == "files");
    assert_eq!(found.map(|test| test.path.as_str()).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn what_does_not_run_is_no_test() {
    let source = "
        #[test] fn plain() {} fn helper() {} // #[test] fn commented() {}
        #[test] #[ignore = \"slow\"] fn ignored() {}
        mod inner { #[tokio::test(flavor = \"multi_thread\")] async fn asynchronous() {} }
        proptest::proptest! { #[test] fn generated(text in \"[a{]\") {} fn strategy() {} }
        on_both_protocols! { async fn on_both(protocol) { let x = json!({}); } }
        over_each_store!(first, second,);
        macro_rules! rules { () => { #[test] fn made() {} } }
        const TEXT: &str = \"#[test] fn quoted() {}\";
    ";
    let mut tests = Tests::default();
    let (file, directory) = (Path::new("a.rs"), Path::new("a"));
    tests.items(&tokens(source), &Place { program: "a", file, directory, modules: &[] }, false);
    let found: Vec<&str> = tests.all.iter().map(|test| test.path.as_str()).collect();
    assert_eq!(found, ["first", "generated", "inner::asynchronous", "on_both", "plain", "second"]);
    assert!(!Tests::all().has(Some("tests/files/named_tests.rs"), "missing"));
}

#[test]
fn every_threat_of_the_security_page_has_tests_that_run() {
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
fn every_difference_that_no_answer_shows_has_tests_that_run() {
    let entries = text("tests/oracle/entries.rs");
    let elsewhere = entries.split("Shown::Elsewhere(").skip(1).map(|rest| rest.split(')').next());
    let elsewhere: Vec<&str> = elsewhere.map(|tests| tests.expect("it is closed")).collect();
    assert!(elsewhere.len() > 40, "{}", elsewhere.len());
    for tests in elsewhere {
        assert_eq!(missing(tests), [""; 0]);
    }
}

#[test]
fn every_place_that_changes_files_has_tests_that_run() {
    for (place, tests) in super::rows() {
        for test in tests.split(',').map(|test| test.trim().trim_matches('`')) {
            assert!(Tests::all().has(None, test), "{test} is not a test, in the row of {place}");
        }
    }
    // Elsewhere on the page, what has so many words is the name of a test.
    let name = Regex::new("`([a-z0-9]+(?:_[a-z0-9]+){4,})`").expect("a pattern");
    let page = text("docs/files.md");
    let named: Vec<&str> = name.captures_iter(&page).map(|found| found.extract::<1>().1[0]).collect();
    assert!(named.len() > 100, "{}", named.len());
    let gone: Vec<&str> = named.into_iter().filter(|test| !Tests::all().has(None, test)).collect();
    assert_eq!(gone, [""; 0], "these are not tests");
}

/// What a page calls by the name of a module, or of a part of a test's path: `daemons::network`.
#[test]
fn every_command_that_names_tests_runs_some() {
    let command = Regex::new("cargo test ([^`<\n]*)").expect("a pattern");
    let module = Regex::new("`((?:[a-z_]+::)+[a-z_]+)`").expect("a pattern");
    let tests = Tests::all();
    let (mut seen, mut faults) = (0, Vec::new());
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("a text");
        let name = path.strip_prefix(root()).expect("it is below").display();
        for found in command.captures_iter(&page) {
            let mut words = found[1].split_whitespace();
            let (mut program, mut filter) = (None, None);
            while let Some(word) = words.next() {
                match word {
                    "--" | "-->" | "#" => break,
                    "--test" => program = words.next(),
                    "-p" | "--package" => drop(words.next()),
                    option if option.starts_with('-') => {}
                    word => filter = filter.or(Some(word)),
                }
            }
            let Some(program) = program else { continue };
            seen += 1;
            let mut of_program = tests.all.iter().filter(|test| test.program == program);
            if !tests.programs.contains(program)
                || filter.is_some_and(|filter| !of_program.any(|test| test.path.contains(filter)))
            {
                faults.push(format!("{name}: {}", &found[0]));
            }
        }
        // Those for developers name modules of the program, too.
        let is_of_program = |path: &PathBuf| {
            ["architecture.md", "files.md", "CONTRIBUTING.md"].iter().any(|page| path.ends_with(page))
                || path.starts_with(root().join("docs/decisions"))
        };
        for found in module.captures_iter(&page).filter(|_| !is_of_program(&path)) {
            seen += 1;
            if !tests.all.iter().any(|test| test.path.contains(&found[1])) {
                faults.push(format!("{name}: {}", &found[1]));
            }
        }
    }
    assert!(seen > 30, "{seen}");
    assert_eq!(faults, [""; 0], "no test is called so");
}
