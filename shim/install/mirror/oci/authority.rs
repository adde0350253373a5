//! Who asks registries of containers, and how they are told.
//!
//! What the CLI configuration says of a repository goes before what it says of its registry, and that before what Docker and
//! Podman have been told. A registry says at `/v2/` how it wants to be told: by name and password, or by a token that another
//! server gives for them.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use isthmus_common::Secret;
use serde::Deserialize;
use url::Url;

use super::super::super::cli_config::program::run;
use super::super::super::web::{Ask, Request, Transport, WebClient, WebError};
use super::super::RemoteMirrorError;
use crate::{CliConfig, Environment, OciPrefix, OciRepository, OciSecret};

/// More than any file of credentials has.
const LONGEST: u64 = 4 << 20;

/// Knows who asks registries of containers.
#[derive(Debug, Default)]
pub struct OciAuthenticator {
    /// What the CLI configuration and files of Docker's say, best first among those that fit equally well.
    known: Vec<(OciPrefix, OciSecret)>,
    /// Who is asked about all other registries.
    helper: Option<String>,
    /// What could not be read, and has no effect.
    pub warnings: Vec<String>,
}

/// How a registry wants to be told who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// A file of Docker's or Podman's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerFile {
    #[serde(default)]
    auths: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    cred_helpers: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    creds_store: String,
}

impl OciAuthenticator {
    /// What a configuration says, and what it says where to look.
    pub fn new(config: &CliConfig, environment: &Environment) -> Self {
        let configured = config.oci_credentials.iter();
        let defaults = &config.oci_default_credentials;
        let mut authority = Self {
            known: configured.map(|known| (known.prefix.clone(), known.secret.clone())).collect(),
            helper: defaults.docker_credentials_helper.clone(),
            warnings: Vec::new(),
        };
        if defaults.discover_ambient_credentials {
            let (files, are_named) = match &defaults.docker_style_config_files {
                Some(files) => (files.clone(), true),
                None => (ambient_files(environment), false),
            };
            for file in files {
                authority.read(&file, are_named);
            }
        }
        authority
    }

    /// What to send along to a repository; nothing where everybody may read it.
    ///
    /// # Errors
    /// When the registry does not say how it wants to be told, or does not let this one in.
    pub(super) async fn authorize(
        &self,
        web: &WebClient,
        base: &Url,
        repository: &OciRepository,
    ) -> Result<Option<HeaderValue>, RemoteMirrorError> {
        let Some(challenge) = challenge_of(web.transport(), base).await? else { return Ok(None) };
        let secret = self.secret(repository).await.map_err(|reason| RemoteMirrorError::Credentials {
            registry: repository.registry.clone(),
            reason,
        })?;
        match challenge {
            Challenge::Basic => Ok(secret.as_ref().and_then(basic)),
            Challenge::Bearer { realm, service } => {
                if let Some(OciSecret::Tokens { access_token, .. }) = &secret {
                    return Ok(bearer(access_token.expose()));
                }
                let mut url = Url::parse(&realm).map_err(|error| RemoteMirrorError::Address {
                    url: realm.clone(),
                    reason: error.to_string(),
                })?;
                // Passwords are not sent in the clear because somebody asks for it.
                if url.scheme() != base.scheme() {
                    let reason = "the server of tokens is not behind https".to_owned();
                    return Err(RemoteMirrorError::Address { url: realm, reason });
                }
                let wanted = format!("repository:{}:pull", repository.name);
                {
                    let mut query = url.query_pairs_mut();
                    if let Some(service) = &service {
                        query.append_pair("service", service);
                    }
                    // What a registry names at `/v2/` is not about the repository, whose scope is written by convention.
                    query.append_pair("scope", &wanted);
                }
                let authorization = secret.as_ref().and_then(basic);
                let ask = Ask { authorization: authorization.as_ref(), ..Ask::json(&url) };
                token(web, &ask, repository).await
            }
        }
    }

    /// Who asks a repository.
    async fn secret(&self, repository: &OciRepository) -> Result<Option<OciSecret>, String> {
        let mut best: Option<(usize, &OciSecret)> = None;
        for (prefix, secret) in &self.known {
            let Some(fit) = prefix.fits(&repository.registry, &repository.name) else { continue };
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
            Some(helper) => ask_helper(helper, &repository.registry).await,
            None => Ok(None),
        }
    }

    fn read(&mut self, file: &PathBuf, is_named: bool) {
        let read = std::fs::File::open(file).and_then(|opened| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::Read::take(opened, LONGEST), &mut bytes).map(|_| bytes)
        });
        let read = match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => return,
            other => other.map_err(|error| error.to_string()),
        };
        let parsed = read.and_then(|bytes| {
            // The text itself may be a secret.
            serde_json::from_slice::<DockerFile>(&bytes).map_err(|error| format!("line {}", error.line()))
        });
        match parsed {
            Ok(parsed) => self.take(parsed),
            Err(reason) => {
                let text = format!(
                    "the credentials in {} cannot be read ({reason}) and have no effect",
                    file.display()
                );
                self.warnings.push(text);
            }
        }
    }

    fn take(&mut self, file: DockerFile) {
        for (prefix, value) in &file.auths {
            let auth = value.get("auth").and_then(serde_json::Value::as_str);
            let secret = auth
                .and_then(|auth| STANDARD.decode(auth).ok())
                .and_then(|auth| String::from_utf8(auth).ok());
            let Some((username, password)) = secret.as_deref().and_then(|secret| secret.split_once(':'))
            else {
                continue;
            };
            let Ok(prefix) = OciPrefix::parse(prefix) else { continue };
            let secret = OciSecret::Password {
                username: username.to_owned(),
                password: Secret::new(password.to_owned()),
            };
            self.known.push((prefix, secret));
        }
        for (registry, helper) in file.cred_helpers {
            if let (Ok(prefix), Some(helper)) = (OciPrefix::parse(&registry), helper.as_str()) {
                self.known.push((prefix, OciSecret::Helper(helper.to_owned())));
            }
        }
        if self.helper.is_none() && !file.creds_store.is_empty() {
            self.helper = Some(file.creds_store);
        }
    }
}

/// Where Podman and Docker keep what they have been told, in the order of OpenTofu.
fn ambient_files(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.path(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let configuration = environment.path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let run = environment.path("XDG_RUNTIME_DIR").filter(|_| cfg!(target_os = "linux"));
    let containers =
        run.into_iter().chain(configuration).map(|folder| folder.join("containers").join("auth.json"));
    let docker =
        home.iter().flat_map(|home| [home.join(".docker").join("config.json"), home.join(".dockercfg")]);
    let mut files: Vec<PathBuf> = containers.chain(docker).collect();
    files.dedup();
    files
}

async fn challenge_of(
    transport: &Arc<dyn Transport>,
    base: &Url,
) -> Result<Option<Challenge>, RemoteMirrorError> {
    let answer = transport.get(Request { url: base.clone(), headers: HeaderMap::new() }).await;
    let answer = answer.map_err(|error| WebError::new(base, error))?;
    if answer.status != StatusCode::UNAUTHORIZED {
        // Whatever else is wrong will be seen when something is asked for.
        return Ok(None);
    }
    let challenges = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
    let challenge = challenges.filter_map(|value| parse_challenge(value.to_str().ok()?)).next();
    challenge.map(Some).ok_or_else(|| {
        let reason = "the registry requires an authentication scheme that is not supported";
        RemoteMirrorError::answer(base, reason)
    })
}

/// `Bearer realm="https://auth.example/token",service="registry.example"`, or `Basic realm="…"`.
fn parse_challenge(text: &str) -> Option<Challenge> {
    let (scheme, mut rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let (mut realm, mut service) = (None, None);
    while let Some((name, behind)) = rest.split_once('=') {
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => behind.split_at(behind.find(',').unwrap_or(behind.len())),
        };
        let value = Some(value.trim().to_owned());
        match name.trim().trim_start_matches(',').trim().to_ascii_lowercase().as_str() {
            "realm" => realm = value,
            "service" => service = value,
            _ => {}
        }
        rest = next;
    }
    Some(Challenge::Bearer { realm: realm?, service })
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

async fn token(
    web: &WebClient,
    ask: &Ask<'_>,
    repository: &OciRepository,
) -> Result<Option<HeaderValue>, RemoteMirrorError> {
    let denied = |reason: String| RemoteMirrorError::Denied {
        registry: repository.registry.clone(),
        repository: repository.name.clone(),
        with_credentials: ask.authorization.is_some(),
        reason,
    };
    let answer = match web.fetch_json::<TokenAnswer>(ask).await {
        Ok((answer, _)) => answer,
        Err(error) if error.is_denied() => return Err(denied("it gives no token".to_owned())),
        // That is not about the provider.
        Err(error) if error.is_not_found() => return Err(denied(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let token = answer.token.or(answer.access_token).filter(|token| !token.is_empty());
    token.and_then(|token| bearer(&token)).map(Some).ok_or_else(|| denied("it gives no token".to_owned()))
}

fn basic(secret: &OciSecret) -> Option<HeaderValue> {
    let OciSecret::Password { username, password } = secret else { return None };
    let both = STANDARD.encode(format!("{username}:{}", password.expose()));
    sensitive(&format!("Basic {both}"))
}

fn bearer(token: &str) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {token}"))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Asks a program of Docker's, which answers to an address with a name and a password.
async fn ask_helper(name: &str, registry: &str) -> Result<Option<OciSecret>, String> {
    let program = PathBuf::from(format!("docker-credential-{name}"));
    let finished = run(&program, ["get"], &format!("https://{registry}")).await?;
    if !finished.succeeded {
        // That it knows nothing, it says in this way.
        let said = String::from_utf8_lossy(&finished.output).to_lowercase();
        if said.contains("credentials not found") {
            return Ok(None);
        }
        return Err(format!("{} failed: {}", program.display(), finished.complaint()));
    }
    let answer: HelperAnswer = serde_json::from_slice(&finished.output)
        .map_err(|error| format!("{} did not answer with JSON (line {})", program.display(), error.line()))?;
    if answer.username == "<token>" {
        return Err(format!("{} answers with a token in place of a name and a password", program.display()));
    }
    Ok(Some(OciSecret::Password { username: answer.username, password: Secret::new(answer.secret) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_says_how_it_wants_to_be_told() {
        let bearer = |realm: &str, service: &str| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: Some(service.to_owned()) })
        };
        for (text, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            ("Bearer realm=\"https://a/t\",service=\"s\",scope=\"x,y\"", bearer("https://a/t", "s")),
            ("bearer service=s, realm=https://a/t", bearer("https://a/t", "s")),
            ("Bearer service=\"s\"", None),
            ("Bearer realm=\"x", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(parse_challenge(text), expected, "{text}");
        }
    }

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
            "oci_credentials \"e.com/a\" { username = \"mine\" password = \"p\" }",
        )
        .expect("a file");
        let environment = Environment::from_pairs([("HOME", home.path())]);
        let config = CliConfig::load(&environment).unwrap_or_else(|error| panic!("{error}"));
        let authority = OciAuthenticator::new(&config, &environment);
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
            let repository = OciRepository { registry: registry.to_owned(), name: name.to_owned() };
            let username =
                authority.secret(&repository).await.expect("nothing fails").map(|secret| match secret {
                    OciSecret::Password { username, .. } => username,
                    other => panic!("{other:?}"),
                });
            assert_eq!(username.as_deref(), expected, "{registry}/{name}");
        }
        assert!(!format!("{authority:?}").contains("p:q"));
    }
}
