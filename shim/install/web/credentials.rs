//! Who asks: the tokens that private registries want.
//!
//! Where they come from is the business of the CLI configuration. Here is only what they are, and that they show in no log.

use std::fmt;

use http::HeaderValue;
use isthmus_common::Secret;

use super::BoxFuture;

/// Knows tokens by the host that they are for.
pub trait CredentialsSource: fmt::Debug + Send + Sync + 'static {
    /// The token for a host as addresses have it: in Unicode, with its port if that is not 443.
    fn token<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>>;
}

/// A token could not be looked up, such as when a helper failed.
#[derive(Debug, thiserror::Error)]
#[error("the credentials for {host} could not be looked up: {reason}")]
pub struct CredentialsError {
    /// The host.
    pub host: String,
    /// What failed, and what to do about it.
    pub reason: String,
}

/// Nobody has a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl CredentialsSource for NoCredentials {
    fn token<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A secret that is sent as `Authorization: Bearer TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(Secret<HeaderValue>);

/// A text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it contains characters that a token cannot have, such as a line break")]
pub struct TokenError;

impl Token {
    /// A token as it was configured.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| TokenError)?;
        value.set_sensitive(true);
        Ok(Self(Secret::new(value)))
    }

    /// What is sent.
    pub(super) fn header(&self) -> HeaderValue {
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
