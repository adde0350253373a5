//! Tokens for registries and network mirrors, from variables, files, and a credentials helper.
//!
//! A variable `TF_TOKEN_HOST` has precedence over files, and files over the helper, as in OpenTofu.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use isthmus_common::Secret;
use isthmus_platform::files::is_named_as_program;
use semver::Version;
use serde::Deserialize;

use super::helper::run;
use super::token::{CredentialsError, CredentialsSource, Token};
use crate::address::{host_in_ascii, normalise_any_host};
use isthmus_common::BoxFuture;

use isthmus_common::Environment;

/// Prefix of variables with tokens.
const VARIABLE: &str = "TF_TOKEN_";

/// Prefix of credentials helpers' names.
const PROGRAM: &str = "terraform-credentials-";

/// A credentials helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CredentialsHelper {
    /// Its name after `terraform-credentials-`.
    pub(crate) name: String,
    /// Its arguments before the command.
    pub(crate) arguments: Vec<String>,
    /// The directories to search, best first.
    pub(crate) directories: Vec<PathBuf>,
}

/// All tokens of a user.
#[derive(Debug)]
pub(crate) struct RegistryCredentials {
    variables: BTreeMap<String, Secret>,
    files: BTreeMap<String, Secret>,
    helper: Option<Helper>,
    /// The helper's responses.
    answers: tokio::sync::Mutex<HashMap<String, Option<Token>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Helper {
    configured: CredentialsHelper,
    /// `None` if it was not found.
    program: Option<PathBuf>,
}

impl RegistryCredentials {
    /// Tokens of variables, of files by host, and of a helper.
    pub(crate) fn new(
        files: BTreeMap<String, Secret>,
        helper: Option<CredentialsHelper>,
        environment: &Environment,
    ) -> Self {
        let variables = environment.starting_with(VARIABLE);
        let variables = variables
            .filter_map(|(name, token)| Some((host_of_variable(name)?, Secret::new(token.to_owned()))));
        Self {
            variables: variables.collect(),
            files,
            helper: helper.map(|configured| Helper { program: find(&configured), configured }),
            answers: tokio::sync::Mutex::default(),
        }
    }

    /// A warning that the helper was not found. It is not an error, as in OpenTofu: most providers
    /// need no token.
    pub(crate) fn warning(&self) -> Option<String> {
        let Helper { configured, program: None } = self.helper.as_ref()? else { return None };
        let directories: Vec<String> =
            configured.directories.iter().map(|directory| directory.display().to_string()).collect();
        let name = &configured.name;
        Some(format!(
            "the CLI configuration names the credentials helper {name:?}, but the program {PROGRAM}{name} is in none of {}",
            directories.join(", ")
        ))
    }

    async fn find_token(&self, host: &str) -> Result<Option<Token>, String> {
        if let Some(secret) = self.variables.get(host).or_else(|| self.files.get(host)) {
            return as_token(secret.expose()).map(Some);
        }
        let Some(Helper { configured, program: Some(program) }) = &self.helper else { return Ok(None) };
        // One query at a time: a helper may prompt the user.
        let mut answers = self.answers.lock().await;
        if let Some(answer) = answers.get(host) {
            return Ok(answer.clone());
        }
        let answer = ask(program, configured, host).await?;
        answers.insert(host.to_owned(), answer.clone());
        Ok(answer)
    }
}

impl CredentialsSource for RegistryCredentials {
    fn token<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>> {
        Box::pin(async move {
            let found = self.find_token(host).await;
            found.map_err(|reason| CredentialsError { host: host.to_owned(), reason })
        })
    }
}

/// The helper's response. Fields for other kinds of credentials are ignored.
#[derive(Deserialize)]
struct Answer {
    token: Option<serde_json::Value>,
}

async fn ask(program: &Path, helper: &CredentialsHelper, host: &str) -> Result<Option<Token>, String> {
    let host = host_in_ascii(host);
    let arguments = helper.arguments.iter().map(String::as_str).chain(["get", &host]);
    let finished = run(program, arguments, "").await?;
    if !finished.succeeded {
        return Err(format!("{} failed: {}", program.display(), finished.complaint()));
    }
    let answer: Option<Answer> = serde_json::from_slice(&finished.output)
        // The text may be a token.
        .map_err(|error| {
            format!("{} did not answer with a JSON object (line {})", program.display(), error.line())
        })?;
    match answer.and_then(|answer| answer.token) {
        Some(serde_json::Value::String(token)) => as_token(&token).map(Some),
        _ => Ok(None),
    }
}

fn as_token(text: &str) -> Result<Token, String> {
    Token::new(text).map_err(|error| format!("the configured token is invalid: {error}"))
}

/// The host of a variable, in the form of addresses. Dots may be replaced by underscores and
/// hyphens by two of them, because shells allow neither; and it may be in Punycode.
fn host_of_variable(name: &str) -> Option<String> {
    normalise_any_host(&name.replace("__", "-").replace('_', ".")).ok()
}

/// The helper's executable: the newest one in any of the directories,
/// `terraform-credentials-NAME[_vVERSION]`.
fn find(helper: &CredentialsHelper) -> Option<PathBuf> {
    let mut found: Option<(Version, PathBuf)> = None;
    for directory in &helper.directories {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(version) = version_of_program(&path, &helper.name) else { continue };
            let is_newer = found.as_ref().is_none_or(|(newest, _)| version > *newest);
            if is_newer && is_named_as_program(&path) {
                found = Some((version, path));
            }
        }
    }
    found.map(|(_, path)| std::path::absolute(&path).unwrap_or(path))
}

fn version_of_program(path: &Path, name: &str) -> Option<Version> {
    let file = path.file_name()?.to_str()?.to_lowercase();
    let rest = file.strip_prefix(PROGRAM)?;
    let rest = rest.strip_suffix(".exe").unwrap_or(rest).strip_prefix(name)?;
    match rest.strip_prefix("_v") {
        Some(version) => {
            Version::parse(version.split_once("_x").map_or(version, |(version, _)| version)).ok()
        }
        None => rest.is_empty().then(|| Version::new(0, 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::CliConfig;

    /// A home with a helper that returns JSON by host, and counts its runs.
    const PROGRAM_TEXT: &str = r#"#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
case "$4" in
  example.com) echo '{"token": "from-helper", "more": [1]}' ;;
  none.example) echo '{}' ;;
  null.example) echo 'null' ;;
  other.example) echo '{"token": {"kind": "new"}}' ;;
  xn--bcher-kva.example:8443) echo '{"token": "unicode"}' ;;
  html.example) echo '<html>s3cret' ;;
  text.example) echo '"s3cret"' ;;
  line.example) printf '%s' '{"token": "a\nb"}' ;;
  *) echo "no idea of $4" >&2; exit 3 ;;
esac
"#;

    fn home(config: &str, programs: &[&str]) -> (tempfile::TempDir, Environment) {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join(".tofurc"), config).expect("a file");
        let plugins = home.path().join(".terraform.d/plugins");
        fs::create_dir_all(&plugins).expect("a directory");
        for program in programs {
            fs::write(plugins.join(program), PROGRAM_TEXT).expect("a file");
            isthmus_platform::files::set_mode(&plugins.join(program), 0o755).expect("ours");
        }
        let environment = Environment::from_iter([("HOME", home.path().as_os_str())]);
        (home, environment)
    }

    fn credentials(environment: &Environment) -> RegistryCredentials {
        let config = CliConfig::load(environment).unwrap_or_else(|error| panic!("{error}"));
        config.registry_credentials(environment)
    }

    async fn token(credentials: &RegistryCredentials, host: &str) -> Result<Option<Token>, String> {
        credentials.token(host).await.map_err(|error| error.to_string())
    }

    fn some(text: &str) -> Result<Option<Token>, String> {
        Ok(Some(Token::new(text).expect("a token")))
    }

    #[test]
    fn a_variable_names_its_host_in_several_ways() {
        for (name, host) in [
            ("example_com", Some("example.com")),
            ("Example.COM", Some("example.com")),
            ("my__host_example_com", Some("my-host.example.com")),
            ("my-host.example.com", Some("my-host.example.com")),
            ("xn____caf__dma_fr", Some("café.fr")),
            ("xn--caf-dma_fr", Some("café.fr")),
            ("café_fr", Some("café.fr")),
            ("example_com:8443", Some("example.com:8443")),
            ("localhost", Some("localhost")),
            ("", None),
            ("a___b", None),
            ("a_", Some("a.")),
            ("_a", None),
        ] {
            assert_eq!(host_of_variable(name).as_deref(), host, "{name}");
        }
    }

    #[tokio::test]
    async fn a_variable_goes_before_files_and_files_before_the_program() {
        let config = "credentials \"example.com\" { token = \"file\" }\ncredentials \"b.com\" { token = \"b\" }\n\
                      credentials_helper \"test\" { args = [\"-x\", \"y\"] }";
        let (home, environment) = home(config, &["terraform-credentials-test"]);
        let all = credentials(&environment);
        assert_eq!(all.warning(), None);
        assert_eq!(token(&all, "example.com").await, some("file"));
        assert_eq!(token(&all, "none.example").await, Ok(None));

        let pairs = [("HOME", home.path().as_os_str()), ("TF_TOKEN_example_com", "variable".as_ref())];
        let all = credentials(&Environment::from_iter(pairs));
        assert_eq!(token(&all, "example.com").await, some("variable"));
        assert_eq!(token(&all, "b.com").await, some("b"));
        assert_eq!(token(&all, "bücher.example:8443").await, some("unicode"));
        assert_eq!(token(&all, "bücher.example:8443").await, some("unicode"));
        let asked = fs::read_to_string(home.path().join(".terraform.d/plugins/asked")).expect("it was asked");
        assert_eq!(asked, "-x y get none.example\n-x y get xn--bcher-kva.example:8443\n", "each host once");
    }

    #[tokio::test]
    async fn what_a_program_answers_is_taken_or_told() {
        let config = "credentials_helper \"test\" { args = [\"-x\", \"y\"] }";
        let (_home, environment) =
            home(config, &["terraform-credentials-test_v1.0.0", "terraform-credentials-tester"]);
        let all = credentials(&environment);
        assert_eq!(token(&all, "example.com").await, some("from-helper"));
        for host in ["none.example", "null.example", "other.example"] {
            assert_eq!(token(&all, host).await, Ok(None), "{host}");
        }
        for host in ["html.example", "text.example"] {
            let error = token(&all, host).await.expect_err("no JSON object");
            assert!(error.ends_with("_v1.0.0 did not answer with a JSON object (line 1)"), "{error}");
        }
        let error = token(&all, "line.example").await.expect_err("no token");
        assert!(error.contains("the configured token is invalid"), "{error}");
        let error = token(&all, "unknown.example").await.expect_err("it fails");
        assert!(error.starts_with("the credentials for unknown.example could not be looked up: "), "{error}");
        assert!(error.ends_with("failed: no idea of unknown.example"), "{error}");
    }

    #[tokio::test]
    async fn the_newest_program_is_asked_and_one_that_is_nowhere_is_told() {
        let config = "credentials_helper \"test\" {}";
        let (home, environment) = home(
            config,
            &[
                "terraform-credentials-test",
                "terraform-credentials-test_v1.9.0_x4",
                "terraform-credentials-test_v1.10.0.exe",
            ],
        );
        let helper = credentials(&environment).helper.expect("it is configured");
        let plugins = home.path().join(".terraform.d/plugins");
        assert_eq!(helper.program, Some(plugins.join("terraform-credentials-test_v1.10.0.exe")));
        fs::remove_dir_all(&plugins).expect("it is ours");
        let all = credentials(&environment);
        assert_eq!(token(&all, "example.com").await, Ok(None));
        let warning = all.warning().expect("it is nowhere");
        let expected =
            format!("but the program terraform-credentials-test is in none of {}", plugins.display());
        assert!(warning.contains(&expected), "{warning}");
    }
}
