//! Relative paths in a state. Providers resolve them by their working directory, which is Terraform's
//! before a migration and the project's after it. No schema calls a text a path, so the texts are
//! searched for those that begin like one or name a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use isthmus_common::listed;
use isthmus_cty::json::Json;

use crate::cli::output::warn;
use isthmus_context::settings::PROVIDER_DIRECTORY;

/// The longest text that is looked up in the file system.
const LONGEST_PATH: usize = 4096;

pub(super) struct RelativePaths {
    /// Where Terraform has resolved them.
    directory: PathBuf,
    /// Addresses with the names of attributes.
    found: Vec<String>,
}

impl RelativePaths {
    /// For the state of the configuration in a directory.
    pub(super) fn new(directory: &Path) -> Self {
        let here = if directory == Path::new("") { Path::new(".") } else { directory };
        let directory = here.canonicalize().unwrap_or_else(|_| here.to_owned());
        Self { directory, found: Vec::new() }
    }

    /// Searches the attributes of an object.
    pub(super) fn search(&mut self, address: &str, attributes: &Json) {
        let Json::Object(members) = attributes else { return };
        let has_path = |(_, value): &&(String, Json)| self.is_in(value);
        let names: BTreeSet<&str> = members.iter().filter(has_path).map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().collect();
            self.found.push(format!("{address} ({})", names.join(", ")));
        }
    }

    fn is_in(&self, value: &Json) -> bool {
        match value {
            Json::String(text) => self.is_path(text),
            Json::Array(elements) => elements.iter().any(|element| self.is_in(element)),
            Json::Object(members) => members.iter().any(|(_, member)| self.is_in(member)),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }

    fn is_path(&self, text: &str) -> bool {
        let begins = ["./", "../"].iter().any(|start| text.starts_with(start)) && !text.contains('\n');
        let is_name = !text.is_empty() && text.len() <= LONGEST_PATH && Path::new(text).is_relative();
        begins || (is_name && self.directory.join(text).is_file())
    }

    /// Warns of them, unless the project is in the same directory.
    pub(super) fn report(&self, project: &Path) {
        let is_same = project.canonicalize().is_ok_and(|project| project == self.directory);
        if self.found.is_empty() || is_same {
            return;
        }
        let (places, directory) = (listed(self.found.iter()), self.directory.display());
        let setting = PROVIDER_DIRECTORY.name;
        warn(&format!(
            "relative paths mean other files in the project than in {directory}: {places}\n\
             help: set {setting}={directory} for `pulumi up`, or make them absolute before the migration"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_begins_like_one_or_names_a_file() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("out")).expect("a new directory");
        std::fs::write(directory.path().join("out/cfg"), "").expect("a new file");
        let absolute = directory.path().join("out/cfg");
        let mut paths = RelativePaths::new(directory.path());
        for text in ["./x", "../x", "out/cfg"] {
            assert!(paths.is_path(text), "{text}");
        }
        for text in ["", ".", "out", "x", "out/x", "./a\nb", absolute.to_str().expect("a path")] {
            assert!(!paths.is_path(text), "{text}");
        }
        let attributes = br#"{"a":["x"],"b":{"k":["./x"]},"c":"out/cfg","d":1,"e":null}"#;
        paths.search("t.n", &Json::parse(attributes).expect("JSON"));
        assert_eq!(paths.found, ["t.n (b, c)"]);
    }
}
