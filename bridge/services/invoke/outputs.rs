//! Results for engines that accept outputs, and for those that do not.
//!
//! Since 3.268 engines announce in the handshake that they accept outputs from an invoke: values
//! that may be unknown, with their dependencies. Older ones reject a result with unknown values
//! with an unhelpful error; so these are left out, as those engines do themselves while a
//! provider's configuration is unknown.

use isthmus_proto::property::{Struct, Value};

use isthmus_translate::property::{PropertyView, classify, contains_unknown, output};

/// The result as outputs, each of which depends on all dependencies of the arguments.
pub(super) fn with_dependencies(result: Struct, arguments: &Struct) -> Struct {
    let mut dependencies = Vec::new();
    arguments.values().for_each(|argument| collect(argument, &mut dependencies));
    let members = result.into_iter().map(|(name, value)| {
        let (inner, secret) = match classify(&value) {
            Ok(PropertyView::Secret(inner)) => (inner.clone(), true),
            _ => (value, false),
        };
        let is_unknown = matches!(classify(&inner), Ok(PropertyView::Unknown));
        let inner = (!is_unknown).then(|| unknowns_as_outputs(inner));
        let value = match inner {
            Some(inner) if dependencies.is_empty() && !secret => inner,
            inner => output(inner, secret, dependencies.clone()),
        };
        (name, value)
    });
    members.collect()
}

/// The result without unknown values, unless the arguments contain some: then the engine accepts
/// them.
pub(super) fn as_far_as_known(result: Struct, arguments: &Struct) -> Struct {
    let is_unknown = |value: &Value| contains_unknown(value) == Ok(true);
    if arguments.values().any(is_unknown) {
        return result;
    }
    result.into_iter().filter(|(_, value)| !is_unknown(value)).collect()
}

fn collect(argument: &Value, into: &mut Vec<Value>) {
    match classify(argument) {
        Ok(PropertyView::Output { value, dependencies, .. }) => {
            for dependency in dependencies {
                if !into.contains(dependency) {
                    into.push(dependency.clone());
                }
            }
            if let Some(value) = value {
                collect(value, into);
            }
        }
        Ok(PropertyView::Secret(inner)) => collect(inner, into),
        Ok(PropertyView::List(elements)) => elements.iter().for_each(|element| collect(element, into)),
        Ok(PropertyView::Object(members)) => members.values().for_each(|member| collect(member, into)),
        _ => {}
    }
}

fn unknowns_as_outputs(value: Value) -> Value {
    if matches!(classify(&value), Ok(PropertyView::Unknown)) {
        return output(None, false, Vec::new());
    }
    match value {
        Value::List(elements) => Value::List(elements.into_iter().map(unknowns_as_outputs).collect()),
        Value::Struct(members) => Value::Struct(
            members.into_iter().map(|(name, value)| (name, unknowns_as_outputs(value))).collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_translate::property::{secret, unknown};

    fn bag(members: Vec<(&str, Value)>) -> Struct {
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn every_output_depends_on_what_any_argument_depends_on() {
        let (one, two) = (Value::from("urn:one"), Value::from("urn:two"));
        let arguments = bag(vec![
            ("a", output(Some(Value::from("x")), false, vec![one.clone()])),
            ("b", secret(Value::List(vec![output(None, false, vec![two.clone(), one.clone()])]))),
        ]);
        let result = bag(vec![
            ("known", Value::from("x")),
            ("hidden", secret(Value::from("y"))),
            ("later", unknown()),
            ("partly", Value::List(vec![unknown(), Value::from("z")])),
        ]);
        let both = vec![one, two];
        let partly = Value::List(vec![output(None, false, vec![]), Value::from("z")]);
        let expected = bag(vec![
            ("known", output(Some(Value::from("x")), false, both.clone())),
            ("hidden", output(Some(Value::from("y")), true, both.clone())),
            ("later", output(None, false, both.clone())),
            ("partly", output(Some(partly), false, both)),
        ]);
        assert_eq!(with_dependencies(result, &arguments), expected);
        let plain = bag(vec![("known", Value::from("x"))]);
        assert_eq!(with_dependencies(plain.clone(), &Struct::new()), plain);
    }

    #[test]
    fn an_engine_that_takes_no_outputs_gets_what_is_known() {
        let result =
            bag(vec![("a", Value::from("x")), ("b", Value::List(vec![unknown()])), ("c", unknown())]);
        assert_eq!(as_far_as_known(result.clone(), &Struct::new()), bag(vec![("a", Value::from("x"))]));
        assert_eq!(as_far_as_known(result.clone(), &bag(vec![("x", unknown())])), result);
    }
}
