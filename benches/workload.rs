//! What the contestants are given to do: resources of real providers whose creation needs no network.
//!
//! Each case names the resource both ways, for the engine and for Terraform, so that the floor makes the calls that a bridge
//! must make for the same request. Nothing in `random` can be updated in place; `time` is there for that.

use isthmus_proto::property::Struct;
use serde::Serialize;

/// A provider and its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Suite {
    /// Everything but updates.
    Random,
    /// Updates in place.
    Time,
    /// Resources in numbers at which `random` takes more memory than the machine has: it needs 57 KB more for each call, under
    /// any bridge.
    Sandbox,
}

impl Suite {
    /// The provider's name, which is the package's as well.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Time => "time",
            Self::Sandbox => "sandbox",
        }
    }

    /// The resource types that take turns.
    pub(crate) fn cases(self) -> &'static [Case] {
        match self {
            Self::Random => &RANDOM,
            Self::Time => &TIME,
            Self::Sandbox => &SANDBOX,
        }
    }
}

/// One resource type, and a resource of it before and after a change of the program.
#[derive(Debug)]
pub(crate) struct Case {
    /// The engine's name of the type.
    pub(crate) token: &'static str,
    /// Terraform's name of the type.
    pub(crate) type_name: &'static str,
    /// The first inputs.
    pub(crate) inputs: &'static [Input],
    /// The inputs after the change.
    pub(crate) changed: &'static [Input],
    /// What becomes of the resource by the change.
    pub(crate) change: Change,
}

/// What a change of a resource amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The provider changes the resource.
    InPlace,
    /// A new resource has to take its place; the life ends with the Diff that says so.
    Replace,
}

/// One property: the engine's name, Terraform's name, the value.
#[derive(Debug)]
pub(crate) struct Input {
    /// Camel case.
    pub(crate) property: &'static str,
    /// Snake case.
    pub(crate) attribute: &'static str,
    /// Its value.
    pub(crate) value: Scalar,
}

/// The value of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    /// Integers are all that the cases need.
    Number(u32),
    /// A text.
    Text(&'static str),
    /// A truth value.
    Truth(bool),
}

/// Inputs as the engine sends them.
pub(crate) fn bag(inputs: &[Input]) -> Struct {
    let mut bag = Struct::new();
    for input in inputs {
        match input.value {
            Scalar::Number(number) => bag.insert(input.property, f64::from(number)),
            Scalar::Text(text) => bag.insert(input.property, text),
            Scalar::Truth(truth) => bag.insert(input.property, truth),
        };
    }
    bag
}

const fn input(property: &'static str, attribute: &'static str, value: Scalar) -> Input {
    Input { property, attribute, value }
}

const RANDOM: [Case; 4] = [
    Case {
        token: "random:index/pet:Pet",
        type_name: "random_pet",
        inputs: &[
            input("length", "length", Scalar::Number(2)),
            input("prefix", "prefix", Scalar::Text("bench")),
        ],
        changed: &[
            input("length", "length", Scalar::Number(3)),
            input("prefix", "prefix", Scalar::Text("bench")),
        ],
        change: Change::Replace,
    },
    Case {
        token: "random:index/id:Id",
        type_name: "random_id",
        inputs: &[input("byteLength", "byte_length", Scalar::Number(8))],
        changed: &[input("byteLength", "byte_length", Scalar::Number(16))],
        change: Change::Replace,
    },
    Case {
        token: "random:index/string:String",
        type_name: "random_string",
        inputs: &[
            input("length", "length", Scalar::Number(16)),
            input("special", "special", Scalar::Truth(false)),
            input("minNumeric", "min_numeric", Scalar::Number(2)),
        ],
        changed: &[
            input("length", "length", Scalar::Number(24)),
            input("special", "special", Scalar::Truth(false)),
            input("minNumeric", "min_numeric", Scalar::Number(2)),
        ],
        change: Change::Replace,
    },
    Case {
        token: "random:index/integer:Integer",
        type_name: "random_integer",
        inputs: &[input("min", "min", Scalar::Number(1)), input("max", "max", Scalar::Number(50_000))],
        changed: &[input("min", "min", Scalar::Number(1)), input("max", "max", Scalar::Number(60_000))],
        change: Change::Replace,
    },
];

const TIME: [Case; 1] = [Case {
    token: "time:index/offset:Offset",
    type_name: "time_offset",
    inputs: &[
        input("baseRfc3339", "base_rfc3339", Scalar::Text("2026-01-01T00:00:00Z")),
        input("offsetDays", "offset_days", Scalar::Number(7)),
    ],
    changed: &[
        input("baseRfc3339", "base_rfc3339", Scalar::Text("2026-01-01T00:00:00Z")),
        input("offsetDays", "offset_days", Scalar::Number(8)),
    ],
    change: Change::InPlace,
}];

const SANDBOX: [Case; 1] = [Case {
    token: "sandbox:index/secret:Secret",
    type_name: "sandbox_secret",
    inputs: &[input("length", "length", Scalar::Number(16))],
    changed: &[input("length", "length", Scalar::Number(24))],
    change: Change::Replace,
}];
