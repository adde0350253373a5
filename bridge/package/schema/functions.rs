//! Provider functions in the package schema.

use isthmus_cty as cty;
use isthmus_provider::schema::TextKind;

use super::super::described::Text;
use super::super::function::FunctionShape;
use super::super::shape::{ObjectShape, Shape};
use super::docs::{Names, as_markdown, comment, deprecation};
use super::document::{Function, ObjectType, Outputs, Properties, Property, Type};
use super::types::Types;
use crate::names::casing::upper_first;
use crate::names::tokens::member_name;

/// Describes a function. Objects in its arguments and its result become types.
pub(super) fn function(types: &mut Types<'_>, shape: &FunctionShape, own: Option<&Text>) -> Function {
    let names = &Names::default().with(own);
    let name = member_name(&shape.token);
    let mut inputs = ObjectType::new(Properties::new(), Vec::new());
    let mut multi_argument_inputs = Vec::with_capacity(shape.parameters.len());
    let last = shape.parameters.len();
    for (index, parameter) in shape.parameters.iter().enumerate() {
        let hint = format!("{name}{}", upper_first(&parameter.pulumi));
        let one = type_of(types, &parameter.parameter_type, &parameter.shape, &hint);
        if parameter.shape.has_objects() {
            types.in_arguments.insert(hint, Property { of: one.clone(), ..Property::default() });
        }
        let of = if shape.variadic && index + 1 == last { Type::array(one) } else { one };
        let property = Property {
            of: of.known_in_go(),
            description: documentation(names.property(
                &parameter.terraform,
                &parameter.description,
                parameter.description_kind,
            )),
            ..Property::default()
        };
        if parameter.required {
            inputs.required.push(parameter.sdk_name.clone());
        }
        multi_argument_inputs.push(parameter.sdk_name.clone());
        inputs.properties.insert(parameter.sdk_name.clone(), property);
    }
    let result = format!("{name}Result");
    let outputs = match (&shape.returns, &shape.return_shape) {
        (cty::Type::Object(object), Shape::Object(named)) => {
            Outputs::Object(object_type(types, object, named, &result))
        }
        (returned, shape) => Outputs::Single(type_of(types, returned, shape, &result).result_known_in_go()),
    };
    Function {
        description: documentation(names.description(&shape.description, shape.description_kind)),
        // Without inputs, Go's generator imports what only an object as the result uses.
        inputs: (matches!(outputs, Outputs::Single(_)) || !shape.parameters.is_empty()).then_some(inputs),
        multi_argument_inputs,
        outputs: Some(outputs),
        deprecation_message: match shape.deprecation_message.as_str() {
            "" => String::new(),
            message => deprecation(message),
        },
        ..Function::default()
    }
}

/// A function that is written in no language, with the objects in arguments of others as results: the generator of TypeScript
/// takes an argument's type from those of results, and writes that only for objects that are results as well.
pub(super) fn objects_in_arguments(types: &Types<'_>) -> Option<Function> {
    let properties = types.in_arguments.clone();
    (!properties.is_empty()).then(|| Function {
        is_overlay: true,
        outputs: Some(Outputs::Object(ObjectType::new(properties, Vec::new()))),
        ..Function::default()
    })
}

/// Names are not translated: those of parameters are Terraform's.
fn documentation((text, kind): (&str, TextKind)) -> String {
    comment(&as_markdown(text, kind))
}

fn type_of(types: &mut Types<'_>, of: &cty::Type, shape: &Shape, name: &str) -> Type {
    match (of, shape) {
        (cty::Type::List(of) | cty::Type::Set(of), Shape::List(shape) | Shape::Set(shape)) => {
            Type::array(type_of(types, of, shape, name))
        }
        (cty::Type::Map(of), Shape::Map(shape)) => Type::map(type_of(types, of, shape, name)),
        (cty::Type::Object(object), Shape::Object(shape)) => {
            let described = object_type(types, object, shape, name);
            Type::named(&types.insert(name, described))
        }
        // Types without objects need no names.
        _ => types.type_of(shape),
    }
}

/// An object in a function's signature, whose attributes are required unless the type marks them as
/// optional.
fn object_type(
    types: &mut Types<'_>,
    object: &cty::ObjectType,
    shape: &ObjectShape,
    name: &str,
) -> ObjectType {
    let mut described = ObjectType::new(Properties::new(), Vec::new());
    for field in &shape.fields {
        let of = type_of(
            types,
            &field.implied_type,
            &field.shape,
            &format!("{name}{}", upper_first(&field.pulumi)),
        );
        let property = Property { of: of.known_in_go(), ..Property::default() };
        described.properties.insert(field.pulumi.clone(), property);
        if !object.optional.contains(&field.terraform) {
            described.required.push(field.pulumi.clone());
        }
    }
    described
}
