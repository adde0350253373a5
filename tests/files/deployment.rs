//! The files of `deploy/`, apart from the units of systemd.

use std::path::{Path, PathBuf};

use crate::root;

/// Settings of work in progress on the daemon's addresses and its observation, which are not on the page yet.
const COMING: [&str; 12] = [
    "ISTHMUS_AUDIT_LOG",
    "ISTHMUS_DAEMON_AUTHORITIES",
    "ISTHMUS_DAEMON_CERTIFICATE",
    "ISTHMUS_DAEMON_KEY",
    "ISTHMUS_DAEMON_TOKEN_FILE",
    "ISTHMUS_LISTEN",
    "ISTHMUS_METRICS",
    "ISTHMUS_POLICY",
    "ISTHMUS_TLS_CERTIFICATE",
    "ISTHMUS_TLS_CLIENT_AUTHORITIES",
    "ISTHMUS_TLS_KEY",
    "ISTHMUS_TOKENS",
];

/// All files of a directory.
fn texts(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            found.push((path, text));
        }
    }
    found
}

#[test]
fn files_and_pages_of_deployment_name_settings_that_exist() {
    let settings = std::fs::read_to_string(root().join("docs/settings.md")).expect("the page");
    let name = regex::Regex::new(r"\bISTHMUS_[A-Z_]*[A-Z]\b").expect("a pattern");
    let mut seen = 0;
    for (file, text) in ["deploy", "docs/deploy"].iter().flat_map(|directory| texts(&root().join(directory)))
    {
        for found in name.find_iter(&text).map(|found| found.as_str()) {
            seen += 1;
            let is_setting = COMING.contains(&found) || settings.contains(&format!("| `{found}` |"));
            assert!(is_setting, "{}: {found} is no setting", file.display());
        }
    }
    assert!(seen > 15, "{seen}: the pattern finds them");
}
