//! How the sandbox says what its types look like, and how each attribute behaves in a plan.
//!
//! One definition yields three things: the type that values of it have on the wire, the schema message of either
//! protocol (`protocol5.rs`, `protocol6.rs`), and the behaviour in a plan (`planning.rs`): whether a change replaces
//! the object, whether a computed value survives a change, what stands in for a value that nobody gave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type, Value};

/// A resource's, data source's or provider's schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// Version of the stored form; bumped together with an upgrade from the form before.
    pub version: i64,
    /// What it consists of.
    pub block: Block,
}

/// A data source, or something else that has a schema and no states.
#[derive(Debug)]
pub(crate) struct DataSource {
    /// Its schema.
    pub schema: Schema,
    /// The type of its values.
    pub kind: Type,
}

/// Attributes and nested blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// What a reader of the documentation should know, in Markdown.
    pub description: &'static str,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Its nested blocks.
    pub blocks: Vec<NestedBlock>,
}

/// One attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub shape: Shape,
    /// Who gives the value.
    pub presence: Presence,
    /// Not to be shown.
    pub sensitive: bool,
    /// In the configuration only, never in plan or state.
    pub write_only: bool,
    /// What a reader of the documentation should know.
    pub description: &'static str,
    /// Not to be used any more, and why.
    pub deprecation: Option<&'static str>,
    /// A change of the value replaces the object.
    pub replaces: bool,
    /// A computed value stays as it is when something else changes.
    pub keeps: bool,
    /// What the value is when the configuration gives none.
    pub default: Option<Value>,
}

/// What an attribute's values are.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Values of a type.
    Plain(Type),
    /// Objects with attributes of their own; protocol 6 only.
    Nested(Nesting, Vec<Attribute>),
}

/// Who gives an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The user must.
    Required,
    /// The user may.
    Optional,
    /// The provider does.
    Computed,
    /// The user may; otherwise the provider does.
    OptionalComputed,
}

/// A nested block.
#[derive(Clone, Debug)]
pub(crate) struct NestedBlock {
    /// Its name.
    pub name: &'static str,
    /// How it repeats.
    pub nesting: Nesting,
    /// What is in it.
    pub block: Block,
    /// Least number.
    pub minimum: i64,
    /// Greatest number; 0 for any.
    pub maximum: i64,
    /// Only the provider fills it; protocol 6 only.
    pub computed: bool,
}

/// How a nested block or a nested attribute repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// Once, or not at all.
    Single,
    /// In an order.
    List,
    /// Without an order.
    Set,
    /// By key.
    Map,
}

impl DataSource {
    /// One of this schema.
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
    /// A block of this name that repeats in this way any number of times.
    pub(crate) fn new(name: &'static str, nesting: Nesting, block: Block) -> Self {
        Self { name, nesting, block, minimum: 0, maximum: 0, computed: false }
    }

    /// The same, filled by the provider alone.
    #[must_use]
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn computed(self) -> Self {
        Self { computed: true, ..self }
    }

    /// The same with at most so many.
    #[must_use]
    pub(crate) fn at_most(self, maximum: i64) -> Self {
        Self { maximum, ..self }
    }

    /// The type of its value inside the surrounding block. Blocks of the sandbox have no dynamic attributes inside,
    /// which would turn lists into tuples.
    pub(crate) fn implied_type(&self) -> Type {
        self.nesting.around(self.block.implied_type())
    }
}

impl Nesting {
    /// The type of what repeats, given the type of one.
    fn around(self, one: Type) -> Type {
        match self {
            Self::Single => one,
            Self::List => Type::List(Arc::new(one)),
            Self::Set => Type::Set(Arc::new(one)),
            Self::Map => Type::Map(Arc::new(one)),
        }
    }

    /// The number on the wire, the same for blocks and for nested attributes.
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
    /// An attribute that the user must give.
    pub(crate) fn required(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Required)
    }

    /// An attribute that the user may give.
    pub(crate) fn optional(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Optional)
    }

    /// An attribute that the provider gives.
    pub(crate) fn computed(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::Computed)
    }

    /// An attribute that the provider gives if the user does not.
    pub(crate) fn optional_computed(name: &'static str, kind: Type) -> Self {
        Self::new(name, Shape::Plain(kind), Presence::OptionalComputed)
    }

    /// An attribute with attributes inside.
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

    /// With words for the documentation.
    #[must_use]
    pub(crate) fn described(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// Not to be shown.
    #[must_use]
    pub(crate) fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }

    /// Not to be used any more.
    #[must_use]
    pub(crate) fn deprecated(self, reason: &'static str) -> Self {
        Self { deprecation: Some(reason), ..self }
    }

    /// Only in the configuration.
    #[must_use]
    pub(crate) fn write_only(self) -> Self {
        Self { write_only: true, ..self }
    }

    /// A change replaces the object.
    #[must_use]
    pub(crate) fn replaces(self) -> Self {
        Self { replaces: true, ..self }
    }

    /// A computed value survives changes elsewhere.
    #[must_use]
    pub(crate) fn keeps(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// With a default. The attribute must be optional and computed, else the plan would not be valid.
    #[must_use]
    pub(crate) fn or(self, default: Value) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Whether the provider may give the value.
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

/// A map from strings to strings.
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
