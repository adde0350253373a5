//! Provider-defined functions of the sandbox: pure, callable before configuration.

use isthmus_cty::{Number, Type, Value};

/// A function's signature and implementation.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: &'static str,
    pub summary: &'static str,
    pub parameters: Vec<Parameter>,
    /// The variadic parameter, if any.
    pub variadic: Option<Parameter>,
    pub returns: Type,
    /// The implementation. The number and types of arguments are checked already.
    pub call: fn(&[Value]) -> Result<Value, FunctionError>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: &'static str,
    pub kind: Type,
    /// `allow_null_value`.
    pub allows_null: bool,
    /// `allow_unknown_values`.
    pub allows_unknown: bool,
    pub description: &'static str,
}

/// Error of a function call, caused by its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionError {
    pub text: String,
    /// Index of the argument at fault, variadic ones included.
    pub argument: Option<i64>,
}

/// All functions; those for tests only with `odd`.
pub(crate) fn all(odd: bool) -> Vec<Function> {
    let mut functions = usual();
    if odd {
        functions.extend(odd_ones());
    }
    functions
}

fn odd_ones() -> Vec<Function> {
    let parameter = |name, kind, allows_unknown| Parameter {
        name,
        kind,
        allows_null: true,
        allows_unknown,
        description: "Anything of its type.",
    };
    vec![
        Function {
            name: "odd_same",
            summary: "What it is given",
            parameters: vec![parameter("value", Type::Dynamic, true)],
            variadic: None,
            returns: Type::Dynamic,
            call: |arguments| Ok(arguments.first().cloned().unwrap_or(Value::Null)),
        },
        Function {
            name: "odd_known",
            summary: "Whether what it is given is known",
            parameters: vec![parameter("value", Type::String, true)],
            variadic: Some(parameter("others", Type::String, false)),
            returns: Type::Bool,
            call: |arguments| Ok(Value::Bool(arguments.iter().all(Value::is_wholly_known))),
        },
        Function {
            name: "odd_refuse",
            summary: "An error that quotes what it is given",
            parameters: vec![parameter("value", Type::String, false)],
            variadic: None,
            returns: Type::String,
            call: |arguments| {
                let text = match arguments {
                    [Value::String(text)] => format!("{text:?} is not what it takes"),
                    _ => "nothing is not what it takes".to_owned(),
                };
                Err(FunctionError { text, argument: Some(0) })
            },
        },
        Function {
            name: "odd_swap",
            summary: "A pair the other way round",
            parameters: vec![parameter("pair", Type::tuple([Type::String, Type::Number]), false)],
            variadic: None,
            returns: Type::tuple([Type::Number, Type::String]),
            call: |arguments| {
                Ok(match arguments {
                    [Value::Tuple(pair)] => Value::Tuple(pair.iter().rev().cloned().collect()),
                    _ => Value::Null,
                })
            },
        },
        Function {
            name: "odd_huge",
            summary: "A number beyond doubles, and what it is given",
            parameters: vec![parameter("number", Type::Number, false)],
            variadic: None,
            returns: Type::object([("given", Type::String), ("huge", Type::Number)]),
            call: |arguments| {
                let given = arguments.first().map(|given| match given {
                    Value::Number(number) => Value::string(number.to_decimal_text()),
                    _ => Value::Null,
                });
                let huge = Value::Number(Number::from(9_007_199_254_740_993_i64));
                let members = [("given".into(), given.unwrap_or(Value::Null)), ("huge".into(), huge)];
                Ok(Value::Object(members.into()))
            },
        },
    ]
}

fn usual() -> Vec<Function> {
    vec![
        Function {
            name: "greet",
            summary: "A greeting",
            parameters: vec![Parameter {
                name: "name",
                kind: Type::String,
                allows_null: false,
                allows_unknown: false,
                description: "Whom to greet.",
            }],
            variadic: Some(Parameter {
                name: "punctuation",
                kind: Type::String,
                allows_null: true,
                allows_unknown: false,
                description: "What to end with, one after the other; null is passed over.",
            }),
            returns: Type::String,
            call: greet,
        },
        Function {
            name: "sum",
            summary: "The sum of whole numbers",
            parameters: Vec::new(),
            variadic: Some(Parameter {
                name: "numbers",
                kind: Type::Number,
                allows_null: false,
                allows_unknown: false,
                description: "What to add up.",
            }),
            returns: Type::Number,
            call: sum,
        },
    ]
}

impl Function {
    /// The parameter of the argument at this position.
    pub(crate) fn parameter(&self, position: usize) -> Option<&Parameter> {
        self.parameters.get(position).or(self.variadic.as_ref())
    }

    /// Whether the function accepts this number of arguments.
    pub(crate) fn takes(&self, count: usize) -> bool {
        count == self.parameters.len() || (count > self.parameters.len() && self.variadic.is_some())
    }
}

fn greet(arguments: &[Value]) -> Result<Value, FunctionError> {
    let texts: Vec<&str> = arguments
        .iter()
        .filter_map(|argument| match argument {
            Value::String(text) => Some(&**text),
            _ => None,
        })
        .collect();
    match texts.split_first() {
        Some((&"", _)) | None => Err(FunctionError { text: "nobody to greet".to_owned(), argument: Some(0) }),
        Some((name, [])) => Ok(Value::string(format!("Hello, {name}!"))),
        Some((name, punctuation)) => Ok(Value::string(format!("Hello, {name}{}", punctuation.concat()))),
    }
}

fn sum(arguments: &[Value]) -> Result<Value, FunctionError> {
    let mut total = 0_i64;
    for (argument, position) in arguments.iter().zip(0..) {
        let number = crate::object::integer(argument);
        let next = number.and_then(|number| total.checked_add(number));
        total = next.ok_or_else(|| FunctionError {
            text: "only whole numbers below 2^63 can be added up".to_owned(),
            argument: Some(position),
        })?;
    }
    Ok(Value::Number(Number::from(total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_end_as_asked() {
        let arguments = [Value::string("Ada"), Value::string("?"), Value::Null, Value::string("!")];
        assert_eq!(greet(&arguments[..1]), Ok(Value::string("Hello, Ada!")));
        assert_eq!(greet(&arguments), Ok(Value::string("Hello, Ada?!")));
    }

    #[test]
    fn the_argument_at_fault_is_named() {
        let half = Number::from_decimal("0.5").map(Value::Number).expect("a number");
        let error = sum(&[Value::Number(Number::from(1)), half]).expect_err("not whole");
        assert_eq!(error.argument, Some(1));
    }
}
