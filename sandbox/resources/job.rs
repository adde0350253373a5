//! Jobs: what is done to them takes as long as one says, and no longer than they are allowed, which they learn in each of
//! the three ways that providers have for it.
//!
//! A block and an attribute `timeouts` are configuration like other; providers read them from the plan, and when they delete
//! or read, from the state. The old SDK has the block, too, but keeps what it read there among its private bytes, under a
//! key of its own, with the defaults filled in; deletion and reading go by those bytes alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use isthmus_cty::{ObjectType, Type};
use serde_json::json;
use tonic::Status;

use super::{Change, Outcome, Resource};
use crate::call::Call;
use crate::diagnostics::Diagnostic;
use crate::duration;
use crate::object::Object;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Presence, Schema};

/// The resources. The state is all there is of a job; nothing is kept in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// `sandbox_job`: a block.
    Block,
    /// `sandbox_task`: an attribute, with attributes inside on protocol 6, of an object type on protocol 5.
    Attribute,
    /// `sandbox_chore`: a block, and the SDK's private bytes.
    Sdk,
}

pub(super) const ALL: [Job; 3] = [Job::Block, Job::Attribute, Job::Sdk];

const OPERATIONS: [&str; 4] = ["create", "read", "update", "delete"];

/// Under which the SDK keeps timeouts, in nanoseconds.
const SDK_KEY: &str = "e2bfb730-ecaa-11e6-8f88-34363bc7c4c0";

/// How long an operation may take when nobody says.
const DEFAULT: Duration = Duration::from_secs(20 * 60);

impl Resource for Job {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Block => "sandbox_job",
            Self::Attribute => "sandbox_task",
            Self::Sdk => "sandbox_chore",
        }
    }

    fn schema(&self, protocol: Protocol, _: Minor) -> Schema {
        let mut attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::optional("size", Type::Number).described("Something to change."),
            Attribute::optional("takes", Type::String).described("How long, such as 250ms or 3s."),
            Attribute::optional("during", Type::String)
                .described("What takes so long: `create` unless given, `update`, `delete` or `read`."),
            Attribute::computed("allowed", Type::String)
                .described("How long making or changing it was allowed to take, as it was told."),
        ];
        let timeouts = OPERATIONS.map(|name| Attribute::optional(name, Type::String)).to_vec();
        let mut blocks = Vec::new();
        match (self, protocol) {
            (Self::Block | Self::Sdk, _) => {
                let timeouts = Block { attributes: timeouts, ..Block::default() };
                blocks.push(NestedBlock::new("timeouts", Nesting::Single, timeouts));
            }
            (Self::Attribute, Protocol::V6) => {
                attributes.push(Attribute::nested("timeouts", Nesting::Single, Presence::Optional, timeouts));
            }
            (Self::Attribute, Protocol::V5) => {
                let attributes_of = OPERATIONS.map(|name| (Arc::from(name), Type::String));
                let object =
                    ObjectType { attributes: BTreeMap::from(attributes_of), optional: BTreeSet::new() };
                attributes.push(Attribute::optional("timeouts", Type::Object(Arc::new(object))));
            }
        }
        let description = "A job, which takes its time, and no more than it is allowed.";
        Schema { version: 0, block: Block { description, attributes, blocks } }
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        match call.new_id() {
            Ok(id) => planned.set_text("id", &id),
            Err(diagnostic) => return Ok(diagnostic.into()),
        }
        Ok(self.work(call, "create", planned))
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        let allowed = self.kept(&state, &private, "read");
        let outcome = match wait(call, &state, "read", allowed.as_deref()) {
            Ok(()) => Outcome::object(state),
            Err(diagnostic) => Outcome::partial(state, diagnostic),
        };
        Ok(outcome.with_private(private))
    }

    fn update(&self, call: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        Ok(self.work(call, "update", planned))
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let allowed = self.kept(&prior, &change.private, "delete");
        Ok(match wait(call, &prior, "delete", allowed.as_deref()) {
            Ok(()) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(prior, diagnostic).with_private(change.private.clone()),
        })
    }
}

impl Job {
    /// Makes or changes the job. When time runs out, it is there all the same.
    fn work(self, call: &Call, operation: &str, mut job: Object) -> Outcome {
        let timeouts = job.object("timeouts").unwrap_or_default();
        let allowed = timeouts.text(operation).map(str::to_owned);
        job.set_text("allowed", allowed.as_deref().unwrap_or_default());
        let private = if self == Self::Sdk { sdk_private(&timeouts) } else { Bytes::new() };
        let outcome = match wait(call, &job, operation, allowed.as_deref()) {
            Ok(()) => Outcome::object(job),
            Err(diagnostic) => Outcome::partial(job, diagnostic),
        };
        outcome.with_private(private)
    }

    /// How long an operation may take that has no configuration.
    fn kept(self, state: &Object, private: &Bytes, operation: &str) -> Option<String> {
        if self != Self::Sdk {
            return state.object("timeouts")?.text(operation).map(str::to_owned);
        }
        let private: serde_json::Value = serde_json::from_slice(private).ok()?;
        Some(format!("{}ns", private[SDK_KEY][operation].as_u64()?))
    }
}

/// Works for as long as the job takes, if it is this operation that takes long.
fn wait(call: &Call, job: &Object, operation: &str, allowed: Option<&str>) -> Result<(), Diagnostic> {
    let takes = job.text("takes").and_then(duration::parse).unwrap_or_default();
    if job.text("during").unwrap_or("create") != operation {
        return Ok(());
    }
    let limit = allowed.and_then(duration::parse).unwrap_or(DEFAULT);
    match (call.wait(takes.min(limit)), takes <= limit) {
        (true, true) => Ok(()),
        (true, false) => {
            let allowed = allowed.unwrap_or("as long as by default");
            let detail = format!("The timeout of {operation} is {allowed}.");
            Err(Diagnostic::error(format!("To {operation} the job took too long"), detail))
        }
        (false, _) => {
            Err(Diagnostic::error("The job was interrupted", format!("It was busy with {operation}.")))
        }
    }
}

/// What the SDK keeps: the configuration's timeouts, and defaults for all others.
fn sdk_private(timeouts: &Object) -> Bytes {
    let nanoseconds = OPERATIONS.map(|operation| {
        let given = timeouts.text(operation).and_then(duration::parse);
        let nanoseconds = u64::try_from(given.unwrap_or(DEFAULT).as_nanos()).unwrap_or(u64::MAX);
        (operation.to_owned(), json!(nanoseconds))
    });
    let timeouts = serde_json::Value::Object(nanoseconds.into_iter().collect());
    Bytes::from(json!({ SDK_KEY: timeouts, "schema_version": "0" }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_keeps_defaults_among_what_was_configured() {
        let mut timeouts = Object::default();
        timeouts.set_text("create", "1m0s");
        let private = sdk_private(&timeouts);
        let kept = |operation| Job::Sdk.kept(&Object::default(), &private, operation);
        assert_eq!(kept("create").as_deref(), Some("60000000000ns"));
        assert_eq!(kept("delete").as_deref(), Some("1200000000000ns"));
    }
}
