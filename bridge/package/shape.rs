//! Shapes: a Terraform schema and its Pulumi names, compiled together.
//!
//! All code that walks a property bag and a Terraform value side by side (inputs, outputs, paths of
//! diagnostics, diffs, the package schema) walks a shape, so that names are computed once per
//! resource instead of per call. A Pulumi name is mapped back by lookup of the forward result,
//! which is therefore exact.

mod compile;

use std::collections::HashMap;
use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_provider::schema::{Schema, TextKind};

pub(crate) use compile::compile_chosen_type;
pub use compile::{
    PackageNaming, compile_config, compile_data_source, compile_list, compile_resource, compile_type,
};

use crate::names::casing::is_name;
use crate::names::properties::Nameable;

/// A resource (or data source, ephemeral resource, action, or the provider's configuration) on both
/// sides.
#[derive(Debug)]
pub struct ResourceShape {
    /// The Pulumi token, such as `random:index/randomPet:RandomPet`. Empty for the provider's
    /// configuration.
    pub token: String,
    /// Terraform's type name, such as `random_pet`. Empty for the provider's configuration.
    pub terraform_type: Arc<str>,
    pub schema: Arc<Schema>,
    /// The root object.
    pub object: Arc<ObjectShape>,
    pub id: IdRule,
}

/// Origin of a resource's Pulumi id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdRule {
    /// Attribute `id` is a computed-only string: it is the Pulumi id, and no property of its own.
    Computed,
    /// Attribute `id` can be configured, and every object has one; its value is also the property
    /// of this Pulumi name.
    Property(String),
    /// There is an attribute `id`, but it may be absent, or is computed-only and no string. The Go
    /// bridge never uses it as the id; states that it wrote have another.
    Perhaps(String),
    /// There is no attribute `id`.
    Missing,
}

/// An object's fields, with lookup by either name.
#[derive(Debug, Default)]
pub struct ObjectShape {
    /// Ordered by Terraform name.
    pub fields: Vec<Field>,
    /// Pulumi name to index in `fields`.
    pub by_pulumi: HashMap<String, usize>,
    /// Terraform name to index in `fields`.
    pub by_terraform: HashMap<Arc<str>, usize>,
}

/// An attribute or nested block.
#[derive(Debug)]
pub struct Field {
    /// Terraform's name.
    pub terraform: Arc<str>,
    /// Pulumi's name.
    pub pulumi: String,
    pub shape: Shape,
    /// The cty type of the attribute for this field in its object (core's implied type).
    pub implied_type: Type,
    /// A nested block rather than an attribute.
    pub is_block: bool,
    /// A block of at most one item that is a list in Pulumi all the same, by the user's choice.
    pub is_unflattened: bool,
    /// Must be configured (blocks: `min_items` > 0).
    pub required: bool,
    /// May be configured.
    pub optional: bool,
    /// The provider may set it.
    pub computed: bool,
    pub sensitive: bool,
    /// Never in outputs.
    pub write_only: bool,
    /// Deprecated, with the provider's message (may be empty).
    pub deprecated: Option<String>,
    pub description: String,
    pub description_kind: TextKind,
}

/// The type of a field, or of an element of a collection.
#[derive(Clone, Debug)]
pub enum Shape {
    Bool,
    Number,
    String,
    /// A value with its own type.
    Dynamic,
    List(Arc<Self>),
    /// A set; a list in Pulumi, which has no sets.
    Set(Arc<Self>),
    /// A map with the user's own keys.
    Map(Arc<Self>),
    /// An object with named fields.
    Object(Arc<ObjectShape>),
    Tuple(Vec<Self>),
    /// A list block of at most one item, which Pulumi flattens to the item.
    FlattenedList(Arc<Self>),
    /// A set block of at most one item, which Pulumi flattens to the item.
    FlattenedSet(Arc<Self>),
}

impl ObjectShape {
    /// The field with the Pulumi name `name`.
    pub fn pulumi(&self, name: &str) -> Option<&Field> {
        self.by_pulumi.get(name).map(|index| &self.fields[*index])
    }

    /// The fields that have names in generated code.
    pub fn named(&self) -> impl DoubleEndedIterator<Item = &Field> {
        self.fields.iter().filter(|field| field.has_name())
    }

    /// The field with the Terraform name `name`.
    pub fn terraform(&self, name: &str) -> Option<&Field> {
        self.by_terraform.get(name).map(|index| &self.fields[*index])
    }
}

impl Shape {
    /// The object in values of this shape, at any depth of collections.
    pub fn object(&self) -> Option<&Arc<ObjectShape>> {
        match self {
            Self::Object(object) => Some(object),
            Self::List(element)
            | Self::Set(element)
            | Self::Map(element)
            | Self::FlattenedList(element)
            | Self::FlattenedSet(element) => element.object(),
            Self::Bool | Self::Number | Self::String | Self::Dynamic | Self::Tuple(_) => None,
        }
    }

    /// Whether values may contain objects with named fields.
    pub fn has_objects(&self) -> bool {
        self.object().is_some()
    }
}

impl Field {
    /// Whether its Pulumi name is one in generated code.
    pub fn has_name(&self) -> bool {
        is_name(&self.pulumi)
    }

    /// Whether its value is never shown.
    pub fn is_secret(&self) -> bool {
        self.sensitive || self.write_only
    }

    /// The input of the field's name, without a choice.
    pub fn nameable(&self) -> Nameable<'_> {
        let several = matches!(self.shape, Shape::List(_) | Shape::Set(_));
        Nameable { terraform: &self.terraform, several, chosen: None }
    }
}

impl ResourceShape {
    /// The property with autonaming: a top-level string `name` that can be configured.
    pub fn autonamed(&self) -> Option<&Field> {
        self.object
            .terraform("name")
            .filter(|field| matches!(field.shape, Shape::String) && (field.optional || field.required))
    }
}
