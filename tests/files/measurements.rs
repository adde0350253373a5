//! Figures that pages repeat: rows of `docs/performance.md`, and counts of the features in `docs/differences.md`.
//!
//! A page repeats a few rows so that a reader need not look further; the test keeps them those of the measurement.

use std::path::Path;

use super::root;

/// Writes the pages anew.
const UPDATE: &str = "UPDATE_EXPECT";

const ROWS: [&str; 2] = [
    "<!-- Measured: rows of docs/performance.md, by UPDATE_EXPECT=1 cargo test --test files measurements -->\n",
    "<!-- End of measured -->\n",
];

const FEATURES: [&str; 2] = [
    "<!-- Features: counted in docs/differences.md, by UPDATE_EXPECT=1 cargo test --test files measurements -->\n",
    "<!-- End of features -->\n",
];

/// The section of the page that is counted.
const COUNTED: [&str; 2] =
    ["<!-- Features: made by tests/tofu/features.rs -->\n", "<!-- End of features -->\n"];

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text between two marks.
fn between<'text>(text: &'text str, marks: [&str; 2]) -> &'text str {
    let [begin, end] = marks;
    let section = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    section.unwrap_or_else(|| panic!("a section {begin}")).0
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// What a row is about: its first cell, and what its value is a multiple of.
fn subject(row: &str) -> (String, String) {
    let cells = cells(row);
    let value = cells.get(4).copied().unwrap_or_default();
    (cells[0].to_owned(), value.split_once(' ').map_or("", |(_, unit)| unit).to_owned())
}

/// Checks that the page has this section, or writes it.
#[track_caller]
fn expect(page: &str, marks: [&str; 2], made: &str) {
    let file = root().join(page);
    let kept = text(&file);
    let section = between(&kept, marks);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, kept.replacen(section, made, 1)).expect("the page can be written");
        return;
    }
    assert!(
        section == made,
        "{page} is not up to date: {UPDATE}=1 cargo test --test files measurements\n{section}\n{made}"
    );
}

#[test]
fn rows_of_measurements_are_those_of_the_page_of_performance() {
    let performance = text(&root().join("docs/performance.md"));
    let measured: Vec<&str> = performance.lines().filter(|line| line.starts_with('|')).collect();
    let page = "docs/comparison.md";
    let kept = text(&root().join(page));
    let mut rows = 0;
    let made: String = between(&kept, ROWS)
        .lines()
        .map(|line| {
            if !line.starts_with('|') || line.starts_with("| ---") {
                return format!("{line}\n");
            }
            rows += 1;
            let found = measured.iter().find(|measured| subject(measured) == subject(line));
            format!("{}\n", found.unwrap_or_else(|| panic!("{page}: nothing was measured of {line}")))
        })
        .collect();
    assert!(rows > 5, "{page} has {rows} rows");
    expect(page, ROWS, &made);
}

#[test]
fn the_counts_of_budgets_are_those_of_the_table() {
    let page = text(&root().join("docs/performance.md"));
    let (table, _) = page.split_once("## What is missed, and why").expect("two sections");
    let (held, missed) = (table.matches("| held |\n").count(), table.matches("| **missed** |\n").count());
    assert!(held > 10 && missed > 0, "{held} {missed}");
    let counts = format!("{held} budgets are held, {missed} are missed.");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&counts), "docs/performance.md must say: {counts}");
}

#[test]
fn counts_of_features_are_those_of_the_page_of_differences() {
    let page = text(&root().join("docs/differences.md"));
    let features =
        between(&page, COUNTED).lines().filter(|line| line.starts_with("| ") && line.contains("**"));
    let features: Vec<Vec<&str>> = features.map(cells).collect();
    assert!(features.len() > 50, "{} features", features.len());
    let mut made = "\n|  | OpenTofu | Go bridge | isthmus |\n|---|--:|--:|--:|\n".to_owned();
    let mut counted = 0;
    for verdict in ["yes", "partly", "no"] {
        let mark = format!("**{verdict}**");
        let counts = [1, 2, 3].map(|column: usize| {
            features
                .iter()
                .filter(|cells| cells.get(column).is_some_and(|cell| cell.starts_with(&mark)))
                .count()
        });
        counted += counts.iter().sum::<usize>();
        made += &format!("| {verdict} | {} | {} | {} |\n", counts[0], counts[1], counts[2]);
    }
    assert_eq!(counted, 3 * features.len(), "each program has a verdict of each feature");
    expect("docs/comparison.md", FEATURES, &(made + "\n"));
}
