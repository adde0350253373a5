//! Compilation of schema messages to [`Schema`], with Terraform's checks.
//!
//! The rules are those of core's `InternalValidate`. An error has the path in the schema, for the
//! provider's developers.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type};
use isthmus_proto::tfplugin6;

use super::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TextKind,
};

/// Maximum depth of blocks and nested attributes. Real providers have about twenty; the limit
/// prevents a stack overflow.
const MAX_DEPTH: usize = 200;

/// A violation in a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if path.is_empty() { String::new() } else { format!("at {path}: ") })]
pub struct SchemaError {
    /// Names of blocks and attributes from the root, joined with dots; empty for the schema itself.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl SchemaError {
    pub(super) fn root(reason: String) -> Self {
        Self { path: String::new(), reason }
    }
}

/// Compiles a schema message.
pub fn compile(schema: &tfplugin6::Schema) -> Result<Schema, SchemaError> {
    let empty = tfplugin6::schema::Block::default();
    let block = Position::root().block(schema.block.as_ref().unwrap_or(&empty))?;
    Ok(Schema { version: schema.version, block })
}

/// The compiler's position, for errors and the depth limit.
struct Position<'a> {
    parent: Option<&'a Self>,
    name: &'a str,
    depth: usize,
}

impl<'a> Position<'a> {
    fn root() -> Self {
        Self { parent: None, name: "", depth: 0 }
    }

    fn child(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), name, depth: self.depth + 1 }
    }

    fn error(&self, reason: impl Into<String>) -> SchemaError {
        let mut names = Vec::new();
        let mut place = Some(self);
        while let Some(here) = place {
            if !here.name.is_empty() {
                names.push(here.name);
            }
            place = here.parent;
        }
        names.reverse();
        SchemaError { path: names.join("."), reason: reason.into() }
    }

    #[expect(
        deprecated,
        reason = "the flag still says that a block is deprecated; only newer providers send a message"
    )]
    fn block(&self, message: &tfplugin6::schema::Block) -> Result<Block, SchemaError> {
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("blocks are nested deeper than {MAX_DEPTH}")));
        }
        let attributes = self.attributes(&message.attributes)?;
        let mut blocks = Vec::with_capacity(message.block_types.len());
        for nested in &message.block_types {
            blocks.push(self.child(&nested.type_name).nested_block(nested)?);
        }
        blocks.sort_by(|left: &NestedBlock, right| left.name.cmp(&right.name));
        let implied_type = self.object_type(&attributes, &blocks)?;
        let has_secrets = attributes.iter().any(Attribute::has_secrets)
            || blocks.iter().any(|nested| nested.block.has_secrets);
        Ok(Block {
            attributes,
            blocks,
            has_secrets,
            description: message.description.clone(),
            description_kind: TextKind::from_wire(message.description_kind),
            deprecated: message.deprecated,
            deprecation_message: message.deprecation_message.clone(),
            computed: message.computed,
            implied_type,
        })
    }

    fn attributes(&self, messages: &[tfplugin6::schema::Attribute]) -> Result<Vec<Attribute>, SchemaError> {
        let mut attributes = Vec::with_capacity(messages.len());
        for message in messages {
            attributes.push(self.child(&message.name).attribute(message)?);
        }
        attributes.sort_by(|left: &Attribute, right| left.name.cmp(&right.name));
        Ok(attributes)
    }

    #[expect(
        deprecated,
        reason = "the flag still says that it is deprecated; only newer providers send a message"
    )]
    fn attribute(&self, message: &tfplugin6::schema::Attribute) -> Result<Attribute, SchemaError> {
        if message.name.is_empty() {
            return Err(self.error("an attribute has no name"));
        }
        if !(message.required || message.optional || message.computed) {
            return Err(self.error("an attribute is neither required, optional nor computed"));
        }
        if message.required && (message.optional || message.computed) {
            return Err(self.error("a required attribute is optional or computed as well"));
        }
        if !message.deprecation_message.is_empty() && !message.deprecated {
            return Err(self.error("an attribute says why it is deprecated, but not that it is"));
        }
        let attribute_type = match (&message.nested_type, message.r#type.is_empty()) {
            (Some(_), false) => return Err(self.error("an attribute has both a type and nested attributes")),
            (None, true) => return Err(self.error("an attribute has no type")),
            (Some(object), true) => AttributeType::Nested(self.nested_object(object)?),
            (None, false) => {
                let constraint = Type::from_json(&message.r#type)
                    .map_err(|error| self.error(format!("its type cannot be read: {error}")))?;
                AttributeType::Plain(constraint)
            }
        };
        Ok(Attribute {
            name: Arc::from(message.name.as_str()),
            attribute_type,
            description: message.description.clone(),
            description_kind: TextKind::from_wire(message.description_kind),
            required: message.required,
            optional: message.optional,
            computed: message.computed,
            sensitive: message.sensitive,
            write_only: message.write_only,
            deprecated: message.deprecated,
            deprecation_message: message.deprecation_message.clone(),
        })
    }

    fn nested_object(&self, message: &tfplugin6::schema::Object) -> Result<NestedObject, SchemaError> {
        use tfplugin6::schema::object::NestingMode;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("nested attributes are deeper than {MAX_DEPTH}")));
        }
        let nesting = match NestingMode::try_from(message.nesting) {
            Ok(NestingMode::Single) => ObjectNesting::Single,
            Ok(NestingMode::List) => ObjectNesting::List,
            Ok(NestingMode::Set) => ObjectNesting::Set,
            Ok(NestingMode::Map) => ObjectNesting::Map,
            Ok(NestingMode::Invalid) | Err(_) => {
                return Err(self
                    .error(format!("nested attributes have the unknown nesting mode {}", message.nesting)));
            }
        };
        let attributes = self.attributes(&message.attributes)?;
        let object = self.object_type(&attributes, &[])?;
        let implied_type = match nesting {
            ObjectNesting::Single => object,
            ObjectNesting::List => Type::List(Arc::new(object)),
            ObjectNesting::Set => {
                self.without_write_only(&attributes, &[])?;
                self.set_of(object)?
            }
            ObjectNesting::Map => Type::Map(Arc::new(object)),
        };
        Ok(NestedObject { attributes, nesting, implied_type })
    }

    fn nested_block(&self, message: &tfplugin6::schema::NestedBlock) -> Result<NestedBlock, SchemaError> {
        use tfplugin6::schema::nested_block::NestingMode;
        let name_is_valid = !message.type_name.is_empty()
            && message.type_name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if !name_is_valid {
            return Err(self.error(format!("{:?} is not a name for a block", message.type_name)));
        }
        let empty = tfplugin6::schema::Block::default();
        let block = self.block(message.block.as_ref().unwrap_or(&empty))?;
        let (Ok(min_items), Ok(max_items)) =
            (u64::try_from(message.min_items), u64::try_from(message.max_items))
        else {
            return Err(self.error("a number of blocks is negative"));
        };
        if block.computed {
            self.all_computed(&block)?;
            if matches!(NestingMode::try_from(message.nesting), Ok(NestingMode::Group)) || min_items > 0 {
                return Err(self.error("a computed block cannot be one that must be there"));
            }
        }
        let object = block.implied_type.clone();
        let dynamic_inside = object.is_dynamic_inside();
        let (nesting, implied_type) = match NestingMode::try_from(message.nesting) {
            Ok(NestingMode::Single) => {
                // Both 1: required. SDKs send 0 for both. Core refuses 0 and 1, but its meaning is
                // clear.
                if max_items > 1 || min_items > max_items {
                    return Err(self.error("a single block is there at most once"));
                }
                (BlockNesting::Single, object)
            }
            Ok(NestingMode::Group) => {
                self.without_counts(min_items, max_items)?;
                (BlockNesting::Group, object)
            }
            // A list or map cannot have elements of different types, so core widens these two.
            Ok(NestingMode::List) if dynamic_inside => (BlockNesting::List, Type::Dynamic),
            Ok(NestingMode::List) => (BlockNesting::List, Type::List(Arc::new(object))),
            Ok(NestingMode::Set) => {
                self.without_write_only(&block.attributes, &block.blocks)?;
                (BlockNesting::Set, self.set_of(object)?)
            }
            Ok(NestingMode::Map) => {
                self.without_counts(min_items, max_items)?;
                let implied = if dynamic_inside { Type::Dynamic } else { Type::Map(Arc::new(object)) };
                (BlockNesting::Map, implied)
            }
            Ok(NestingMode::Invalid) | Err(_) => {
                return Err(self.error(format!("a block has the unknown nesting mode {}", message.nesting)));
            }
        };
        if max_items != 0 && max_items < min_items {
            return Err(self.error("fewer blocks are allowed than are required"));
        }
        Ok(NestedBlock {
            name: Arc::from(message.type_name.as_str()),
            block,
            nesting,
            min_items,
            max_items,
            implied_type,
        })
    }

    fn without_counts(&self, min_items: u64, max_items: u64) -> Result<(), SchemaError> {
        if min_items == 0 && max_items == 0 {
            return Ok(());
        }
        Err(self.error("blocks of this nesting mode cannot be counted"))
    }

    /// Elements of a set have no paths, so write-only values could not be removed.
    fn without_write_only(
        &self,
        attributes: &[Attribute],
        blocks: &[NestedBlock],
    ) -> Result<(), SchemaError> {
        for attribute in attributes {
            let place = self.child(&attribute.name);
            if attribute.write_only {
                return Err(place.error("a set cannot hold anything write-only"));
            }
            if let AttributeType::Nested(nested) = &attribute.attribute_type {
                place.without_write_only(&nested.attributes, &[])?;
            }
        }
        for nested in blocks {
            self.child(&nested.name).without_write_only(&nested.block.attributes, &nested.block.blocks)?;
        }
        Ok(())
    }

    fn all_computed(&self, block: &Block) -> Result<(), SchemaError> {
        if let Some(attribute) = block.attributes.iter().find(|attribute| !attribute.computed) {
            let place = self.child(&attribute.name);
            return Err(place.error("an attribute of a computed block is not computed"));
        }
        block.blocks.iter().try_for_each(|nested| self.child(&nested.name).all_computed(&nested.block))
    }

    fn set_of(&self, object: Type) -> Result<Type, SchemaError> {
        if object.is_dynamic_inside() {
            return Err(self.error("a set cannot hold anything dynamic"));
        }
        Ok(Type::Set(Arc::new(object)))
    }

    fn object_type(&self, attributes: &[Attribute], blocks: &[NestedBlock]) -> Result<Type, SchemaError> {
        let mut types = BTreeMap::new();
        let of_attributes = attributes
            .iter()
            .map(|attribute| (&attribute.name, attribute.attribute_type.implied_type().without_optional()));
        let of_blocks = blocks.iter().map(|nested| (&nested.name, nested.implied_type.clone()));
        for (name, implied) in of_attributes.chain(of_blocks) {
            if types.insert(name.clone(), implied).is_some() {
                return Err(self.error(format!("the name {name} is there twice")));
            }
        }
        Ok(Type::Object(Arc::new(ObjectType { attributes: types, ..ObjectType::default() })))
    }
}

#[cfg(test)]
mod tests;
