//! Schemas, and how attributes behave in a plan.
//!
//! From one definition follow the type of values, the schema message of either protocol
//! (`protocol5.rs`, `protocol6.rs`), and the behaviour in a plan (`planning.rs`): replacement,
//! computed values that are stable, defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type, Value};

#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// Schema version; incremented together with a state upgrader.
    pub version: i64,
    pub block: Block,
}

/// A schema without state, such as a data source's.
#[derive(Debug)]
pub(crate) struct DataSource {
    pub schema: Schema,
    /// The type of its values.
    pub kind: Type,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Description in Markdown.
    pub description: &'static str,
    pub attributes: Vec<Attribute>,
    pub blocks: Vec<NestedBlock>,
}

#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub name: &'static str,
    pub shape: Shape,
    /// Whether it is required, optional or computed.
    pub presence: Presence,
    pub sensitive: bool,
    /// In the configuration only, never in plan or state.
    pub write_only: bool,
    /// Description.
    pub description: &'static str,
    /// Deprecation message.
    pub deprecation: Option<&'static str>,
    /// A change requires replacement.
    pub replaces: bool,
    /// The computed value is stable.
    pub keeps: bool,
    /// The default value.
    pub default: Option<Value>,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A type.
    Plain(Type),
    /// Nested attributes; protocol 6 only.
    Nested(Nesting, Vec<Attribute>),
}

/// Who sets an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    Computed,
    /// Optional, and computed if not set.
    OptionalComputed,
}

#[derive(Clone, Debug)]
pub(crate) struct NestedBlock {
    pub name: &'static str,
    /// Its nesting.
    pub nesting: Nesting,
    pub block: Block,
    /// Minimum number.
    pub minimum: i64,
    /// Maximum number; 0: unlimited.
    pub maximum: i64,
    /// Computed; protocol 6 only.
    pub computed: bool,
}

/// Nesting of a block or an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    Single,
    List,
    Set,
    Map,
}

impl DataSource {
    pub(crate) fn new(schema: Schema) -> Self {
        Self { kind: schema.block.implied_type(), schema }
    }
}

impl Block {
    /// The type of the block's values.
    pub(crate) fn implied_type(&self) -> Type {
        let mut types = types_of(&self.attributes);
        types.extend(self.blocks.iter().map(|nested| (Arc::from(nested.name), nested.implied_type())));
        object_type(types)
    }
}

impl NestedBlock {
    /// A block that may occur any number of times.
    pub(crate) fn new(name: &'static str, nesting: Nesting, block: Block) -> Self {
        Self { name, nesting, block, minimum: 0, maximum: 0, computed: false }
    }

    /// Marks it as computed.
    #[must_use]
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn computed(self) -> Self {
        Self { computed: true, ..self }
    }

    /// Sets the maximum number.
    #[must_use]
    pub(crate) fn at_most(self, maximum: i64) -> Self {
        Self { maximum, ..self }
    }

    /// Its type in the surrounding block. The sandbox has no dynamic attributes in blocks, which
    /// would turn lists into tuples.
    pub(crate) fn implied_type(&self) -> Type {
        self.nesting.around(self.block.implied_type())
    }
}

impl Nesting {
    /// The type of the collection, given the element's.
    fn around(self, one: Type) -> Type {
        match self {
            Self::Single => one,
            Self::List => Type::List(Arc::new(one)),
            Self::Set => Type::Set(Arc::new(one)),
            Self::Map => Type::Map(Arc::new(one)),
        }
    }

    /// The number in the protocol, the same for blocks and nested attributes.
    pub(crate) const fn number(self) -> i32 {
        match self {
            Self::Single => 1,
            Self::List => 2,
            Self::Set => 3,
            Self::Map => 4,
        }
    }
}

impl Attribute {
    pub(crate) fn required(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Required)
    }

    pub(crate) fn optional(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Optional)
    }

    pub(crate) fn computed(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Computed)
    }

    pub(crate) fn optional_computed(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::OptionalComputed)
    }

    pub(crate) fn nested(
        name: &'static str,
        nesting: Nesting,
        presence: Presence,
        attributes: Vec<Self>,
    ) -> Self {
        Self::new(name, Shape::Nested(nesting, attributes), presence)
    }

    fn new(name: &'static str, shape: Shape, presence: Presence) -> Self {
        Self {
            name,
            shape,
            presence,
            sensitive: false,
            write_only: false,
            description: "",
            deprecation: None,
            replaces: false,
            keeps: false,
            default: None,
        }
    }

    #[must_use]
    pub(crate) fn described(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    #[must_use]
    pub(crate) fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }

    #[must_use]
    pub(crate) fn deprecated(self, reason: &'static str) -> Self {
        Self { deprecation: Some(reason), ..self }
    }

    #[must_use]
    pub(crate) fn write_only(self) -> Self {
        Self { write_only: true, ..self }
    }

    /// A change requires replacement.
    #[must_use]
    pub(crate) fn replaces(self) -> Self {
        Self { replaces: true, ..self }
    }

    /// The computed value is stable.
    #[must_use]
    pub(crate) fn keeps(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// Sets the default of an attribute, which must be optional and computed.
    #[must_use]
    pub(crate) fn or(self, default: Value) -> Self {
        Self { default: Some(default), ..self }
    }

    pub(crate) const fn is_computed(&self) -> bool {
        matches!(self.presence, Presence::Computed | Presence::OptionalComputed)
    }

    /// The type of its values.
    pub(crate) fn implied_type(&self) -> Type {
        match &self.shape {
            Shape::Plain(kind) => kind.clone(),
            Shape::Nested(nesting, attributes) => nesting.around(object_type(types_of(attributes))),
        }
    }
}

fn types_of(attributes: &[Attribute]) -> BTreeMap<Arc<str>, Type> {
    attributes.iter().map(|attribute| (Arc::from(attribute.name), attribute.implied_type())).collect()
}

fn object_type(attributes: BTreeMap<Arc<str>, Type>) -> Type {
    Type::Object(Arc::new(ObjectType { attributes, optional: BTreeSet::new() }))
}

/// A map of strings.
pub(crate) fn map_of_strings() -> Type {
    Type::Map(Arc::new(Type::String))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocks_type_has_its_attributes_and_its_blocks() {
        let disk = Block { attributes: vec![Attribute::required("size", Type::Number)], ..Block::default() };
        let block = Block {
            attributes: vec![Attribute::computed("id", Type::String)],
            blocks: vec![NestedBlock::new("disk", Nesting::List, disk)],
            ..Block::default()
        };

        let Type::Object(object) = block.implied_type() else { panic!("a block is an object") };
        let size = object_type(BTreeMap::from([(Arc::from("size"), Type::Number)]));
        assert_eq!(object.attributes.get("id"), Some(&Type::String));
        assert_eq!(object.attributes.get("disk"), Some(&Type::List(Arc::new(size))));
    }
}
