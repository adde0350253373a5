//! Why a file cannot be understood, without anything that is in it.
//!
//! What a parser says quotes the file: a line of it, a value that has the wrong type, a name that is unknown. The file may be another
//! one than the user meant, or one with secrets, and an error goes into logs of engines. So an error has the place, and the part
//! of the parser's message that is the parser's own.

use std::fmt;

/// A fault at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileFault {
    /// 0 where the place is not known.
    line: u64,
    column: u64,
    reason: String,
}

impl FileFault {
    fn new(line: u64, column: u64, message: &str) -> Self {
        Self { line, column, reason: own_part(message) }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, reason } = self;
        match line {
            0 => formatter.write_str(reason),
            _ => write!(formatter, "line {line}, column {column}: {reason}"),
        }
    }
}

impl From<serde_json::Error> for FileFault {
    fn from(error: serde_json::Error) -> Self {
        Self::new(number(error.line()), number(error.column()), without_place(&error.to_string()))
    }
}

impl From<serde_saphyr::Error> for FileFault {
    fn from(error: serde_saphyr::Error) -> Self {
        let place = error.location().map(|place| (place.line(), place.column())).unwrap_or_default();
        let text = error.without_snippet().to_string();
        Self::new(place.0, place.1, without_place(text.lines().next().unwrap_or_default()))
    }
}

impl From<hcl_edit::parser::Error> for FileFault {
    fn from(error: hcl_edit::parser::Error) -> Self {
        let place = error.location();
        // All of the message is the parser's own.
        let reason = error.message().to_owned();
        Self { line: number(place.line()), column: number(place.column()), reason }
    }
}

impl FileFault {
    /// Of a text in TOML.
    pub fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let before = text.get(..error.span().unwrap_or_default().start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::new(number(line), number(column), error.message())
    }
}

fn number(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A message without the place at its end, unless it has none.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// A message without what it quotes: from the first quotation on, up to what was expected, which are names of ours or signs.
fn own_part(message: &str) -> String {
    const EXPECTED: &str = ", expected ";
    let quotation = quotation(message);
    let expected = message.rfind(EXPECTED).unwrap_or(message.len());
    if expected < quotation || message.starts_with("expected ") || message.starts_with("missing field `") {
        return message.to_owned();
    }
    // What is between has the type of a value, such as `invalid type: string "x"`.
    let message_type = ["invalid type: ", "invalid value: "].iter().find_map(|kind| {
        let value = message.strip_prefix(kind)?;
        let end = value.find(['"', '`', ',']).unwrap_or(value.len());
        Some(format!("{kind}{}", value[..end].trim_end()))
    });
    let own = message_type.unwrap_or_else(|| message[..quotation].trim_end().to_owned());
    format!("{own}{}", &message[expected..])
}

/// Where a message begins to quote. A sign in quotes, such as `':'`, is the parser's own.
fn quotation(message: &str) -> usize {
    let mut from = 0;
    while let Some(found) = message[from..].find(['"', '`', '\'', ':', '[']) {
        let at = from + found;
        match message.as_bytes()[at..] {
            [b'\'', sign, b'\'', ..] if sign.is_ascii_punctuation() => from = at + 3,
            _ => return at,
        }
    }
    message.len()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const SECRET: &str = "hunter2";

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        #[serde(rename = "known")]
        _known: Known,
        #[serde(rename = "flag", default)]
        _flag: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Known {
        One,
        Two,
    }

    /// What the fault of a text is, in each format.
    fn faults() -> Vec<String> {
        let json = [
            r#"{"known": "hunter2"}"#,
            r#"{"known": "one", "flag": "hunter2"}"#,
            r#"{"hunter2": 1}"#,
            r#"{"known": "one", "known": "hunter2"}"#,
            r#"{"flag": false}"#,
            r#"{"known": hunter2}"#,
            r#""hunter2""#,
        ];
        let yaml = [
            "known: hunter2",
            "known: one\nflag: hunter2",
            "hunter2: 1",
            "known: one\nhunter2: 1\nhunter2: 2\n",
            "a: [hunter2",
        ];
        let toml = [
            "known = \"hunter2\"",
            "known = \"one\"\nflag = \"hunter2\"",
            "hunter2 = 1",
            "known = \"one\"\nhunter2",
            "hunter2 = 1\nhunter2 = 2",
            "[default]\nkey = hunter2",
        ];
        let hcl = ["a = hunter2 hunter2", "a = \"hunter2", "hunter2", "terraform {"];
        let mut all: Vec<FileFault> = Vec::new();
        all.extend(json.map(|text| serde_json::from_str::<Document>(text).expect_err(text).into()));
        all.extend(yaml.map(|text| serde_saphyr::from_str::<Document>(text).expect_err(text).into()));
        let sequence = "a: [one\n: hunter2]";
        all.push(serde_saphyr::from_str::<serde_json::Value>(sequence).expect_err(sequence).into());
        all.extend(
            toml.map(|text| FileFault::of_toml(text, &toml::from_str::<Document>(text).expect_err(text))),
        );
        all.extend(hcl.map(|text| hcl_edit::parser::parse_body(text).expect_err(text).into()));
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_fault_has_its_place_and_nothing_that_is_in_the_file() {
        for fault in faults() {
            assert!(fault.starts_with("line ") && !fault.contains(SECRET), "{fault}");
        }
        assert_eq!(faults()[0], "line 1, column 19: unknown variant, expected `one` or `two`");
        assert_eq!(faults()[1], "line 1, column 34: invalid type: string, expected a boolean");
        assert_eq!(faults()[4], "line 1, column 15: missing field `known`");
        let whole = [
            "line 2, column 1: illegal placement of ':' indicator",
            "line 1, column 12: invalid block body; expected `}`, newline or identifier",
            "line 2, column 7: invalid boolean",
        ];
        for fault in whole {
            assert!(faults().iter().any(|found| found == fault), "{fault}: {:#?}", faults());
        }
    }
}
