//! What a user has chosen for a package in place of the Go bridge's rules: names, and results without secrets.
//!
//! The choices are part of the package's parameter, so that an SDK, the stacks of its programs and the
//! plugin agree on them whatever the project's `isthmus.toml` says later. A parameter without them
//! is byte for byte the Go bridge's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::MemberKind;
use super::plain_results::PlainResults;

/// How a package's members and their properties are named, and which results have no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NameChoices {
    /// The rule for the names of properties.
    #[serde(skip_serializing_if = "is_default")]
    pub property_names: PropertyNames,
    /// What a block of at most one item is.
    #[serde(skip_serializing_if = "is_default")]
    pub single_items: SingleItems,
    /// Names of members, by Terraform's references to them: `aws_vpc`, `data.aws_vpc`,
    /// `ephemeral.aws_token`, `action.aws_run`, `function.arn_parse`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, ChosenName>,
    /// Names of properties by their path in Terraform (`rule.to_port`), by member as in `types`;
    /// `provider` is the provider's configuration.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, BTreeMap<String, ChosenName>>,
    /// Functions whose results have no secrets; `None` if the user has not chosen any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_results: Option<PlainResults>,
}

/// The rule for names of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PropertyNames {
    /// `dnsNames` for the list `dns_name`, as in the Go bridge.
    #[default]
    Pulumi,
    /// `dnsName`: no plurals.
    Singular,
    /// `dns_name`.
    Terraform,
}

/// What a block of at most one item is in Pulumi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SingleItems {
    /// Its item, as in the Go bridge.
    #[default]
    Values,
    /// A list, which stays one if a later version of the provider permits several items.
    Lists,
}

/// A name that generated SDKs can have: a letter, then letters, digits and underscores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChosenName(String);

/// It is no name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "invalid name {0:?}: it must be a letter from A to Z, followed by such letters, digits and underscores"
)]
pub struct NotAName(String);

/// The member of [`NameChoices::properties`] that is the provider's configuration.
pub const PROVIDER: &str = "provider";

/// The Go bridge's names.
pub static NO_CHOICES: NameChoices = NameChoices {
    property_names: PropertyNames::Pulumi,
    single_items: SingleItems::Values,
    types: BTreeMap::new(),
    properties: BTreeMap::new(),
    plain_results: None,
};

impl NameChoices {
    /// Whether all names are the Go bridge's.
    pub fn is_default(&self) -> bool {
        is_default(self)
    }

    /// Whether both give the same names.
    pub fn has_names_of(&self, other: &Self) -> bool {
        let names = |choices: &Self| Self { plain_results: None, ..choices.clone() };
        names(self) == names(other)
    }

    /// What distinguishes the names of properties from others, to be stored with them; `None` if they are the Go bridge's.
    pub fn digest_of_properties(&self) -> Option<String> {
        let properties = Self { types: BTreeMap::new(), plain_results: None, ..self.clone() };
        if properties.is_default() {
            return None;
        }
        let json = serde_json::to_vec(&properties).expect("its keys are text, and nothing in it can fail");
        // Only a few exist at a time.
        Some(Sha256::digest(json)[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The chosen name of a member.
    pub fn member(&self, kind: MemberKind, terraform: &str) -> Option<&str> {
        if self.types.is_empty() {
            return None;
        }
        self.types.get(&kind.reference(terraform)).map(ChosenName::as_str)
    }

    /// The chosen names of a member's properties.
    pub fn properties_of(&self, reference: &str) -> Option<&BTreeMap<String, ChosenName>> {
        self.properties.get(reference)
    }
}

impl ChosenName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ChosenName {
    type Error = NotAName;

    fn try_from(name: String) -> Result<Self, NotAName> {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(is_part) {
            Ok(Self(name))
        } else {
            Err(NotAName(name))
        }
    }
}

impl From<ChosenName> for String {
    fn from(name: ChosenName) -> Self {
        name.0
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_only_where_they_differ_and_read_back() {
        assert_eq!(serde_json::to_string(&NameChoices::default()).unwrap(), "{}");
        let json = "{\"propertyNames\":\"terraform\",\"singleItems\":\"lists\",\
                    \"types\":{\"data.aws_vpc\":\"findNetwork\"},\
                    \"properties\":{\"aws_vpc\":{\"rule.to_port\":\"upTo\"}}}";
        let choices: NameChoices = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&choices).unwrap(), json);
        assert_eq!(choices.member(MemberKind::DataSource, "aws_vpc"), Some("findNetwork"));
        assert_eq!(choices.member(MemberKind::Resource, "aws_vpc"), None);
    }

    #[test]
    fn names_that_no_sdk_can_have_and_choices_of_later_releases_are_refused() {
        for json in [
            "{\"types\":{\"a\":\"\"}}",
            "{\"types\":{\"a\":\"a-b\"}}",
            "{\"types\":{\"a\":\"__meta\"}}",
            "{\"properties\":{\"a\":{\"b\":\"2c\"}}}",
            "{\"propertyNames\":\"upper\"}",
            "{\"modules\":{}}",
        ] {
            serde_json::from_str::<NameChoices>(json).expect_err(json);
        }
    }
}
