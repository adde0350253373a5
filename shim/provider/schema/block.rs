//! The compiled form of a schema: attributes, nested blocks, and the implied type.

use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_proto::tfplugin6;

/// The schema of one resource, data source, or of a provider's own configuration.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Schema version; the provider upgrades older objects.
    pub version: i64,
    /// Its root block.
    pub block: Block,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Ordered by name.
    pub attributes: Vec<Attribute>,
    /// Ordered by name.
    pub blocks: Vec<NestedBlock>,
    /// Text for users, in `description_kind`.
    pub description: String,
    /// Format of `description`.
    pub description_kind: TextKind,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// Deprecation message, if any (5.10, 6.10).
    pub deprecation_message: String,
    /// A computed block (6.11).
    pub computed: bool,
    /// Whether it contains sensitive or write-only attributes, at any depth.
    pub has_secrets: bool,
    /// The object type of the block: an attribute for each attribute and each nested block (core's
    /// "implied type").
    pub implied_type: Type,
}

/// An attribute of a block or of a nested attribute's object.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub attribute_type: AttributeType,
    /// Description for users.
    pub description: String,
    /// Format of `description`.
    pub description_kind: TextKind,
    /// Must be configured.
    pub required: bool,
    /// May be configured.
    pub optional: bool,
    /// The provider may set it.
    pub computed: bool,
    /// Must not be shown.
    pub sensitive: bool,
    /// In configurations only (5.8, 6.8).
    pub write_only: bool,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// Deprecation message, if any (5.10, 6.10).
    pub deprecation_message: String,
}

impl Attribute {
    /// Whether it is sensitive or write-only, or contains such an attribute.
    pub fn has_secrets(&self) -> bool {
        let within = match &self.attribute_type {
            AttributeType::Plain(_) => false,
            AttributeType::Nested(nested) => nested.attributes.iter().any(Self::has_secrets),
        };
        self.sensitive || self.write_only || within
    }
}

/// Type of an attribute.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A plain type.
    Plain(Type),
    /// Nested attributes (protocol 6 only).
    Nested(NestedObject),
}

/// The object of a nested attribute.
#[derive(Clone, Debug)]
pub struct NestedObject {
    /// Ordered by name.
    pub attributes: Vec<Attribute>,
    /// Its nesting mode.
    pub nesting: ObjectNesting,
    /// The type of the whole attribute (the object, or the collection of it).
    pub implied_type: Type,
}

/// Nesting mode of an attribute.
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

/// A nested block.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// Its name.
    pub name: Arc<str>,
    /// Its root block.
    pub block: Block,
    /// Its nesting mode.
    pub nesting: BlockNesting,
    /// Minimum number.
    pub min_items: u64,
    /// Maximum number; 0: no limit.
    pub max_items: u64,
    /// The type of this block's attribute in the enclosing object. For lists and maps of blocks
    /// with dynamic attributes it is [`Type::Dynamic`], as in core.
    pub implied_type: Type,
}

/// Nesting mode of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNesting {
    /// At most one; absent is null.
    Single,
    /// Exactly one, with null attributes if absent; never null.
    Group,
    /// Ordered; absent is empty.
    List,
    /// Unordered; absent is empty.
    Set,
    /// By label; absent is empty.
    Map,
}

/// Format of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextKind {
    /// Plain text.
    #[default]
    Plain,
    /// Markdown.
    Markdown,
}

impl TextKind {
    /// The format by its number in the protocol; plain text if unknown.
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
