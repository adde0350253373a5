//! A resource on its first use: its schema from the provider's message, and its shape.

use std::sync::Arc;

use isthmus_package::shape::compile_resource;
use isthmus_proto::tfplugin6;
use isthmus_provider::schema::compile;
use prost::Message as _;

use super::{Execution, counted};
use crate::sample::{NAMING, large_schema, small_schema};

pub(super) fn compile_small() -> Execution {
    schema(&small_schema(), 5)
}

pub(super) fn compile_large() -> Execution {
    schema(&large_schema(), 67)
}

pub(super) fn shape_small() -> Execution {
    shape(&small_schema(), 5)
}

pub(super) fn shape_large() -> Execution {
    shape(&large_schema(), 67)
}

/// Decodes and compiles a schema.
fn schema(message: &tfplugin6::Schema, members: usize) -> Execution {
    let bytes = message.encode_to_vec();
    counted(
        move || compile(&tfplugin6::Schema::decode(&*bytes).expect("a schema")),
        move |schema| {
            let block = schema.expect("the samples are correct").block;
            assert_eq!(block.attributes.len() + block.blocks.len(), members);
        },
    )
}

/// Compiles a shape of a schema.
fn shape(message: &tfplugin6::Schema, members: usize) -> Execution {
    let schema = Arc::new(compile(message).expect("the samples are correct"));
    counted(
        move || compile_resource("cloud_sample", "cloud:index/sample:Sample", Arc::clone(&schema), NAMING),
        move |shape| assert_eq!(shape.object.fields.len(), members),
    )
}
