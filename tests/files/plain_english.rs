//! Pages are in plain English: the subject of a sentence is the reader, isthmus or a noun of the glossary, and the verb is active.
//!
//! Patterns of the contrary are counted for each thousand words of prose. The limits are the figures of the books of jj and of
//! nextest, where these patterns hardly occur.

use std::path::{Path, PathBuf};

use regex::Regex;

use super::root;

/// A pattern, and how often it may occur in a thousand words.
const LIMITS: [(&str, f64); 4] = [
    (r"(?i-u)\b(?:told|tells?|asked|asks)\b", 0.05),
    (r"(?m-u)(?:^|[.;:|]\s+|^\s*[-*]\s+)(?:What|Who|Whoever|Whatever|That of|Those of)\b", 0.05),
    (r"(?i-u)\b(?:that|those) of\b", 0.05),
    (r"(?i-u)\b(?:is|are|was|were) no\b", 0.1),
];

/// Pages that are still to be rewritten, or have tables that tests make of texts which are.
const NOT_YET: [&str; 7] = [
    "docs/differences.md",
    "docs/faults.md",
    "docs/reliability.md",
    "docs/services.md",
    "docs/settings.md",
    "docs/tutorials/whole-company.md",
    "docs/upstream.md",
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

#[test]
fn pages_are_in_plain_english() {
    let mut files = ["README.md", "SECURITY.md", "CONTRIBUTING.md"].map(|page| root().join(page)).to_vec();
    pages(&root().join("docs"), &mut files);
    let (mut total, mut words, mut each) = ([0; LIMITS.len()], 0, Vec::new());
    for file in files {
        let name = file.strip_prefix(root()).expect("a page of ours").display().to_string();
        let (counts, length) = counted(&std::fs::read_to_string(&file).expect("a page"));
        if NOT_YET.contains(&name.as_str()) {
            assert_ne!(counts, [0; LIMITS.len()], "{name} is rewritten: take it from the list");
            continue;
        }
        words += length;
        for (sum, count) in total.iter_mut().zip(counts) {
            *sum += count;
        }
        each.push(format!("{name}: {counts:?}"));
    }
    for ((pattern, limit), count) in LIMITS.into_iter().zip(total) {
        let rate = count as f64 * 1000.0 / words as f64;
        assert!(
            rate <= limit,
            "{pattern}: {rate:.2} in a thousand words, at most {limit}\n{}",
            each.join("\n")
        );
    }
}

#[test]
fn patterns_are_counted_in_prose_only() {
    let text =
        "What is told is no news. `told`\n\n```sh\ntold\n```\n\n| What | those of it | [x](asked.md) |\n";
    assert_eq!(counted(text).0, [1, 2, 1, 1]);
}
