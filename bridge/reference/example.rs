//! Examples: the smallest program that a schema allows, in each language.
//!
//! Values are made up from a property's name, its type, and the values that its description lists. The engine and compilers
//! accept the programs, as tests show; a provider may have rules for values that no schema has.

mod call;
mod go;
mod python;
mod text;
mod typescript;
mod value;
mod yaml;

use call::{Call, Form};
use value::Arguments;

use super::member::{Member, PageKind};
use isthmus_package::catalogue::Package;
use isthmus_package::function::FunctionShape;
use isthmus_package::names::tokens::member_name;
use isthmus_package::schema::TypeNames;
use isthmus_package::shape::{ResourceShape, Shape};

/// The examples of a member with a shape.
pub(super) fn of_shape(package: &Package, member: &Member, shape: &ResourceShape) -> Vec<Example> {
    let has_arguments = shape.object.fields.iter().any(|field| field.required || field.optional);
    let (form, types) = match member.kind {
        PageKind::Configuration => (Form::Provider, TypeNames::of_provider(package, shape)),
        PageKind::Resource => (Form::Resource, TypeNames::of_resource(package, shape)),
        _ => {
            // An action has an empty result, and a data source the values of all its fields.
            let has_result = member.kind == PageKind::Action || !shape.object.fields.is_empty();
            (Form::Named { has_arguments, has_result }, TypeNames::of_data_source(package, shape))
        }
    };
    let autonamed = (member.kind == PageKind::Resource).then(|| shape.autonamed()).flatten();
    let arguments = Arguments { types: Some(&types), form }.of_object(&shape.object, autonamed);
    let name = if form == Form::Provider { "Provider" } else { member_name(&member.token) };
    let call = Call {
        package,
        form,
        token: &member.token,
        arguments,
        go_name: go::function_name(package, form, name),
        exports: member.kind == PageKind::DataSource && !shape.object.fields.is_empty(),
        omitted: 0,
    };
    examples(&call)
}

/// The examples of a function.
pub(super) fn of_function(package: &Package, shape: &FunctionShape) -> Vec<Example> {
    let name = member_name(&shape.token);
    let is_object = matches!(shape.return_shape, Shape::Object(_));
    let form = Form::Positional { is_empty_structure: shape.parameters.is_empty() && !is_object };
    let call = Call {
        package,
        form,
        token: &shape.token,
        arguments: Arguments { types: None, form }.of_function(shape, name),
        go_name: go::function_name(package, form, name),
        exports: true,
        omitted: shape.parameters.iter().filter(|parameter| !parameter.required).count(),
    };
    examples(&call)
}

fn examples(call: &Call<'_>) -> Vec<Example> {
    let program = |language| match language {
        Language::Yaml => yaml::program(call),
        Language::TypeScript => typescript::program(call),
        Language::Python => python::program(call),
        Language::Go => go::program(call),
    };
    Language::ALL.map(|language| Example { language, code: program(language) }).into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Yaml,
    TypeScript,
    Python,
    Go,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub language: Language,
    pub code: String,
}

impl Language {
    pub const ALL: [Self; 4] = [Self::Yaml, Self::TypeScript, Self::Python, Self::Go];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }

    /// In identifiers of a page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Go => "go",
        }
    }
}
