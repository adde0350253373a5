//! Mapping of Terraform names to Pulumi names.
//!
//! All functions are pure and exactly compatible with the Go bridge, because programs, generated
//! SDKs and state files contain these names. Names are mapped forwards by rule (this module), and
//! back by lookup of the forward results (`package::shape`); only the state format also uses a
//! reverse rule, [`casing::pulumi_to_terraform`].
//!
//! If two names collide after casing, the Go bridge rejects the provider, creates a package that
//! the engine rejects, or merges the two; here the later one (ordered by Terraform name) gets a
//! number, so that every provider has a package. Other names, too, have what no SDK of a language can
//! have by its name ([`impossible`]).

pub mod casing;
pub mod choices;
pub mod derived;
#[cfg(test)]
mod go_bridge_tests;
pub mod impossible;
pub(crate) mod inflector;
pub mod plain_results;
pub mod properties;
pub mod random_digits;
pub mod tokens;

/// The kinds of a package's members, by their prefix in Terraform's references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberKind {
    Resource,
    DataSource,
    EphemeralResource,
    Action,
    Function,
}

impl MemberKind {
    /// The kind in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::DataSource => "data source",
            Self::EphemeralResource => "ephemeral resource",
            Self::Action => "action",
            Self::Function => "function",
        }
    }

    /// Terraform's reference to a member, without a name of its own.
    pub fn reference(self, terraform: &str) -> String {
        match self {
            Self::Resource => terraform.to_owned(),
            Self::DataSource => format!("data.{terraform}"),
            Self::EphemeralResource => format!("ephemeral.{terraform}"),
            Self::Action => format!("action.{terraform}"),
            Self::Function => format!("function.{terraform}"),
        }
    }
}
