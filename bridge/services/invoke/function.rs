//! Provider functions: named arguments in Pulumi, positional ones in Terraform.

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::{FunctionError, Provider, ProviderError};

use isthmus_operations::resource::{Failure, Inputs, OperationError, OperationWarnings};
use isthmus_package::function::{FunctionParameter, FunctionShape};
use isthmus_package::names::tokens::nearest;
use isthmus_package::shape::Shape;
use isthmus_translate::exact_numbers::NumberForm;
use isthmus_translate::exact_numbers::form_number;
use isthmus_translate::inputs::{Unknowns, canonical_value, value_from_property};
use isthmus_translate::outputs::{OutputOptions, property_from_value};
use isthmus_translate::property::{contains_secret, contains_unknown, unknown};
use isthmus_translate::property_path::PropertyPath;

/// The member of a result that is no object.
pub(super) const RESULT: &str = "result";

pub(super) async fn call(
    provider: &Provider,
    shape: &FunctionShape,
    arguments: &Struct,
    numbers: NumberForm,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let arguments = &*shape.named(arguments);
    let is_unknown = |argument| contains_unknown(argument) == Ok(true);
    let takes_unknown = |name: &str| {
        let parameter = shape.parameters.iter().find(|parameter| parameter.pulumi == *name);
        parameter.is_some_and(|parameter| parameter.allow_unknown)
    };
    if arguments.iter().any(|(name, argument)| is_unknown(argument) && !takes_unknown(name)) {
        // The result depends on arguments only. As in core, a single unknown element makes it
        // unknown, unless the parameter allows unknown values.
        return Ok(unknown_result(shape));
    }
    let given = Inputs::of_function(arguments, shape);
    let mut failures: Vec<Failure> = arguments
        .keys()
        .filter(|name| !shape.parameters.iter().any(|parameter| parameter.pulumi == **name))
        .map(|name| unexpected(name, shape, given))
        .collect();
    let mut values = Vec::with_capacity(shape.parameters.len());
    let last = shape.parameters.len().saturating_sub(1);
    for (index, parameter) in shape.parameters.iter().enumerate() {
        let argument = arguments.get(&parameter.pulumi).unwrap_or(&Property::Null);
        if shape.variadic && index == last {
            let list = Shape::List(std::sync::Arc::new(parameter.shape.clone()));
            let read = read(argument, parameter, &list, given, &mut failures, warnings);
            if matches!(read, Some(Value::Unknown(_))) {
                // Even the number of arguments is unknown.
                return Ok(unknown_result(shape));
            }
            if let Some(Value::List(elements)) = read {
                if !parameter.allow_null && elements.iter().any(Value::is_null) {
                    failures.push(null_argument(parameter, shape, given));
                }
                values.extend(elements);
            }
        } else {
            let value = read(argument, parameter, &parameter.shape, given, &mut failures, warnings);
            if matches!(value, Some(Value::Null)) && !parameter.allow_null {
                failures.push(null_argument(parameter, shape, given));
            }
            values.extend(value);
        }
    }
    if !failures.is_empty() {
        return Err(OperationError::Inputs(failures));
    }
    let result = provider
        .call_function(&shape.terraform_name, &values)
        .await
        .map_err(|error| of_function(error, shape, given))?;
    if !result.is_known() {
        return Ok(unknown_result(shape));
    }
    // The caller marks results of secrets.
    let options = OutputOptions { keep_secrets: false, secrets: &[], unknowns: true };
    let mut property = property_from_value(&result, &shape.return_shape, options)?;
    let function = format!("function \"{}\"", shape.terraform_name);
    let is_secret = arguments.values().any(|argument| contains_secret(argument) == Ok(true));
    let lost = form_number(&mut property, &result, &shape.return_shape, numbers, &function);
    warnings.lost_digits.extend(lost.into_iter().map(|lost| if is_secret { lost.hidden() } else { lost }));
    Ok(match property {
        Property::Struct(bag) if matches!(shape.return_shape, Shape::Object(_)) => bag,
        Property::Null => Struct::new(),
        other => [(RESULT.to_owned(), other)].into_iter().collect(),
    })
}

fn unexpected(name: &str, shape: &FunctionShape, given: Inputs<'_>) -> Failure {
    let mut reason = format!("unexpected argument for function \"{}\"", shape.terraform_name);
    let parameters = shape.parameters.iter().map(|parameter| parameter.pulumi.as_str());
    if let Some(nearest) = nearest(name, parameters) {
        reason.push_str(&format!("; did you mean `{nearest}`?"));
    }
    given.at(&PropertyPath::top(name)).failure(reason)
}

fn null_argument(parameter: &FunctionParameter, shape: &FunctionShape, given: Inputs<'_>) -> Failure {
    let reason = format!(
        "function \"{}\" requires a non-null value for argument \"{}\"",
        shape.terraform_name, parameter.pulumi
    );
    given.at(&PropertyPath::top(&parameter.pulumi)).failure_that_names_it(reason)
}

fn unknown_result(shape: &FunctionShape) -> Struct {
    match &shape.return_shape {
        Shape::Object(object) => {
            object.fields.iter().map(|field| (field.pulumi.clone(), unknown())).collect()
        }
        _ => [(RESULT.to_owned(), unknown())].into_iter().collect(),
    }
}

fn read(
    argument: &Property,
    parameter: &FunctionParameter,
    shape: &Shape,
    given: Inputs<'_>,
    failures: &mut Vec<Failure>,
    warnings: &mut OperationWarnings,
) -> Option<Value> {
    let mut argument = argument.clone();
    let dropped = canonical_value(&mut argument, &parameter.pulumi, shape);
    warnings.texts.extend(given.warnings_of_dropped(&dropped));
    // Unknown values are rejected above where they are not allowed.
    match value_from_property(&argument, &parameter.pulumi, shape, Unknowns::Keep) {
        Ok(config) => Some(config.value),
        Err(found) => {
            failures.extend(given.failures(found));
            None
        }
    }
}

fn of_function(error: FunctionError, shape: &FunctionShape, given: Inputs<'_>) -> OperationError {
    let function = shape.terraform_name.clone();
    match error {
        FunctionError::Refused { text, argument } => {
            match argument.and_then(|index| parameter_at(index, shape)) {
                Some(parameter) => {
                    let reason = format!("function \"{function}\": {text}");
                    OperationError::Inputs(vec![
                        given.at(&PropertyPath::top(&parameter.pulumi)).failure(reason),
                    ])
                }
                None => OperationError::Function { function, text },
            }
        }
        // The function has not answered.
        FunctionError::Provider(
            error @ (ProviderError::Gone { .. }
            | ProviderError::Call { .. }
            | ProviderError::Interruption { .. }),
        ) => OperationError::Provider {
            text: error.to_string(),
            error: Box::new(error),
            outcome_unknown: false,
        },
        other => OperationError::Function { function, text: isthmus_common::error_chain(&other) },
    }
}

/// The parameter of an argument; all further arguments belong to the variadic one.
fn parameter_at(index: usize, shape: &FunctionShape) -> Option<&FunctionParameter> {
    let further = shape.parameters.last().filter(|_| shape.variadic);
    shape.parameters.get(index).or(further)
}
