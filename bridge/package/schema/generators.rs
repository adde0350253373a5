//! Members that Pulumi's SDK generators cannot write in a language.
//!
//! One such member breaks the SDK of the whole package: the generator fails, or its code does not
//! compile. Other names would break programs in other languages, where the member works; so it is
//! left out, with a warning, of packages for that language alone. The bridge still serves it.
//!
//! The lists are of what the generators of Pulumi 3.259 and pulumi-java 1.34 were seen to get
//! wrong.

use std::sync::Arc;

use super::super::function::FunctionShape;
use super::super::shape::{ObjectShape, ResourceShape, Shape};
use crate::names::tokens::member_name;

/// The language of an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SdkLanguage {
    NodeJs,
    Python,
    Go,
    Java,
    DotNet,
}

/// A member that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{member} is not in this package: Pulumi's SDK generator for {language} cannot write {problem}, \
     and no program could use the package"
)]
pub(crate) struct Unwritable {
    /// Its Terraform name, such as `function direxists`.
    member: String,
    language: &'static str,
    /// "a function called \"import\"".
    problem: String,
}

impl SdkLanguage {
    /// The language of programs with this runtime in their project file.
    pub(crate) fn of_runtime(runtime: &str) -> Option<Self> {
        match runtime {
            "nodejs" | "bun" => Some(Self::NodeJs),
            "python" => Some(Self::Python),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "dotnet" => Some(Self::DotNet),
            _ => None,
        }
    }

    /// Its name as a runtime.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NodeJs => "nodejs",
            Self::Python => "python",
            Self::Go => "go",
            Self::Java => "java",
            Self::DotNet => "dotnet",
        }
    }

    /// Why a function cannot be in a package.
    pub(super) fn refuses_function(self, shape: &FunctionShape) -> Option<Unwritable> {
        let name = member_name(&shape.token);
        let (names, parameters): (&[&[&str]], &[&[&str]]) = match self {
            Self::NodeJs => (&[&JAVASCRIPT, &["index"]], &[&JAVASCRIPT, &["opts", "utilities"]]),
            Self::Python => (&[], &[&["opts"]]),
            Self::Go => (&[&["doc", "init"]], &[&["err", "internal", "options", "result", "rv"]]),
            Self::Java => (&[&JAVA, &JAVA_METHODS], &[&["options", "yield"]]),
            Self::DotNet => (&[&["utilities"]], &[]),
        };
        let is_in = |lists: &[&[&str]], name: &str| lists.iter().any(|list| list.contains(&name));
        let refused_parameter = || {
            let named = shape.parameters.iter().find(|parameter| is_in(parameters, &parameter.pulumi));
            named.map(|parameter| format!("a parameter called {:?}", parameter.pulumi))
        };
        let takes_objects = || {
            let refused = matches!(self, Self::NodeJs | Self::Java)
                && shape.parameters.iter().any(|parameter| holds_object(&parameter.shape));
            refused.then(|| "a parameter with objects".to_owned())
        };
        let problem = is_in(names, name)
            .then(|| format!("a function called {name:?}"))
            .or_else(refused_parameter)
            .or_else(takes_objects)?;
        Some(self.unwritable("function", &shape.terraform_name, problem))
    }

    /// Why a resource cannot be in a package.
    pub(super) fn refuses_resource(self, shape: &ResourceShape) -> Option<Unwritable> {
        let names: &[&str] = match self {
            Self::NodeJs => &["Error", "Object"],
            Self::Python => &["Outputs"],
            Self::Go => &["Doc", "Init"],
            Self::Java | Self::DotNet => &["Utilities"],
        };
        let problem = self.refuses_name_or_properties("resource", names, shape)?;
        Some(self.unwritable("resource", &shape.terraform_type, problem))
    }

    /// Why a data source, an ephemeral resource or an action cannot be in a package.
    pub(super) fn refuses_data_source(self, kind: &str, shape: &ResourceShape) -> Option<Unwritable> {
        let is_input =
            |name: &str| shape.object.pulumi(name).is_some_and(|field| field.optional || field.required);
        let parameter = match self {
            Self::Python if is_input("opts") => Some("opts"),
            Self::NodeJs if is_input("toString") => Some("toString"),
            Self::NodeJs | Self::Python | Self::Go | Self::Java | Self::DotNet => None,
        };
        let names: &[&str] = if self == Self::Java { &JAVA_METHODS } else { &[] };
        let problem = parameter
            .map(|name| format!("an argument called {name:?}"))
            .or_else(|| self.refuses_name_or_properties(kind, names, shape))?;
        Some(self.unwritable(kind, &shape.terraform_type, problem))
    }

    fn refuses_name_or_properties(self, kind: &str, names: &[&str], shape: &ResourceShape) -> Option<String> {
        let name = member_name(&shape.token);
        if names.contains(&name) {
            return Some(format!("a {kind} called {name:?}"));
        }
        (self == Self::Java && has_property(&shape.object, "yield"))
            .then(|| "a property called \"yield\"".to_owned())
    }

    fn unwritable(self, kind: &str, terraform: &str, problem: String) -> Unwritable {
        let language = match self {
            Self::NodeJs => "Node.js",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::DotNet => ".NET",
        };
        Unwritable { member: format!("{kind} {terraform}"), language, problem }
    }
}

fn holds_object(shape: &Shape) -> bool {
    match shape {
        Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => false,
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => holds_object(element),
        Shape::Object(_) => true,
    }
}

/// Whether the object, or one in it, has a property of this name.
fn has_property(object: &Arc<ObjectShape>, name: &str) -> bool {
    fn within(shape: &Shape) -> Option<&Arc<ObjectShape>> {
        match shape {
            Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => None,
            Shape::List(element)
            | Shape::Set(element)
            | Shape::Map(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element) => within(element),
            Shape::Object(object) => Some(object),
        }
    }
    let mut rest = vec![object];
    while let Some(object) = rest.pop() {
        if object.pulumi(name).is_some() {
            return true;
        }
        rest.extend(object.fields.iter().filter_map(|field| within(&field.shape)));
    }
    false
}

/// What no variable in a module of JavaScript can be called.
#[rustfmt::skip]
const JAVASCRIPT: [&str; 48] = [
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
    "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if",
    "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "var", "void", "while", "with", "yield",
];

/// What no method of Java can be called.
#[rustfmt::skip]
const JAVA: [&str; 53] = [
    "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue",
    "default", "do", "double", "else", "enum", "extends", "false", "final", "finally", "float", "for", "goto",
    "if", "implements", "import", "instanceof", "int", "interface", "long", "native", "new", "null",
    "package", "private", "protected", "public", "return", "short", "static", "strictfp", "super", "switch",
    "synchronized", "this", "throw", "throws", "transient", "true", "try", "void", "volatile", "while",
];

/// Methods of every object of Java.
const JAVA_METHODS: [&str; 8] =
    ["clone", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"];

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6;

    use super::super::super::testing::{function, parameter};
    use super::*;
    use crate::names::choices::NO_CHOICES;

    const ALL: [SdkLanguage; 5] =
        [SdkLanguage::NodeJs, SdkLanguage::Python, SdkLanguage::Go, SdkLanguage::Java, SdkLanguage::DotNet];

    fn refusals(name: &str, described: &tfplugin6::Function) -> Vec<SdkLanguage> {
        let shape =
            FunctionShape::compile(name, &format!("p:index/{name}:{name}"), described, &NO_CHOICES).unwrap();
        ALL.into_iter().filter(|language| language.refuses_function(&shape).is_some()).collect()
    }

    fn taking(name: &str, of: &str) -> tfplugin6::Function {
        function(vec![parameter(name, of)], "\"string\"")
    }

    #[test]
    fn functions_are_refused_where_their_names_or_parameters_cannot_be_written() {
        use SdkLanguage::{Go, Java, NodeJs, Python};
        let usual = taking("value", "\"string\"");
        assert_eq!(refusals("shout", &usual), []);
        assert_eq!(refusals("import", &usual), [NodeJs, Java]);
        assert_eq!(refusals("double", &usual), [Java]);
        assert_eq!(refusals("f", &taking("default", "\"string\"")), [NodeJs]);
        assert_eq!(refusals("f", &taking("result", "\"string\"")), [Go]);
        assert_eq!(refusals("f", &taking("opts", "\"string\"")), [NodeJs, Python]);
        assert_eq!(refusals("f", &taking("v", "[\"list\",[\"object\",{\"x\":\"string\"}]]")), [NodeJs, Java]);
        assert_eq!(refusals("f", &taking("v", "[\"map\",\"dynamic\"]")), []);
    }

    #[test]
    fn a_refusal_names_the_member_the_language_and_the_problem() {
        let shape = FunctionShape::compile(
            "import",
            "p:index/import:import",
            &taking("v", "\"string\""),
            &NO_CHOICES,
        )
        .unwrap();
        assert_eq!(
            SdkLanguage::NodeJs.refuses_function(&shape).unwrap().to_string(),
            "function import is not in this package: Pulumi's SDK generator for Node.js cannot write a function called \
             \"import\", and no program could use the package"
        );
    }
}
