//! What must hold of the sources as a whole.
//!
//! `docs/files.md` lists every place in the program that may remove, replace or truncate a file, or change its mode.
//!
//! The sources are searched for the functions that can do so, and what is found is compared with the table of the page, in both
//! directions: a new place cannot come in without a proof of ownership and a test, and the page cannot list what is gone. The
//! search is by names, so that a function which is called by another name (`use std::fs::rename as …`) would escape; reviews do
//! not, and such imports are refused.

mod commands;
mod crates;
mod deployment;
mod measurements;
mod named_tests;
mod plain_english;
mod releases;
mod units;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Functions that remove or replace something, open it for writing, or change who may use it.
const OPERATIONS: [&str; 42] = [
    "create_private_file",
    "remove_directory",
    "remove_directory_if",
    "remove_file",
    "remove_dir",
    "remove_dir_all",
    "unlink",
    "unlinkat",
    "rmdir",
    "rename",
    "renameat",
    "renameat_with",
    "rename_exclusive",
    "persist",
    "persist_noclobber",
    "hard_link",
    "symlink",
    "give_name",
    "copy",
    "fs::write",
    "File::create",
    "create",
    "create_new",
    "truncate",
    "set_len",
    "ftruncate",
    "set_permissions",
    "set_mode",
    "chown",
    "lchown",
    "chmod",
    "fchmod",
    "fchown",
    "tempdir",
    "tempdir_in",
    "tempfile_in",
    "temporary_directory",
    "ScratchDirectory::beside",
    "NamedTempFile::new",
    "NamedTempFile::new_in",
    "Connection::open",
    "OFlags::CREATE",
];

/// Of some names, only calls with this before or behind them are meant: the others are methods of other types.
fn is_meant(operation: &str, before: &str, behind: &str) -> bool {
    match operation {
        // Of `OpenOptions`. Directories are created by `DirBuilder::create(path)`, which harms nothing.
        "create" | "create_new" | "truncate" => behind.starts_with("(true)"),
        "copy" | "rename" => before.ends_with("fs::"),
        "symlink" => behind.starts_with('('),
        "fs::write" | "File::create" | "Connection::open" => behind.starts_with('('),
        // Of `openat`.
        "OFlags::CREATE" => true,
        _ => behind.starts_with('('),
    }
}

/// A place that changes files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    function: String,
    operation: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, function, operation } = self;
        write!(formatter, "| `{file}` | `{function}` | `{operation}` |")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All sources below a directory, by their paths from the root.
fn sources(directory: &str) -> Vec<(String, String)> {
    let (mut found, mut directories) = (Vec::new(), vec![root().join(directory)]);
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("it is below").to_str().expect("text").to_owned();
                found.push((name, std::fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    found
}

/// The module files that are only there for tests, by `#[cfg(test)] mod NAME;` in their parents.
fn test_modules(sources: &[(String, String)]) -> Vec<String> {
    let mut modules = Vec::new();
    for (file, text) in sources {
        let parent = file.strip_suffix(".rs").expect("a source");
        let parent = parent.strip_suffix("/lib").or(parent.strip_suffix("/main")).unwrap_or(parent);
        let mut lines = text.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            if line != "#[cfg(test)]" {
                continue;
            }
            let declared = lines.peek().and_then(|line| line.strip_suffix(';')?.rsplit_once("mod "));
            modules.extend(declared.map(|(_, name)| format!("{parent}/{name}")));
        }
    }
    modules
}

/// The part of a source that is in the program: without comments, and without the tests at its end.
fn of_program(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let is_end = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(is_end).unwrap_or(lines.len());
    lines.into_iter().take(end).filter(|line| !line.trim_start().starts_with("//"))
}

/// The name of the function that begins in a line.
fn function_in(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| {
        word.starts_with("pub")
            || matches!(word, "async" | "const" | "unsafe" | "in" | "super)")
            || word.ends_with(')')
    });
    let name = rest.split(|character: char| !(character.is_alphanumeric() || character == '_')).next()?;
    (is_declaration && !name.is_empty()).then_some(name)
}

fn places() -> BTreeSet<Place> {
    let sources: Vec<(String, String)> =
        ["shim", "bridge", "sandbox"].into_iter().flat_map(sources).collect();
    let tests = test_modules(&sources);
    let mut places = BTreeSet::new();
    for (file, text) in &sources {
        let module = file.strip_suffix(".rs").expect("a source");
        let is_test = |test: &String| module == test || module.starts_with(&format!("{test}/"));
        if tests.iter().any(is_test) || file.starts_with("sandbox/tests/") {
            continue;
        }
        let mut function = "";
        for line in of_program(text) {
            function = function_in(line).unwrap_or(function);
            for operation in OPERATIONS {
                for (index, _) in line.match_indices(operation) {
                    let (before, behind) = (&line[..index], &line[index + operation.len()..]);
                    let is_word = |character: char| character.is_alphanumeric() || character == '_';
                    if before.ends_with(is_word)
                        || !is_meant(operation, before, behind)
                        || before.ends_with("fn ")
                    {
                        continue;
                    }
                    let (file, function, operation) =
                        (file.clone(), function.to_owned(), operation.to_owned());
                    places.insert(Place { file, function, operation });
                }
            }
        }
    }
    places
}

/// The rows of the page's table: a place each, and its last column, which names tests.
fn rows() -> Vec<(Place, String)> {
    let page = include_str!("../../docs/files.md");
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [file, functions, operations, what, proof, tests] = cells[..] else {
            panic!("six columns: {line}")
        };
        assert!(!what.is_empty() && !proof.is_empty(), "{line}");
        let names = |cell: &str| -> Vec<String> {
            cell.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
        };
        for function in names(functions) {
            for operation in names(operations) {
                let file = file.trim_matches('`').to_owned();
                rows.push((Place { file, function: function.clone(), operation }, tests.to_owned()));
            }
        }
    }
    rows
}

#[test]
fn every_place_that_changes_files_is_on_the_page() {
    let listed: BTreeSet<Place> = rows().into_iter().map(|(place, _)| place).collect();
    let found = places();
    assert!(found.len() > 20, "the search finds what is known to be there: {found:?}");
    let lines = |places: Vec<&Place>| places.iter().map(|place| format!("  {place}\n")).collect::<String>();
    let (missing, gone) =
        (lines(found.difference(&listed).collect()), lines(listed.difference(&found).collect()));
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/files.md must say what proves that these files are ours:\n{missing}and has these, which are not there:\n{gone}"
    );
}

#[test]
fn functions_that_change_files_go_by_their_own_names() {
    for (file, text) in ["shim", "bridge", "sandbox"].into_iter().flat_map(sources) {
        for line in text.lines().filter(|line| line.trim_start().starts_with("use ") && line.contains(" as "))
        {
            let renamed = OPERATIONS.iter().find(|operation| line.contains(&format!("{operation} as ")));
            assert_eq!(renamed, None, "{file}: {line}");
        }
    }
}

/// Pages say where it is.
#[test]
fn unsafe_code_is_in_the_crate_of_the_platform() {
    let all = ["shim", "bridge", "sandbox", "proto"].into_iter().flat_map(sources);
    let is_unsafe =
        |text: &str| of_program(text).any(|line| line.contains("unsafe {") || line.contains("unsafe fn"));
    let files: Vec<String> = all.filter(|(_, text)| is_unsafe(text)).map(|(file, _)| file).collect();
    assert!(files.iter().all(|file| file.starts_with("shim/platform/")), "{files:?}");
    assert!(!files.is_empty(), "the files were not found");
    for page in ["CONTRIBUTING.md", "SECURITY.md"] {
        let page = std::fs::read_to_string(root().join(page)).expect("a page");
        assert!(page.contains("`unsafe`") && page.contains("`shim/platform`"));
    }
}

/// So that a port to another system is a file of that crate for each of its modules.
#[test]
fn operating_systems_are_named_in_the_crate_of_the_platform_alone() {
    let named = Regex::new(
        r#"cfg!?\(.*(target_os|target_env|(?-u:\b)unix(?-u:\b)|(?-u:\b)windows(?-u:\b))|std::os::|(?-u:\b)rustix::|(?-u:\b)libc::|tokio::net::.*Unix|signal::unix|"/proc"#,
    )
    .expect("a pattern");
    let mut found = Vec::new();
    let sources: Vec<_> = ["shim", "bridge"].into_iter().flat_map(sources).collect();
    let tests = test_modules(&sources);
    for (file, text) in sources {
        let module = file.strip_suffix(".rs").expect("a source");
        let is_test = |test: &String| module == test || module.starts_with(&format!("{test}/"));
        // The library for PostgreSQL knows sockets where they are.
        let is_apart = file.starts_with("shim/platform/") || file == "shim/state/location.rs";
        if !is_apart && !tests.iter().any(is_test) {
            found.extend(
                of_program(&text).filter(|line| named.is_match(line)).map(|line| format!("{file}: {line}")),
            );
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Who has the executable alone has no page of this repository: what a text leads to is `isthmus explain`.
#[test]
fn no_text_of_the_program_names_a_page_of_the_repository() {
    let page =
        Regex::new(r"docs/[a-z/-]+\.md|(?:README|SECURITY|CONTRIBUTING|CHANGELOG)\.md").expect("a pattern");
    // What the repository of a provider may have.
    let others = ["bridge/reference/upstream.rs"];
    let mut found = Vec::new();
    for (file, text) in ["shim", "bridge"].into_iter().flat_map(sources) {
        if file.ends_with("/tests.rs") || file.contains("/tests/") {
            continue;
        }
        let lines = of_program(&text).filter(|line| page.is_match(line) && !line.contains("include_str!"));
        let lines = lines.map(|line| format!("{file}: {}", line.trim()));
        found.extend(lines.filter(|_| !others.contains(&file.as_str())));
    }
    found.extend(page.find(include_str!("../../docs/errors.md")).map(|page| page.as_str().to_owned()));
    assert_eq!(found, [""; 0], "`isthmus explain` has to say it");
}

/// The engine reads a meaning into codes, so one module chooses them (`docs/decisions/statuses.md`). A client makes its own.
#[test]
fn one_module_turns_failures_into_statuses() {
    const CONSTRUCTORS: [&str; 19] = [
        "new",
        "with_details",
        "cancelled",
        "unknown",
        "invalid_argument",
        "deadline_exceeded",
        "not_found",
        "already_exists",
        "permission_denied",
        "resource_exhausted",
        "failed_precondition",
        "aborted",
        "out_of_range",
        "unimplemented",
        "internal",
        "unavailable",
        "data_loss",
        "unauthenticated",
        "ok",
    ];
    let bridge = sources("bridge");
    let mut places = Vec::new();
    for (file, text) in &bridge {
        for line in of_program(text) {
            let made = line.match_indices("Status::").any(|(index, found)| {
                let behind = &line[index + found.len()..];
                CONSTRUCTORS
                    .iter()
                    .any(|name| behind.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
            });
            if made && file != "bridge/services/status.rs" {
                places.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    // The provider of a replay answers isthmus, and no engine.
    let others = ["bridge/session/engine/client.rs: ", "bridge/trace/recording/scripted.rs: "];
    places.retain(|place| !others.iter().any(|other| place.starts_with(other)));
    assert_eq!(places, [""; 0], "these belong into bridge/services/status.rs");
}

/// Whoever prints an error prints its causes as well (`error_chain`), so a text that has its cause's would say it twice.
#[test]
fn no_errors_text_holds_that_of_its_source() {
    let variant =
        Regex::new(r"(?s)#\[error\((.*?)\)\] *\n(.*?)(?:\n *///|\n\}|\n *#\[error)").expect("a pattern");
    let named =
        Regex::new(r"#\[(?:source|from)\][ \n]*(?:pub(?:\([^)]*\))? +)?([a-z0-9_]+):|(?-u:\b)(source):")
            .expect("a pattern");
    let unnamed = Regex::new(r"\([ \n]*#\[(?:source|from)\]").expect("a pattern");
    let mut seen = 0;
    let mut faults = Vec::new();
    for (file, text) in ["shim", "bridge", "sandbox"].into_iter().flat_map(sources) {
        let mut at = 0;
        while let Some(found) = variant.captures_at(&text, at) {
            let (shown, fields) = (&found[1], &found[2]);
            at = found.get(1).expect("it took part").end();
            let source = match named.captures(fields) {
                _ if unnamed.is_match(fields) => "0".to_owned(),
                Some(name) => name.get(1).or(name.get(2)).expect("one of them").as_str().to_owned(),
                None => continue,
            };
            seen += 1;
            let holds = [
                format!("{{{source}}}"),
                format!("{{{source}:"),
                format!("error_chain(.{source})"),
                format!("error_chain({source})"),
            ];
            if holds.iter().any(|held| shown.contains(held)) {
                faults.push(format!("{file}: {shown}"));
            }
        }
    }
    assert!(seen > 100, "{seen}: the pattern finds them");
    assert_eq!(faults, [""; 0], "each has its cause twice when it is printed");
}
