//! Members of which no SDK in one language compiles.
//!
//! Names that are impossible in a language are others in all (`names::impossible`). These members
//! cannot be mended so, because another name of an argument, or no member at all, would break
//! programs in the languages in which they work. They stay, and a warning says what to leave out
//! for an SDK in that language.
//!
//! The rules are of what the generators of Pulumi 3.259 and pulumi-java 1.34 were seen to get
//! wrong.

use super::super::catalogue::Package;
use super::super::function::FunctionShape;
use super::super::shape::{ObjectShape, ResourceShape, Shape};
use crate::names::impossible::is_reserved_in_javascript;
use crate::names::tokens::{derived, member_name};

/// A member that one language's SDK does not compile with, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {languages} SDK of this package compiles: Pulumi's SDK generator cannot write {problem} of {kind} {member}\n\
     help: leave it out of a package for {languages} with `--exclude {member}`"
)]
pub struct Unwritable {
    /// "Go or .NET".
    languages: &'static str,
    /// "the argument `opts`".
    problem: String,
    /// "data source".
    kind: &'static str,
    /// Its Terraform name.
    member: String,
}

/// A property that no SDK in one language compiles with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {language} SDK of this package compiles: Pulumi's SDK generator cannot write the property `{property}` of {owner}\n\
     help: give it another name under `properties` in isthmus.toml; `isthmus explain names` describes it"
)]
pub struct UnwritableProperty {
    language: &'static str,
    property: String,
    owner: String,
}

/// Whether a warning is of the SDK in another language than a project of this runtime has.
pub fn is_of_another_language(warning: &str, runtime: &str) -> bool {
    let language = match runtime {
        "nodejs" => "Node.js",
        "python" => "Python",
        "java" => "Java",
        "go" => "Go",
        "dotnet" => ".NET",
        _ => "",
    };
    let of = warning.strip_prefix("no ").and_then(|rest| rest.split_once(" SDK of this package compiles"));
    of.is_some_and(|(of, _)| !of.split(", ").flat_map(|of| of.split(" or ")).any(|of| of == language))
}

/// The faults of a resource with properties that its class has of its base classes.
pub(super) fn resource(shape: &ResourceShape) -> impl Iterator<Item = UnwritableProperty> {
    let of_a_class = ["getProvider", CONSTRUCTOR].into_iter().chain(OBJECT_MEMBERS);
    let named = |language, name| {
        let property = shape.object.pulumi(name)?.pulumi.clone();
        Some(UnwritableProperty { language, property, owner: format!("resource {}", shape.terraform_type) })
    };
    let in_typescript = of_a_class.filter_map(move |name| named("Node.js", name)).take(1);
    // A method of all resources in Go.
    in_typescript.chain(named("Go", "pulumiResourceType"))
}

/// The faults of members whose names an SDK has for something else.
pub(super) fn named(package: &Package) -> Vec<Unwritable> {
    let all = package.tokens();
    let mut faults = Vec::new();
    for (kind, tokens) in &all {
        for (terraform, token) in tokens.iter() {
            let languages = match member_name(token) {
                // The file of nested types.
                "PulumiTypes" => Some("Go"),
                // The class of the provider's configuration.
                "Config" => Some("Java or .NET"),
                name => derived(&package.identity().name, &all, *kind, name),
            };
            let fault = |languages| {
                let problem = format!("the name `{}`", member_name(token));
                unwritable(languages, &problem, kind.title(), terraform)
            };
            faults.extend(languages.map(fault));
        }
    }
    faults
}

/// The fault of a member with a property `yield`, at any depth: its builder calls a method of that name.
pub(super) fn yielding(kind: &'static str, shape: &ResourceShape) -> Option<Unwritable> {
    has_yield(&shape.object).then(|| unwritable("Java", "the property `yield`", kind, &shape.terraform_type))
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
    Some(UnwritableProperty {
        language: "Node.js",
        property,
        owner: "the provider's configuration".to_owned(),
    })
}

const CONSTRUCTOR: &str = "constructor";

/// The fault of a function.
pub(super) fn function(shape: &FunctionShape) -> Option<Unwritable> {
    let takes_objects = shape.parameters.iter().any(|parameter| parameter.shape.has_objects());
    takes_objects.then(|| {
        unwritable("Java or .NET", "the objects that are arguments", "function", &shape.terraform_name)
    })
}

/// The faults of a data source, an ephemeral resource or an action.
pub(super) fn data_source(kind: &'static str, shape: &ResourceShape) -> Vec<Unwritable> {
    let is_input =
        |name: &str| shape.object.pulumi(name).is_some_and(|field| field.optional || field.required);
    let takes_nothing = !shape.object.fields.iter().any(|field| field.required);
    let found = |languages, problem: &str| unwritable(languages, problem, kind, &shape.terraform_type);
    let argument =
        |languages, name: &str| is_input(name).then(|| found(languages, &format!("the argument `{name}`")));
    let mut faults: Vec<_> =
        argument("Python", "opts").into_iter().chain(argument(".NET", "empty")).collect();
    if takes_nothing {
        // `{}` stands for no arguments.
        faults.extend(OBJECT_MEMBERS.iter().find_map(|name| argument("Node.js", name)));
        if member_name(&shape.token) == "getClass" {
            faults.push(found("Java", "the name `getClass`"));
        }
    }
    faults
}

fn unwritable(languages: &'static str, problem: &str, kind: &'static str, member: &str) -> Unwritable {
    Unwritable { languages, problem: problem.to_owned(), kind, member: member.to_owned() }
}

/// What every object of JavaScript has.
const OBJECT_MEMBERS: [&str; 6] =
    ["hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"];

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
            "no Java or .NET SDK of this package compiles: Pulumi's SDK generator cannot write the objects that are arguments \
             of function take\nhelp: leave it out of a package for Java or .NET with `--exclude take`"
        );
    }

    #[test]
    fn a_project_is_told_only_of_its_own_language() {
        let warning =
            unwritable("Go or .NET", "the name `getPairArgs`", "data source", "p_pair_args").to_string();
        let is_told = |runtime| !is_of_another_language(&warning, runtime);
        assert_eq!(
            ["go", "dotnet", "nodejs", "python", "java", "yaml"].map(is_told),
            [true, true, false, false, false, false]
        );
        assert!(!is_of_another_language("the provider has no \"x\"", "yaml"));
    }
}
