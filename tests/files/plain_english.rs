//! Pages, help and errors are in plain English: the subject of a sentence is the reader, isthmus or a noun of the glossary, and the
//! verb is active.
//!
//! Patterns of the contrary are counted for each thousand words. The limits are the figures of the books of jj and of nextest, where
//! these patterns hardly occur.

use std::path::{Path, PathBuf};

use regex::Regex;

use super::{of_program, root, sources, test_modules};

/// A pattern, and how often it may occur in a thousand words.
const LIMITS: [(&str, f64); 4] = [
    (r"(?i-u)\b(?:told|tells?|asked|asks)\b", 0.05),
    (r"(?m-u)(?:^|[.;:|]\s+|^\s*[-*]\s+)(?:What|Who|Whoever|Whatever|That of|Those of)\b", 0.05),
    (r"(?i-u)\b(?:that|those) of\b", 0.05),
    (r"(?i-u)\b(?:is|are|was|were) no\b", 0.1),
];

/// Without code, comments, and the targets of links.
fn prose(text: &str) -> String {
    let code = Regex::new(r"(?s)```.*?```|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)").expect("a pattern");
    code.replace_all(text, "X").into_owned()
}

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// How often each pattern occurs, and the number of words.
fn counted(text: &str) -> ([usize; LIMITS.len()], usize) {
    let text = prose(text);
    let counts = LIMITS.map(|(pattern, _)| Regex::new(pattern).expect("a pattern").find_iter(&text).count());
    (counts, text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count())
}

/// Fails if a pattern occurs more often in these texts than its limit.
fn check(texts: impl Iterator<Item = (String, String)>) {
    let (mut total, mut words, mut each) = ([0; LIMITS.len()], 0, Vec::new());
    for (name, text) in texts {
        let (counts, length) = counted(&text);
        words += length;
        for (sum, count) in total.iter_mut().zip(counts) {
            *sum += count;
        }
        if counts != [0; LIMITS.len()] {
            each.push(format!("{name}: {counts:?}"));
        }
    }
    assert!(words > 1000, "{words} words are no sample");
    for ((pattern, limit), count) in LIMITS.into_iter().zip(total) {
        let rate = count as f64 * 1000.0 / words as f64;
        assert!(
            rate <= limit,
            "{pattern}: {rate:.2} in a thousand words, at most {limit}\n{}",
            each.join("\n")
        );
    }
}

/// The tokens of a source without its comments: literals, words, and single characters.
fn tokens(source: &str) -> Vec<&str> {
    let pattern = Regex::new(concat!(
        r"(?s)//[^\n]*|/\*.*?\*/",
        r"|r##\x22.*?\x22##|r#\x22.*?\x22#|r\x22[^\x22]*\x22|\x22(?:[^\x22\\]|\\.)*\x22",
        r"|'(?:[^'\\]|\\.[^']*)'|[A-Za-z0-9_]+|[^ \t\r\n]",
    ))
    .expect("a pattern");
    let found = pattern.find_iter(source).map(|found| found.as_str());
    found.filter(|token| !token.starts_with("//") && !token.starts_with("/*")).collect()
}

/// Errors, log lines and other texts of a source, one to a line: literals of several words, but for those that only a defect shows.
fn texts(source: &str) -> String {
    let source = of_program(source).collect::<Vec<_>>().join("\n");
    let tokens = tokens(&source);
    let continued = Regex::new(r"\\\n\s*").expect("a pattern");
    let texts = tokens.iter().enumerate().filter(|(at, token)| {
        let before = at.checked_sub(2).map_or("", |two| tokens[two]);
        token.starts_with('"') && token.contains(' ') && !matches!(before, "expect" | "reason")
    });
    let texts = texts.map(|(_, text)| continued.replace_all(text.trim_matches('"'), "").replace("\\n", "\n"));
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn pages_are_in_plain_english() {
    let mut files = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|page| root().join(page))
        .to_vec();
    pages(&root().join("docs"), &mut files);
    check(files.into_iter().map(|file| {
        let name = file.strip_prefix(root()).expect("a page of ours").display().to_string();
        (name, std::fs::read_to_string(&file).expect("a page"))
    }));
}

#[test]
fn help_is_in_plain_english() {
    let page = std::fs::read_to_string(root().join("docs/cli.md")).expect("a page");
    let helps = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    check(helps.map(|help| (help.lines().next().unwrap_or_default().to_owned(), help.to_owned())));
}

#[test]
fn errors_and_log_lines_are_in_plain_english() {
    let all: Vec<(String, String)> = ["shim", "bridge"].into_iter().flat_map(sources).collect();
    let tests = test_modules(&all);
    let is_test = |file: &str| {
        let ours = tests.iter().any(|module| {
            file.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        });
        ours || file.split(['/', '.']).any(|part| matches!(part, "tests" | "testing" | "suite" | "fuzzing"))
    };
    check(all.iter().filter(|(file, _)| !is_test(file)).map(|(file, source)| (file.clone(), texts(source))));
}

#[test]
fn patterns_are_counted_in_prose_only() {
    let text =
        "What is told is no news. `told`\n\n```sh\ntold\n```\n\n| What | those of it | [x](asked.md) |\n";
    assert_eq!(counted(text).0, [1, 2, 1, 1]);
}

#[test]
fn texts_of_a_source_are_its_errors_and_log_lines() {
    let source = concat!(
        r#"#[error("{path} is no socket\nhelp: "#,
        "\\\n     ",
        r#"move it")] // "who asks""#,
        "\n",
        r#"let a = b.expect("what was made"); let word = "who"; "#
    );
    assert_eq!(texts(source), "{path} is no socket\nhelp: move it");
}
