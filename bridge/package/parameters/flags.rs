//! Flags, parsed as by Go's `pflag`.
//!
//! `--name value` and `--name=value` are equivalent; `--switch` alone is true; positional arguments
//! may be anywhere; `--` ends the flags. The parser is our own because users and scripts see its
//! error texts.

use std::collections::HashMap;

use crate::names::tokens::nearest;

/// An invalid flag.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FlagError {
    #[error("unknown flag: --{flag}{}", suggestion(*.nearest))]
    Unknown {
        /// As written.
        flag: String,
        /// The most similar flag.
        nearest: Option<&'static str>,
    },
    /// The only short flag is `-h`.
    #[error("unknown shorthand flag: {0:?} in -{1}")]
    UnknownShort(char, String),
    /// Two hyphens without a name.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// The last argument is a flag that requires a value.
    #[error("flag needs an argument: --{0}")]
    NoValue(String),
    #[error("invalid argument {value:?} for \"--{flag}\" flag: {reason}")]
    Value { flag: String, value: String, reason: String },
}

/// The type of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagKind {
    /// `--flag`, `--flag=false`
    Switch,
    /// `--flag text`
    Text,
    /// `--flag a,b`, any number of times
    List,
}

/// The arguments, separated into flags and positional ones.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) positional: Vec<String>,
    pub(super) help: bool,
    switches: HashMap<&'static str, bool>,
    texts: HashMap<&'static str, String>,
    lists: HashMap<&'static str, Vec<String>>,
}

impl Parsed {
    pub(super) fn switch(&self, flag: &str) -> bool {
        self.switches.get(flag).copied().unwrap_or_default()
    }

    pub(super) fn text(&mut self, flag: &str) -> Option<String> {
        self.texts.remove(flag).filter(|text| !text.is_empty())
    }

    pub(super) fn list(&mut self, flag: &str) -> Vec<String> {
        self.lists.remove(flag).unwrap_or_default()
    }

    fn set(&mut self, flag: &'static str, kind: FlagKind, value: &str) -> Result<(), FlagError> {
        let invalid = |reason| FlagError::Value { flag: flag.to_owned(), value: value.to_owned(), reason };
        match kind {
            FlagKind::Switch => {
                self.switches.insert(flag, truth(value).map_err(invalid)?);
            }
            FlagKind::Text => {
                self.texts.insert(flag, value.to_owned());
            }
            FlagKind::List => {
                self.lists.entry(flag).or_default().extend(comma_separated(value).map_err(invalid)?)
            }
        }
        Ok(())
    }
}

/// Parses `arguments`, until a help flag.
pub(super) fn parse(arguments: &[String], known: &[(&'static str, FlagKind)]) -> Result<Parsed, FlagError> {
    let mut parsed = Parsed::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            parsed.positional.extend(rest.by_ref().cloned());
        } else if let Some(flag) = argument.strip_prefix("--") {
            if flag.starts_with(['-', '=']) {
                return Err(FlagError::Syntax(argument.clone()));
            }
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            if name == "help" {
                parsed.help = value.map_or(Ok(true), truth).map_err(|reason| FlagError::Value {
                    flag: name.to_owned(),
                    value: value.unwrap_or_default().to_owned(),
                    reason,
                })?;
                continue;
            }
            let Some((name, kind)) = known.iter().find(|(known, _)| *known == name) else {
                let names = known.iter().map(|(known, _)| *known).chain(["help"]);
                return Err(FlagError::Unknown { flag: name.to_owned(), nearest: nearest(name, names) });
            };
            let value = match (value, kind) {
                (Some(value), _) => value,
                (None, FlagKind::Switch) => "true",
                (None, _) => rest.next().ok_or_else(|| FlagError::NoValue((*name).to_owned()))?,
            };
            parsed.set(name, *kind, value)?;
        } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            match letters.chars().find(|letter| *letter != 'h') {
                Some(letter) => {
                    let from = letters.find(letter).unwrap_or_default();
                    return Err(FlagError::UnknownShort(letter, letters[from..].to_owned()));
                }
                None => parsed.help = true,
            }
        } else {
            parsed.positional.push(argument.clone());
        }
    }
    Ok(parsed)
}

fn suggestion(flag: Option<&str>) -> String {
    flag.map_or_else(String::new, |flag| format!("; did you mean --{flag}?"))
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// The fields of the first line of comma-separated values. Commas may be quoted; two quotes are
/// one.
fn comma_separated(text: &str) -> Result<Vec<String>, String> {
    let line = text.lines().find(|line| !line.is_empty());
    let Some(line) = line else {
        return if text.is_empty() { Ok(Vec::new()) } else { Err("EOF".to_owned()) };
    };
    let wrong = |at: usize, what: &str| Err(format!("parse error on line 1, column {}: {what}", at + 1));
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let at = line.len() - rest.len();
        let after = if let Some(quoted) = rest.strip_prefix('"') {
            let mut field = String::new();
            let mut inside = quoted;
            loop {
                let Some(quote) = inside.find('"') else {
                    return wrong(line.len(), "extraneous or missing \" in quoted-field");
                };
                field.push_str(&inside[..quote]);
                inside = &inside[quote + 1..];
                match inside.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        inside = more;
                    }
                    None => break,
                }
            }
            fields.push(field);
            if !inside.is_empty() && !inside.starts_with(',') {
                return wrong(line.len() - inside.len() - 1, "extraneous or missing \" in quoted-field");
            }
            inside
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            if let Some(quote) = rest[..end].find('"') {
                return wrong(at + quote, "bare \" in non-quoted-field");
            }
            fields.push(rest[..end].to_owned());
            &rest[end..]
        };
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: &[(&str, FlagKind)] =
        &[("switch", FlagKind::Switch), ("text", FlagKind::Text), ("list", FlagKind::List)];

    fn arguments(line: &[&str]) -> Result<Parsed, FlagError> {
        parse(&line.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>(), KNOWN)
    }

    #[test]
    fn flags_and_positional_words_mix() {
        let mut parsed =
            arguments(&["a", "--text", "-x", "--list=1,2", "-", "--switch", "b", "--list", "3", "--", "--c"])
                .unwrap();
        assert_eq!(parsed.positional, ["a", "-", "b", "--c"]);
        assert_eq!(parsed.text("text").as_deref(), Some("-x"));
        assert_eq!(parsed.list("list"), ["1", "2", "3"]);
        assert!(parsed.switch("switch"));
        assert!(!parsed.help);
    }

    #[test]
    fn what_is_wrong_is_said_as_pflag_says_it() {
        for (line, text) in [
            (&["--what=1"][..], "unknown flag: --what"),
            (&["-xy"], "unknown shorthand flag: 'x' in -xy"),
            (&["-hx"], "unknown shorthand flag: 'x' in -x"),
            (&["--=1"], "bad flag syntax: --=1"),
            (&["---x"], "bad flag syntax: ---x"),
            (&["--text"], "flag needs an argument: --text"),
            (
                &["--switch=maybe"],
                "invalid argument \"maybe\" for \"--switch\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
            (
                &["--list", "a\"b"],
                "invalid argument \"a\\\"b\" for \"--list\" flag: parse error on line 1, column 2: bare \" in non-quoted-field",
            ),
        ] {
            assert_eq!(arguments(line).unwrap_err().to_string(), text, "{line:?}");
        }
    }

    #[test]
    fn help_is_heard_in_every_spelling() {
        for line in [&["-h"][..], &["--help"], &["a", "--help=1"]] {
            assert!(arguments(line).unwrap().help, "{line:?}");
        }
    }

    #[test]
    fn lists_are_comma_separated_values() {
        for (text, fields) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a,b,", &["a", "b", ""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"say \"\"x\"\"\"", &["say \"x\""]),
            ("a\nb", &["a"]),
        ] {
            assert_eq!(comma_separated(text).unwrap(), fields, "{text:?}");
        }
        assert!(comma_separated("\"open").is_err());
        assert!(comma_separated("\"a\"b").is_err());
        assert!(comma_separated("\n").is_err());
    }

    proptest! {
        #[test]
        fn any_words_are_answered(line in proptest::collection::vec("[-a-h=,\"\\n]{0,8}|--(switch|text|list)(=.*)?", 0..6)) {
            let _ = parse(&line, KNOWN);
        }
    }
}
