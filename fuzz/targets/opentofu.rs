//! What OpenTofu makes of the same bytes.
//!
//! `tests/tools/tofu-oracle` is a program with OpenTofu's own packages, which answers line by line.
//! Differences that are intended are listed here; any other is a bug on one side.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use isthmus_cty::Value;
use isthmus_cty::json::{from_json, to_json};
use isthmus_cty::msgpack::{decode, encode};
use isthmus_install::{ProviderAddress, VersionConstraint, fuzzing};
use semver::Version;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::install::versions_near;
use crate::input;

/// What OpenTofu makes of an input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    text: String,
    allowed: Vec<bool>,
    /// In base64.
    bytes: String,
    error: String,
    panic: String,
}

impl Answer {
    fn is_accepted(&self) -> bool {
        self.error.is_empty() && self.panic.is_empty()
    }

    fn bytes(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.bytes).expect("base64")
    }
}

/// A version constraint that we accept has the same canonical form and allows the same releases.
///
/// Prereleases are compared otherwise on purpose (`shim/install/constraint.rs`); and we refuse more.
pub(crate) fn constraints(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(constraint) = VersionConstraint::parse(text) else { return };
    let mut candidates = versions_near(&constraint);
    // There, 0.0.0 stands for no version, and what follows the largest number is 0.
    let is_odd = |Version { major, minor, patch, .. }: &Version| {
        (*major, *minor, *patch) == (0, 0, 0) || [*major, *minor, *patch].contains(&u64::MAX)
    };
    candidates.retain(|version| version.pre.is_empty() && version.build.is_empty() && !is_odd(version));
    let versions: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    let answer = asked(&json!({"constraint": text, "versions": versions}));
    assert!(answer.is_accepted(), "{text:?}: {answer:?}");
    assert_eq!(constraint.canonical(), answer.text, "{text:?}");
    for (version, allowed) in candidates.iter().zip(answer.allowed) {
        assert_eq!(constraint.allows(version), allowed, "{version} by {text:?}");
    }
}

/// A provider address that we accept has the same full form; we refuse more.
///
/// Not all scripts: the tables of Unicode are of other versions there, which refuse U+04C0. And no two hyphens, which Go's
/// library looks for at the third byte of a label instead of its third character.
pub(crate) fn addresses(bytes: &[u8]) {
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| {
        text.chars().all(|letter| letter < '\u{530}' && letter != '\u{4c0}') && !text.contains("--")
    }) else {
        return;
    };
    let Ok(address) = ProviderAddress::parse(text) else { return };
    let answer = asked(&json!({"address": text}));
    assert!(answer.is_accepted(), "{text:?}: {answer:?}");
    assert_eq!(address.to_string(), answer.text, "{text:?}");
}

/// A lock file that we accept is accepted there, and written again to the same lines, apart from the
/// comments at its head. What OpenTofu writes is accepted here.
///
/// It sorts hashes when it adds one, but not those that it has read; hence a comparison of lines, and
/// one of what we make of both.
pub(crate) fn lock_file(bytes: &[u8]) {
    // Our parser allows control characters in strings. And Go escapes what its version of
    // Unicode does not know, where we write each character as it is: so only characters that all versions know.
    let is_known = |character: char| match character {
        '\n' | '\t' | ' '..='~' => true,
        character => ('\u{a1}'..='\u{24f}').contains(&character) && character != '\u{ad}',
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = text.replace("\r\n", "\n");
    if !text.strip_prefix('\u{feff}').unwrap_or(&text).chars().all(is_known) {
        return;
    }
    let ours = fuzzing::rewritten_lock_file(bytes);
    // They may be escaped in the file.
    if ours.as_ref().is_some_and(|ours| !ours.chars().all(is_known)) {
        return;
    }
    let answer = asked(&json!({"lock": BASE64_STANDARD.encode(bytes)}));
    assert!(answer.panic.is_empty() || ours.is_none(), "{answer:?}");
    let theirs = answer.is_accepted().then(|| String::from_utf8(answer.bytes()).expect("a text"));
    let (Some(ours), Some(theirs)) = (&ours, theirs) else {
        // They accept more, such as versions that are not semantic ones; and our parser has more syntax.
        let refuses_content = ["Invalid provider", "Non-normalized", "Duplicate provider"];
        let is_content = refuses_content.iter().any(|summary| answer.error.contains(summary));
        return assert!(ours.is_none() || !is_content, "{answer:?} for:\n{ours:?}");
    };
    let again =
        fuzzing::rewritten_lock_file(theirs.as_bytes()).unwrap_or_else(|| panic!("refused:\n{theirs}"));
    let lines = |file: &str| without_head(file).lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(lines(&again), lines(&theirs));
    assert_eq!(without_head(ours), without_head(&again));
}

fn without_head(file: &str) -> &str {
    file.find("\n\nprovider ").map_or("", |end| &file[end..])
}

/// MessagePack that we decode as a value that conforms is decoded and encoded to the same bytes.
pub(crate) fn msgpack(bytes: &[u8]) {
    let (own, message) = input::typed(bytes);
    let Ok(value) = decode(message, &own) else { return };
    let (Ok(()), Ok(written)) = (value.conforms(&own), encode(&value, &own)) else { return };
    if is_comparable(&value, message) {
        // go-cty loses its place in refinements behind one that it does not know; they begin with this
        // byte. What we write is compared then.
        let sent = if message.contains(&0x0c) { &written } else { message };
        let answer = asked(&json!({"type": type_json(&own), "msgpack": BASE64_STANDARD.encode(sent)}));
        assert!(answer.is_accepted(), "{answer:?} for {value:?}");
        assert_eq!(hex::encode(written), hex::encode(answer.bytes()), "{value:?}");
    }
}

/// JSON that we decode as a value that conforms is decoded and encoded to the same bytes.
pub(crate) fn json(bytes: &[u8]) {
    let (own, document) = input::typed(bytes);
    let Ok(value) = from_json(document, &own) else { return };
    let (Ok(()), Ok(written)) = (value.conforms(&own), to_json(&value, &own)) else { return };
    if is_comparable(&value, document) {
        let answer = asked(&json!({"type": type_json(&own), "json": BASE64_STANDARD.encode(document)}));
        assert!(answer.is_accepted(), "{answer:?} for {value:?}");
        assert_eq!(written, String::from_utf8_lossy(&answer.bytes()), "{value:?}");
    }
}

/// Whether go-cty writes the value exactly, and always in one form. It rounds numbers to 512 bits,
/// about 154 digits. Composite elements of a set are sorted by texts in which numbers have ten digits,
/// and those with equal texts are in no order. And 0 and -0 are two elements
/// of a set, and 0 with a large exponent is refused.
fn is_comparable(value: &Value, sent: &[u8]) -> bool {
    let (mut longest_number, mut has_zero) = (0, false);
    let (mut has_set, mut is_sorted_by_text) = (false, false);
    let walked = value.walk(&mut |_, inner| {
        match inner {
            Value::Number(number) => {
                let text = number.to_decimal_text();
                longest_number = longest_number.max(text.len());
                has_zero |= matches!(text.as_str(), "0" | "-0");
            }
            Value::Set(elements) => {
                has_set = true;
                is_sorted_by_text |= elements.iter().any(is_composite);
            }
            _ => {}
        }
        Ok::<_, Infallible>(true)
    });
    let Ok(()) = walked;
    // Of ten, and of two.
    let has_exponent = sent.iter().any(|byte| matches!(byte, b'e' | b'E' | b'p' | b'P'));
    longest_number <= if is_sorted_by_text { 10 } else { 150 } && !(has_zero && (has_set || has_exponent))
}

fn is_composite(value: &Value) -> bool {
    value.elements().is_some() || value.entries().is_some()
}

fn type_json(own: &isthmus_cty::Type) -> Json {
    serde_json::from_str(&own.to_json()).expect("a type's JSON")
}

struct Oracle {
    _child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The answer of the program, which is started with the first question.
fn asked(question: &Json) -> Answer {
    static ORACLE: OnceLock<Mutex<Oracle>> = OnceLock::new();
    let oracle = ORACLE.get_or_init(|| Mutex::new(started()));
    let mut oracle = oracle.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(oracle.questions, "{question}").expect("the program reads");
    let mut line = String::new();
    oracle.answers.read_line(&mut line).expect("the program answers");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?} to {question}"))
}

fn started() -> Oracle {
    let program = std::env::var_os("FUZZ_ORACLE").expect("FUZZ_ORACLE names tests/tools/tofu-oracle");
    let command = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = command.expect("the program starts");
    let questions = child.stdin.take().expect("a pipe");
    let answers = BufReader::new(child.stdout.take().expect("a pipe"));
    Oracle { _child: child, questions, answers }
}
