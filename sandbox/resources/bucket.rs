//! `sandbox_bucket`: a thing that is known by its name, which the user gives, or a beginning for it, or neither.

use bytes::Bytes;
use isthmus_cty::{Type, Value};
use tonic::Status;

use super::{Change, Outcome, Resource};
use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::protocol::{Minor, Protocol};
use crate::random;
use crate::schema::{Attribute, Block, Schema};

/// The resource. The state is all there is of it; nothing is kept in the directory.
#[derive(Debug)]
pub(super) struct Bucket;

const RANDOM_CHARACTERS: usize = 8;

impl Resource for Bucket {
    fn type_name(&self) -> &'static str {
        "sandbox_bucket"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::optional_computed("name", Type::String).keeps().replaces().described("Its name."),
            Attribute::optional("name_prefix", Type::String)
                .replaces()
                .described("What its name begins with, instead of a name."),
            Attribute::optional("region", Type::String).replaces().described("Where it is."),
        ];
        let description = "A bucket, which has a name of the user's or of its own.";
        Schema { version: 0, block: Block { description, attributes, blocks: Vec::new() } }
    }

    /// Says what HashiCorp's SDK says of attributes that exclude each other.
    fn validate(&self, _: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let mut diagnostics = Diagnostics::default();
        let names = ["name", "name_prefix"];
        if names.iter().any(|name| matches!(config.value(name), Value::Null)) {
            return Ok(diagnostics);
        }
        for (name, other) in names.into_iter().zip(names.into_iter().rev()) {
            let detail = format!("{name:?}: conflicts with {other}");
            diagnostics.push(Diagnostic::error("Conflicting configuration arguments", detail).at(at(name)));
        }
        Ok(diagnostics)
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        let made = call
            .new_id()
            .and_then(|id| Ok((id, call.random_text(RANDOM_CHARACTERS, random::LOWER_CASE_AND_DIGITS)?)));
        Ok(match made {
            Ok((id, characters)) => {
                planned.set_text("id", &id);
                if planned.text("name").is_none() {
                    let prefix = planned.text("name_prefix").unwrap_or("bucket-");
                    planned.set_text("name", &format!("{prefix}{characters}"));
                }
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
}
