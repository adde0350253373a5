//! Members of which no SDK in one language compiles.
//!
//! Names that are impossible in a language are others in all (`names::impossible`). These members
//! cannot be mended so, because another name of an argument, or no member at all, would break
//! programs in the languages in which they work. They stay, and a warning says what to leave out
//! for an SDK in that language.
//!
//! The rules are of what the generators of Pulumi 3.259 and pulumi-java 1.34 were seen to get
//! wrong.

use super::super::function::FunctionShape;
use super::super::shape::{ObjectShape, ResourceShape, Shape};
use crate::names::impossible::is_reserved_in_javascript;
use crate::names::tokens::member_name;

/// A member that one language's SDK does not compile with, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {language} SDK of this package compiles: Pulumi's SDK generator cannot write {problem} of {kind} {member}\n\
     help: leave it out of a package for {language} with `--exclude {member}`"
)]
pub(crate) struct Unwritable {
    language: &'static str,
    /// "the argument `opts`".
    problem: &'static str,
    /// "data source".
    kind: &'static str,
    /// Its Terraform name.
    member: String,
}

/// A property that no Node.js SDK compiles with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no Node.js SDK of this package compiles: Pulumi's SDK generator cannot write the property `{property}` of {owner}\n\
     help: give it another name under `properties` in isthmus.toml; `isthmus explain names` describes it"
)]
pub(crate) struct UnwritableProperty {
    property: String,
    owner: String,
}

/// Whether a warning is of the SDK in another language than a project of this runtime has.
pub(crate) fn is_of_another_language(warning: &str, runtime: &str) -> bool {
    let language = match runtime {
        "nodejs" => "Node.js",
        "python" => "Python",
        "java" => "Java",
        _ => "",
    };
    let of = warning.strip_prefix("no ").and_then(|rest| rest.split_once(" SDK of this package compiles"));
    of.is_some_and(|(of, _)| of != language)
}

/// The fault of a resource: its class has a constructor.
pub(super) fn resource(shape: &ResourceShape) -> Option<UnwritableProperty> {
    let owner = || format!("resource {}", shape.terraform_type);
    shape
        .object
        .pulumi(CONSTRUCTOR)
        .map(|field| UnwritableProperty { property: field.pulumi.clone(), owner: owner() })
}

/// The fault of a member with a property `yield`, at any depth: its builder calls a method of that name.
pub(super) fn yielding(kind: &'static str, shape: &ResourceShape) -> Option<Unwritable> {
    let (language, problem, member) = ("Java", "the property `yield`", shape.terraform_type.to_string());
    has_yield(&shape.object).then_some(Unwritable { language, problem, kind, member })
}

fn has_yield(object: &ObjectShape) -> bool {
    fn within(shape: &Shape) -> bool {
        match shape {
            Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => false,
            Shape::List(element)
            | Shape::Set(element)
            | Shape::Map(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element) => within(element),
            Shape::Object(object) => has_yield(object),
        }
    }
    object.pulumi("yield").is_some() || object.fields.iter().any(|field| within(&field.shape))
}

/// The fault of the provider's configuration, each of whose properties is a variable as well.
pub(super) fn configuration(shape: &ResourceShape) -> Option<UnwritableProperty> {
    let fault = |name: &str| name == CONSTRUCTOR || is_reserved_in_javascript(name);
    let property = shape.object.fields.iter().map(|field| &field.pulumi).find(|name| fault(name))?.clone();
    Some(UnwritableProperty { property, owner: "the provider's configuration".to_owned() })
}

const CONSTRUCTOR: &str = "constructor";

/// The fault of a function.
pub(super) fn function(shape: &FunctionShape) -> Option<Unwritable> {
    let takes_objects = shape.parameters.iter().any(|parameter| parameter.shape.has_objects());
    takes_objects.then(|| Unwritable {
        language: "Java",
        problem: "the objects that are arguments",
        kind: "function",
        member: shape.terraform_name.clone(),
    })
}

/// The fault of a data source, an ephemeral resource or an action.
pub(super) fn data_source(kind: &'static str, shape: &ResourceShape) -> Option<Unwritable> {
    let is_input =
        |name: &str| shape.object.pulumi(name).is_some_and(|field| field.optional || field.required);
    let takes_nothing = || !shape.object.fields.iter().any(|field| field.required);
    let (language, problem) = if is_input("opts") {
        ("Python", "the argument `opts`")
    } else if is_input("toString") {
        ("Node.js", "the argument `toString`")
    } else if member_name(&shape.token) == "getClass" && takes_nothing() {
        ("Java", "the name `getClass`")
    } else {
        return None;
    };
    Some(Unwritable { language, problem, kind, member: shape.terraform_type.to_string() })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{function as described, parameter};
    use super::*;
    use crate::names::choices::NO_CHOICES;

    #[test]
    fn a_warning_names_the_language_the_member_and_what_to_leave_out() {
        let fault = |json: &str| {
            let described = described(vec![parameter("v", json)], "\"string\"");
            function(&FunctionShape::compile("take", "p:index/take:take", &described, &NO_CHOICES).unwrap())
        };
        assert_eq!(fault("[\"map\",\"dynamic\"]"), None);
        assert_eq!(
            fault("[\"list\",[\"object\",{\"x\":\"string\"}]]").unwrap().to_string(),
            "no Java SDK of this package compiles: Pulumi's SDK generator cannot write the objects that are arguments of \
             function take\nhelp: leave it out of a package for Java with `--exclude take`"
        );
    }
}
