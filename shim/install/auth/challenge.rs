//! Authentication challenges of OCI registries, and responses to them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;

use super::OciSecret;
use super::token::authorization;

/// An authentication challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// The response of a token server.
#[derive(Deserialize)]
pub(crate) struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    /// The first supported challenge in a response.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let challenges = headers.get_all(header::WWW_AUTHENTICATE).iter();
        challenges.filter_map(|value| Self::parse(value.to_str().ok()?)).next()
    }

    /// Parses `Bearer realm="https://auth.example/token",service="registry.example"`, or `Basic
    /// realm="…"`.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, mut rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
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
        Some(Self::Bearer { realm: realm?, service })
    }
}

impl TokenAnswer {
    /// The `Authorization` header.
    pub(crate) fn header(self) -> Option<HeaderValue> {
        let token = self.token.or(self.access_token).filter(|token| !token.is_empty());
        authorization(&format!("Bearer {}", token?))
    }
}

impl OciSecret {
    /// The header for a name and password.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let Self::Password { username, password } = self else { return None };
        let both = STANDARD.encode(format!("{username}:{}", password.expose()));
        authorization(&format!("Basic {both}"))
    }

    /// The header for a token, if one is configured.
    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let Self::Tokens { access_token, .. } = self else { return None };
        authorization(&format!("Bearer {}", access_token.expose()))
    }
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
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }
}
