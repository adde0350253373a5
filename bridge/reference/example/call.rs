//! The call that an example makes, and its form, in whichever language.

use super::value::Value;
use isthmus_package::catalogue::Package;

/// What a program does with a member.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) package: &'a Package,
    pub(super) form: Form,
    /// Pulumi's token.
    pub(super) token: &'a str,
    pub(super) arguments: Vec<(String, Value)>,
    /// How it is called in Go, which may differ.
    pub(super) go_name: String,
    /// Whether the program exports the result. What may be secret and short-lived is not for the state.
    pub(super) exports: bool,
    /// Arguments at the end that may be left out, but not in Go.
    pub(super) omitted: usize,
}

/// The form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An explicit provider.
    Provider,
    Resource,
    /// A function with named arguments, if it has any at all. One without a result has no form for outputs in TypeScript and
    /// Python.
    Named {
        has_arguments: bool,
        has_result: bool,
    },
    /// A function with arguments in an order. One that takes nothing and returns no object has an empty structure of arguments
    /// in Go.
    Positional {
        is_empty_structure: bool,
    },
}
