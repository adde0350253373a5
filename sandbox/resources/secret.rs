//! `sandbox_secret`: random text that is stable until its keepers change.

use bytes::Bytes;
use isthmus_cty::{Type, Value};
use serde_json::Map;
use tonic::Status;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::protocol::{Minor, Protocol};
use crate::random;
use crate::resource::{Change, Outcome, Resource};
use crate::schema::{Attribute, Block, Schema, map_of_strings};

/// The resource. It stores nothing in the directory.
#[derive(Debug)]
pub(super) struct Secret {
    /// The attribute with the number of characters.
    length: &'static str,
    version: i64,
}

impl Secret {
    pub(super) const CURRENT: Self = Self { length: "length", version: 0 };

    /// As another version of the provider has it, which upgrades the current one's state.
    #[cfg(feature = "misbehaviour")]
    pub(super) const NEWER: Self = Self { length: "size", version: 1 };
}

const LENGTHS: std::ops::RangeInclusive<i64> = 1..=1024;

impl Resource for Secret {
    fn type_name(&self) -> &'static str {
        "sandbox_secret"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::required(self.length, Type::Number)
                .replaces()
                .described("How many characters, 1 to 1024."),
            Attribute::optional("keepers", map_of_strings())
                .replaces()
                .described("Arbitrary texts; when one changes, so does the secret."),
            Attribute::computed("value", Type::String).sensitive().keeps().described("The secret."),
        ];
        let description = "A random text of letters and digits.";
        Schema { version: self.version, block: Block { description, attributes, blocks: Vec::new() } }
    }

    fn validate(&self, _: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let wrong = match config.value(self.length) {
            Value::Number(number) => !number.as_i64().is_some_and(|length| LENGTHS.contains(&length)),
            _ => false,
        };
        if !wrong {
            return Ok(Diagnostics::default());
        }
        let detail = "The length is a whole number from 1 to 1024.";
        Ok(Diagnostic::error("No such length", detail).at(at(self.length)).into())
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        let length =
            planned.integer(self.length).and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
        let made =
            call.new_id().and_then(|id| Ok((id, call.random_text(length, random::LETTERS_AND_DIGITS)?)));
        Ok(match made {
            Ok((id, value)) => {
                planned.set_text("id", &id);
                planned.set_text("value", &value);
                Outcome::object(planned)
            }
            Err(diagnostic) => diagnostic.into(),
        })
    }

    fn read(&self, _: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(Outcome::object(state).with_private(private))
    }

    fn update(&self, _: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        Ok(Outcome::object(planned))
    }

    fn delete(&self, _: &Call, _: &Change) -> Result<Outcome, Status> {
        Ok(Outcome::gone())
    }

    fn upgrade(&self, _: i64, mut stored: Map<String, serde_json::Value>) -> Map<String, serde_json::Value> {
        if let Some(length) = stored.remove(Self::CURRENT.length) {
            stored.insert(self.length.to_owned(), length);
        }
        stored
    }
}
