//! Names of properties in C# and Java, where the usual one does not compile.
//!
//! A member of a C# class cannot be called like the class, and every generated class of inputs has a
//! member `Empty`. No SDK with such a property compiles, so no program relies on its name.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::shape::Field;
use crate::names::casing::upper_first;

/// The classes that a property becomes a member of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes<'a> {
    /// What their names begin with.
    name: &'a str,
    /// What comes after that.
    suffixes: &'static [&'static str],
    has_empty: bool,
}

impl<'a> Classes<'a> {
    /// Classes that only outputs are members of, and that have names of their own.
    pub(super) const OUTPUTS: Classes<'static> = Classes { name: "", suffixes: &[], has_empty: false };

    /// The arguments of a function, whose class is called like no property.
    pub(super) const ARGUMENTS: Classes<'static> = Classes { has_empty: true, ..Self::OUTPUTS };

    /// A resource, its arguments, and its state.
    pub(super) fn of_resource(name: &'a str) -> Self {
        Self { name, suffixes: &["", "Args", "State"], has_empty: true }
    }

    /// An object type, as an output and perhaps as an input.
    pub(super) fn of_type(name: &'a str, is_input: bool) -> Self {
        let suffixes: &[&str] = if is_input { &["", "Args", "GetArgs"] } else { &[""] };
        Self { name, suffixes, has_empty: is_input }
    }

    /// The language block of a property: another name in C# if the usual one does not compile.
    pub(super) fn language(self, field: &Field) -> BTreeMap<&'static str, Value> {
        let name = upper_first(&field.pulumi);
        let is_class = || {
            !self.name.is_empty()
                && name
                    .strip_prefix(&upper_first(self.name))
                    .is_some_and(|rest| self.suffixes.contains(&rest))
        };
        if (self.has_empty && name == "Empty") || is_class() {
            return [("csharp", json!({ "name": format!("{name}Value") }))].into();
        }
        BTreeMap::new()
    }
}
