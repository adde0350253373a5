//! The members of a package: its resources, data sources, ephemeral resources and actions, and the
//! provider itself.

use std::sync::Arc;

use super::super::catalogue::TokenError;
use super::super::shape::{Field, ResourceShape};
use super::docs::{Names, deprecation};
use super::document::{Alias, Config, Function, ObjectType, Outputs, Properties, Resource};
use super::language::Classes;
use super::types::{Owner, Side, Types, is_optional, required};
use crate::names::tokens::member_name;

pub(super) fn config_variables(types: &mut Types<'_>, shape: &ResourceShape) -> Config {
    let names = &Names::of(&shape.object);
    types.declare_and_describe(Owner::Config, "", &shape.object.fields, names);
    let fields = || shape.object.named();
    Config {
        variables: fields()
            .map(|field| (field.pulumi.clone(), types.top_property(field, Classes::OUTPUTS, names)))
            .collect(),
        required: required(fields(), Side::Output),
    }
}

/// The provider as a resource, whose inputs are also its outputs.
pub(super) fn provider(types: &mut Types<'_>, package: &str, config: Option<&ResourceShape>) -> Resource {
    let inputs: Vec<_> = config.iter().flat_map(|shape| shape.object.named()).filter(is_input).collect();
    let names = &config.map(|shape| Names::of(&shape.object)).unwrap_or_default();
    types.declare_and_describe(Owner::Provider, "Provider", inputs.iter().copied(), names);
    let inputs: Vec<_> = inputs.into_iter().filter(is_property).collect();
    let required = required(inputs.iter().copied(), Side::Input);
    let classes = Classes::PROVIDER.with_inputs(inputs.iter().copied());
    let property = |field: &Field| types.top_property(field, classes, names);
    let properties: Properties =
        inputs.into_iter().map(|field| (field.pulumi.clone(), property(field))).collect();
    let mut description = format!(
        "The provider type for the {package} package. By default, resources use package-wide configuration\n\
         settings, however an explicit `Provider` instance may be created and passed during resource\n\
         construction to achieve fine-grained programmatic control over provider settings. See the\n\
         [documentation](https://www.pulumi.com/docs/reference/programming-model/#providers) for more \
         information.\n"
    );
    let own = config.map(|shape| types.documentation(shape, names)).unwrap_or_default();
    if !own.is_empty() {
        description += "\n";
        description += &own;
    }
    Resource {
        description,
        properties: properties.clone(),
        required: required.clone(),
        input_properties: properties,
        required_inputs: required,
        ..Resource::default()
    }
}

/// A resource, and its list configuration.
pub(super) struct Managed {
    pub(super) shape: Arc<ResourceShape>,
    pub(super) list: Option<Result<ResourceShape, TokenError>>,
    /// Its token by rule, if it has another one by choice.
    pub(super) former: Option<String>,
}

/// A resource whose objects are declared.
pub(super) fn resource(types: &Types<'_>, managed: &Managed, names: &Names<'_>) -> Resource {
    let Managed { shape, list, former } = managed;
    let name = member_name(&shape.token);
    let autonamed = shape.autonamed().map(|field| field.pulumi.as_str());
    let is_autonamed = |field: &Field| autonamed == Some(field.pulumi.as_str());
    let mut resource = Resource {
        description: types.documentation(shape, names),
        deprecation_message: deprecation_of(shape),
        // Stacks that have the resource by its former type go on with it.
        aliases: former.iter().map(|token| Alias { token: token.clone() }).collect(),
        ..Resource::default()
    };
    let mut state = Properties::new();
    // All are inputs of the state.
    let classes = Classes::of_resource(name).with_inputs(shape.object.named().filter(is_property));
    for field in shape.object.named().filter(is_property) {
        let property = types.top_property(field, classes, names);
        // An autonamed property is optional as an input and always set as an output.
        if is_autonamed(field) || !is_optional(field, Side::Output) {
            resource.required.push(field.pulumi.clone());
        }
        if is_input(&field) {
            resource.input_properties.insert(field.pulumi.clone(), property.clone());
            if !is_autonamed(field) && !is_optional(field, Side::Input) {
                resource.required_inputs.push(field.pulumi.clone());
            }
        }
        resource.properties.insert(field.pulumi.clone(), property.clone());
        state.insert(field.pulumi.clone(), property);
    }
    resource.state_inputs = Some(ObjectType {
        description: format!("Input properties used for looking up and filtering {name} resources.\n"),
        ..ObjectType::new(state, Vec::new())
    });
    resource.list_inputs = list.as_ref().and_then(|list| list.as_ref().ok()).map(|list| {
        let inputs: Vec<&Field> = list.object.named().filter(is_input).collect();
        let names = &Names::of(&list.object);
        let property = |field: &Field| types.top_property(field, Classes::OUTPUTS, names);
        let described = inputs.iter().map(|field| (field.pulumi.clone(), property(field)));
        ObjectType::new(described.collect(), required(inputs.iter().copied(), Side::Input))
    });
    resource
}

/// A data source whose objects are declared.
pub(super) fn data_source(types: &Types<'_>, shape: &ResourceShape, names: &Names<'_>) -> Function {
    let name = member_name(&shape.token);
    let fields: Vec<_> = shape.object.named().collect();
    let inputs: Vec<_> = fields.iter().copied().filter(is_input).collect();
    let arguments = Classes::ARGUMENTS.with_inputs(inputs.iter().copied());
    let object = |fields: Vec<&Field>, side, what: &str| {
        let described = fields.iter().map(|field| {
            let classes = if is_input(field) { arguments } else { Classes::OUTPUTS };
            (field.pulumi.clone(), types.top_property(field, classes, names))
        });
        ObjectType {
            description: format!("A collection of {what} {name}.\n"),
            ..ObjectType::new(described.collect(), required(fields.iter().copied(), side))
        }
    };
    Function {
        // Go's generator writes no valid function that has neither inputs nor outputs.
        inputs: (!inputs.is_empty() || fields.is_empty())
            .then(|| object(inputs, Side::Input, "arguments for invoking")),
        outputs: Some(Outputs::Object(object(fields, Side::Output, "values returned by"))),
        description: types.documentation(shape, names),
        deprecation_message: deprecation_of(shape),
        ..Function::default()
    }
}

/// An ephemeral resource whose objects are declared. Nothing of it may be stored in the clear.
pub(super) fn ephemeral_resource(types: &Types<'_>, shape: &ResourceShape, names: &Names<'_>) -> Function {
    let mut function = data_source(types, shape, names);
    if let Some(Outputs::Object(outputs)) = &mut function.outputs {
        for property in outputs.properties.values_mut() {
            property.secret = true;
        }
    }
    function
}

/// An action whose objects are declared. Its result is an empty object, so that programs can pass
/// unknown values and wait for it.
pub(super) fn action(types: &Types<'_>, shape: &ResourceShape, names: &Names<'_>) -> Function {
    let outputs = ObjectType {
        description: format!("A collection of values returned by {}.\n", member_name(&shape.token)),
        ..ObjectType::new(Properties::new(), Vec::new())
    };
    Function { outputs: Some(Outputs::Object(outputs)), ..data_source(types, shape, names) }
}

fn deprecation_of(shape: &ResourceShape) -> String {
    let block = &shape.schema.block;
    if block.deprecated { deprecation(&block.deprecation_message) } else { String::new() }
}

pub(super) fn is_input(field: &&Field) -> bool {
    field.optional || field.required
}

/// The Pulumi id is no property.
fn is_property(field: &&Field) -> bool {
    field.pulumi != "id"
}
