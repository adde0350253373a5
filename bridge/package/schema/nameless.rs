//! Members and properties whose names are no names.
//!
//! Some SDK generators write names into code as they are: an attribute called `[run()]` would run
//! when its class is made. Terraform itself refuses such names of attributes and blocks, but not
//! those within object types, and providers without Terraform's libraries send what they like. What
//! has such a name is left out of the package, with a warning; the bridge still serves it.

use std::fmt;

use super::super::function::FunctionShape;
use super::super::shape::{ObjectShape, Shape};
use crate::names::casing::is_name;

/// What is left out of a package, because of its name or of one within it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} not in this package: {names} other characters than letters, digits, `-`, `_` and `$`{required}"
)]
pub struct Nameless {
    /// "function "a(b)" is".
    what: String,
    /// "its name holds".
    names: String,
    required: &'static str,
}

/// How many names a warning quotes.
const MOST_QUOTED: usize = 3;

/// Why a member is left out, if its own name is none.
pub(super) fn member(kind: &str, terraform: &str) -> Option<Nameless> {
    (!is_name(terraform)).then(|| Nameless::one(format!("{kind} {} is", Quoted(terraform))))
}

/// The properties that are left out of a member.
pub(super) fn within(member: &str, object: &ObjectShape) -> Option<Nameless> {
    let mut found = Found::default();
    found.search(object);
    let quoted: Vec<_> = found.names.iter().map(|name| Quoted(name).to_string()).collect();
    let required = if found.required { ", and the provider requires one of them" } else { "" };
    match (quoted.as_slice(), found.count) {
        ([], _) => None,
        ([name], _) => {
            let required = if found.required { ", and the provider requires it" } else { "" };
            Some(Nameless { required, ..Nameless::one(format!("property {name} of {member} is")) })
        }
        (quoted, count) => {
            let more = count - quoted.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(Nameless {
                what: format!("properties {}{more} of {member} are", quoted.join(", ")),
                names: "their names hold".to_owned(),
                required,
            })
        }
    }
}

/// Why a function is left out, if a name in its signature is none. Its arguments have places, so it
/// is left out as a whole.
pub(super) fn function(shape: &FunctionShape) -> Option<Nameless> {
    let mut found = Found::default();
    for parameter in &shape.parameters {
        found.check(&parameter.pulumi, false);
        found.search_shape(&parameter.shape);
    }
    found.search_shape(&shape.return_shape);
    let name = found.names.first()?;
    let what = format!("function {} is", shape.terraform_name);
    Some(Nameless { what, names: format!("{} in its signature holds", Quoted(name)), required: "" })
}

impl Nameless {
    fn one(what: String) -> Self {
        Self { what, names: "its name holds".to_owned(), required: "" }
    }
}

/// Names that are none.
#[derive(Default)]
struct Found<'a> {
    /// The first ones.
    names: Vec<&'a str>,
    count: usize,
    /// Whether the provider requires one of them.
    required: bool,
}

impl<'a> Found<'a> {
    fn search(&mut self, object: &'a ObjectShape) {
        for field in &object.fields {
            if self.check(&field.pulumi, field.required) {
                self.search_shape(&field.shape);
            }
        }
    }

    fn search_shape(&mut self, shape: &'a Shape) {
        if let Some(object) = shape.object() {
            self.search(object);
        }
    }

    fn check(&mut self, name: &'a str, required: bool) -> bool {
        let is_name = is_name(name);
        if !is_name {
            if self.names.len() < MOST_QUOTED {
                self.names.push(name);
            }
            self.count += 1;
            self.required |= required;
        }
        is_name
    }
}

/// A name of others, shortened and in quotation marks.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        match self.0.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(formatter, "{:?}…", &self.0[..end]),
            None => write!(formatter, "{:?}", self.0),
        }
    }
}
