//! The kinds of a package's members, and how Terraform refers to them.

/// The kinds of a package's members, by their prefix in Terraform's references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberKind {
    Resource,
    DataSource,
    EphemeralResource,
    Action,
    Function,
}

impl MemberKind {
    /// Terraform's reference to a member, without a name of its own.
    pub(crate) fn reference(self, terraform: &str) -> String {
        match self {
            Self::Resource => terraform.to_owned(),
            Self::DataSource => format!("data.{terraform}"),
            Self::EphemeralResource => format!("ephemeral.{terraform}"),
            Self::Action => format!("action.{terraform}"),
            Self::Function => format!("function.{terraform}"),
        }
    }
}
