//! What a package has pages about: its members, and the provider's configuration.

use std::fmt::Write as _;

use isthmus_package::catalogue::Package;
use isthmus_package::names::MemberKind;
use isthmus_package::names::tokens::{Tokens, member_name, nearest};

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageKind {
    Configuration,
    Resource,
    DataSource,
    Function,
    EphemeralResource,
    Action,
}

impl PageKind {
    /// What stands before a name of this kind in references of configurations, and in files of chosen names.
    fn prefix(self) -> Option<&'static str> {
        match self {
            Self::DataSource => Some("data."),
            Self::EphemeralResource => Some("ephemeral."),
            Self::Action => Some("action."),
            Self::Configuration | Self::Resource | Self::Function => None,
        }
    }
}

/// A subject of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub kind: PageKind,
    /// Terraform's name; the provider's type for the configuration.
    pub terraform: String,
    /// Pulumi's token; of the configuration that of the explicit provider.
    pub token: String,
}

/// All subjects of a package, by kind and then by Pulumi's name.
#[derive(Debug)]
pub struct Members(Vec<Member>);

/// There is no member of this name.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    #[error("package {package} has no resource, data source or function {wanted:?}{help}", help = meant(.nearest.as_deref()))]
    Unknown { package: String, wanted: String, nearest: Option<String> },
    /// Resources and data sources of Terraform have the same names.
    #[error("{wanted:?} is ambiguous\nhelp: write one of {}", .tokens.join(", "))]
    Ambiguous { wanted: String, tokens: Vec<String> },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("\nhelp: did you mean {name}?")).unwrap_or_default()
}

impl PageKind {
    pub const ALL: [Self; 6] = [
        Self::Configuration,
        Self::Resource,
        Self::DataSource,
        Self::Function,
        Self::EphemeralResource,
        Self::Action,
    ];

    /// In the singular, for one member.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Resource => "resource",
            Self::DataSource => "data source",
            Self::Function => "function",
            Self::EphemeralResource => "ephemeral resource",
            Self::Action => "action",
        }
    }

    /// The heading above a list of members.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Resource => "Resources",
            Self::DataSource => "Data sources",
            Self::Function => "Functions",
            Self::EphemeralResource => "Ephemeral resources",
            Self::Action => "Actions",
        }
    }

    /// The kind of a package's member; `None` for the provider's configuration.
    pub(super) fn of_member(self) -> Option<MemberKind> {
        Some(match self {
            Self::Configuration => return None,
            Self::Resource => MemberKind::Resource,
            Self::DataSource => MemberKind::DataSource,
            Self::Function => MemberKind::Function,
            Self::EphemeralResource => MemberKind::EphemeralResource,
            Self::Action => MemberKind::Action,
        })
    }

    /// The directory of its pages.
    fn directory(self) -> &'static str {
        match self {
            Self::Configuration => "",
            Self::Resource => "resources/",
            Self::DataSource => "data-sources/",
            Self::Function => "functions/",
            Self::EphemeralResource => "ephemeral-resources/",
            Self::Action => "actions/",
        }
    }
}

impl Member {
    /// Pulumi's name, such as `Pet` or `getPet`.
    pub fn name(&self) -> &str {
        member_name(&self.token)
    }

    /// The path of its page below the first one. Names of providers have small letters, digits, `_` and `-`; of any other
    /// character, the path has its number, so that no name leads elsewhere, and none is that of another in a file system
    /// without cases.
    pub fn path(&self) -> String {
        let mut path = self.kind.directory().to_owned();
        if self.kind == PageKind::Configuration {
            path.push_str("configuration");
        } else {
            for character in self.terraform.chars() {
                if character.is_ascii_lowercase()
                    || character.is_ascii_digit()
                    || matches!(character, '_' | '-')
                {
                    path.push(character);
                } else {
                    let _ = write!(path, "~{:x}~", u32::from(character));
                }
            }
        }
        path.push_str(".html");
        path
    }
}

impl Members {
    pub fn of(package: &Package) -> Self {
        let identity = package.identity();
        let mut members = vec![Member {
            kind: PageKind::Configuration,
            terraform: identity.provider_type.clone(),
            token: format!("pulumi:providers:{}", identity.name),
        }];
        let mut add = |kind, tokens: &Tokens| {
            let first = members.len();
            members.extend(tokens.iter().map(|(terraform, token)| Member {
                kind,
                terraform: terraform.to_string(),
                token: token.to_owned(),
            }));
            members[first..].sort_by(|one, other| one.name().cmp(other.name()));
        };
        add(PageKind::Resource, package.resources());
        add(PageKind::DataSource, package.data_sources());
        add(PageKind::Function, package.functions());
        add(PageKind::EphemeralResource, package.ephemeral_resources());
        add(PageKind::Action, package.actions());
        Self(members)
    }

    pub fn all(&self) -> &[Member] {
        &self.0
    }

    /// The member whose page has this path.
    pub fn at(&self, path: &str) -> Option<&Member> {
        self.0.iter().find(|member| member.path() == path)
    }

    /// The member that a user names: by its token, the token without a module (`random:Pet`, or `random.Pet` as in programs), its name alone, or Terraform's
    /// name, which may begin with its kind as in configurations, such as `data.`.
    pub fn find(&self, package: &str, wanted: &str) -> Result<&Member, MemberError> {
        let is_meant = |member: &&Member| {
            let short = wanted.strip_prefix(package).and_then(|rest| rest.strip_prefix([':', '.']));
            wanted == member.token
                || wanted == member.name()
                || short == Some(member.name())
                || wanted == member.terraform
                || member
                    .kind
                    .prefix()
                    .is_some_and(|prefix| wanted.strip_prefix(prefix) == Some(member.terraform.as_str()))
        };
        let mut found: Vec<&Member> = self.0.iter().filter(is_meant).collect();
        // Terraform's name alone is that of the resource, as in Terraform; the provider's type is rarely meant.
        if let Some(resource) = found.iter().find(|member| member.kind == PageKind::Resource) {
            found = vec![*resource];
        }
        match found[..] {
            [member] => Ok(member),
            [] => {
                let names = self.0.iter().flat_map(|member| [member.name(), member.terraform.as_str()]);
                let nearest = nearest(wanted, names).map(str::to_owned);
                Err(MemberError::Unknown { package: package.to_owned(), wanted: wanted.to_owned(), nearest })
            }
            _ => Err(MemberError::Ambiguous {
                wanted: wanted.to_owned(),
                tokens: found.iter().map(|member| member.token.clone()).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_package::testing::package;

    #[test]
    fn a_member_is_found_by_each_of_its_names() {
        let members = Members::of(&package());
        let path = |wanted| members.find("test", wanted).map(Member::path).map_err(|error| error.to_string());
        for name in ["test:index/pet:Pet", "test:Pet", "test.Pet", "Pet", "test_pet"] {
            assert_eq!(path(name), Ok("resources/test_pet.html".to_owned()), "{name}");
        }
        for name in ["test:getPet", "getPet", "data.test_pet"] {
            assert_eq!(path(name), Ok("data-sources/test_pet.html".to_owned()), "{name}");
        }
        let ephemeral = Member {
            kind: PageKind::EphemeralResource,
            terraform: "test_pet".to_owned(),
            token: "test:index/openPet:openPet".to_owned(),
        };
        let found = Members(vec![ephemeral]).find("test", "ephemeral.test_pet").map(|member| member.kind);
        assert!(matches!(found, Ok(PageKind::EphemeralResource)), "{found:?}");
        assert_eq!(path("parseName"), Ok("functions/parse_name.html".to_owned()));
        assert_eq!(path("pulumi:providers:test"), Ok("configuration.html".to_owned()));
        let unknown = path("test_pett").unwrap_err();
        assert!(unknown.contains("no resource, data source or function \"test_pett\""), "{unknown}");
        assert!(unknown.contains("help: did you mean test_pet?"), "{unknown}");
    }

    #[test]
    fn no_name_leads_out_of_its_directory() {
        let named = |terraform: &str| Member {
            kind: PageKind::Resource,
            terraform: terraform.to_owned(),
            token: String::new(),
        };
        assert_eq!(named("../a/b").path(), "resources/~2e~~2e~~2f~a~2f~b.html");
        assert_eq!(named("a_b-C9").path(), "resources/a_b-~43~9.html");
    }
}
