//! What the provider's own documentation says of a package's members, for the package schema.
//!
//! Only a package that was asked for with it has it. It goes before the descriptions of the provider's schema, as for the Go
//! bridge.

use std::collections::HashMap;

use super::names::MemberKind;

/// The texts of a package's members.
#[derive(Debug, Default)]
pub struct Described(HashMap<(MemberKind, String), Text>);

/// The text about a member, in Terraform's names.
#[derive(Debug, Default)]
pub struct Text {
    /// Markdown.
    pub description: String,
    /// Descriptions of properties, in Markdown, by Terraform's names.
    pub properties: HashMap<String, String>,
}

impl Described {
    /// Adds the text about a member.
    pub fn add(&mut self, kind: MemberKind, terraform: &str, text: Text) {
        self.0.insert((kind, terraform.to_owned()), text);
    }

    /// The text about a member.
    pub(super) fn of(&self, kind: MemberKind, terraform: &str) -> Option<&Text> {
        self.0.get(&(kind, terraform.to_owned()))
    }
}
