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
    /// A function with arguments in an order.
    Positional {
        has_parameters: bool,
    },
}
