//! `sandbox_token`, the ephemeral resource: a secret that is opened, renewed and closed, and never stored.
//!
//! It knows which tokens are open and how often each was renewed, so a client that renews with private bytes other than
//! the newest, or closes what is not open, is told.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use isthmus_shim::cty::Type;
use serde::{Deserialize, Serialize};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::schema::{Attribute, Block, Schema};
use crate::{duration, random};

/// Its name in configurations.
pub(crate) const TYPE_NAME: &str = "sandbox_token";

/// The tokens that are open, and how often each was renewed.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    renewals: Mutex<BTreeMap<String, u64>>,
}

/// A token just opened or renewed.
#[derive(Debug)]
pub(crate) struct Held {
    /// What the client has to bring along the next time.
    pub(crate) private: Bytes,
    /// When it must have been renewed, from now on.
    pub(crate) renew_within: Option<Duration>,
}

/// The private bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Private {
    token: String,
    renewals: u64,
    lifetime_milliseconds: Option<u64>,
}

/// What it looks like.
pub(crate) fn schema() -> Schema {
    let attributes = vec![
        Attribute::required("audience", Type::String).described("For whom it is."),
        Attribute::optional("lifetime", Type::String)
            .described("How long it holds without being renewed, such as 5s."),
        Attribute::computed("value", Type::String).sensitive().described("The token."),
    ];
    Schema {
        version: 0,
        block: Block { description: "A token that is never stored.", attributes, blocks: Vec::new() },
    }
}

/// Judges a configuration.
pub(crate) fn validate(config: &Object) -> Diagnostics {
    match config.text("lifetime") {
        Some(text) if duration::parse(text).is_none() => {
            let detail = "A duration is a whole number and ms, s, m or h.";
            Diagnostic::error(format!("{text:?} is not a duration"), detail).at(at("lifetime")).into()
        }
        _ => Diagnostics::default(),
    }
}

impl Tokens {
    /// Makes a token.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn open(&self, mut config: Object) -> Result<(Object, Held), Diagnostic> {
        let token = random::text(12, random::LOWER_CASE_AND_DIGITS)?;
        config.set_text("value", &random::text(32, random::LETTERS_AND_DIGITS)?);
        let lifetime = config.text("lifetime").and_then(duration::parse);
        let milliseconds = lifetime.and_then(|lifetime| u64::try_from(lifetime.as_millis()).ok());
        self.renewals.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), 0);
        let held = held(&Private { token, renewals: 0, lifetime_milliseconds: milliseconds });
        Ok((config, held))
    }

    /// Renews a token that is open.
    ///
    /// # Errors
    /// When it is not, or the private bytes are not the newest.
    pub(crate) fn renew(&self, private: &[u8]) -> Result<Held, Diagnostic> {
        let private = understand(private)?;
        let mut open = self.renewals.lock().unwrap_or_else(PoisonError::into_inner);
        let renewals = open.get_mut(&private.token).ok_or_else(not_open)?;
        if *renewals != private.renewals {
            let detail =
                format!("The token was renewed {renewals} times; the bytes know of {}.", private.renewals);
            return Err(Diagnostic::error("The private bytes are out of date", detail));
        }
        *renewals += 1;
        Ok(held(&Private { renewals: *renewals, ..private }))
    }

    /// Closes a token that is open.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn close(&self, private: &[u8]) -> Result<(), Diagnostic> {
        let private = understand(private)?;
        let mut open = self.renewals.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&private.token).map(|_| ()).ok_or_else(not_open)
    }
}

fn held(private: &Private) -> Held {
    let text = serde_json::json!(private).to_string();
    let renew_within = private.lifetime_milliseconds.map(Duration::from_millis);
    Held { private: Bytes::from(text), renew_within }
}

fn understand(private: &[u8]) -> Result<Private, Diagnostic> {
    serde_json::from_slice(private)
        .map_err(|error| Diagnostic::error("The private bytes are not those of a token", error.to_string()))
}

fn not_open() -> Diagnostic {
    Diagnostic::error("The token is not open", "It was closed, or another process opened it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_with_the_newest_bytes_only_and_closed_once() {
        let tokens = Tokens::default();
        let mut config = Object::default();
        config.set_text("lifetime", "5s");
        let (object, opened) = tokens.open(config).expect("a token");
        assert_eq!(object.text("value").map(str::len), Some(32));
        assert_eq!(opened.renew_within, Some(Duration::from_secs(5)));

        let renewed = tokens.renew(&opened.private).expect("the newest bytes");
        let stale = tokens.renew(&opened.private).expect_err("not the newest any more");
        assert_eq!(stale.summary, "The private bytes are out of date");
        tokens.close(&renewed.private).expect("it is open");
        assert_eq!(tokens.close(&renewed.private), Err(not_open()));
    }
}
