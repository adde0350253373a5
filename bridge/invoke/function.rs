//! Provider functions: named arguments in Pulumi, positions in Terraform.

use isthmus_proto::property::{Struct, Value as Property};
use isthmus_shim::cty::Value;
use isthmus_shim::provider::FunctionError;

use crate::daemon::Instance;
use crate::package::function::{FunctionParameter, FunctionShape};
use crate::package::shape::Shape;
use crate::resource::{Failure, OperationError};
use crate::translate::inputs::{Unknowns, value_from_property};
use crate::translate::outputs::{OutputOptions, property_from_value};

/// What the result is called where it is no object.
const RESULT: &str = "result";

pub(super) async fn call(
    instance: &Instance,
    shape: &FunctionShape,
    arguments: &Struct,
) -> Result<Struct, OperationError> {
    let mut failures = Vec::new();
    for (name, _) in arguments.iter() {
        if !shape.parameters.iter().any(|parameter| parameter.pulumi == name) {
            failures.push(Failure {
                property: name.to_owned(),
                reason: format!("unexpected argument for function \"{}\"", shape.terraform_name),
            });
        }
    }
    let mut values = Vec::with_capacity(shape.parameters.len());
    let last = shape.parameters.len().saturating_sub(1);
    for (index, parameter) in shape.parameters.iter().enumerate() {
        let argument = arguments.get(&parameter.pulumi).unwrap_or(&Property::Null);
        if shape.variadic && index == last {
            let list = Shape::List(std::sync::Arc::new(parameter.shape.clone()));
            if let Some(Value::List(elements)) = read(argument, parameter, &list, &mut failures) {
                values.extend(elements);
            }
        } else {
            let value = read(argument, parameter, &parameter.shape, &mut failures);
            if matches!(value, Some(Value::Null)) && !parameter.allow_null {
                failures.push(Failure {
                    property: parameter.pulumi.clone(),
                    reason: format!(
                        "function \"{}\" requires a non-null value for argument \"{}\"",
                        shape.terraform_name, parameter.pulumi
                    ),
                });
            }
            values.extend(value);
        }
    }
    if !failures.is_empty() {
        return Err(OperationError::Inputs(failures));
    }
    let result = instance
        .provider
        .call_function(&shape.terraform_name, &values)
        .await
        .map_err(|error| of_function(error, shape))?;
    // The engine does not take secrets from functions: a function computes, and has nothing to hide by itself.
    let options = OutputOptions { keep_secrets: false, secrets: &[], unknowns: false };
    Ok(match property_from_value(&result, &shape.return_shape, options)? {
        Property::Struct(bag) if matches!(shape.return_shape, Shape::Object(_)) => bag,
        other => [(RESULT.to_owned(), other)].into_iter().collect(),
    })
}

fn read(
    argument: &Property,
    parameter: &FunctionParameter,
    shape: &Shape,
    failures: &mut Vec<Failure>,
) -> Option<Value> {
    match value_from_property(argument, &parameter.pulumi, shape, Unknowns::Reject) {
        Ok(config) => Some(config.value),
        Err(found) => {
            failures.extend(found.into_iter().map(Failure::from));
            None
        }
    }
}

fn of_function(error: FunctionError, shape: &FunctionShape) -> OperationError {
    let (property, reason) = match error {
        FunctionError::Refused { text, argument } => {
            let last = shape.parameters.len().saturating_sub(1);
            let parameter = argument.and_then(|index| shape.parameters.get(index.min(last)));
            let name = parameter.map(|parameter| parameter.pulumi.clone()).unwrap_or_default();
            (name, format!("function \"{}\": {text}", shape.terraform_name))
        }
        other => (String::new(), format!("function \"{}\" returned an error: {other}", shape.terraform_name)),
    };
    OperationError::Inputs(vec![Failure { property, reason }])
}
