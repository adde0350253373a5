//! A provider for tests: schemas in wire format.

pub mod shapes;

use std::sync::Arc;

use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use isthmus_proto::tfplugin6::schema::object::NestingMode;
use isthmus_proto::tfplugin6::schema::{Attribute, Block, NestedBlock, Object};
use isthmus_proto::tfplugin6::{self, Function, get_provider_schema::Response};
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::schema::{self, Catalogue, SchemaAnswer};
use prost::Message as _;

use super::catalogue::{Identity, Package};
use super::parameters::{Parameter, ParameterSource};

/// An optional attribute, its type in JSON.
pub fn attribute(name: &str, json: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        r#type: json.to_owned().into(),
        optional: true,
        ..Attribute::default()
    }
}

pub fn required(name: &str, json: &str) -> Attribute {
    Attribute { required: true, optional: false, ..attribute(name, json) }
}

pub fn computed(name: &str, json: &str) -> Attribute {
    Attribute { computed: true, optional: false, ..attribute(name, json) }
}

/// An optional attribute of objects.
pub fn nested_attribute(name: &str, nesting: NestingMode, attributes: Vec<Attribute>) -> Attribute {
    let nested = Object { attributes, nesting: nesting.into(), ..Object::default() };
    Attribute { nested_type: Some(nested), ..attribute(name, "") }
}

/// Blocks, from `least` to `most` (0: any number).
pub fn block(name: &str, nesting: BlockNesting, (least, most): (i64, i64), body: Block) -> NestedBlock {
    NestedBlock {
        type_name: name.to_owned(),
        block: Some(body),
        nesting: nesting.into(),
        min_items: least,
        max_items: most,
    }
}

/// The contents of a block.
pub fn body(attributes: Vec<Attribute>, blocks: Vec<NestedBlock>) -> Block {
    Block { attributes, block_types: blocks, ..Block::default() }
}

/// A schema of version 0.
pub fn schema(attributes: Vec<Attribute>, blocks: Vec<NestedBlock>) -> tfplugin6::Schema {
    tfplugin6::Schema { version: 0, block: Some(body(attributes, blocks)) }
}

/// The compiled schema.
pub fn compiled(message: &tfplugin6::Schema) -> Arc<schema::Schema> {
    Arc::new(schema::compile(message).expect("tests write correct schemas"))
}

pub fn function(parameters: Vec<tfplugin6::function::Parameter>, returns: &str) -> Function {
    let returned = tfplugin6::function::Return { r#type: returns.to_owned().into() };
    Function { parameters, r#return: Some(returned), ..Function::default() }
}

/// A function's parameter, its type in JSON.
pub fn parameter(name: &str, json: &str) -> tfplugin6::function::Parameter {
    tfplugin6::function::Parameter {
        name: name.to_owned(),
        r#type: json.to_owned().into(),
        ..tfplugin6::function::Parameter::default()
    }
}

/// The parameter of a package whose provider is a file.
pub fn local(path: &str) -> Parameter {
    Parameter::new(ParameterSource::Local { path: path.to_owned() })
}

/// The catalogue of a provider with this response.
fn catalogue(response: &Response) -> Arc<Catalogue> {
    let answer = SchemaAnswer { protocol: ProtocolVersion::V6, bytes: response.encode_to_vec().into() };
    Arc::new(answer.decode().expect("tests write correct messages").catalogue)
}

/// The package `test`.
pub fn package() -> Package {
    package_of(local("./terraform-provider-test"))
}

/// The test provider with another parameter.
pub fn package_of(parameter: Parameter) -> Package {
    let identity = Identity::new(parameter).expect("tests name correct providers");
    Package::new(identity, catalogue(&provider()))
}

/// A provider with the given schemas, as the package `test`.
pub fn package_with(
    config: tfplugin6::Schema,
    resources: Vec<(&str, tfplugin6::Schema)>,
    data_sources: Vec<(&str, tfplugin6::Schema)>,
    functions: Vec<(&str, Function)>,
) -> Package {
    let encoded = |schemas: Vec<(&str, tfplugin6::Schema)>| {
        schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema.encode_to_vec().into())).collect()
    };
    let response = Response {
        provider: Some(config),
        resource_schemas: encoded(resources),
        data_source_schemas: encoded(data_sources),
        functions: functions.into_iter().map(|(name, function)| (name.to_owned(), function)).collect(),
        ..Response::default()
    };
    let identity = Identity::new(local("./terraform-provider-test")).expect("the path names a provider");
    Package::new(identity, catalogue(&response))
}

/// A provider with one resource, `test_thing`, with the second schema as its list configuration.
pub fn listable(resource: &tfplugin6::Schema, list: &tfplugin6::Schema) -> Package {
    let encoded = |schema: &tfplugin6::Schema| {
        std::iter::once(("test_thing".to_owned(), schema.encode_to_vec().into())).collect()
    };
    let response = Response {
        provider: Some(schema(vec![], vec![])),
        resource_schemas: encoded(resource),
        list_resource_schemas: encoded(list),
        ..Response::default()
    };
    let identity = Identity::new(local("./terraform-provider-test")).expect("the path names a provider");
    Package::new(identity, catalogue(&response))
}

fn provider() -> Response {
    let pet = || schema(vec![computed("id", "\"string\""), attribute("length", "\"number\"")], vec![]);
    let proxy =
        block("proxy", BlockNesting::List, (0, 1), body(vec![attribute("url", "\"string\"")], vec![]));
    let schemas = |schemas: Vec<(&str, tfplugin6::Schema)>| {
        schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema.encode_to_vec().into())).collect()
    };
    Response {
        provider: Some(schema(vec![], vec![proxy])),
        resource_schemas: schemas(vec![
            ("test_pet", pet()),
            ("test_broken", schema(vec![attribute("x", "\"nonsense\"")], vec![])),
        ]),
        data_source_schemas: schemas(vec![("test_pet", pet())]),
        functions: [("parse_name".to_owned(), function(vec![parameter("name", "\"string\"")], "\"string\""))]
            .into(),
        ..Response::default()
    }
}
