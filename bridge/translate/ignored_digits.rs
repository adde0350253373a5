//! Digits of ignored numbers.
//!
//! `ignoreChanges` reverts properties to those of the state, whose numbers are doubles. One with more
//! digits becomes a numeric string there (`exact_numbers`), but in a value of dynamic type that would
//! be a string for the provider: such a number gets its digits in the configuration.

use isthmus_cty::{AttributePath, PathStep, Value};

use super::exact_numbers::changes;

/// Gives numbers in `config` that are the doubles of those in `prior` their digits, at each of
/// `paths`. Numbers in dynamic values need this, because no property has all of their digits.
pub fn restore_digits(config: &mut Value, prior: &Value, paths: &[AttributePath]) {
    for path in paths {
        restore_at(config, prior, &path.0);
    }
}

fn restore_at(config: &mut Value, prior: &Value, path: &[PathStep]) {
    let Some((first, rest)) = path.split_first() else { return restore(config, prior) };
    match (first, config, prior) {
        (_, Value::Dynamic(config), Value::Dynamic(prior)) => restore_at(&mut config.1, &prior.1, path),
        (PathStep::Attribute(name), Value::Object(config), Value::Object(prior)) => {
            if let (Some(config), Some(prior)) = (config.get_mut(name), prior.get(name)) {
                restore_at(config, prior, rest);
            }
        }
        (
            PathStep::Key(name) | PathStep::Attribute(name),
            Value::Map(config) | Value::Object(config),
            Value::Map(prior) | Value::Object(prior),
        ) => {
            if let (Some(config), Some(prior)) = (config.get_mut(name), prior.get(name)) {
                restore_at(config, prior, rest);
            }
        }
        (
            PathStep::Index(index),
            Value::List(config) | Value::Tuple(config),
            Value::List(prior) | Value::Tuple(prior),
        ) => {
            if let (Some(config), Some(prior)) = (config.get_mut(*index), prior.get(*index)) {
                restore_at(config, prior, rest);
            }
        }
        _ => {}
    }
}

fn restore(config: &mut Value, prior: &Value) {
    match (config, prior) {
        (Value::Dynamic(config), Value::Dynamic(prior)) => restore(&mut config.1, &prior.1),
        (Value::Number(config), Value::Number(prior)) if changes(prior, config.as_f64()) => {
            *config = prior.clone();
        }
        (Value::List(config) | Value::Tuple(config), Value::List(prior) | Value::Tuple(prior)) => {
            for (config, prior) in config.iter_mut().zip(prior) {
                restore(config, prior);
            }
        }
        (Value::Map(config) | Value::Object(config), Value::Map(prior) | Value::Object(prior)) => {
            for (name, config) in config {
                if let Some(prior) = prior.get(name) {
                    restore(config, prior);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::{Number, Type};

    use super::*;
    use crate::testing::object_value as object;

    #[test]
    fn ignored_numbers_of_dynamic_type_keep_their_digits() {
        let number = |text: &str| Value::Number(Number::from_decimal(text).expect("a number"));
        let open = |text: &str, other: &str| {
            let deep = Value::List(vec![object(&[("n", number(text))]), Value::string(other)]);
            let typed = (Type::Dynamic, object(&[("deep", deep)]));
            object(&[("open", Value::Dynamic(Box::new(typed)))])
        };
        let paths = |steps: &[PathStep]| vec![AttributePath(steps.to_vec())];
        let root = PathStep::attribute("open");
        let prior = open("12345678901234567890.5", "old");
        for (steps, config, expected) in [
            (vec![root.clone()], "12345678901234567000", "12345678901234567890.5"),
            (
                vec![root.clone(), PathStep::attribute("deep"), PathStep::Index(0), PathStep::attribute("n")],
                "12345678901234567000",
                "12345678901234567890.5",
            ),
            (vec![root], "7", "7"),
            (vec![PathStep::attribute("other")], "12345678901234567000", "12345678901234567000"),
        ] {
            let mut config = open(config, "new");
            restore_digits(&mut config, &prior, &paths(&steps));
            assert_eq!(config, open(expected, "new"), "{steps:?}");
        }
    }
}
