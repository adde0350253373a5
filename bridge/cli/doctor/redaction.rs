//! What is removed from the output of an examination: secrets in the environment, and in a report the user's home directory.
//!
//! No text of an examination should have a secret. But texts quote servers, files and programs, and a report is published.

use std::path::PathBuf;

use isthmus_common::Environment;
use isthmus_known_secrets::{KnownSecrets, Retention};

/// Parts of the names of variables whose values are secret.
const SECRET: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "CREDENTIAL", "AUTHORIZATION"];

#[derive(Debug)]
pub(super) struct Redaction {
    secrets: KnownSecrets,
    home: Option<PathBuf>,
}

impl Redaction {
    pub(super) fn of(environment: &Environment) -> Self {
        let secrets = KnownSecrets::default();
        for (name, value) in environment.iter() {
            let (name, value) = (name.to_string_lossy().to_uppercase(), value.to_string_lossy());
            let is_file = name.ends_with("_FILE") || name.ends_with("_PATH") || name.starts_with("NO_");
            let is_named_so = !is_file && SECRET.iter().any(|part| name.contains(part));
            let has_user = value.contains('@') && (value.contains("://") || name.ends_with("_PROXY"));
            if is_named_so || has_user {
                learn(&secrets, &value);
            }
        }
        Self {
            secrets,
            home: environment.path(isthmus_platform::HOME).filter(|home| home.components().count() > 1),
        }
    }

    pub(super) fn redact(&self, text: &mut String) {
        self.secrets.redact_in_place(text);
    }

    /// The same, and `~` in place of the home directory, whose path has the user's name.
    pub(super) fn anonymous(&self, text: &str) -> String {
        let mut text = self.secrets.redact(text).into_owned();
        if let Some(home) = &self.home {
            text = text.replace(&*home.to_string_lossy(), "~");
        }
        text
    }
}

/// An address counts as secret by what is before its `@` alone: without it, its host is needed to understand a fault.
fn learn(secrets: &KnownSecrets, value: &str) {
    let authority = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => {
            secrets.learn(user, Retention::Session);
            if let Some((_, password)) = user.split_once(':') {
                secrets.learn(password, Retention::Session);
            }
        }
        None if value.contains("://") => {}
        None => secrets.learn(value, Retention::Session),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_environment_are_removed_and_hosts_stay() {
        let environment = Environment::from_iter([
            ("TF_TOKEN_example_com", "s3cret-token"),
            ("HTTPS_PROXY", "http://me:hunter2hunter2@proxy.example:3128"),
            ("HOME", "/home/ada"),
            ("ISTHMUS_KEY_FILE", "/keys/state.key"),
        ]);
        let redaction = Redaction::of(&environment);
        let text = "s3cret-token hunter2hunter2 proxy.example:3128 /home/ada/x /keys/state.key";
        let shown = redaction.anonymous(text);
        assert_eq!(shown, "[secret] [secret] proxy.example:3128 ~/x /keys/state.key");
    }
}
