//! Examples: the smallest program that a schema allows, in each language.
//!
//! Values are made up from a property's name, its type, and the values that its description lists. The engine and compilers
//! accept the programs, as tests show; a provider may have rules for values that no schema has.

mod go;
mod language;
mod python;
mod typescript;
mod value;
mod yaml;

pub(crate) use language::{Example, Language};
use value::{Arguments, Value};

use super::member::{Kind, Member};
use crate::names::tokens::member_name;
use crate::package::catalogue::Package;
use crate::package::function::FunctionShape;
use crate::package::schema::TypeNames;
use crate::package::shape::ResourceShape;

/// What a program does with a member.
#[derive(Debug)]
pub(super) struct Call<'a> {
    package: &'a Package,
    form: Form,
    /// Pulumi's token.
    token: &'a str,
    arguments: Vec<(String, Value)>,
    /// How it is called in Go, which may differ.
    go_name: String,
    /// Whether the program exports the result. What may be secret and short-lived is not for the state.
    exports: bool,
    /// Arguments at the end that may be left out, but not in Go.
    omitted: usize,
}

/// The form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An explicit provider.
    Provider,
    Resource,
    /// A function with named arguments, if it has any at all. One without a result has no form for outputs in TypeScript and
    /// Python.
    Named {
        has_arguments: bool,
        has_result: bool,
    },
    /// A function with arguments in an order.
    Positional {
        has_parameters: bool,
    },
}

/// The examples of a member with a shape.
pub(super) fn of_shape(package: &Package, member: &Member, shape: &ResourceShape) -> Vec<Example> {
    let has_arguments = shape.object.fields.iter().any(|field| field.required || field.optional);
    let (form, types) = match member.kind {
        Kind::Configuration => (Form::Provider, TypeNames::of_provider(package, shape)),
        Kind::Resource => (Form::Resource, TypeNames::of_resource(package, shape)),
        _ => {
            // An action has an empty result, and a data source the values of all its fields.
            let has_result = member.kind == Kind::Action || !shape.object.fields.is_empty();
            (Form::Named { has_arguments, has_result }, TypeNames::of_data_source(package, shape))
        }
    };
    let autonamed = (member.kind == Kind::Resource).then(|| shape.autonamed()).flatten();
    let arguments = Arguments { types: Some(&types), form }.of_object(&shape.object, autonamed);
    let name = if form == Form::Provider { "Provider" } else { member_name(&member.token) };
    let call = Call {
        package,
        form,
        token: &member.token,
        arguments,
        go_name: go::function_name(package, form, name),
        exports: member.kind == Kind::DataSource && !shape.object.fields.is_empty(),
        omitted: 0,
    };
    Language::ALL.map(|language| language.example(&call)).into()
}

/// The examples of a function.
pub(super) fn of_function(package: &Package, shape: &FunctionShape) -> Vec<Example> {
    let name = member_name(&shape.token);
    let has_parameters = !shape.parameters.is_empty();
    let call = Call {
        package,
        form: Form::Positional { has_parameters },
        token: &shape.token,
        arguments: Arguments { types: None, form: Form::Positional { has_parameters } }
            .of_function(shape, name),
        go_name: go::function_name(package, Form::Positional { has_parameters }, name),
        exports: true,
        omitted: shape.parameters.iter().filter(|parameter| !parameter.required).count(),
    };
    Language::ALL.map(|language| language.example(&call)).into()
}
