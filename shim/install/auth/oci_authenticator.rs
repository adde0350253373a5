//! Credentials for OCI registries.
//!
//! The CLI configuration of a repository has precedence over that of its registry, and that over
//! files of Docker and Podman.

use std::io;
use std::path::Path;

use super::docker::{DockerFile, ambient_files, ask_helper};
use super::oci::{OciCredentials, OciDefaultCredentials, OciSecret};
use super::token::CredentialsError;
use isthmus_common::Environment;

/// Finds credentials for OCI registries.
#[derive(Debug, Default)]
pub(crate) struct OciAuthenticator {
    /// Configured credentials, best first among equally specific ones.
    known: Vec<OciCredentials>,
    /// The credentials helper for all other registries.
    helper: Option<String>,
    /// Files that could not be read, and have no effect.
    pub(crate) warnings: Vec<String>,
}

impl OciAuthenticator {
    /// From the configuration and the credentials files.
    pub(crate) fn new(
        configured: &[OciCredentials],
        defaults: &OciDefaultCredentials,
        environment: &Environment,
    ) -> Self {
        let mut authenticator = Self {
            known: configured.to_vec(),
            helper: defaults.docker_credentials_helper.clone(),
            warnings: Vec::new(),
        };
        let (files, are_named) = match &defaults.docker_style_config_files {
            _ if !defaults.discover_ambient_credentials => (Vec::new(), false),
            Some(files) => (files.clone(), true),
            None => (ambient_files(environment), false),
        };
        for file in files {
            authenticator.add(&file, are_named);
        }
        authenticator
    }

    /// The secret for a repository.
    pub(crate) async fn secret(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<OciSecret>, CredentialsError> {
        let mut best: Option<(usize, &OciSecret)> = None;
        for OciCredentials { prefix, secret } in &self.known {
            let Some(fit) = prefix.fits(registry, repository) else { continue };
            if best.is_none_or(|(other, _)| fit > other) {
                best = Some((fit, secret));
            }
        }
        let helper = match best {
            Some((_, OciSecret::Helper(helper))) => Some(helper),
            Some((_, secret)) => return Ok(Some(secret.clone())),
            None => self.helper.as_ref(),
        };
        match helper {
            Some(helper) => {
                let secret = ask_helper(helper, registry).await;
                secret.map_err(|reason| CredentialsError { host: registry.to_owned(), reason })
            }
            None => Ok(None),
        }
    }

    fn add(&mut self, path: &Path, is_named: bool) {
        match DockerFile::read(path) {
            Ok(file) => {
                self.known.extend(file.secrets());
                if self.helper.is_none() && !file.creds_store.is_empty() {
                    self.helper = Some(file.creds_store);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => {}
            Err(error) => self.warnings.push(format!(
                "the credentials in {} cannot be read ({error}) and have no effect",
                path.display()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::CliConfig;

    #[tokio::test]
    async fn who_asks_is_found_where_it_fits_best() {
        let home = tempfile::tempdir().expect("a directory");
        let path = |path: &str| home.path().join(path);
        std::fs::create_dir(path(".docker")).expect("a directory");
        let auth = |text: &str| serde_json::json!({"auth": STANDARD.encode(text)});
        let docker = serde_json::json!({"auths": {
            "e.com": auth("docker:p:q"), "e.com/a": auth("docker-a:p"), "e.com/a/b/c": auth("docker-c:p"),
            "f.com": auth("docker-f:p"), "broken.com": {"auth": "?"}, "https://index.docker.io/v1/": auth("x:y"), "empty.com": {},
        }});
        std::fs::write(path(".docker/config.json"), docker.to_string()).expect("a file");
        std::fs::write(path(".dockercfg"), "{").expect("a file");
        std::fs::write(
            path(".tofurc"),
            "oci_credentials \"e.com/a\" {\n username = \"mine\"\n password = \"p\"\n}",
        )
        .expect("a file");
        let environment = Environment::from_iter([("HOME", home.path())]);
        let config = CliConfig::load(&environment).unwrap_or_else(|error| panic!("{error}"));
        let authority = config.oci_authenticator(&environment);
        let [warning] = authority.warnings.as_slice() else { panic!("{:?}", authority.warnings) };
        assert!(warning.contains(".dockercfg cannot be read (line 1)"), "{warning}");
        for (registry, name, expected) in [
            ("e.com", "a/b", Some("mine")),
            ("e.com", "a/b/c", Some("docker-c")),
            ("e.com", "x", Some("docker")),
            ("f.com", "x", Some("docker-f")),
            ("broken.com", "x", None),
            ("g.com", "x", None),
        ] {
            let username =
                authority.secret(registry, name).await.expect("nothing fails").map(|secret| match secret {
                    OciSecret::Password { username, .. } => username,
                    other => panic!("{other:?}"),
                });
            assert_eq!(username.as_deref(), expected, "{registry}/{name}");
        }
        assert!(!format!("{authority:?}").contains("p:q"));
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let home = tempfile::tempdir().expect("a directory");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, home.path().join(".dockercfg"), mode).expect("a FIFO");
        let environment = Environment::from_iter([("HOME", home.path())]);
        let config = CliConfig::load(&environment).unwrap_or_else(|error| panic!("{error}"));
        let authority = config.oci_authenticator(&environment);
        let [warning] = authority.warnings.as_slice() else { panic!("{:?}", authority.warnings) };
        assert!(
            warning.contains(".dockercfg cannot be read (it is a FIFO, not a regular file)"),
            "{warning}"
        );
    }
}
