//! Parsers of setting values: strict, so that a mistyped value is rejected instead of ignored.
//!
//! Keywords are parsed without regard to case and surrounding white space. An error never contains
//! the value, which may be secret.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use isthmus_common::Secret;
use isthmus_state::{StoreAddress, StoreError};

use isthmus_package::names::plain_results::PlainResults;

/// The longest period: a day. Clocks may not support much longer ones.
const LONGEST_PERIOD: f64 = 86_400.0;

/// The most of a [`count`], which is what a semaphore can count.
const MOST: usize = tokio::sync::Semaphore::MAX_PERMITS;

const KEY_DIGITS: usize = 64;

/// Lower bound of [`mebibytes`].
const LEAST_MEBIBYTES: u64 = 16;
const MEBIBYTE: u64 = 1 << 20;

const BOOLEANS: [(&str, bool); 8] = [
    ("true", true),
    ("yes", true),
    ("on", true),
    ("1", true),
    ("false", false),
    ("no", false),
    ("off", false),
    ("0", false),
];

pub(super) fn boolean(value: &OsStr) -> Result<bool, String> {
    choice(&BOOLEANS)(value).map_err(|_| "not a boolean".to_owned())
}

/// Parses one of these keywords.
pub(super) fn choice<T: Copy>(values: &[(&str, T)]) -> impl Fn(&OsStr) -> Result<T, String> {
    move |value| {
        let text = text(value)?.trim();
        let found = values.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|(_, meaning)| *meaning).ok_or_else(|| "unknown value".to_owned())
    }
}

/// Parses a comma-separated list.
pub(super) fn list(value: &OsStr) -> Result<Vec<String>, String> {
    let entries = text(value)?.split(',').map(str::trim);
    let entries =
        entries.map(|entry| if entry.is_empty() { Err("an empty entry") } else { Ok(entry.to_owned()) });
    entries.collect::<Result<_, _>>().map_err(str::to_owned)
}

/// Parses functions whose results have no secrets.
pub(super) fn plain_results(value: &OsStr) -> Result<PlainResults, String> {
    PlainResults::parse(text(value)?.trim())
        .map_err(|_| "not `none`, `*`, or functions such as `data.acme_user`".to_owned())
}

/// Parses a number of seconds, up to a day.
pub(super) fn seconds(value: &OsStr) -> Result<Duration, String> {
    let seconds: f64 = text(value)?.trim().parse().map_err(|_| "not a number".to_owned())?;
    let in_range = Some(seconds).filter(|seconds| (0.0..=LONGEST_PERIOD).contains(seconds));
    in_range
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "out of range".to_owned())
}

/// Parses a number of mebibytes into bytes. Fewer than a process takes by itself are out of range.
pub(super) fn mebibytes(value: &OsStr) -> Result<u64, String> {
    let mebibytes: u64 = text(value)?.trim().parse().map_err(|_| "not a whole number".to_owned())?;
    let in_range = Some(mebibytes).filter(|mebibytes| *mebibytes >= LEAST_MEBIBYTES);
    in_range.and_then(|mebibytes| mebibytes.checked_mul(MEBIBYTE)).ok_or_else(|| "out of range".to_owned())
}

/// Parses a number of things, of which there is at least one.
pub(super) fn count(value: &OsStr) -> Result<usize, String> {
    let count: usize = text(value)?.trim().parse().map_err(|_| "not a whole number".to_owned())?;
    Some(count).filter(|count| (1..=MOST).contains(count)).ok_or_else(|| "out of range".to_owned())
}

/// Parses an IP address and a port.
pub(super) fn address(value: &OsStr) -> Result<SocketAddr, String> {
    text(value)?.trim().parse().map_err(|_| "not an IP address and a port".to_owned())
}

/// Parses a path. A leading `~` is rejected: only shells expand it.
pub(super) fn path(value: &OsStr) -> Result<PathBuf, String> {
    if value.as_encoded_bytes().starts_with(b"~") {
        return Err("starts with `~`, which only a shell expands: write the whole path".to_owned());
    }
    Ok(PathBuf::from(value))
}

pub(super) fn key(value: &OsStr) -> Result<Secret, String> {
    let digits = text(value)?.trim();
    let count = digits.chars().count();
    if count != KEY_DIGITS {
        return Err(format!("{count} characters instead of {KEY_DIGITS}"));
    }
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("not only hexadecimal digits".to_owned());
    }
    Ok(Secret::new(digits.to_owned()))
}

/// A passphrase, unchanged.
pub(super) fn passphrase(value: &OsStr) -> Result<Secret, String> {
    text(value).map(|text| Secret::new(text.to_owned()))
}

pub(super) fn store(value: &OsStr) -> Result<StoreAddress, String> {
    let Ok(text) = text(value) else { return path(value).map(StoreAddress::File) };
    let address = StoreAddress::parse(text).map_err(|error| match error {
        StoreError::Address { reason } => reason,
        other => other.to_string(),
    });
    match address? {
        // As a file name, the address would be shown in every message about the store.
        StoreAddress::File(_) if is_misspelt_address(text) => {
            Err("looks like the address of a server without `postgres://`".to_owned())
        }
        StoreAddress::File(_) => path(value).map(StoreAddress::File),
        other => Ok(other),
    }
}

/// An address with an invalid scheme, or in libpq's other form.
fn is_misspelt_address(text: &str) -> bool {
    let has_password =
        text.split_once('@').is_some_and(|(before, _)| before.contains(':') || before.contains("//"));
    has_password || ["host=", "password=", "dbname="].iter().any(|keyword| text.contains(keyword))
}

pub(super) fn text(value: &OsStr) -> Result<&str, String> {
    value.to_str().ok_or_else(|| "not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn value(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn a_boolean_has_eight_spellings_in_any_letter_case() {
        for (text, expected) in [
            ("true", true),
            ("YES", true),
            ("On", true),
            (" 1\n", true),
            ("False", false),
            ("no", false),
            ("0", false),
        ] {
            assert_eq!(boolean(value(text)), Ok(expected), "{text}");
        }
        for text in ["", " ", "y", "2", "01", "truee", "true false", "enabled"] {
            assert_eq!(boolean(value(text)), Err("not a boolean".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_list_has_commas_and_no_empty_entry() {
        assert_eq!(list(value("root, 1000,ann")), Ok(["root", "1000", "ann"].map(str::to_owned).to_vec()));
        for text in ["", ",", "root,", "root,,ann"] {
            assert_eq!(list(value(text)), Err("an empty entry".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_period_is_a_number_of_seconds_up_to_a_day() {
        assert_eq!(seconds(value("0.5")), Ok(Duration::from_millis(500)));
        assert_eq!(seconds(value("0")), Ok(Duration::ZERO));
        assert_eq!(seconds(value("86400")), Ok(Duration::from_secs(86_400)));
        for text in ["", "5s", "-1", "NaN", "inf", "86401"] {
            seconds(value(text)).expect_err(text);
        }
    }

    #[test]
    fn a_store_is_a_file_or_the_address_of_a_server() {
        for file in ["state.sqlite", "/data/a b", "/data/me@host.sqlite", "C:state"] {
            assert_eq!(format!("{:?}", store(value(file))), format!("Ok(File({file:?}))"));
        }
        let damaged = OsStr::from_bytes(b"/data/\xff");
        assert!(matches!(store(damaged), Ok(StoreAddress::File(path)) if path.as_os_str() == damaged));
        assert!(matches!(store(value("postgres://me:word@db.internal/a")), Ok(StoreAddress::Server(_))));
        for text in [
            "mysql://me:sesame@host/a",
            "postgres://?password=sesame",
            "postgres:/me:sesame@host/a",
            "postgres//me:sesame@host/a",
            "me:sesame@host/a",
            "host=db password=sesame",
            "~/sesame",
        ] {
            let reason = store(value(text)).expect_err(text);
            assert!(!reason.contains("sesame"), "{text}: {reason}");
        }
    }

    #[test]
    fn a_reason_repeats_no_key() {
        let digits = "0123456789abcdefABCDEF0123456789".repeat(2);
        assert!(key(value(&digits)).is_ok() && key(value(&format!("{digits}\n"))).is_ok());
        for text in
            ["", "0123", &digits[1..], &format!("{digits}0"), &digits.replace('a', "g"), &"é".repeat(64)]
        {
            let reason = key(value(text)).expect_err(text);
            assert!(text.is_empty() || !reason.contains(text), "{text}: {reason}");
        }
        assert_eq!(passphrase(OsStr::from_bytes(b"\xff")), Err("not UTF-8".to_owned()));
    }
}
