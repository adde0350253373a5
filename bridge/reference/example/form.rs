//! The form of the call that an example makes.

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
