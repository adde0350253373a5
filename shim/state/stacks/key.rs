//! Keys of the records of a state: four letters for the kind, then what the record is about.
//!
//! The letters' case says what a reader is to do with a kind that it does not know: refuse the state where the first one is
//! large, keep the record as it is where the last one is, else drop it.

use std::fmt;
use std::str::FromStr;

use crate::addresses::{
    AddressSyntaxError, ComponentAddress, DeposedKey, Fault, ObjectAddress, ResourceAddress, Scanner,
};

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum StateKey {
    /// `RSRC`: an object of a resource.
    Object {
        /// The component that it belongs to.
        component: ComponentAddress,
        /// Which object.
        object: ObjectAddress,
    },
    /// `CMPT`: a component.
    Component(ComponentAddress),
    /// `OTPT`: an output of the stack.
    Output(String),
    /// `VRBL`: an input of the stack.
    Variable(String),
    /// Something that is not known.
    Unknown {
        /// Four letters.
        kind: String,
        /// Everything behind them.
        rest: String,
    },
}

/// What is to be done with a record of a kind that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The state means something else without it.
    Refuse,
    /// It stays as it is, to the byte.
    Preserve,
    /// It may be wrong once anything else has changed.
    Discard,
}

/// A text is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateKeyError {
    /// It does not start with four letters.
    #[error("a key starts with four letters")]
    Kind,
    /// What follows them is no address.
    #[error(transparent)]
    Address(#[from] AddressSyntaxError),
}

/// What stands for an object that is not deposed.
const CURRENT: &str = "cur";

impl StateKey {
    /// What is to be done with the record where its kind is not known.
    pub(super) fn treatment(kind: &str) -> Treatment {
        let is_large = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_uppercase());
        if is_large(kind.chars().next()) {
            Treatment::Refuse
        } else if is_large(kind.chars().next_back()) {
            Treatment::Preserve
        } else {
            Treatment::Discard
        }
    }
}

impl FromStr for StateKey {
    type Err = StateKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_at_checked(4).ok_or(StateKeyError::Kind)?;
        if !kind.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(StateKeyError::Kind);
        }
        Ok(match kind {
            "RSRC" => {
                let (component, object) = Scanner::read_all(rest, "an object of a stack", object)?;
                Self::Object { component, object }
            }
            "CMPT" => Self::Component(rest.parse()?),
            "OTPT" => Self::Output(named(rest, "output.", "an output of a stack")?),
            "VRBL" => Self::Variable(named(rest, "var.", "an input of a stack")?),
            _ => Self::Unknown { kind: kind.to_owned(), rest: rest.to_owned() },
        })
    }
}

/// `COMPONENT,OBJECT,cur`, or the key of a deposed object. Keys of instances may contain commas, so it is read from left
/// to right.
fn object(scanner: &mut Scanner<'_>) -> Result<(ComponentAddress, ObjectAddress), Fault> {
    let component = scanner.component()?;
    scanner.expect(',')?;
    let mut object = scanner.object()?;
    scanner.expect(',')?;
    let last = scanner.rest();
    if last != CURRENT {
        let invalid = scanner.fault("`cur` or eight hexadecimal digits are expected");
        object.deposed = Some(DeposedKey::parse(last).ok_or(invalid)?);
    }
    scanner.take_word(last);
    Ok((component, object))
}

fn named(text: &str, prefix: &str, what: &'static str) -> Result<String, AddressSyntaxError> {
    Scanner::read_all(text, what, |scanner| {
        if !scanner.take_word(prefix) {
            let reason = if prefix == "var." { "`var.` is expected" } else { "`output.` is expected" };
            return Err(scanner.fault(reason));
        }
        scanner.identifier()
    })
}

impl fmt::Display for StateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { component, object } => {
                let deposed = object.deposed.as_ref().map_or(CURRENT, DeposedKey::as_str);
                write!(formatter, "RSRC{component},{object},{deposed}")
            }
            Self::Component(component) => write!(formatter, "CMPT{component}"),
            Self::Output(name) => write!(formatter, "OTPToutput.{name}"),
            Self::Variable(name) => write!(formatter, "VRBLvar.{name}"),
            Self::Unknown { kind, rest } => write!(formatter, "{kind}{rest}"),
        }
    }
}

/// The kind of a state's record, and its address or name, by its key.
pub fn kind_and_name(key: &str) -> (&'static str, &str) {
    let known = [("CMPT", "component"), ("OTPToutput.", "output"), ("VRBLvar.", "input")];
    let known = known.iter().find_map(|(prefix, kind)| Some((*kind, key.strip_prefix(prefix)?)));
    known.unwrap_or(("unknown", key))
}

/// Whether a text can stand for an input or output.
pub(super) fn is_name(text: &str) -> bool {
    ResourceAddress::is_name(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_written_alike() {
        for text in [
            "RSRCcomponent.foo,aws_instance.bar,cur",
            r#"RSRCcomponent.foo["a,a"],aws_instance.bar["c,c"],cur"#,
            r#"RSRCcomponent.foo["a\",a"],aws_instance.bar["c\\"],cur"#,
            r#"RSRCstack.beep["a"].component.foo["b"],module.boop[1].aws_instance.bar[2],facecafe"#,
            "CMPTcomponent.foo",
            r#"CMPTstack.boop.component.foo["b,b"]"#,
            "OTPToutput.o",
            "VRBLvar.v",
            "aaaa",
            "AAAAany,thing",
            "aaaA\u{0}",
        ] {
            let key: StateKey = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "aaa",
            "aaa!",
            "aaaé",
            "RSRC",
            "RSRCcomponent.foo",
            "RSRCcomponent.foo,aws_instance.bar",
            "RSRCcomponent.foo,aws_instance.bar,",
            "RSRCcomponent.foo,aws_instance.bar,beef",
            "RSRCcomponent.foo,aws_instance.bar,FACECAFE",
            "RSRCcomponent.foo,aws_instance.bar,cur,",
            "CMPT",
            "CMPTcomponent.foo,",
            "OTPTo",
            "OTPTstack.a.output.o",
            "VRBLoutput.v",
        ] {
            text.parse::<StateKey>().expect_err(text);
        }
    }

    #[test]
    fn the_case_of_its_letters_says_what_to_do_with_an_unknown_kind() {
        for (kind, treatment) in [
            ("NEWK", Treatment::Refuse),
            ("Newk", Treatment::Refuse),
            ("newK", Treatment::Preserve),
            ("nEWK", Treatment::Preserve),
            ("newk", Treatment::Discard),
            ("nEWk", Treatment::Discard),
        ] {
            assert_eq!(StateKey::treatment(kind), treatment, "{kind}");
        }
    }
}
