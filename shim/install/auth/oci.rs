//! Credentials of OCI registries and the repositories that they are for.

use std::path::PathBuf;

use isthmus_common::Secret;

/// Credentials of a registry or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OciCredentials {
    pub(crate) prefix: OciPrefix,
    pub(crate) secret: OciSecret,
}

/// A registry, or a repository prefix in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OciPrefix {
    /// The registry's host, with its port if any.
    pub(crate) registry: String,
    /// The path or path prefix of repositories.
    pub(crate) repository: Option<String>,
}

/// A secret for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OciSecret {
    Password {
        username: String,
        password: Secret,
    },
    Tokens {
        access_token: Secret,
        /// The refresh token for a new one.
        refresh_token: Secret,
    },
    /// By the credentials helper `docker-credential-NAME`.
    Helper(String),
}

/// Default sources of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OciDefaultCredentials {
    /// Credentials files of Docker and Podman.
    pub(crate) discover_ambient_credentials: bool,
    /// These files only.
    pub(crate) docker_style_config_files: Option<Vec<PathBuf>>,
    pub(crate) docker_credentials_helper: Option<String>,
    /// The position in the configuration, if configured.
    pub(crate) place: Option<String>,
}

/// A text is no registry or repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OciPrefixFault {
    #[error("this is not the host of a registry")]
    Registry,
    #[error(
        "this is not the name of a repository, which consists of lower-case letters and digits with single . _ or / or some - \
         between them"
    )]
    Repository,
    #[error("no repository is named behind the registry's host")]
    NoRepository,
}

impl Default for OciDefaultCredentials {
    fn default() -> Self {
        Self {
            discover_ambient_credentials: true,
            docker_style_config_files: None,
            docker_credentials_helper: None,
            place: None,
        }
    }
}

impl OciPrefix {
    /// Parses `REGISTRY[/REPOSITORY]`.
    pub(crate) fn parse(text: &str) -> Result<Self, OciPrefixFault> {
        let (registry, repository) = match text.split_once('/') {
            Some((registry, repository)) => (registry, Some(repository)),
            None => (text, None),
        };
        let is_host =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
        let (name, port) = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                let is_one = address.parse::<std::net::Ipv6Addr>().is_ok();
                (if is_one { "ip" } else { "" }, port)
            }
            None => registry.split_at(registry.find(':').unwrap_or(registry.len())),
        };
        let has_port =
            port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        if name.is_empty() || !name.chars().all(is_host) || !has_port {
            return Err(OciPrefixFault::Registry);
        }
        if repository.is_some_and(|repository| !repository.split('/').all(is_path_part)) {
            return Err(OciPrefixFault::Repository);
        }
        Ok(Self { registry: registry.to_owned(), repository: repository.map(str::to_owned) })
    }

    /// The number of matching path parts; `None` if it does not match.
    pub(crate) fn fits(&self, registry: &str, repository: &str) -> Option<usize> {
        let parts: Vec<&str> =
            self.repository.as_deref().map(|path| path.split('/').collect()).unwrap_or_default();
        let wanted: Vec<&str> = repository.split('/').collect();
        (self.registry == registry && wanted.starts_with(&parts)).then_some(parts.len())
    }
}

/// Letters and digits, separated by a dot, one or two underscores, or hyphens.
fn is_path_part(part: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let is_between =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.chars().all(|character| character == '-');
    part.starts_with(is_letter) && part.ends_with(is_letter) && part.split(is_letter).all(is_between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_and_its_repositories_are_told_from_other_texts() {
        for (text, registry, repository) in [
            ("example.com", "example.com", None),
            ("localhost:5000/a", "localhost:5000", Some("a")),
            ("[::1]:5000/a.b/c__d/e---f/1", "[::1]:5000", Some("a.b/c__d/e---f/1")),
        ] {
            let repository = repository.map(str::to_owned);
            assert_eq!(OciPrefix::parse(text), Ok(OciPrefix { registry: registry.to_owned(), repository }));
        }
        for text in [
            "",
            "/a",
            "a/",
            "a//b",
            "a/B",
            "a/b:tag",
            "a/b@sha256:1",
            "a b/c",
            "a:x/b",
            "a/b..c",
            "a/-b",
            "a/b_",
            "[x]/b",
            "https://a/b",
        ] {
            assert!(OciPrefix::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_longer_prefix_fits_better_and_whole_parts_only() {
        let fits =
            |prefix, registry, repository| OciPrefix::parse(prefix).expect(prefix).fits(registry, repository);
        assert_eq!(fits("e.com", "e.com", "a/b"), Some(0));
        assert_eq!(fits("e.com/a", "e.com", "a/b"), Some(1));
        assert_eq!(fits("e.com/a/b", "e.com", "a/b"), Some(2));
        assert_eq!(fits("e.com/a/b/c", "e.com", "a/b"), None);
        assert_eq!(fits("e.com/a", "e.com", "ab"), None);
        assert_eq!(fits("e.com", "f.com", "a"), None);
    }
}
