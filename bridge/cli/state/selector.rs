//! Record arguments: a number, or type and id.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use isthmus_common::listed;
use isthmus_state::{EncryptedStore, Fault, RecordNumber, StackRecord};

use super::error::StateError;
use super::record::{Record, Records, warn_of};

/// `17`, or `random_pet/able-dog`. An id may contain anything, including slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    Number(i64),
    Resource {
        /// Terraform's resource type.
        type_name: String,
        /// The engine's id.
        id: String,
    },
    /// Anything else, which matches no record.
    Other(String),
}

impl FromStr for Selector {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match (text.parse(), text.split_once('/')) {
            (Ok(number), _) => Self::Number(number),
            (Err(_), Some((type_name, id))) => {
                Self::Resource { type_name: type_name.to_owned(), id: id.to_owned() }
            }
            (Err(_), None) => Self::Other(text.to_owned()),
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Resource { type_name, id } => write!(formatter, "{type_name}/{id}"),
            Self::Other(text) => text.fmt(formatter),
        }
    }
}

impl Selector {
    fn selects(&self, record: &Record) -> bool {
        match self {
            Self::Number(number) => record.number() == *number,
            Self::Resource { type_name, id } => record.key.type_name == *type_name && record.key.id == *id,
            Self::Other(_) => false,
        }
    }

    /// Whether it matches a record of a stack, by number or key.
    pub(super) fn selects_stack_record(&self, record: &StackRecord) -> bool {
        match self {
            Self::Number(number) => record.place.number.0 == *number,
            other => other.to_string() == record.key,
        }
    }

    /// The number of an unreadable record, if it matches one.
    pub(super) fn damaged(&self, faults: &[Fault]) -> Option<RecordNumber> {
        let Self::Number(number) = self else { return None };
        faults.iter().filter_map(|fault| fault.number).find(|damaged| damaged.0 == *number)
    }

    /// The only matching record.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub(super) fn find<'a>(
        &self,
        records: &'a [Record],
        state_store: &EncryptedStore,
    ) -> Result<&'a Record, StateError> {
        let found: Vec<&Record> = records.iter().filter(|record| self.selects(record)).collect();
        match found[..] {
            [record] => Ok(record),
            [] => Err(StateError::NoSuchRecord { selector: self.to_string(), store: state_store.location() }),
            _ => Err(StateError::SeveralRecords {
                selector: self.to_string(),
                count: found.len(),
                numbers: listed(found.iter().map(|record| record.number())),
            }),
        }
    }
}

impl Records {
    /// The only matching record.
    ///
    /// # Errors
    /// As [`Selector::find`], which also warns of unreadable records.
    pub(super) fn find(
        &self,
        selector: &Selector,
        state_store: &EncryptedStore,
    ) -> Result<&Record, StateError> {
        let found = selector.find(&self.records, state_store);
        if found.is_err() {
            warn_of(&self.faults);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_by_its_number_or_by_type_and_id() {
        let parse = |text: &str| text.parse::<Selector>().unwrap_or_else(|never| match never {});
        assert_eq!(parse("17"), Selector::Number(17));
        let resource =
            |id: &str| Selector::Resource { type_name: "random_pet".to_owned(), id: id.to_owned() };
        assert_eq!(parse("random_pet/able-dog"), resource("able-dog"));
        assert_eq!(parse("random_pet/a/b c/"), resource("a/b c/"));
        assert_eq!(parse("random_pet/"), resource(""));
        assert_eq!(parse("random_pet"), Selector::Other("random_pet".to_owned()));
    }
}
