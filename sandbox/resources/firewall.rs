//! `sandbox_firewall`: sets of sets of sets, as the largest resources of real providers have them.

use bytes::Bytes;
use isthmus_cty::{Type, Value};
use sha2::{Digest as _, Sha256};
use tonic::Status;

use super::{Change, Outcome, Resource};
use crate::call::Call;
use crate::object::Object;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema};

/// The resource.
#[derive(Debug)]
pub(super) struct Firewall;

impl Resource for Firewall {
    fn type_name(&self) -> &'static str {
        "sandbox_firewall"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let matching = Block {
            attributes: vec![
                Attribute::required("field", Type::String).described("What is looked at."),
                Attribute::optional("value", Type::String).described("What it has to be."),
            ],
            ..Block::default()
        };
        let statement = Block {
            attributes: vec![
                Attribute::required("kind", Type::String).described("How matches are combined."),
            ],
            blocks: vec![NestedBlock::new("match", Nesting::Set, matching)],
            ..Block::default()
        };
        let rule = Block {
            attributes: vec![
                Attribute::required("name", Type::String).described("What the rule is called."),
                Attribute::optional("priority", Type::Number),
                Attribute::computed("id", Type::String)
                    .keeps()
                    .described("Another one whenever the rule changes."),
            ],
            blocks: vec![NestedBlock::new("statement", Nesting::Set, statement)],
            ..Block::default()
        };
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::optional("ports", Type::set(Type::Number)).described("What is open at all."),
        ];
        let blocks = vec![NestedBlock::new("rule", Nesting::Set, rule)];
        let description = "A firewall, whose rules have no order, and neither has anything in them.";
        Schema { version: 0, block: Block { description, attributes, blocks } }
    }

    fn create(&self, call: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        Ok(call.new_id().and_then(|id| save(call, &id, planned)).unwrap_or_else(Outcome::from))
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(match call.load(state.text("id").unwrap_or_default()) {
            Ok(Some(object)) => Outcome::object(object).with_private(private),
            Ok(None) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(state, diagnostic).with_private(private),
        })
    }

    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let id = prior.text("id").unwrap_or_default();
        Ok(save(call, id, planned).unwrap_or_else(|diagnostic| Outcome::partial(prior.clone(), diagnostic)))
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        Ok(match call.remove(prior.text("id").unwrap_or_default()) {
            Ok(_) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(prior, diagnostic),
        })
    }

    fn import(&self, _: &Call, id: &str) -> Result<Outcome, Status> {
        let mut object = Object::default();
        object.set_text("id", id);
        Ok(Outcome::object(object))
    }
}

/// Names each new rule by what is in it, and keeps the firewall.
fn save(call: &Call, id: &str, mut firewall: Object) -> Result<Outcome, crate::diagnostics::Diagnostic> {
    firewall.set_text("id", id);
    firewall.change_elements("rule", |_, rule| {
        if matches!(rule.value("id"), Value::Unknown(_)) {
            rule.set("id", Value::Null);
            let digest = Sha256::digest(format!("{:?}", rule.clone().into_value()));
            rule.set_text("id", &format!("rule-{}", hex::encode(&digest[..4])));
        }
    });
    call.save(id, &firewall)?;
    Ok(Outcome::object(firewall))
}
