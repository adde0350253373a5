//! The table of error codes in `docs/troubleshooting.md`, made from the pages of the codes.

use std::fmt::Write as _;

use super::root;

/// Writes the page anew.
const UPDATE: &str = "UPDATE_EXPECT";

const BEGIN: &str =
    "<!-- Codes: made from docs/errors by UPDATE_EXPECT=1 cargo test --test files troubleshooting -->\n";
const END: &str = "<!-- End of codes -->\n";

/// What the thousands of a code, or its hundreds, are about.
const GROUPS: [(&str, &str); 7] = [
    ("10", "The machine and its settings"),
    ("11", "The Pulumi CLI, the project and the plugin"),
    ("20", "Installing providers"),
    ("30", "Provider processes"),
    ("40", "The state store"),
    ("50", "The journal of operations"),
    ("60", "The shared daemon"),
];

/// The first sentence of a text.
fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // One that ends within a path or a version has no space after its full stop.
    text.split_once(". ").map_or_else(|| text.clone(), |(first, _)| format!("{first}."))
}

fn table() -> String {
    let directory = root().join("docs/errors");
    let entries = directory.read_dir().expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> = entries.collect();
    pages.sort();
    let mut made = String::new();
    let mut rows = 0;
    for (digits, title) in GROUPS {
        let _ = write!(made, "\n### {title}\n\n| code | what fails | what to do first |\n|---|---|---|\n");
        for page in &pages {
            let code = page.file_stem().expect("a name").to_str().expect("a plain name");
            if !code.starts_with(&format!("ISTHMUS-{digits}")) {
                continue;
            }
            let text = std::fs::read_to_string(page).expect("a text");
            let heading = text.lines().next().unwrap_or_default();
            let (_, what) = heading.split_once(": ").unwrap_or_else(|| panic!("{code}: {heading}"));
            let (_, remedy) =
                text.split_once("\n## What to do\n").unwrap_or_else(|| panic!("{code} has no remedy"));
            let _ = writeln!(
                made,
                "| [{code}](errors/{code}.md) | {what} | {} |",
                first_sentence(remedy).replace('|', "\\|")
            );
            rows += 1;
        }
    }
    assert_eq!(rows, pages.len(), "a code belongs to no group");
    made + "\n"
}

#[test]
fn the_page_has_every_code_with_its_remedy() {
    let file = root().join("docs/troubleshooting.md");
    let page = std::fs::read_to_string(&file).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the begin of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let made = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    assert!(
        page == made,
        "docs/troubleshooting.md is not up to date: {UPDATE}=1 cargo test --test files troubleshooting"
    );
}
