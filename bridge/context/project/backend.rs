//! The backend that an engine keeps the state of its stack in, as far as a plugin can find out.
//!
//! A URN has neither the backend nor the organization of its stack, and no call of an engine names them. Two
//! backends can each have a stack of one name and project, whose operations are not to be mixed up. An engine
//! starts its plugins with its own environment, in the directory of the project, so that what the Pulumi CLI
//! chooses by (`GetCurrentCloudURL` in its `pkg/workspace/creds.go`) can be read here as well. What is not
//! found counts as any backend.

use std::path::{Component, Path, PathBuf};

use isthmus_common::Environment;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Project, read_file};
use crate::home;

/// The directory of the Pulumi CLI's credentials, if it is not its home.
const CREDENTIALS_DIRECTORY: &str = "PULUMI_CREDENTIALS_PATH";

/// What tells one backend from another: its URL, in one form and without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend(String);

impl Backend {
    /// The backend of the engine that has started a process in this environment and directory: as the CLI chooses it, by
    /// the variable, the project file, the login. Blocks on the file system.
    pub fn find(environment: &Environment, directory: &Path) -> Option<Self> {
        let url = environment.text("PULUMI_BACKEND_URL").map(str::to_owned);
        let url = url.or_else(|| Project::around(directory)?.backend_url()).or_else(|| {
            let pulumi_home = || home::pulumi_home(environment);
            let credentials = environment.path(CREDENTIALS_DIRECTORY).or_else(pulumi_home)?;
            let text = read_file(&credentials.join("credentials.json")).ok()?;
            // The tokens are in the other members.
            let current = serde_json::from_str::<Value>(&text).ok()?["current"].as_str()?.to_owned();
            (!current.is_empty()).then_some(current)
        });
        Some(Self::of_url(&url?, environment.path(isthmus_platform::HOME).as_deref(), directory))
    }

    /// One form of a URL. Two forms of it are two backends; that hides a report at most until the engine uses
    /// the other form again.
    fn of_url(url: &str, home: Option<&Path>, directory: &Path) -> Self {
        let Some((scheme, rest)) = url.split_once("://") else { return Self(url.to_owned()) };
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        let place = if scheme == "file" {
            let place = Path::new(place);
            let path = match (place.strip_prefix("~"), home) {
                (Ok(below), Some(home)) => home.join(below),
                (Ok(_), None) | (Err(_), _) => directory.join(place),
            };
            in_one_form(&path)
        } else {
            let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{host}{}", path.trim_end_matches('/'))
        };
        // A query may hold anything: the endpoint of the store, and what opens it.
        let digest =
            |query: &str| Sha256::digest(query)[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let query = query.map(|query| ["?".to_owned(), digest(query)].concat());
        Self(format!("{scheme}://{place}{}", query.unwrap_or_default()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A path without `.` and `..`.
fn in_one_form(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_url(url: &str) -> String {
        Backend::of_url(url, Some(Path::new("/home/me")), Path::new("/projects/shop")).0
    }

    #[test]
    fn a_url_has_one_form_without_credentials() {
        for (url, form) in [
            ("https://api.pulumi.com", "https://api.pulumi.com"),
            ("https://api.pulumi.com/", "https://api.pulumi.com"),
            ("https://me:p@ss@pulumi.example/api/", "https://pulumi.example/api"),
            ("s3://bucket/state", "s3://bucket/state"),
            ("file://~", "file:///home/me"),
            ("file://~/states/", "file:///home/me/states"),
            ("file://.", "file:///projects/shop"),
            ("file://./states/../others", "file:///projects/shop/others"),
            ("file:///var/states", "file:///var/states"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(of_url(url), form, "{url}");
        }
    }

    #[test]
    fn of_a_query_only_a_digest_remains() {
        let (one, other) =
            (of_url("s3://bucket?endpoint=a&token=hush"), of_url("s3://bucket?endpoint=b&token=hush"));
        assert_ne!(one, other);
        assert!(one.starts_with("s3://bucket?") && !one.contains("hush"), "{one}");
    }

    #[test]
    fn the_variable_precedes_the_project_file_and_that_the_login() {
        let directory = tempfile::tempdir().expect("a directory");
        let (project, home) = (directory.path().join("project/below"), directory.path().join("home"));
        std::fs::create_dir_all(&project).expect("a directory");
        std::fs::create_dir_all(home.join(".pulumi")).expect("a directory");
        let find = |variables: &[(&str, &str)]| {
            let environment: Environment = variables.iter().copied().collect();
            Backend::find(&environment.with("HOME", &home), &project).map(|backend| backend.0)
        };
        assert_eq!(find(&[]), None);
        let login =
            r#"{"current": "https://login.example", "accessTokens": {"https://login.example": "hush"}}"#;
        std::fs::write(home.join(".pulumi/credentials.json"), login).expect("a file");
        assert_eq!(find(&[]).as_deref(), Some("https://login.example"));
        let file = directory.path().join("project/Pulumi.yaml");
        std::fs::write(&file, "name: shop\nruntime: yaml\n").expect("a file");
        assert_eq!(find(&[]).as_deref(), Some("https://login.example"));
        std::fs::write(&file, "name: shop\nbackend:\n  url: s3://project\n").expect("a file");
        assert_eq!(find(&[]).as_deref(), Some("s3://project"));
        assert_eq!(find(&[("PULUMI_BACKEND_URL", "gs://variable")]).as_deref(), Some("gs://variable"));
        assert_eq!(find(&[("PULUMI_BACKEND_URL", "")]).as_deref(), Some("s3://project"));
    }
}
