//! The call that an example makes, in whichever language.

use super::form::Form;
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
