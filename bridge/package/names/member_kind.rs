//! The kinds of a package's members, and how Terraform refers to them.

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
