//! Schema responses of fixtures, and faulty ones.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

use super::values::{diagnostic_messages, schema_message};
use super::{broken, generated, message};
use crate::diagnostics::Diagnostic;
use crate::functions::{Function, Parameter};
use crate::misbehaviour::SchemaAnswer;
use crate::misbehaviour::generated::Size;
use crate::protocol::Feature;
use crate::provider::Provider;
use crate::resources::note::NoteLookup;
use crate::schema::Schema;
use crate::{broadcast, token, wire};

pub(super) fn add_metadata(provider: &Provider, response: &mut message::get_metadata::Response) {
    use message::get_metadata::{FunctionMetadata, ResourceMetadata};
    let generated = provider.misbehaviour().generated.into_iter().flat_map(Size::type_names);
    response.resources.extend(generated.map(|type_name| ResourceMetadata { type_name }));
    let functions = provider.fixtures().functions.iter();
    response.functions.extend(functions.map(|function| FunctionMetadata { name: function.name.to_owned() }));
}

pub(super) fn add_schemas(provider: &Provider, response: &mut message::get_provider_schema::Response) {
    let (switches, fixtures, minor) = (provider.misbehaviour(), provider.fixtures(), provider.minor());
    let encoded = |schema: &Schema| Bytes::from(schema_message(schema, minor).encode_to_vec());
    match switches.schema {
        SchemaAnswer::Good | SchemaAnswer::Newer => {}
        SchemaAnswer::Warn => {
            let warning =
                Diagnostic::warning("The sandbox is not sure what it offers", "It was asked to warn.");
            response.diagnostics = diagnostic_messages(warning.into());
        }
        SchemaAnswer::Refuse => {
            let refusal = Diagnostic::error("The sandbox does not say what it offers", "It was asked to.");
            *response = message::get_provider_schema::Response {
                diagnostics: diagnostic_messages(refusal.into()),
                ..Default::default()
            };
            return;
        }
        SchemaAnswer::Incomplete => response.provider = None,
        SchemaAnswer::Changed => response.resource_schemas.retain(|name, _| name != "sandbox_secret"),
    }
    response.resource_schemas.extend(switches.generated.into_iter().flat_map(generated::schemas));
    response.functions = functions_by_name(provider).into_iter().collect();
    if minor.has(Feature::Ephemeral) {
        response
            .ephemeral_resource_schemas
            .insert(token::TYPE_NAME.to_owned(), encoded(&fixtures.token.schema));
    }
    if minor.has(Feature::Lists) {
        response
            .list_resource_schemas
            .insert(NoteLookup::TYPE_NAME.to_owned(), encoded(&fixtures.search.schema));
        let schema = Some(schema_message(&fixtures.broadcast.schema, minor));
        let action = message::ActionSchema { schema };
        response.action_schemas.insert(broadcast::TYPE_NAME.to_owned(), action.encode_to_vec().into());
    }
    response.provider_meta = fixtures.meta.as_ref().map(|meta| schema_message(&meta.schema, minor));
    if switches.broken {
        broken::add_to(response);
    }
}

pub(super) fn functions_by_name(provider: &Provider) -> BTreeMap<String, message::Function> {
    let functions = provider.fixtures().functions.iter();
    functions.map(|function| (function.name.to_owned(), function_message(function))).collect()
}

fn function_message(function: &Function) -> message::Function {
    let parameter = |parameter: &Parameter| message::function::Parameter {
        name: parameter.name.to_owned(),
        r#type: wire::type_json(&parameter.kind),
        allow_null_value: parameter.allows_null,
        allow_unknown_values: parameter.allows_unknown,
        description: parameter.description.to_owned(),
        description_kind: message::StringKind::Plain.into(),
    };
    message::Function {
        parameters: function.parameters.iter().map(parameter).collect(),
        variadic_parameter: function.variadic.as_ref().map(parameter),
        r#return: Some(message::function::Return { r#type: wire::type_json(&function.returns) }),
        summary: function.summary.to_owned(),
        description: String::new(),
        description_kind: message::StringKind::Plain.into(),
        deprecation_message: String::new(),
    }
}
