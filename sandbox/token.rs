//! `sandbox_token`, the ephemeral resource: a secret that is opened, renewed and closed, and never
//! stored.
//!
//! It has a record of open tokens, of renewals and expiry, so it returns an error if a client
//! renews too late, with stale private data, or closes a token that is not open.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use isthmus_cty::Type;
use serde::{Deserialize, Serialize};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::schema::{Attribute, Block, Schema};
use crate::{duration, random};

pub(crate) const TYPE_NAME: &str = "sandbox_token";

#[derive(Debug, Default)]
pub(crate) struct Tokens {
    open: Mutex<BTreeMap<String, Open>>,
}

#[derive(Debug)]
struct Open {
    renewals: u64,
    until: Option<Instant>,
}

/// A fault of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Opening fails.
    Open,
    /// Opening is deferred, whether or not the client allows it.
    Deferred,
    /// The opened token is unknown.
    Unknown,
    /// Renewing fails.
    Renew,
    /// Closing fails.
    Close,
}

/// A token that was opened or renewed.
#[derive(Debug)]
pub(crate) struct Held {
    /// Private data for the next call.
    pub(crate) private: Bytes,
    /// Time within which it must be renewed.
    pub(crate) renew_within: Option<Duration>,
}

/// The private data.
#[derive(Debug, Serialize, Deserialize)]
struct Private {
    token: String,
    renewals: u64,
    lifetime_milliseconds: Option<u64>,
    fault: Option<String>,
}

pub(crate) fn schema() -> Schema {
    let attributes = vec![
        Attribute::required("audience", Type::String).described("For whom it is."),
        Attribute::optional("lifetime", Type::String)
            .described("How long it holds without being renewed, such as 5s."),
        Attribute::optional("fault", Type::String)
            .described("What goes wrong: open, deferred, unknown, renew or close."),
        Attribute::computed("value", Type::String).sensitive().described("The token."),
    ];
    Schema {
        version: 0,
        block: Block { description: "A token that is never stored.", attributes, blocks: Vec::new() },
    }
}

pub(crate) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    if let Some(text) = config.text("lifetime").filter(|text| duration::parse(text).is_none()) {
        let detail = "A duration is a whole number and ms, s, m or h.";
        let diagnostic = Diagnostic::error(format!("{text:?} is not a duration"), detail);
        diagnostics.push(diagnostic.at(at("lifetime")));
    }
    if let Some(text) = config.text("fault").filter(|text| Fault::parse(text).is_none()) {
        let detail = "It is open, deferred, unknown, renew or close.";
        diagnostics.push(Diagnostic::error(format!("{text:?} is no fault"), detail).at(at("fault")));
    }
    if config.text("audience") == Some("everybody") {
        let detail = "Who can be anybody is nobody.";
        diagnostics.push(Diagnostic::warning("A wide audience", detail).at(at("audience")));
    }
    diagnostics
}

impl Fault {
    fn parse(text: &str) -> Option<Self> {
        let all = [
            ("open", Self::Open),
            ("deferred", Self::Deferred),
            ("unknown", Self::Unknown),
            ("renew", Self::Renew),
            ("close", Self::Close),
        ];
        all.into_iter().find(|(name, _)| *name == text).map(|(_, fault)| fault)
    }

    /// The fault in a configuration.
    pub(crate) fn of(config: &Object) -> Option<Self> {
        config.text("fault").and_then(Self::parse)
    }

    fn wanted(self) -> Diagnostic {
        Diagnostic::error(format!("The token refuses: {self:?}"), "It was asked to.")
    }
}

impl Tokens {
    pub(crate) fn open(&self, mut config: Object) -> Result<(Object, Held), Diagnostic> {
        let fault = config.text("fault").map(str::to_owned);
        if Fault::of(&config) == Some(Fault::Open) {
            return Err(Fault::Open.wanted().at(at("audience")));
        }
        let token = random::text(12, random::LOWER_CASE_AND_DIGITS)?;
        config.set_text("value", &random::text(32, random::LETTERS_AND_DIGITS)?);
        let lifetime = config.text("lifetime").and_then(duration::parse);
        let open = Open { renewals: 0, until: lifetime.map(|lifetime| Instant::now() + lifetime) };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), open);
        let lifetime_milliseconds = lifetime.and_then(|lifetime| u64::try_from(lifetime.as_millis()).ok());
        Ok((config, held(&Private { token, renewals: 0, lifetime_milliseconds, fault })))
    }

    /// Renews an open token.
    pub(crate) fn renew(&self, private: &[u8]) -> Result<Held, Diagnostic> {
        let private = understand(private)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let token = open.get_mut(&private.token).ok_or_else(not_open)?;
        if token.renewals != private.renewals {
            let detail = format!(
                "The token was renewed {} times; the bytes know of {}.",
                token.renewals, private.renewals
            );
            return Err(Diagnostic::error("The private bytes are out of date", detail));
        }
        if private.is(Fault::Renew) {
            return Err(Fault::Renew.wanted());
        }
        let now = Instant::now();
        if token.until.is_some_and(|until| until < now) {
            return Err(Diagnostic::error("The token has expired", "It was not renewed in time."));
        }
        token.renewals += 1;
        token.until = private.lifetime().map(|lifetime| now + lifetime);
        Ok(held(&Private { renewals: token.renewals, ..private }))
    }

    /// Closes an open token.
    pub(crate) fn close(&self, private: &[u8]) -> Result<(), Diagnostic> {
        let private = understand(private)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if private.is(Fault::Close) {
            return Err(Fault::Close.wanted());
        }
        let token = open.remove(&private.token).ok_or_else(not_open)?;
        if token.renewals != private.renewals {
            return Err(Diagnostic::error("The private bytes are out of date", "The token is closed."));
        }
        Ok(())
    }
}

impl Private {
    fn lifetime(&self) -> Option<Duration> {
        self.lifetime_milliseconds.map(Duration::from_millis)
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault.as_deref().and_then(Fault::parse) == Some(fault)
    }
}

fn held(private: &Private) -> Held {
    let text = serde_json::json!(private).to_string();
    Held { private: Bytes::from(text), renew_within: private.lifetime() }
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
