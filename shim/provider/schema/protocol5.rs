//! Conversion of protocol 5's schema messages to protocol 6's.
//!
//! The protocols share nearly every message on the wire, and the rest of the crate uses protocol
//! 6's types for both. Attributes differ: `write_only` and `deprecation_message` have other
//! numbers, and protocol 5 has no nested attributes.

use isthmus_proto::{tfplugin5, tfplugin6};

/// A response without its maps of schemas.
pub(super) fn response(
    response: tfplugin5::get_provider_schema::Response,
) -> tfplugin6::get_provider_schema::Response {
    tfplugin6::get_provider_schema::Response {
        provider: response.provider.map(schema),
        diagnostics: response.diagnostics.into_iter().map(diagnostic).collect(),
        provider_meta: response.provider_meta.map(schema),
        server_capabilities: response.server_capabilities.map(capabilities),
        functions: response.functions.into_iter().map(|(name, of)| (name, function(of))).collect(),
        ..Default::default()
    }
}

pub(super) fn schema(schema: tfplugin5::Schema) -> tfplugin6::Schema {
    tfplugin6::Schema { version: schema.version, block: schema.block.map(block) }
}

/// A diagnostic of protocol 5 has the same fields.
fn diagnostic(diagnostic: tfplugin5::Diagnostic) -> tfplugin6::Diagnostic {
    use tfplugin5::attribute_path::step::Selector as From;
    use tfplugin6::attribute_path::step::Selector as To;
    let step = |step: tfplugin5::attribute_path::Step| tfplugin6::attribute_path::Step {
        selector: step.selector.map(|selector| match selector {
            From::AttributeName(name) => To::AttributeName(name),
            From::ElementKeyString(key) => To::ElementKeyString(key),
            From::ElementKeyInt(index) => To::ElementKeyInt(index),
        }),
    };
    tfplugin6::Diagnostic {
        severity: diagnostic.severity,
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        attribute: diagnostic
            .attribute
            .map(|path| tfplugin6::AttributePath { steps: path.steps.into_iter().map(step).collect() }),
    }
}

fn capabilities(announced: tfplugin5::ServerCapabilities) -> tfplugin6::ServerCapabilities {
    tfplugin6::ServerCapabilities {
        plan_destroy: announced.plan_destroy,
        get_provider_schema_optional: announced.get_provider_schema_optional,
        move_resource_state: announced.move_resource_state,
        generate_resource_config: announced.generate_resource_config,
    }
}

fn function(function: tfplugin5::Function) -> tfplugin6::Function {
    tfplugin6::Function {
        parameters: function.parameters.into_iter().map(parameter).collect(),
        variadic_parameter: function.variadic_parameter.map(parameter),
        r#return: function.r#return.map(|value| tfplugin6::function::Return { r#type: value.r#type }),
        summary: function.summary,
        description: function.description,
        description_kind: function.description_kind,
        deprecation_message: function.deprecation_message,
    }
}

fn parameter(parameter: tfplugin5::function::Parameter) -> tfplugin6::function::Parameter {
    tfplugin6::function::Parameter {
        name: parameter.name,
        r#type: parameter.r#type,
        allow_null_value: parameter.allow_null_value,
        allow_unknown_values: parameter.allow_unknown_values,
        description: parameter.description,
        description_kind: parameter.description_kind,
    }
}

#[expect(
    deprecated,
    reason = "the field still says that a block is deprecated; only newer providers send a message"
)]
fn block(block: tfplugin5::schema::Block) -> tfplugin6::schema::Block {
    tfplugin6::schema::Block {
        version: block.version,
        attributes: block.attributes.into_iter().map(attribute).collect(),
        block_types: block.block_types.into_iter().map(nested_block).collect(),
        description: block.description,
        description_kind: block.description_kind,
        deprecated: block.deprecated,
        deprecation_message: block.deprecation_message,
        computed: false,
    }
}

fn nested_block(nested: tfplugin5::schema::NestedBlock) -> tfplugin6::schema::NestedBlock {
    tfplugin6::schema::NestedBlock {
        type_name: nested.type_name,
        block: nested.block.map(block),
        nesting: nested.nesting,
        min_items: nested.min_items,
        max_items: nested.max_items,
    }
}

#[expect(
    deprecated,
    reason = "the field still says that an attribute is deprecated; only newer providers send a message"
)]
fn attribute(attribute: tfplugin5::schema::Attribute) -> tfplugin6::schema::Attribute {
    tfplugin6::schema::Attribute {
        name: attribute.name,
        r#type: attribute.r#type,
        nested_type: None,
        description: attribute.description,
        required: attribute.required,
        optional: attribute.optional,
        computed: attribute.computed,
        sensitive: attribute.sensitive,
        description_kind: attribute.description_kind,
        deprecated: attribute.deprecated,
        write_only: attribute.write_only,
        deprecation_message: attribute.deprecation_message,
    }
}
