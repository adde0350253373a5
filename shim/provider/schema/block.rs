//! The compiled form of one schema: attributes, nested blocks, and the type of the object that they make up.

use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_proto::tfplugin6;

/// The schema of one resource, data source, or of a provider's own configuration.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Version of saved objects of this type; the provider upgrades older ones.
    pub version: i64,
    /// The outermost block.
    pub block: Block,
}

/// A block: what may stand between its braces.
#[derive(Clone, Debug)]
pub struct Block {
    /// Ordered by name.
    pub attributes: Vec<Attribute>,
    /// Ordered by name.
    pub blocks: Vec<NestedBlock>,
    /// Text for users, in `description_kind`.
    pub description: String,
    /// How `description` is written.
    pub description_kind: TextKind,
    /// Its use is discouraged.
    pub deprecated: bool,
    /// What to do instead, where the provider says so (5.10, 6.10).
    pub deprecation_message: String,
    /// A block that only the provider fills (6.11).
    pub computed: bool,
    /// There is something in it, at any depth, that is sensitive or write-only.
    pub has_secrets: bool,
    /// The object type of a value of this block: one attribute for each attribute and each nested block (core's
    /// "implied type").
    pub implied_type: Type,
}

/// One attribute of a block or of a nested attribute's object.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its Terraform name.
    pub name: Arc<str>,
    /// Its type, given directly or by nested attributes.
    pub attribute_type: AttributeType,
    /// Text for users.
    pub description: String,
    /// How `description` is written.
    pub description_kind: TextKind,
    /// Must be configured.
    pub required: bool,
    /// May be configured.
    pub optional: bool,
    /// The provider may fill it.
    pub computed: bool,
    /// Not to be shown.
    pub sensitive: bool,
    /// Never in plans or states, only in configurations (5.8, 6.8).
    pub write_only: bool,
    /// Its use is discouraged.
    pub deprecated: bool,
    /// What to do instead (5.10, 6.10).
    pub deprecation_message: String,
}

impl Attribute {
    /// Whether it is sensitive or write-only, or anything in it is.
    pub fn has_secrets(&self) -> bool {
        let within = match &self.attribute_type {
            AttributeType::Plain(_) => false,
            AttributeType::Nested(nested) => nested.attributes.iter().any(Self::has_secrets),
        };
        self.sensitive || self.write_only || within
    }
}

/// What an attribute is made of.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A plain type.
    Plain(Type),
    /// Nested attributes with flags of their own (protocol 6 only).
    Nested(NestedObject),
}

/// The object beneath a nested attribute.
#[derive(Clone, Debug)]
pub struct NestedObject {
    /// Ordered by name.
    pub attributes: Vec<Attribute>,
    /// How the object is collected.
    pub nesting: ObjectNesting,
    /// The type of the whole attribute (the object, or the collection of it).
    pub implied_type: Type,
}

/// How a nested attribute collects its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectNesting {
    /// One object.
    Single,
    /// `list(object)`
    List,
    /// `set(object)`
    Set,
    /// `map(object)`
    Map,
}

/// A block inside a block.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// Its Terraform name (`type_name` on the wire).
    pub name: Arc<str>,
    /// What stands in it.
    pub block: Block,
    /// How several are collected.
    pub nesting: BlockNesting,
    /// Fewest that must be written.
    pub min_items: u64,
    /// Most that may be written; 0 is no limit.
    pub max_items: u64,
    /// The type of the attribute that stands for this block in the enclosing object. For lists and maps of blocks with
    /// something dynamic inside it is [`Type::Dynamic`], as in core.
    pub implied_type: Type,
}

/// How nested blocks of one name are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one; absent is null.
    Single,
    /// Exactly one, made up of nulls where it is not written; never null.
    Group,
    /// In the order written; absent is empty.
    List,
    /// Without order; absent is empty.
    Set,
    /// By label; absent is empty.
    Map,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextKind {
    /// As it is.
    #[default]
    Plain,
    /// Markdown.
    Markdown,
}

impl TextKind {
    /// The kind that a number of the protocol stands for. Whatever is not known is shown as it is.
    pub fn from_wire(kind: i32) -> Self {
        match tfplugin6::StringKind::try_from(kind) {
            Ok(tfplugin6::StringKind::Markdown) => Self::Markdown,
            Ok(tfplugin6::StringKind::Plain) | Err(_) => Self::Plain,
        }
    }
}

impl AttributeType {
    /// The type of the attribute's value.
    pub fn implied_type(&self) -> &Type {
        match self {
            Self::Plain(plain) => plain,
            Self::Nested(nested) => &nested.implied_type,
        }
    }
}
