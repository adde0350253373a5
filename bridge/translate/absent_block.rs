//! Configuration values of absent and unknown blocks.
//!
//! Terraform core never sends null to a provider for a repeatable block, but an empty collection,
//! and for a group an object of nulls. Only blocks that the provider itself fills may be null. A
//! collection of blocks may be unknown, but not a block, which core decodes from the program's text:
//! all that an author can write in it may be unknown. Providers rely on that, and decode blocks into
//! types that cannot be unknown.

use std::sync::Arc;

use isthmus_cty::{ObjectType, Type, Value};
use isthmus_provider::schema::{Block, BlockNesting, NestedBlock};

/// The value of attribute `nested` if there is no such block.
pub(super) fn absent_block(nested: &NestedBlock) -> Value {
    let is_dynamic = nested.implied_type == Type::Dynamic;
    match nested.nesting {
        BlockNesting::Group => empty_block(&nested.block),
        BlockNesting::Single => Value::Null,
        BlockNesting::List | BlockNesting::Set | BlockNesting::Map if nested.block.computed => Value::Null,
        BlockNesting::List if is_dynamic => {
            let no_types: Arc<[Type]> = Arc::from([]);
            Value::Dynamic(Box::new((Type::Tuple(no_types), Value::Tuple(Vec::new()))))
        }
        BlockNesting::Map if is_dynamic => Value::Dynamic(Box::new((
            Type::Object(Arc::new(ObjectType::default())),
            Value::Object(Default::default()),
        ))),
        BlockNesting::List => Value::List(Vec::new()),
        BlockNesting::Set => Value::Set(Vec::new()),
        BlockNesting::Map => Value::Map(Default::default()),
    }
}

/// A block without contents.
pub(super) fn empty_block(block: &Block) -> Value {
    let attributes = block.attributes.iter().map(|attribute| (Arc::clone(&attribute.name), Value::Null));
    let blocks = block.blocks.iter().map(|nested| (Arc::clone(&nested.name), absent_block(nested)));
    Value::Object(attributes.chain(blocks).collect())
}

/// A block with unknown contents.
pub(super) fn unknown_block(block: &Block) -> Value {
    let attributes = block.attributes.iter().map(|attribute| {
        let is_configurable = attribute.required || attribute.optional;
        (Arc::clone(&attribute.name), if is_configurable { Value::Unknown(None) } else { Value::Null })
    });
    let blocks = block.blocks.iter().map(|nested| {
        let value = match nested.nesting {
            BlockNesting::Group | BlockNesting::Single => unknown_block(&nested.block),
            BlockNesting::List | BlockNesting::Set | BlockNesting::Map => Value::Unknown(None),
        };
        (Arc::clone(&nested.name), value)
    });
    Value::Object(attributes.chain(blocks).collect())
}

pub(super) fn nested_block<'a>(block: &'a Block, name: &str) -> Option<&'a NestedBlock> {
    let position = block.blocks.binary_search_by(|nested| (*nested.name).cmp(name)).ok()?;
    block.blocks.get(position)
}
