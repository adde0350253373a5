//! Resources with odd ids and odd numbers, each odd in one way. The state is all there is of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::{Number, Type, Value};
use tonic::Status;

use super::{Change, Outcome, Planned, Resource};
use crate::call::Call;
use crate::diagnostics::Diagnostic;
use crate::object::Object;
use crate::planning::Plan;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema};

/// What is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// No id.
    Bare,
    /// No id, but an identity.
    Pair,
    /// The provider's id is a number.
    NumberId,
    /// The provider's id is an object.
    ObjectId,
    /// The user's id is a number.
    GivenId,
    /// The user may give an id.
    OptionalId,
    /// The id is sensitive.
    SecretId,
    /// There is an id in the schema, and none in the state.
    MissingId,
    /// Numbers at every place.
    Numbers,
    /// There are two where there may be one.
    Twice,
    /// There are blocks that only the provider fills (protocol 6).
    Filled,
}

/// All of them.
pub(super) const ALL: [Odd; 11] = [
    Odd::Bare,
    Odd::Pair,
    Odd::NumberId,
    Odd::ObjectId,
    Odd::GivenId,
    Odd::OptionalId,
    Odd::SecretId,
    Odd::MissingId,
    Odd::Numbers,
    Odd::Twice,
    Odd::Filled,
];

/// 2^53 + 1, the first whole number that no double holds.
const BEYOND_DOUBLES: i64 = 9_007_199_254_740_993;

impl Resource for Odd {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Bare => "sandbox_odd_bare",
            Self::Pair => "sandbox_odd_pair",
            Self::NumberId => "sandbox_odd_number_id",
            Self::ObjectId => "sandbox_odd_object_id",
            Self::GivenId => "sandbox_odd_given_id",
            Self::OptionalId => "sandbox_odd_optional_id",
            Self::SecretId => "sandbox_odd_secret_id",
            Self::MissingId => "sandbox_odd_missing_id",
            Self::Numbers => "sandbox_odd_numbers",
            Self::Twice => "sandbox_odd_twice",
            Self::Filled => "sandbox_odd_filled",
        }
    }

    fn schema(&self, protocol: Protocol, _: Minor) -> Schema {
        let label = Attribute::optional("label", Type::String).described("Anything.");
        let own = match self {
            Self::Bare => Vec::new(),
            Self::Pair => vec![
                Attribute::required("zone", Type::String).replaces(),
                Attribute::required("number", Type::Number).replaces(),
            ],
            Self::NumberId => vec![Attribute::computed("id", Type::Number).keeps()],
            Self::ObjectId => vec![Attribute::computed("id", id_type()).keeps()],
            Self::GivenId => vec![Attribute::required("id", Type::Number).replaces()],
            Self::OptionalId => vec![Attribute::optional("id", Type::String).replaces()],
            Self::SecretId => vec![Attribute::computed("id", Type::String).sensitive().keeps()],
            Self::MissingId | Self::Twice | Self::Filled => {
                vec![Attribute::computed("id", Type::String).keeps()]
            }
            Self::Numbers => vec![
                Attribute::computed("id", Type::String).keeps(),
                Attribute::optional("value", Type::Number),
                Attribute::optional("values", Type::list(Type::Number)),
                Attribute::optional("unique", Type::set(Type::Number)),
                Attribute::optional("by_name", Type::map(Type::Number)),
                Attribute::optional("inside", Type::object([("value", Type::Number)])),
                Attribute::computed("huge", Type::Number).keeps(),
                Attribute::optional_computed("open", Type::Dynamic).keeps(),
            ],
        };
        let inner =
            |name| Block { attributes: vec![Attribute::optional(name, Type::Number)], ..Block::default() };
        let blocks = match self {
            Self::Numbers => vec![NestedBlock::new("part", Nesting::Set, inner("value"))],
            Self::Twice => vec![NestedBlock::new("once", Nesting::List, inner("value")).at_most(1)],
            Self::Filled if protocol == Protocol::V6 => {
                let filled = || Block {
                    attributes: vec![Attribute::computed("value", Type::Number)],
                    ..Block::default()
                };
                vec![
                    NestedBlock::new("part", Nesting::List, filled()).computed(),
                    NestedBlock::new("only", Nesting::Single, filled()).computed(),
                ]
            }
            _ => Vec::new(),
        };
        let attributes = own.into_iter().chain([label]).collect();
        Schema { version: 0, block: Block { description: "Odd. For tests.", attributes, blocks } }
    }

    fn identity(&self) -> &'static [&'static str] {
        match self {
            Self::Pair => &["zone", "number"],
            _ => &[],
        }
    }

    fn plan(&self, _: &Call, _: &Change, plan: Plan) -> Result<Planned, Status> {
        let Some(mut planned) = Object::from_value(&plan.state).filter(|_| *self == Self::Filled) else {
            return Ok(Planned::from(plan));
        };
        for name in ["part", "only"] {
            if planned.0.get(name).is_some_and(|block| matches!(block, Value::Null)) {
                planned.set(name, Value::Unknown(None));
            }
        }
        Ok(Planned::from(Plan { state: planned.into_value(), ..plan }))
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        let number = || Value::Number(Number::from(BEYOND_DOUBLES));
        match self {
            Self::Bare | Self::Pair | Self::GivenId | Self::OptionalId => {}
            Self::NumberId => planned.set("id", number()),
            Self::ObjectId => {
                let id = BTreeMap::from([("number".into(), number()), ("zone".into(), Value::string("z"))]);
                planned.set("id", Value::Object(id));
            }
            Self::MissingId => planned.set("id", Value::Null),
            Self::SecretId | Self::Numbers | Self::Twice | Self::Filled => match call.new_id() {
                Ok(id) => planned.set_text("id", &id),
                Err(diagnostic) => return Ok(diagnostic.into()),
            },
        }
        if *self == Self::Numbers {
            planned.set("huge", number());
            if matches!(planned.value("open"), Value::Unknown(_)) {
                planned.set("open", Value::dynamic(Type::list(Type::Number), Value::List(vec![number()])));
            }
        }
        if *self == Self::Filled && planned.0.contains_key("part") {
            let filled = |value: i64| {
                Value::Object(BTreeMap::from([("value".into(), Value::Number(Number::from(value)))]))
            };
            planned.set("part", Value::List(vec![filled(1), filled(2)]));
            planned.set("only", filled(3));
        }
        if *self == Self::Twice {
            let once = Value::Object(BTreeMap::from([("value".into(), number())]));
            planned.set("once", Value::List(vec![once.clone(), once]));
        }
        Ok(Outcome::object(planned))
    }

    fn read(&self, _: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(Outcome::object(state).with_private(private))
    }

    fn update(&self, _: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        if *self == Self::MissingId {
            planned.set("id", Value::Null);
        }
        Ok(Outcome::object(planned))
    }

    fn delete(&self, _: &Call, _: &Change) -> Result<Outcome, Status> {
        Ok(Outcome::gone())
    }

    fn import(&self, call: &Call, id: &str) -> Result<Outcome, Status> {
        let mut object = Object::default();
        match self {
            Self::Bare => object.set_text("label", id),
            Self::SecretId => object.set_text("id", id),
            Self::Numbers => {
                object.set_text("id", id);
                object.set("value", Value::Number(Number::from(BEYOND_DOUBLES)));
            }
            _ => {
                let summary = "Resource Import Not Implemented";
                let detail = format!("Objects of type {} cannot be imported by an id.", call.type_name());
                return Ok(Diagnostic::error(summary, detail).into());
            }
        }
        Ok(Outcome::object(object))
    }

    fn import_identity(&self, _: &Call, identity: &Object) -> Result<Outcome, Status> {
        Ok(Outcome::object(identity.clone()))
    }
}

fn id_type() -> Type {
    Type::object([("number", Type::Number), ("zone", Type::String)])
}
