//! Placeholders for secrets: of the same type, and equal where the secrets are, so that a recording can be replayed.
//!
//! What is done with a secret must come out the same with its placeholder: a text that has the secret within has the
//! placeholder there, and a number that a program wrote as a text is the number's placeholder as a text.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_cty::Number;
use isthmus_known_secrets::KnownSecrets;
use serde_json::{Map, Value as Json};

/// Secrets of at least this many characters are replaced within longer texts, as redaction finds them.
const FOUND_ANYWHERE: usize = 8;

/// Secrets of fewer characters are replaced only where they are secret by their place.
const SHORTEST: usize = 3;

/// What the numbers of placeholders are added to where a number is replaced.
const NUMBERS: usize = 900_000_000;

/// The members of private data that the SDK of Terraform writes, and that hold no secrets: timeouts and a version. Core reads
/// them too, so they stay.
const OPEN_PRIVATE: [&str; 2] = ["e2bfb730-ecaa-11e6-8f88-34363bc7c4c0", "schema_version"];

/// The member of private data that stands for all others.
const PRIVATE: &str = "placeholder";

/// The placeholders of a session.
#[derive(Debug)]
pub(super) struct Placeholders {
    known: KnownSecrets,
    /// By what they replace.
    replaced: HashMap<String, String>,
    /// What is replaced within texts, the longest first.
    parts: Vec<(String, String)>,
    private: HashMap<Vec<u8>, usize>,
    /// The secret boolean that was seen first, in place of which there is `false`.
    first_bool: Option<bool>,
    /// Whether the values are those of a recording, whose placeholders stay.
    is_replay: bool,
    /// Before the number of the first one.
    offset: usize,
    /// Characters of a text from which on it is replaced within longer texts.
    found_anywhere: usize,
}

/// Before the number of the first placeholder of what has no marks.
const UNMARKED: usize = 40_000;

impl Placeholders {
    /// Whether nothing was replaced yet.
    pub(super) fn are_unused(&self) -> bool {
        self.replaced.is_empty() && self.private.is_empty() && self.first_bool.is_none()
    }

    /// The placeholders of a session with these secrets.
    pub(super) fn new(known: KnownSecrets, is_replay: bool) -> Self {
        Self {
            known,
            replaced: HashMap::new(),
            parts: Vec::new(),
            private: HashMap::new(),
            first_bool: None,
            is_replay,
            offset: 0,
            found_anywhere: FOUND_ANYWHERE,
        }
    }

    /// Those of a provider's configuration without marks, apart from the others: what is open elsewhere is replaced here.
    pub(super) fn of_unmarked(known: KnownSecrets, is_replay: bool) -> Self {
        Self { offset: UNMARKED, found_anywhere: SHORTEST, ..Self::new(known, is_replay) }
    }

    /// A text of a value, or what it is replaced by. One that repeats a secret of the provider's configuration is a secret.
    pub(super) fn text(&mut self, text: &str, is_secret: bool) -> String {
        if is_secret || self.known.has_configured() && self.known.is_configured(text) {
            return self.secret(text);
        }
        match self.replaced.get(text) {
            // A secret that its schema does not call one. Shorter texts are equal by chance.
            Some(replaced) if text.chars().count() >= SHORTEST => replaced.clone(),
            Some(_) | None => self.message(text),
        }
    }

    /// A text of a message, in which known secrets are replaced.
    pub(super) fn message(&mut self, text: &str) -> String {
        let redacted = self.known.redact(text);
        // What has no marks is known to nothing but this.
        if redacted == text && (self.offset == 0 || !self.parts.iter().any(|(part, _)| text.contains(part))) {
            return text.to_owned();
        }
        if let Some(replaced) = self.replaced.get(text) {
            return replaced.clone();
        }
        // All of it, although its place is not secret.
        if redacted == isthmus_common::REDACTED {
            return self.secret(text);
        }
        let mut open = text.to_owned();
        for (secret, replaced) in &self.parts {
            if open.contains(secret) {
                open = open.replace(secret, replaced);
            }
        }
        if self.is_replay {
            self.redacted_around_placeholders(&open)
        } else {
            self.known.redact(&open).into_owned()
        }
    }

    /// Placeholders are secrets of a session that is replayed, and stay; others are of the provider that it is replayed with.
    fn redacted_around_placeholders(&self, text: &str) -> String {
        let (mut redacted, mut rest) = (String::new(), text);
        let length = "secret-00001".len();
        while let Some(start) = rest
            .match_indices("secret-")
            .map(|(start, _)| start)
            .find(|start| rest.get(*start..start + length).is_some_and(is_placeholder))
        {
            redacted.push_str(&self.known.redact(&rest[..start]));
            redacted.push_str(&rest[start..start + length]);
            rest = &rest[start + length..];
        }
        redacted.push_str(&self.known.redact(rest));
        redacted
    }

    /// What replaces a secret text. The empty one is none, and many providers treat it as null.
    fn secret(&mut self, text: &str) -> String {
        if text.is_empty() || self.is_replay && is_placeholder(text) {
            return text.to_owned();
        }
        match text {
            "true" => return self.boolean(true, true).to_string(),
            "false" => return self.boolean(false, true).to_string(),
            _ => {}
        }
        if let Some(replaced) = self.replaced.get(text) {
            return replaced.clone();
        }
        let next = self.next();
        let is_number = Number::from_decimal(text).is_ok_and(|number| number.to_decimal_text() == text);
        // What is secret because it repeats another secret repeats its placeholder.
        let within =
            self.parts.iter().find(|(part, _)| text.contains(part) && self.known.is_configured(part));
        let replaced = match within {
            _ if is_number => (NUMBERS + next).to_string(),
            Some((_, part)) if is_placeholder(part) => format!("secret-{next:05}({part})"),
            Some(_) | None => format!("secret-{next:05}"),
        };
        self.replaced.insert(text.to_owned(), replaced.clone());
        if text.chars().count() >= self.found_anywhere {
            let longer = self.parts.partition_point(|(secret, _)| secret.len() >= text.len());
            self.parts.insert(longer, (text.to_owned(), replaced.clone()));
        }
        replaced
    }

    /// The number of a new placeholder, which no recording has that is replayed.
    fn next(&self) -> usize {
        self.replaced.len() + 1 + self.offset + if self.is_replay { 50_000 } else { 0 }
    }

    /// The decimal text of a number, or what it is replaced by.
    pub(super) fn number(&mut self, decimal: &str, is_secret: bool) -> String {
        let is_known = || decimal.len() >= SHORTEST && self.replaced.contains_key(decimal);
        if is_secret || is_known() || self.known.redact(decimal) != decimal {
            // The same number without an exponent, whose placeholder is a number.
            match Number::from_decimal(decimal) {
                Ok(number) => self.secret(&number.to_decimal_text()),
                Err(_) => self.secret(decimal),
            }
        } else {
            decimal.to_owned()
        }
    }

    /// A boolean. A secret one is replaced by a value that only says which are equal.
    pub(super) fn boolean(&mut self, value: bool, is_secret: bool) -> bool {
        if !is_secret || self.is_replay {
            return value;
        }
        value != *self.first_bool.get_or_insert(value)
    }

    /// A text that no secret may be added for: what is not known as a whole is replaced in parts.
    pub(super) fn known(&mut self, text: &str) -> String {
        self.replaced.get(text).cloned().unwrap_or_else(|| self.message(text))
    }

    /// The same of a number.
    pub(super) fn known_number(&mut self, decimal: &str) -> String {
        self.replaced.get(decimal).cloned().unwrap_or_else(|| self.number(decimal, false))
    }

    /// Private data of a provider, which may hold anything.
    pub(super) fn private(&mut self, bytes: &[u8]) -> String {
        if bytes.is_empty() {
            return String::new();
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if self.is_replay && is_placeholder(text) {
            return text.to_owned();
        }
        let Ok(Json::Object(members)) = serde_json::from_slice(bytes) else {
            return self.private_number(bytes);
        };
        let (open, others): (Map<_, _>, Map<_, _>) =
            members.into_iter().partition(|(name, _)| OPEN_PRIVATE.contains(&name.as_str()));
        let mut open = open;
        if let (true, Some(Json::String(text)), 1) = (self.is_replay, others.get(PRIVATE), others.len()) {
            open.insert(PRIVATE.to_owned(), text.as_str().into());
        } else if !others.is_empty() {
            let number = self.private_number(Json::Object(others).to_string().as_bytes());
            open.insert(PRIVATE.to_owned(), number.into());
        }
        Json::Object(open).to_string()
    }

    fn private_number(&mut self, bytes: &[u8]) -> String {
        let next = self.private.len() + 1 + if self.is_replay { 50_000 } else { 0 };
        format!("private-{:05}", self.private.entry(bytes.to_vec()).or_insert(next))
    }

    /// The JSON text of `__meta`.
    pub(super) fn meta(&mut self, text: &str) -> String {
        let Ok(Json::Object(mut members)) = serde_json::from_str(text) else { return self.secret(text) };
        if let Some(private) = members.get_mut("private_state") {
            let bytes = private.as_str().and_then(|text| BASE64.decode(text).ok()).unwrap_or_default();
            *private = BASE64.encode(self.private(&bytes)).into();
        }
        self.message(&Json::Object(members).to_string())
    }
}

/// Private data, or the text of `__meta`, as another provider than that of the recording takes it: without placeholders.
pub(super) fn without_placeholder(private: &[u8]) -> Vec<u8> {
    match serde_json::from_slice(private) {
        Ok(Json::Object(mut members)) => {
            members.remove(PRIVATE);
            if members.is_empty() { Vec::new() } else { Json::Object(members).to_string().into_bytes() }
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Whether a text is what [`Placeholders`] has written.
fn is_placeholder(text: &str) -> bool {
    let is_number =
        |digits: &str, count| digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_one = |text: &str| {
        let digits = text.strip_prefix("secret-").or_else(|| text.strip_prefix("private-"));
        digits.is_some_and(|digits| is_number(digits, 5))
    };
    let is_repeating = || text.strip_suffix(')').and_then(|text| text.split_once('('));
    is_one(text)
        || text.starts_with("900") && is_number(text, 9)
        || is_repeating().is_some_and(|(own, part)| is_one(own) && is_one(part))
}

#[cfg(test)]
mod tests {
    use isthmus_known_secrets::Retention;

    use super::*;

    #[test]
    fn equal_secrets_have_the_same_placeholder_and_others_have_others() {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        assert_eq!(placeholders.text("hunter2", true), "secret-00001");
        assert_eq!(placeholders.text("sesame", true), "secret-00002");
        assert_eq!(placeholders.text("hunter2", true), "secret-00001");
        assert_eq!(placeholders.text("", true), "");
        assert_eq!(placeholders.number("31337", true), "900000003");
        // A program may write a number as a text.
        assert_eq!(placeholders.text("31337", true), "900000003");
        assert_eq!(placeholders.number("31338", false), "31338");
        // One that a bag writes with an exponent.
        assert_eq!(placeholders.number("1.2345678901234568e16", true), "900000004");
        assert!(!placeholders.boolean(true, true) && placeholders.boolean(false, true));
        assert!(placeholders.boolean(true, false));
    }

    #[test]
    fn a_known_secret_is_replaced_wherever_it_is() {
        let known = KnownSecrets::default();
        known.learn("open-sesame", Retention::Usual);
        known.learn("never-seen-alone", Retention::Usual);
        let mut placeholders = Placeholders::new(known, false);
        assert_eq!(placeholders.text("open-sesame", false), "secret-00001");
        assert_eq!(placeholders.text("say open-sesame!", false), "say secret-00001!");
        assert_eq!(placeholders.text("say never-seen-alone!", false), "say [secret]!");
        assert_eq!(placeholders.text("nothing", false), "nothing");
    }

    #[test]
    fn what_repeats_a_secret_of_the_configuration_repeats_its_placeholder() {
        let known = KnownSecrets::default();
        known.learn("hidden-region", Retention::Session);
        let mut placeholders = Placeholders::new(known, false);
        assert_eq!(placeholders.text("hidden-region", true), "secret-00001");
        for is_secret in [true, false] {
            assert_eq!(placeholders.text("in hidden-region", is_secret), "secret-00002(secret-00001)");
        }
        assert_eq!(placeholders.message("no hidden-region here"), "no secret-00001 here");
    }

    #[test]
    fn private_data_keeps_what_core_reads() {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        let timeouts = r#"{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":1},"schema_version":"1"}"#;
        assert_eq!(placeholders.private(timeouts.as_bytes()), timeouts);
        assert_eq!(placeholders.private(br#"{"a":"hunter2"}"#), r#"{"placeholder":"private-00001"}"#);
        assert_eq!(placeholders.private(b"hunter2"), "private-00002");
        assert_eq!(placeholders.private(b"hunter2"), "private-00002");
        assert_eq!(placeholders.private(b""), "");
        assert_eq!(without_placeholder(b"private-00002"), b"");
        assert_eq!(without_placeholder(br#"{"placeholder":"private-00001"}"#), b"");
        assert_eq!(without_placeholder(timeouts.as_bytes()), timeouts.as_bytes());
    }

    #[test]
    fn placeholders_stay_when_they_are_replayed() {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), true);
        for text in ["secret-00007", "secret-00002(secret-00001)", "900000003", "true"] {
            assert_eq!(placeholders.text(text, true), text);
        }
        for private in ["private-00002", r#"{"placeholder":"private-00001","schema_version":"1"}"#] {
            assert_eq!(placeholders.private(private.as_bytes()), private);
        }
        assert_eq!(placeholders.text("generated by another version", true), "secret-50001");
    }
}
