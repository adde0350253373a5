//! How records are named on the command line: by their number, or by type and id.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use isthmus_state::{EncryptedStore, RecordNumber};

use super::error::StateError;
use super::record::{Record, Records, tell_of};

/// `17`, or `random_pet/able-dog`. An id may contain anything, further slashes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// The number of the record.
    Number(i64),
    /// A type and an id.
    Resource {
        /// The resource's type, in Terraform's spelling.
        type_name: String,
        /// The id that the engine knows it by.
        id: String,
    },
    /// Nothing that a record could be named by; it stands for no record.
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

    /// The only record that it stands for.
    ///
    /// # Errors
    /// When there is none, or more than one.
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
                numbers: found
                    .iter()
                    .map(|record| record.number().to_string())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }
}

impl Records {
    /// The only record that a selector stands for.
    ///
    /// # Errors
    /// As of [`Selector::find`]; then it is also told what could not be read.
    pub(super) fn find(
        &self,
        selector: &Selector,
        state_store: &EncryptedStore,
    ) -> Result<&Record, StateError> {
        let found = selector.find(&self.records, state_store);
        if found.is_err() {
            tell_of(&self.faults);
        }
        found
    }

    /// The number of a record that cannot be read, if that is what a selector stands for.
    pub(super) fn damaged(&self, selector: &Selector) -> Option<RecordNumber> {
        let Selector::Number(number) = selector else { return None };
        self.faults.iter().filter_map(|fault| fault.number).find(|damaged| damaged.0 == *number)
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
