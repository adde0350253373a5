//! Files and credentials helpers of Docker and Podman.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_common::{Links, Secret, open_regular};
use isthmus_platform::IS_LINUX;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::helper::run;
use super::oci::{OciCredentials, OciPrefix, OciSecret};
use isthmus_common::Environment;

/// Size limit of a credentials file.
const LONGEST: u64 = 4 << 20;

/// A credentials file of Docker or Podman.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DockerFile {
    #[serde(default)]
    auths: Map<String, Value>,
    #[serde(default)]
    cred_helpers: Map<String, Value>,
    #[serde(default)]
    pub(super) creds_store: String,
}

impl DockerFile {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        open_regular(path, Links::Follow)?.take(LONGEST).read_to_end(&mut bytes)?;
        // The file may contain secrets.
        serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!("line {}", error.line())))
    }

    /// Secrets by registry or repository. Unsupported entries are ignored.
    pub(super) fn secrets(&self) -> impl Iterator<Item = OciCredentials> {
        let auths = self.auths.iter().filter_map(|(prefix, value)| {
            let auth = STANDARD.decode(value.get("auth")?.as_str()?).ok()?;
            let auth = String::from_utf8(auth).ok()?;
            let (username, password) = auth.split_once(':')?;
            let (username, password) = (username.to_owned(), Secret::new(password.to_owned()));
            let secret = OciSecret::Password { username, password };
            Some(OciCredentials { prefix: OciPrefix::parse(prefix).ok()?, secret })
        });
        let helpers = self.cred_helpers.iter().filter_map(|(registry, helper)| {
            let secret = OciSecret::Helper(helper.as_str()?.to_owned());
            Some(OciCredentials { prefix: OciPrefix::parse(registry).ok()?, secret })
        });
        auths.chain(helpers)
    }
}

/// The credentials files of Podman and Docker, in OpenTofu's order.
pub(super) fn ambient_files(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.path(isthmus_platform::HOME);
    let configuration = environment.path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let run = environment.path("XDG_RUNTIME_DIR").filter(|_| IS_LINUX);
    let containers =
        run.into_iter().chain(configuration).map(|directory| directory.join("containers").join("auth.json"));
    let docker =
        home.iter().flat_map(|home| [home.join(".docker").join("config.json"), home.join(".dockercfg")]);
    let mut files: Vec<PathBuf> = containers.chain(docker).collect();
    files.dedup();
    files
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Runs a Docker credentials helper, which returns a name and a password for an address.
pub(super) async fn ask_helper(name: &str, registry: &str) -> Result<Option<OciSecret>, String> {
    let program = PathBuf::from(format!("docker-credential-{name}"));
    let finished = run(&program, ["get"], &format!("https://{registry}")).await?;
    if !finished.succeeded {
        // The text by which a helper reports that it has no credentials.
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
