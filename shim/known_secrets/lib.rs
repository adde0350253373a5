//! Redaction of a session's secrets in texts.
//!
//! Secrets are recorded when values are sent to a provider and received from it, and indexed only
//! when a text is redacted. Without secrets, redaction only checks a flag.
//!
//! Values are stored for the session within a memory limit, beyond which the least recently used
//! are removed, except those of the provider's configuration, which are recorded once. Of long
//! values, the beginning is stored.

#![warn(missing_docs)]

mod forms;
mod fragments;
mod index;
mod numbers;
mod parts;
mod stretches;

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_cty::Value;

use forms::forms;
use index::{Index, Occurrence};
use parts::parts;

/// Minimum length in characters of values that are found within words.
const FOUND_ANYWHERE: usize = 8;
/// Minimum length of values: shorter ones occur in any text.
const SHORTEST: usize = 3;
/// Minimum length of lines that are found individually. Logs and traces are read line by line.
const SHORTEST_LINE: usize = 16;
/// Limit of a text's lines that are found individually.
const MOST_LINES: usize = 256;
/// Stored bytes of a value.
const LONGEST: usize = 4096;
/// Memory limit of values in bytes; with all their forms they need ten to twenty times that, and more
/// if not ASCII.
const ROOM: usize = 2 << 20;
/// Additional bytes per value.
const OVERHEAD: usize = 64;
/// Text of secret booleans and nulls, whose redaction would reveal more than it hides.
const WORDS: [&str; 6] = ["true", "false", "null", "none", "yes", "off"];

/// The secrets of a session. Clones share them.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<Shared>);

#[derive(Default)]
struct Shared {
    any: AtomicBool,
    /// Whether any is kept as long as the session.
    any_configured: AtomicBool,
    registry: Mutex<Registry>,
    /// Those of a process that several sessions use, and which logs for all of them.
    of_process: Mutex<Option<KnownSecrets>>,
}

/// How long a secret is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Within the memory limit.
    Usual,
    /// For the whole session: the configuration is recorded once, and used in every call.
    Session,
}

#[derive(Default)]
struct Registry {
    known: HashMap<Arc<str>, Met>,
    /// Texts that are stored for the whole session.
    configured: Vec<Arc<str>>,
    /// Not yet in the index.
    pending: Vec<(Arc<str>, SecretKind)>,
    index: Index,
    /// Bytes of values that may be removed.
    taken: usize,
    clock: u64,
}

#[derive(Clone, Copy)]
struct Met {
    kind: SecretKind,
    at: u64,
    retention: Retention,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretKind {
    Text,
    Number,
}

impl KnownSecrets {
    /// Records a secret text, and secret parts of it: the texts of a JSON document, the password of
    /// a URL.
    pub fn learn(&self, text: &str, retention: Retention) {
        self.learn_as(text, SecretKind::Text, retention);
        parts(text).iter().for_each(|part| self.learn_as(part, SecretKind::Text, retention));
    }

    /// Records a secret number, in decimal form. It is found in every spelling.
    pub fn learn_number(&self, decimal: &str, retention: Retention) {
        self.learn_as(decimal, SecretKind::Number, retention);
    }

    /// Records all texts and numbers within a secret value.
    pub fn learn_value(&self, value: &Value, retention: Retention) {
        let learned = value.walk(&mut |_, part| {
            match part {
                Value::String(text) => self.learn(text, retention),
                Value::Number(number) => self.learn_number(&number.to_decimal_text(), retention),
                _ => {}
            }
            Ok::<_, Infallible>(true)
        });
        match learned {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// Tells a process that this session uses all of its secrets, now and later: the process may log them at any time,
    /// when another session is about to read its log.
    pub fn also_known_to(&self, process: &Self) {
        if Arc::ptr_eq(&self.0, &process.0) {
            return;
        }
        let before =
            self.0.of_process.lock().unwrap_or_else(PoisonError::into_inner).replace(process.clone());
        if before.is_some_and(|before| Arc::ptr_eq(&before.0, &process.0)) {
            return;
        }
        let known: Vec<_> =
            self.registry().known.iter().map(|(text, met)| (Arc::clone(text), met.kind)).collect();
        for (text, kind) in known {
            process.learn_as(&text, kind, Retention::Usual);
        }
    }

    /// Whether any secret is stored for the whole session, such as of the provider's configuration.
    pub fn has_configured(&self) -> bool {
        self.0.any_configured.load(Ordering::Acquire)
    }

    /// Whether a text is, or contains, a secret of the provider's configuration.
    pub fn is_configured(&self, text: &str) -> bool {
        self.registry().configured.iter().any(|secret| {
            text == &**secret || (secret.chars().count() >= FOUND_ANYWHERE && text.contains(&**secret))
        })
    }

    /// `text` with [`REDACTED`](isthmus_common::REDACTED) in place of every known secret.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.0.any.load(Ordering::Acquire) {
            return Cow::Borrowed(text);
        }
        let mut registry = self.registry();
        registry.index_pending();
        registry.index.redact(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Redacts in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redact(text) {
            *text = redacted;
        }
    }

    /// The position where an incomplete text can be cut without cutting a secret; its end if there
    /// are none.
    pub fn cut(&self, text: &str) -> usize {
        if !self.0.any.load(Ordering::Acquire) {
            return text.len();
        }
        let mut registry = self.registry();
        registry.index_pending();
        registry.index.cut(text)
    }

    fn learn_as(&self, text: &str, kind: SecretKind, retention: Retention) {
        if !is_worth_knowing(text) {
            return;
        }
        self.registry().learn(text, kind, retention);
        let of_process = self.0.of_process.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(process) = of_process {
            // A session comes and goes, and the process stays.
            process.learn_as(text, kind, Retention::Usual);
        }
        self.0.any.store(true, Ordering::Release);
        if retention == Retention::Session {
            self.0.any_configured.store(true, Ordering::Release);
        }
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        // A panic may have left an entry out of the index, which the next rebuild adds.
        self.0.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}

impl Registry {
    fn learn(&mut self, text: &str, kind: SecretKind, retention: Retention) {
        self.clock += 1;
        // One more byte shows that the text is longer.
        let text = beginning(text, LONGEST + 1);
        let is_configured = |met: &Met| met.retention == Retention::Session;
        if retention == Retention::Session
            && kind == SecretKind::Text
            && !self.known.get(text).is_some_and(is_configured)
        {
            self.configured.push(Arc::from(text));
        }
        if let Some(met) = self.known.get_mut(text) {
            met.at = self.clock;
            if retention == Retention::Session && met.retention == Retention::Usual {
                met.retention = retention;
                self.taken -= text.len() + OVERHEAD;
            }
            return;
        }
        let text: Arc<str> = Arc::from(text);
        if retention == Retention::Usual {
            self.taken += text.len() + OVERHEAD;
        }
        self.known.insert(Arc::clone(&text), Met { kind, at: self.clock, retention });
        self.pending.push((text, kind));
        if self.taken > ROOM {
            self.forget_older_half();
        }
    }

    /// Removes the older half, so that it is done seldom: the index is rebuilt.
    fn forget_older_half(&mut self) {
        let mut times: Vec<(u64, usize)> = self
            .known
            .iter()
            .filter(|(_, met)| met.retention == Retention::Usual)
            .map(|(text, met)| (met.at, text.len() + OVERHEAD))
            .collect();
        times.sort_unstable();
        let mut forgotten_until = 0;
        for (at, size) in times {
            if self.taken <= ROOM / 2 {
                break;
            }
            self.taken -= size;
            forgotten_until = at;
        }
        self.known.retain(|_, met| met.retention == Retention::Session || met.at > forgotten_until);
        self.index = Index::default();
        self.pending = self.known.iter().map(|(text, met)| (Arc::clone(text), met.kind)).collect();
    }

    fn index_pending(&mut self) {
        for (text, kind) in std::mem::take(&mut self.pending) {
            let goes_on = text.len() > LONGEST;
            let known = beginning(&text, LONGEST);
            self.index_text(known, kind, goes_on);
            let trimmed = known.trim();
            if trimmed.len() != known.len() && is_worth_knowing(trimmed) {
                self.index_text(trimmed, kind, goes_on);
            }
            if trimmed.contains('\n') {
                let lines = trimmed.lines().map(str::trim).take(MOST_LINES);
                let lines = lines.filter(|line| line.chars().count() >= SHORTEST_LINE && !is_armour(line));
                lines.for_each(|line| self.index_text(line, kind, false));
            }
        }
    }

    fn index_text(&mut self, text: &str, kind: SecretKind, goes_on: bool) {
        let occurrence = match kind {
            SecretKind::Text if text.chars().count() >= FOUND_ANYWHERE => Occurrence::Anywhere,
            SecretKind::Text | SecretKind::Number => Occurrence::Token,
        };
        match kind {
            SecretKind::Text => {
                for form in forms(text) {
                    self.index.add(&form, occurrence, goes_on);
                }
                if occurrence == Occurrence::Anywhere {
                    self.index.add_fragments(text, goes_on);
                }
            }
            SecretKind::Number => self.index.add(text, occurrence, goes_on),
        }
        // A text with a number is one where the schema has a number.
        if !goes_on && (kind == SecretKind::Number || is_long_number(text)) {
            self.index.add_number(text);
        }
    }
}

/// The first and last line of a key in PEM are not secret.
fn is_armour(line: &str) -> bool {
    line.starts_with("-----") && line.ends_with("-----")
}

/// Whether a text is a number whose other spellings are secret, too.
fn is_long_number(text: &str) -> bool {
    text.len() >= FOUND_ANYWHERE && text.bytes().all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
}

fn is_worth_knowing(text: &str) -> bool {
    text.chars().take(SHORTEST).count() == SHORTEST
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// The beginning within `most` bytes.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests;
