//! Links of the pages: each leads to a file, and to a heading if it names one. Each page is in the table of contents of the book.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use super::root;

/// What is not ours, or is made by tests.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", "results"];

fn pages(directory: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in directory.read_dir().expect("a directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.insert(path, text);
        }
    }
}

fn all_pages() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    pages(root(), &mut found);
    assert!(found.len() > 50, "only {} pages were found", found.len());
    found
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter(move |line| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return true,
            (Some(_), _) => {}
        }
        false
    })
}

/// The anchors of a page's headings, as renderers make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    prose(text)
        .filter_map(|line| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()))
        .map(|heading| {
            let heading = link.replace_all(heading, "$1").to_lowercase();
            let is_part =
                |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | ' ');
            let anchor: String = heading.chars().filter(is_part).collect::<String>().replace(' ', "-");
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

fn links(text: &str) -> Vec<String> {
    let code = Regex::new(r"`[^`]*`").expect("a pattern");
    let link = Regex::new(r"\]\(([^) \n]+)\)").expect("a pattern");
    let text: Vec<_> = prose(text).map(|line| code.replace_all(line, "")).collect();
    let text = text.join("\n");
    link.captures_iter(&text).map(|found| found[1].to_owned()).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, component| {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
        plain
    })
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let pages = all_pages();
    let (mut checked, mut broken) = (0, Vec::new());
    for (page, text) in &pages {
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, anchor) =
                link.split_once('#').map_or((&*link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() {
                page.clone()
            } else {
                plain(&page.parent().expect("a directory").join(path))
            };
            let leads = match (anchor, pages.get(&target)) {
                (None, _) => target.exists(),
                (Some(anchor), Some(text)) => anchors(text).contains(anchor),
                (Some(_), None) => false,
            };
            if !leads {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).expect("it is below").display()));
            }
        }
    }
    assert!(checked > 200, "only {checked} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_contents_of_the_book_once() {
    let docs = root().join("docs");
    let contents = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("docs/SUMMARY.md");
    let mut listed: Vec<_> = links(&contents).iter().map(|link| docs.join(link)).collect();
    listed.sort();
    let pages: Vec<_> = all_pages()
        .into_keys()
        .filter(|path| path.starts_with(&docs) && !path.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed, pages);
}

#[test]
fn anchors_are_those_of_renderers() {
    let page = "# A `b` & c\n## [One](x.md), two_3\n```\n# no heading\n```\n## A b  c\n# A `b` & c\n";
    assert_eq!(anchors(page), ["a-b--c", "a-b--c-1", "a-b--c-2", "one-two_3"].map(str::to_owned).into());
}
