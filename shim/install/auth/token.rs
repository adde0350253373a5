//! The tokens that private registries and mirrors want. They show in no log.

use std::fmt;

use http::HeaderValue;
use isthmus_common::Secret;

use isthmus_common::BoxFuture;

/// Knows tokens by the host that they are for.
pub(crate) trait CredentialsSource: fmt::Debug + Send + Sync + 'static {
    /// The token for a host as addresses have it: in Unicode, with its port if that is not 443.
    fn token<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>>;
}

/// A token could not be looked up, such as when a helper failed.
#[derive(Debug, thiserror::Error)]
#[error("the credentials for {host} could not be looked up: {reason}")]
pub struct CredentialsError {
    pub host: String,
    pub reason: String,
}

/// No tokens.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoCredentials;

#[cfg(test)]
impl CredentialsSource for NoCredentials {
    fn token<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A secret that is sent as `Authorization: Bearer TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token(Secret<HeaderValue>);

/// A text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it contains characters that a token cannot have, such as a line break")]
pub(crate) struct TokenError;

impl Token {
    /// A token as it was configured.
    pub(crate) fn new(text: &str) -> Result<Self, TokenError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| TokenError)?;
        value.set_sensitive(true);
        Ok(Self(Secret::new(value)))
    }

    /// What is sent.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.expose().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_nowhere_and_is_one_line() {
        let token = Token::new("s3cret").expect("a token");
        assert_eq!(format!("{token:?} {:?}", token.header()), "Token([secret]) Sensitive");
        assert_eq!(Token::new("a\nHost: b"), Err(TokenError));
    }
}
