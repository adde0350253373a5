//! Schemas, decoded on first use, from both protocols.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_cty::Type;
use isthmus_proto::tfplugin5;
use prost::Message as _;

use super::*;
use crate::plugin::ProtocolVersion;
use crate::schema::testing::{attribute, block, schema};
use crate::schema::{AttributeType, BlockNesting, SchemaAnswer, TextKind};

fn of_protocol_5(response: tfplugin5::get_provider_schema::Response) -> Catalogue {
    let answer = SchemaAnswer { protocol: ProtocolVersion::V5, bytes: response.encode_to_vec().into() };
    answer.decode().expect("a response").catalogue
}

fn of_protocol_6(response: tfplugin6::get_provider_schema::Response) -> Catalogue {
    let answer = SchemaAnswer { protocol: ProtocolVersion::V6, bytes: response.encode_to_vec().into() };
    answer.decode().expect("a response").catalogue
}

fn encoded(entries: Vec<(&str, tfplugin6::Schema)>) -> HashMap<String, Bytes> {
    entries.into_iter().map(|(name, schema)| (name.to_owned(), schema.encode_to_vec().into())).collect()
}

fn good() -> tfplugin6::Schema {
    schema(block(vec![attribute("a", "\"string\"", "o")], vec![]))
}

fn answer() -> tfplugin6::get_provider_schema::Response {
    tfplugin6::get_provider_schema::Response { provider: Some(good()), ..Default::default() }
}

#[test]
fn a_faulty_schema_disables_its_own_resource_and_nothing_else() {
    let faulty = schema(block(vec![attribute("a", "\"string\"", "")], vec![]));
    let mut resources = encoded(vec![("x_bad", faulty), ("x_good", good())]);
    resources.insert("x_garbage".to_owned(), Bytes::from_static(b"\xff\xff"));
    let catalogue =
        of_protocol_6(tfplugin6::get_provider_schema::Response { resource_schemas: resources, ..answer() });
    let names: Vec<&str> = catalogue.resource_names().map(|name| &**name).collect();
    assert_eq!(names, ["x_bad", "x_garbage", "x_good"]);
    assert!(catalogue.resource("x_good").is_ok());
    assert_eq!(
        catalogue.resource("x_bad").unwrap_err().to_string(),
        "the provider's schema of resource x_bad cannot be used: at a: an attribute is neither required, optional nor \
         computed"
    );
    let garbage = catalogue.resource("x_garbage").unwrap_err().to_string();
    assert!(
        garbage.contains("resource x_garbage cannot be used: its message cannot be decoded"),
        "{garbage}"
    );
    assert_eq!(catalogue.resource("x_none").unwrap_err().to_string(), "the provider has no resource x_none");
}

#[test]
fn a_schema_is_compiled_once() {
    let catalogue = of_protocol_6(tfplugin6::get_provider_schema::Response {
        resource_schemas: encoded(vec![("x", good())]),
        ..answer()
    });
    let [first, second] = [catalogue.resource("x").unwrap(), catalogue.resource("x").unwrap()];
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn each_kind_has_its_own_names() {
    let catalogue = of_protocol_6(tfplugin6::get_provider_schema::Response {
        data_source_schemas: encoded(vec![("x_data", good())]),
        ephemeral_resource_schemas: encoded(vec![("x_brief", good())]),
        list_resource_schemas: encoded(vec![("x_listed", good())]),
        provider_meta: Some(good()),
        ..answer()
    });
    assert!(catalogue.data_source("x_data").is_ok() && catalogue.ephemeral_resource("x_brief").is_ok());
    assert!(catalogue.list_resource("x_listed").is_ok() && catalogue.provider_meta().is_some());
    assert_eq!(
        catalogue.data_source("x_brief").unwrap_err().to_string(),
        "the provider has no data source x_brief"
    );
    assert_eq!(catalogue.resource_names().len(), 0);
}

#[test]
fn a_provider_without_a_schema_of_itself_is_only_refused_when_that_is_wanted() {
    let catalogue = of_protocol_6(tfplugin6::get_provider_schema::Response {
        resource_schemas: encoded(vec![("x", good())]),
        ..Default::default()
    });
    assert!(catalogue.resource("x").is_ok());
    assert_eq!(
        catalogue.provider().unwrap_err().to_string(),
        "the provider's schema of provider configuration cannot be used: the provider sent none"
    );
}

#[test]
fn what_is_not_announced_cannot_be_done() {
    assert_eq!(of_protocol_6(answer()).capabilities(), Capabilities::default());
    let announced = tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() };
    let catalogue = of_protocol_6(tfplugin6::get_provider_schema::Response {
        server_capabilities: Some(announced),
        ..answer()
    });
    assert_eq!(catalogue.capabilities(), Capabilities { plan_destroy: true, ..Capabilities::default() });
}

/// An encoded attribute with flags at these field numbers; 10 and 11 differ between the protocols.
fn attribute_bytes(flags: &[u8], message: Option<(u8, &str)>) -> Vec<u8> {
    let mut bytes = b"\x0a\x01a\x12\x08\"string\"".to_vec();
    for number in flags {
        bytes.extend([number << 3, 1]);
    }
    if let Some((number, text)) = message {
        bytes.extend([number << 3 | 2, u8::try_from(text.len()).unwrap()]);
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// A schema message with one attribute.
fn schema_bytes(attribute: &[u8]) -> Bytes {
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
    let block = [&[0x12, length(attribute)][..], attribute].concat();
    [&[0x12, length(&block)][..], &block].concat().into()
}

#[test]
fn write_only_and_deprecation_messages_have_each_protocols_own_numbers() {
    // 5 optional, 9 deprecated; then write_only and deprecation_message: 10 and 11 in protocol 5, 11 and 12 in protocol 6.
    let five = schema_bytes(&attribute_bytes(&[5, 9, 10], Some((11, "use b"))));
    let six = schema_bytes(&attribute_bytes(&[5, 9, 11], Some((12, "use b"))));
    let of_five = of_protocol_5(tfplugin5::get_provider_schema::Response {
        resource_schemas: HashMap::from([("x".to_owned(), five)]),
        ..Default::default()
    });
    let of_six = of_protocol_6(tfplugin6::get_provider_schema::Response {
        resource_schemas: HashMap::from([("x".to_owned(), six)]),
        ..Default::default()
    });
    for catalogue in [of_five, of_six] {
        let schema = catalogue.resource("x").expect("the schema is right");
        let [attribute] = &*schema.block.attributes else { panic!("{:?}", schema.block) };
        assert!(attribute.write_only && attribute.deprecated && attribute.optional, "{attribute:?}");
        assert_eq!(attribute.deprecation_message, "use b");
    }
}

#[test]
#[expect(deprecated, reason = "the flag still says that something is deprecated")]
fn everything_in_an_answer_of_protocol_5_is_taken_over() {
    use tfplugin5::schema::nested_block::NestingMode;
    let attribute = tfplugin5::schema::Attribute {
        name: "a".to_owned(),
        r#type: Bytes::from_static(b"\"number\""),
        description: "of a".to_owned(),
        description_kind: tfplugin5::StringKind::Markdown.into(),
        optional: true,
        computed: true,
        sensitive: true,
        deprecated: true,
        deprecation_message: "use b".to_owned(),
        ..Default::default()
    };
    let inner = tfplugin5::schema::Block {
        attributes: vec![attribute],
        description: "a block".to_owned(),
        deprecated: true,
        deprecation_message: "use c".to_owned(),
        ..Default::default()
    };
    let nested = tfplugin5::schema::NestedBlock {
        type_name: "b".to_owned(),
        block: Some(inner),
        nesting: NestingMode::Set.into(),
        min_items: 1,
        max_items: 2,
    };
    let outer = tfplugin5::schema::Block { block_types: vec![nested], ..Default::default() };
    let message = tfplugin5::Schema { version: 7, block: Some(outer) };
    let parameter = |name: &str| tfplugin5::function::Parameter {
        name: name.to_owned(),
        r#type: Bytes::from_static(b"\"bool\""),
        allow_null_value: true,
        allow_unknown_values: true,
        ..Default::default()
    };
    let function = tfplugin5::Function {
        parameters: vec![parameter("one")],
        variadic_parameter: Some(parameter("more")),
        r#return: Some(tfplugin5::function::Return { r#type: Bytes::from_static(b"\"string\"") }),
        summary: "does".to_owned(),
        ..Default::default()
    };
    let catalogue = of_protocol_5(tfplugin5::get_provider_schema::Response {
        provider: Some(message.clone()),
        provider_meta: Some(message.clone()),
        resource_schemas: HashMap::from([("x".to_owned(), message.encode_to_vec().into())]),
        functions: HashMap::from([("f".to_owned(), function)]),
        server_capabilities: Some(tfplugin5::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: true,
            move_resource_state: true,
            generate_resource_config: true,
        }),
        ..Default::default()
    });

    assert_eq!(
        catalogue.capabilities(),
        Capabilities {
            plan_destroy: true,
            get_provider_schema_optional: true,
            move_resource_state: true,
            generate_resource_config: true,
        }
    );
    let of_provider = catalogue.provider().expect("the schema is right");
    let of_meta = catalogue.provider_meta().expect("there is one");
    let of_resource = catalogue.resource("x").expect("the schema is right");
    for schema in [of_provider, of_meta, of_resource] {
        assert_eq!(schema.version, 7);
        let [nested] = &*schema.block.blocks else { panic!("{:?}", schema.block) };
        assert_eq!((nested.nesting, nested.min_items, nested.max_items), (BlockNesting::Set, 1, 2));
        assert!(nested.block.deprecated && !nested.block.computed, "{nested:?}");
        assert_eq!((&*nested.block.description, &*nested.block.deprecation_message), ("a block", "use c"));
        let [attribute] = &*nested.block.attributes else { panic!("{nested:?}") };
        assert!(matches!(attribute.attribute_type, AttributeType::Plain(Type::Number)), "{attribute:?}");
        assert!(attribute.optional && attribute.computed && attribute.sensitive && attribute.deprecated);
        assert!(!attribute.required && !attribute.write_only);
        assert_eq!((&*attribute.description, attribute.description_kind), ("of a", TextKind::Markdown));
        assert_eq!(attribute.deprecation_message, "use b");
    }
    let function = catalogue.functions().get("f").expect("there is one");
    assert_eq!((function.parameters.len(), &*function.summary), (1, "does"));
    let more = function.variadic_parameter.as_ref().expect("there is one");
    assert!(
        more.name == "more"
            && more.allow_null_value
            && more.allow_unknown_values
            && &*more.r#type == b"\"bool\""
    );
    assert_eq!(function.r#return.as_ref().map(|value| &*value.r#type), Some(&b"\"string\""[..]));
}

#[test]
fn an_action_has_a_schema_unless_it_belongs_to_resources() {
    let own = tfplugin6::ActionSchema { schema: Some(good()) }.encode_to_vec();
    // The kinds of prereleases: unlinked, lifecycle, linked.
    let kind = |tag: u8| [&own[..], &[tag << 3 | 2, 0]].concat();
    let actions = [("x_plain", own.clone()), ("x_own", kind(2)), ("x_bound", kind(3)), ("x_linked", kind(4))]
        .into_iter()
        .chain([("x_garbage", vec![0xff; 4]), ("x_empty", Vec::new())])
        .map(|(name, bytes)| (name.to_owned(), Bytes::from(bytes)));
    let catalogue = of_protocol_6(tfplugin6::get_provider_schema::Response {
        action_schemas: actions.collect(),
        ..answer()
    });
    let names: Vec<&str> = catalogue.action_names().map(|name| &**name).collect();
    assert_eq!(names, ["x_bound", "x_empty", "x_garbage", "x_linked", "x_own", "x_plain"]);
    for name in ["x_plain", "x_own"] {
        let schema = catalogue.action(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(schema.block.implied_type, Type::object([("a", Type::String)]));
    }
    for name in ["x_bound", "x_linked"] {
        assert_eq!(
            catalogue.action(name).unwrap_err().to_string(),
            format!(
                "the provider's schema of action {name} cannot be used: it belongs to resources, and only actions of \
                 their own can be invoked"
            )
        );
    }
    assert!(catalogue.action("x_garbage").unwrap_err().to_string().contains("cannot be decoded"));
    // The schema may be empty.
    assert!(catalogue.action("x_empty").is_ok());
}
