//! Provider functions: positional in Terraform, named in Pulumi.

use std::borrow::Cow;
use std::collections::HashSet;

use isthmus_cty::Type;
use isthmus_proto::property::Struct;
use isthmus_proto::tfplugin6;
use isthmus_provider::schema::TextKind;

use super::shape::{Shape, compile_chosen_type};
use crate::names::choices::{NameChoices, PropertyNames};
use crate::names::impossible;

/// A function on both sides.
#[derive(Debug)]
pub struct FunctionShape {
    /// The Pulumi token, such as `time:index/rfc3339Parse:rfc3339Parse`.
    pub token: String,
    /// Terraform's name, such as `rfc3339_parse`.
    pub terraform_name: String,
    /// The parameters in order. A variadic one is the last, and takes a list.
    pub parameters: Vec<FunctionParameter>,
    /// The last parameter takes all further arguments.
    pub variadic: bool,
    /// The result type. An object's attributes are the properties of the result; other types are
    /// its `result`.
    pub returns: Type,
    /// The same, with names.
    pub return_shape: Shape,
    /// Text for users: the summary, an empty line, the description.
    pub description: String,
    pub description_kind: TextKind,
    /// The deprecation message, if not empty.
    pub deprecation_message: String,
}

/// A parameter. Terraform uses its name in documentation only.
#[derive(Debug)]
pub struct FunctionParameter {
    /// The Pulumi name.
    pub pulumi: String,
    /// Its name in generated SDKs, which is another one where a language has the name itself.
    pub sdk_name: String,
    /// Terraform's name, which may be empty.
    pub terraform: String,
    /// Its type; of a variadic one the type of each argument.
    pub parameter_type: Type,
    /// The same, with names.
    pub shape: Shape,
    pub allow_null: bool,
    pub allow_unknown: bool,
    /// Whether it must be set. Only trailing parameters may be omitted, because they are
    /// positional.
    pub required: bool,
    pub description: String,
    pub description_kind: TextKind,
}

/// The provider's signature of the function is invalid.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the provider's description of the function {function} cannot be used: the type of its {what} cannot be read: {reason}"
)]
pub struct FunctionFault {
    pub function: String,
    /// "result", "parameter 2".
    pub what: String,
    pub reason: String,
}

impl FunctionShape {
    /// Arguments by the names of the parameters, some of which have other ones in SDKs.
    pub fn named<'s>(&self, arguments: &'s Struct) -> Cow<'s, Struct> {
        let renamed = |parameter: &&FunctionParameter| {
            arguments.contains_key(&parameter.sdk_name) && !arguments.contains_key(&parameter.pulumi)
        };
        let mut named = Cow::Borrowed(arguments);
        for parameter in self.parameters.iter().filter(renamed) {
            if let Some(argument) = named.to_mut().remove(&parameter.sdk_name) {
                named.to_mut().insert(parameter.pulumi.clone(), argument);
            }
        }
        named
    }

    /// Compiles the provider's signature.
    pub fn compile(
        terraform_name: &str,
        token: &str,
        function: &tfplugin6::Function,
        choices: &NameChoices,
    ) -> Result<Self, FunctionFault> {
        let read = |what: &str, json: &[u8]| {
            Type::from_json(json).map_err(|error| FunctionFault {
                function: terraform_name.to_owned(),
                what: what.to_owned(),
                reason: error.to_string(),
            })
        };
        let given: Vec<_> = function.parameters.iter().chain(&function.variadic_parameter).collect();
        let names = parameter_names(&given, choices.property_names);
        let last_required = function.parameters.iter().rposition(|parameter| !parameter.allow_null_value);
        let mut parameters = Vec::with_capacity(given.len());
        let sdk_names: Vec<_> = names.iter().map(|name| sdk_name(name, &names)).collect();
        for (index, (parameter, (pulumi, sdk_name))) in
            given.into_iter().zip(names.into_iter().zip(sdk_names)).enumerate()
        {
            let parameter_type = read(&format!("parameter {}", index + 1), &parameter.r#type)?;
            parameters.push(FunctionParameter {
                pulumi,
                sdk_name,
                terraform: parameter.name.clone(),
                shape: compile_chosen_type(&parameter_type, choices),
                parameter_type,
                allow_null: parameter.allow_null_value,
                allow_unknown: parameter.allow_unknown_values,
                required: last_required.is_some_and(|last| index <= last),
                description: parameter.description.clone(),
                description_kind: TextKind::from_wire(parameter.description_kind),
            });
        }
        let returns =
            read("result", function.r#return.as_ref().map_or(&[][..], |returned| &returned.r#type))?;
        let texts = [&function.summary, &function.description].map(String::as_str);
        Ok(Self {
            token: token.to_owned(),
            terraform_name: terraform_name.to_owned(),
            parameters,
            variadic: function.variadic_parameter.is_some(),
            return_shape: compile_chosen_type(&returns, choices),
            returns,
            description: texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"),
            description_kind: TextKind::from_wire(function.description_kind),
            deprecation_message: function.deprecation_message.clone(),
        })
    }
}

/// Missing names become numbers (`arg1`), duplicate ones get a number (`value2`). `pulumi` is
/// reserved.
fn parameter_names(parameters: &[&tfplugin6::function::Parameter], rule: PropertyNames) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::with_capacity(parameters.len());
    for (index, parameter) in parameters.iter().enumerate() {
        let natural = match rule.single(&parameter.name) {
            name if name.is_empty() => None,
            name if name == "pulumi" => Some("pulumiInfo".to_owned()),
            name => Some(name),
        };
        let base = natural.unwrap_or_else(|| format!("arg{}", index + 1));
        let numbered = (2_u64..).map(|number| format!("{base}{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
        names.push(name.unwrap_or_else(|| base.clone()));
    }
    names
}

/// The name of a parameter in SDKs, beside those of all.
fn sdk_name(name: &str, all: &[String]) -> String {
    let mut possible = impossible::parameter(name).into_owned();
    while possible != name && all.contains(&possible) {
        possible.push('2');
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::super::testing::{function, parameter};
    use super::*;
    use crate::names::choices::NO_CHOICES;

    fn names(parameters: &[&str], variadic: Option<&str>) -> Vec<String> {
        let mut described =
            function(parameters.iter().map(|name| parameter(name, "\"string\"")).collect(), "\"bool\"");
        described.variadic_parameter = variadic.map(|name| parameter(name, "\"string\""));
        let shape = FunctionShape::compile("f", "p:index/f:f", &described, &NO_CHOICES).unwrap();
        shape.parameters.into_iter().map(|parameter| parameter.pulumi).collect()
    }

    #[test]
    fn parameters_have_camel_cased_and_distinct_names() {
        assert_eq!(names(&["arn", "account_id"], None), ["arn", "accountId"]);
        assert_eq!(names(&["", ""], None), ["arg1", "arg2"]);
        assert_eq!(names(&["value", "value", "value"], None), ["value", "value2", "value3"]);
        assert_eq!(names(&["separator"], Some("parts")), ["separator", "parts"]);
        assert_eq!(names(&["separator"], Some("")), ["separator", "arg2"]);
        assert_eq!(names(&["pulumi", "a b"], None), ["pulumiInfo", "aB"]);
    }

    #[test]
    fn a_parameter_that_a_language_has_itself_has_another_name_in_sdks_and_is_known_by_both() {
        let text = |name| parameter(name, "\"string\"");
        let described =
            function(vec![text("default"), text("err"), text("err_value"), text("x")], "\"bool\"");
        let shape = FunctionShape::compile("f", "p:index/f:f", &described, &NO_CHOICES).unwrap();
        let names: Vec<_> = shape.parameters.iter().map(|parameter| parameter.sdk_name.as_str()).collect();
        assert_eq!(names, ["defaultValue", "errValue2", "errValue", "x"]);
        let bag = |names: [&str; 3]| {
            names.into_iter().map(|name| (name.to_owned(), name.to_owned().into())).collect()
        };
        let given: Struct = bag(["x", "defaultValue", "err"]);
        let named = shape.named(&given);
        assert_eq!(named.keys().collect::<Vec<_>>(), ["x", "err", "default"]);
        let given = bag(["x", "default", "err"]);
        assert!(matches!(shape.named(&given), Cow::Borrowed(_)));
    }

    #[test]
    fn only_parameters_at_the_end_can_be_left_out() {
        let nullable =
            |name| tfplugin6::function::Parameter { allow_null_value: true, ..parameter(name, "\"number\"") };
        let described =
            function(vec![nullable("a"), parameter("b", "\"number\""), nullable("c")], "\"bool\"");
        let shape = FunctionShape::compile("f", "p:index/f:f", &described, &NO_CHOICES).unwrap();
        let required: Vec<_> = shape.parameters.iter().map(|parameter| parameter.required).collect();
        assert_eq!(required, [true, true, false]);
    }

    #[test]
    fn a_type_that_cannot_be_read_is_the_functions_fault() {
        let described = function(vec![parameter("a", "\"what\"")], "\"bool\"");
        let fault = FunctionShape::compile("f", "p:index/f:f", &described, &NO_CHOICES).unwrap_err();
        assert_eq!((fault.function.as_str(), fault.what.as_str()), ("f", "parameter 1"));
    }
}
