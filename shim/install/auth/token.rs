//! Tokens for private registries and mirrors. They are not logged.

use std::fmt;

use http::HeaderValue;
use isthmus_common::Secret;

use isthmus_common::BoxFuture;

/// A source of tokens by host.
pub(crate) trait CredentialsSource: fmt::Debug + Send + Sync + 'static {
    /// The token for a host in the form of addresses: in Unicode, with its port if that is not 443.
    fn token<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>>;
}

/// Looking up a token failed, for instance in a helper.
#[derive(Debug, thiserror::Error)]
#[error("the credentials for {host} could not be looked up: {reason}")]
pub struct CredentialsError {
    pub host: String,
    pub reason: String,
}

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
    /// A configured token.
    pub(crate) fn new(text: &str) -> Result<Self, TokenError> {
        let value = authorization(&format!("Bearer {text}")).ok_or(TokenError)?;
        Ok(Self(Secret::new(value)))
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.expose().clone()
    }
}

/// The value of an `Authorization` header, which is not logged; `None` if it cannot be sent.
pub(super) fn authorization(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
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
