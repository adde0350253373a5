//! `SECURITY.md` names a test for each threat, and each of them exists.

use regex::Regex;

use crate::root;

#[test]
fn every_threat_of_the_security_page_has_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("SECURITY.md")).expect("the page");
    let test = Regex::new(r"`([A-Za-z0-9_/.-]+\.rs)::([a-z0-9_]+)`").expect("a pattern");
    let is_head = |line: &&str| line.starts_with("| threat") || line.starts_with("|---");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|') && !is_head(line)).collect();
    assert!(rows.len() > 20, "the page has its tables: {}", rows.len());
    for row in rows {
        let tests = row.rsplit('|').nth(1).expect("cells");
        assert!(test.is_match(tests), "a threat without a test: {row}");
        for found in test.captures_iter(tests) {
            let (file, name) = (&found[1], &found[2]);
            let text =
                std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {name}(")), "{file} has no test {name}");
        }
    }
}
