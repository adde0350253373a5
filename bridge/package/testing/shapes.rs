//! Schemas and shapes, as compiled.

use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_provider::schema::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TextKind,
};

use crate::names::MemberKind;
use crate::names::choices::NO_CHOICES;
use crate::shape::{IdRule, ResourceShape, compile_data_source};

pub fn attribute(name: &str, attribute_type: Type) -> Attribute {
    Attribute {
        name: name.into(),
        attribute_type: AttributeType::Plain(attribute_type),
        description: String::new(),
        description_kind: TextKind::Plain,
        required: false,
        optional: true,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
        deprecation_message: String::new(),
    }
}

pub fn required(attribute: Attribute) -> Attribute {
    Attribute { required: true, optional: false, ..attribute }
}

pub fn computed(attribute: Attribute) -> Attribute {
    Attribute { computed: true, optional: false, ..attribute }
}

pub fn sensitive(attribute: Attribute) -> Attribute {
    Attribute { sensitive: true, ..attribute }
}

pub fn nested_attribute(name: &str, nesting: ObjectNesting, attributes: Vec<Attribute>) -> Attribute {
    let object = object_type(
        attributes.iter().map(|inner| (inner.name.to_string(), inner.attribute_type.implied_type().clone())),
    );
    let implied_type = match nesting {
        ObjectNesting::Single => object,
        ObjectNesting::List => Type::List(Arc::new(object)),
        ObjectNesting::Set => Type::Set(Arc::new(object)),
        ObjectNesting::Map => Type::Map(Arc::new(object)),
    };
    let nested = NestedObject { attributes, nesting, implied_type };
    Attribute { attribute_type: AttributeType::Nested(nested), ..attribute(name, Type::Bool) }
}

pub fn block(attributes: Vec<Attribute>, blocks: Vec<NestedBlock>) -> Block {
    let (mut attributes, mut blocks) = (attributes, blocks);
    attributes.sort_by(|one, other| one.name.cmp(&other.name));
    blocks.sort_by(|one, other| one.name.cmp(&other.name));
    let fields =
        attributes.iter().map(|inner| (inner.name.to_string(), inner.attribute_type.implied_type().clone()));
    let nested = blocks.iter().map(|inner| (inner.name.to_string(), inner.implied_type.clone()));
    let has_secrets =
        attributes.iter().any(Attribute::has_secrets) || blocks.iter().any(|inner| inner.block.has_secrets);
    Block {
        has_secrets,
        implied_type: object_type(fields.chain(nested)),
        attributes,
        blocks,
        description: String::new(),
        description_kind: TextKind::Plain,
        deprecated: false,
        deprecation_message: String::new(),
        computed: false,
    }
}

pub fn nested(name: &str, nesting: BlockNesting, max_items: u64, block: Block) -> NestedBlock {
    let object = block.implied_type.clone();
    let open = object.is_dynamic_inside();
    let implied_type = match nesting {
        BlockNesting::Single | BlockNesting::Group => object,
        BlockNesting::List | BlockNesting::Map if open => Type::Dynamic,
        BlockNesting::List => Type::List(Arc::new(object)),
        BlockNesting::Set => Type::Set(Arc::new(object)),
        BlockNesting::Map => Type::Map(Arc::new(object)),
    };
    NestedBlock { name: name.into(), block, nesting, min_items: 0, max_items, implied_type }
}

pub fn resource(block: Block, id: IdRule) -> ResourceShape {
    let schema = Arc::new(Schema { version: 0, block });
    let compiled = compile_data_source(
        MemberKind::Resource,
        "test_thing",
        "test:index/thing:Thing",
        schema,
        &NO_CHOICES,
    );
    ResourceShape { id, ..compiled }
}

pub fn object_type(fields: impl IntoIterator<Item = (String, Type)>) -> Type {
    let attributes = fields.into_iter().map(|(name, field)| (Arc::from(name), field)).collect();
    Type::Object(Arc::new(isthmus_cty::ObjectType { attributes, ..Default::default() }))
}
