//! Which versions of the plugin SDKs and projects name.
//!
//! A generated SDK names the plugin that it was made with: in `pulumi-plugin.json` (Python, Go, .NET), in `plugin.json` (Java), in
//! the field `pulumi` of `package.json` (Node.js), in a YAML file of its own (YAML). A project names it below `packages` in its
//! `Pulumi.yaml`. Of YAML no more is read than what these files have: lines of a name and a version.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;

/// The plugin, as these files call it.
pub(super) const PLUGIN: &str = "terraform-provider";

/// What a project's file is called.
const PROJECT_FILES: [&str; 2] = ["Pulumi.yaml", "Pulumi.yml"];

/// The largest file of an SDK that is read.
const LARGEST: u64 = 16 << 20;

/// How deep SDKs lie in a project.
const DEEPEST: usize = 12;

/// A project's folder cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the project {path} cannot be read", path = .path.display())]
pub(super) struct ProjectError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// What is in and below a folder.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The versions that are named.
    pub(super) versions: BTreeSet<Version>,
    /// The folders of projects.
    pub(super) projects: BTreeSet<PathBuf>,
}

/// The nearest folder upwards that is a project's; the folder itself if there is none.
pub(super) fn nearest_project(folder: &Path) -> PathBuf {
    let is_project = |folder: &&Path| PROJECT_FILES.iter().any(|name| folder.join(name).is_file());
    folder.ancestors().find(is_project).unwrap_or(folder).to_owned()
}

/// What is named in and below a folder.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn by_project(folder: &Path) -> Result<Named, ProjectError> {
    let mut named = Named::default();
    let mut folders = vec![(folder.to_owned(), DEEPEST)];
    while let Some((current, depth)) = folders.pop() {
        let entries = match fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(error) if current == folder => return Err(ProjectError { path: current, error }),
            Err(_) => continue,
        };
        for entry in entries.filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_str().unwrap_or_default();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                // What is hidden or installed by others is not the project's.
                let is_own = !name.starts_with('.') && !matches!(name, "node_modules" | "target");
                if is_own && depth > 0 {
                    folders.push((path, depth - 1));
                }
            } else if kind.is_file() && is_of_interest(name) {
                if PROJECT_FILES.contains(&name) {
                    named.projects.insert(current.clone());
                }
                // What cannot be read here names nothing: anything may lie in a project.
                let Ok(bytes) = read(&path) else { continue };
                named.versions.extend(in_file(name, &bytes));
            }
        }
    }
    Ok(named)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path)?;
    if file.metadata()?.len() > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_of_interest(name: &str) -> bool {
    matches!(name, "pulumi-plugin.json" | "plugin.json" | "package.json")
        || name.ends_with(".yaml")
        || name.ends_with(".yml")
}

fn in_file(name: &str, bytes: &[u8]) -> Vec<Version> {
    if !name.ends_with(".json") {
        return in_yaml(&String::from_utf8_lossy(bytes));
    }
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else { return Vec::new() };
    let plugin = if name == "package.json" { &document["pulumi"] } else { &document };
    let version = (plugin["name"] == PLUGIN).then(|| plugin["version"].as_str()).flatten();
    version.and_then(parse).into_iter().collect()
}

/// `name: terraform-provider` or `source: terraform-provider` with `version: 1.1.3` in the same mapping, and
/// `terraform-provider@1.1.3`.
fn in_yaml(text: &str) -> Vec<Version> {
    let mut versions = Vec::new();
    // The mappings that are open, innermost last: their indents, whether they name the plugin, and their version.
    let mut open: Vec<(usize, bool, Option<Version>)> = Vec::new();
    let mut close = |mapping: (usize, bool, Option<Version>)| {
        if let (_, true, Some(version)) = mapping {
            versions.push(version);
        }
    };
    for line in text.lines() {
        let content = line.trim_start().trim_start_matches("- ");
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        while let Some(mapping) = open.pop_if(|(other, ..)| *other > indent) {
            close(mapping);
        }
        let Some((key, value)) = content.split_once(':') else { continue };
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if let Some(version) =
            value.strip_prefix(PLUGIN).and_then(|rest| rest.strip_prefix('@')).and_then(parse)
        {
            close((indent, true, Some(version)));
        }
        // An item of a list begins anew.
        if line.trim_start().starts_with("- ")
            && let Some(mapping) = open.pop_if(|(other, ..)| *other == indent)
        {
            close(mapping);
        }
        if open.last().is_none_or(|(other, ..)| *other < indent) {
            open.push((indent, false, None));
        }
        let Some((_, is_plugin, version)) = open.last_mut() else { continue };
        match key.trim() {
            "name" | "source" => *is_plugin |= value == PLUGIN,
            "version" => *version = parse(value),
            _ => {}
        }
    }
    open.into_iter().for_each(close);
    versions
}

pub(super) fn parse(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sdks_and_projects_of_all_languages_name_the_plugin() {
        let folder = tempfile::tempdir().expect("a folder");
        let parameterization = json!({"name": "random", "version": "3.7.2", "value": "e30="});
        let plugin = |version: &str| json!({"resource": true, "name": "terraform-provider", "version": version, "parameterization": parameterization});
        for (path, text) in [
            ("sdks/random/pulumi_random/pulumi-plugin.json", plugin("0.1.0").to_string()),
            ("sdks/java/src/main/resources/com/pulumi/random/plugin.json", plugin("0.2.0").to_string()),
            ("sdks/node/package.json", json!({"name": "@pulumi/random", "version": "9.9.9", "pulumi": plugin("v0.3.0")}).to_string()),
            (
                "sdks/random/random-3.7.2.yaml",
                "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 0.4.0\nparameterization:\n  name: random\n  \
                 version: 3.7.2\n  value: e30=\n"
                    .to_owned(),
            ),
            (
                "Pulumi.yaml",
                "name: x\nversion: 9.9.1\npackages:\n  random:\n    source: terraform-provider # ours\n    version: '0.5.0'\n    \
                 parameters:\n      - hashicorp/random\n  aws:\n    source: aws\n    version: 9.9.2\n  tls: terraform-provider@0.6.0\n"
                    .to_owned(),
            ),
            // Not the project's, or of other plugins.
            ("node_modules/x/package.json", json!({"pulumi": plugin("9.9.3")}).to_string()),
            (".hidden/pulumi-plugin.json", plugin("9.9.4").to_string()),
            ("sdks/aws/pulumi-plugin.json", json!({"name": "aws", "version": "9.9.5"}).to_string()),
            ("sdks/odd/pulumi-plugin.json", "[".to_owned()),
            ("sdks/odd/package.json", json!({"name": "terraform-provider", "version": "9.9.6"}).to_string()),
            ("list.yaml", "- name: terraform-provider\n- name: x\n  version: 9.9.7\n".to_owned()),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let named = by_project(folder.path()).unwrap_or_else(|error| panic!("{error}"));
        let versions: Vec<String> = named.versions.iter().map(Version::to_string).collect();
        assert_eq!(versions, ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0"]);
        assert_eq!(named.projects, [folder.path().to_owned()].into());
        assert_eq!(nearest_project(&folder.path().join("sdks/random")), folder.path());
        let error = by_project(&folder.path().join("missing")).expect_err("it is not there").to_string();
        assert!(error.ends_with("missing cannot be read"), "{error}");
    }
}
