//! Options for the SDK generators, one block per language.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::names::casing::upper_first;
use crate::shape::Field;

/// The generation of Terraform-based SDKs to stay compatible with.
const COMPATIBILITY: &str = "tfbridge20";

/// Inputs of the blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackageFacts<'a> {
    pub(super) package: &'a str,
    pub(super) major: u64,
    pub(super) description: &'a str,
    /// The assumed owner of the provider's repository.
    pub(super) organisation: &'a str,
    /// The assumed URL of the provider's repository; empty for a local provider.
    pub(super) repository: &'a str,
}

/// The blocks by language.
pub(super) fn blocks(facts: PackageFacts<'_>) -> BTreeMap<&'static str, Value> {
    let readme = readme(facts);
    BTreeMap::from([
        (
            "csharp",
            json!({
                "compatibility": COMPATIBILITY,
                "liftSingleValueMethodReturns": true,
                "respectSchemaVersion": true,
            }),
        ),
        (
            "go",
            json!({
                "importBasePath": go_import_path(facts.package, facts.major),
                "rootPackageName": facts.package,
                "liftSingleValueMethodReturns": true,
                "generateExtraInputTypes": true,
                "respectSchemaVersion": true,
            }),
        ),
        (
            "java",
            json!({ "basePackage": "", "buildFiles": "", "gradleNexusPublishPluginVersion": "", "gradleTest": "" }),
        ),
        (
            "nodejs",
            json!({
                "packageDescription": facts.description,
                "readme": readme,
                "compatibility": COMPATIBILITY,
                "disableUnionOutputTypes": true,
                "liftSingleValueMethodReturns": true,
                "respectSchemaVersion": true,
            }),
        ),
        (
            "python",
            json!({
                "readme": readme,
                "compatibility": COMPATIBILITY,
                "respectSchemaVersion": true,
                "pyproject": { "enabled": true },
            }),
        ),
    ])
}

/// The sentence about a package's origin.
pub(super) fn attribution(package: &str, organisation: &str) -> String {
    format!(
        "This Pulumi package is based on the [`{package}` Terraform \
         Provider](https://github.com/{organisation}/terraform-provider-{package})."
    )
}

/// The import path of a package's Go SDK. From major version 2 on, the path of a Go module contains the version.
pub fn go_import_path(package: &str, major: u64) -> String {
    let version = if major > 1 { format!("v{major}/") } else { String::new() };
    format!("github.com/pulumi/pulumi-terraform-provider/sdks/go/{package}/{version}{package}")
}

fn readme(PackageFacts { package, organisation, repository, .. }: PackageFacts<'_>) -> String {
    let upstream = format!("https://github.com/{organisation}/terraform-provider-{package}");
    // Pulumi's own repository comes first.
    let ask = if repository.contains("pulumi") {
        format!(
            "> first check the [`pulumi-{package}` repo]({repository}/issues); however, if that doesn't turn up \
             anything,\n> please consult the source"
        )
    } else {
        "> please consult the source".to_owned()
    };
    format!(
        "> This provider is a derived work of the [Terraform Provider]({upstream})\n\
         > distributed under [MPL 2.0](https://www.mozilla.org/en-US/MPL/2.0/). If you encounter a bug or missing \
         feature,\n{ask} [`terraform-provider-{package}` repo]({upstream}/issues)."
    )
}

/// The classes in C# and Java that a property becomes a member of.
///
/// A member of a C# class cannot be called like the class, nor like another member or a class that the code of the class uses. No
/// SDK with such a property compiles, so no program relies on its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes<'a> {
    /// What their names begin with.
    name: &'a str,
    /// What comes after that.
    suffixes: &'static [&'static str],
    /// Names that the code of one of them uses.
    used: &'static [&'static str],
    /// Whether the code of one of them makes an `Output` of a secret.
    has_secrets: bool,
}

impl<'a> Classes<'a> {
    /// Classes that only outputs are members of, and that have names of their own.
    pub(super) const OUTPUTS: Classes<'static> =
        Classes { name: "", suffixes: &[], used: &[], has_secrets: false };

    /// The arguments of a function, whose class is called like no property.
    pub(super) const ARGUMENTS: Classes<'static> = Classes { used: &["Empty"], ..Self::OUTPUTS };

    /// The provider, and its arguments.
    pub(super) const PROVIDER: Classes<'static> = Classes {
        name: "Provider",
        suffixes: &["", "Args"],
        used: &["CustomResourceOptions", "Empty", "MakeResourceOptions", "Utilities"],
        has_secrets: false,
    };

    /// A resource, its arguments, and its state.
    pub(super) fn of_resource(name: &'a str) -> Self {
        Self {
            name,
            suffixes: &["", "Args", "State"],
            used: &["CustomResourceOptions", "Empty", "Get", "MakeResourceOptions", "Utilities"],
            has_secrets: false,
        }
    }

    /// An object type, as an output and perhaps as an input.
    pub(super) fn of_type(name: &'a str, is_input: bool) -> Self {
        if is_input {
            Self { name, suffixes: &["", "Args", "GetArgs"], ..Self::ARGUMENTS }
        } else {
            Self { name, suffixes: &[""], ..Self::OUTPUTS }
        }
    }

    /// The same, if their inputs are these.
    pub(super) fn with_inputs<'f>(self, mut inputs: impl Iterator<Item = &'f Field>) -> Self {
        Self { has_secrets: inputs.any(Field::is_secret), ..self }
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
        let is_used = self.used.contains(&&*name) || (self.has_secrets && name == "Output");
        if is_used || is_class() {
            return [("csharp", json!({ "name": format!("{name}Value") }))].into();
        }
        BTreeMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_go_path_has_a_major_version_from_two_on() {
        assert!(go_import_path("random", 0).ends_with("/sdks/go/random/random"));
        assert!(go_import_path("random", 1).ends_with("/sdks/go/random/random"));
        assert!(go_import_path("random", 3).ends_with("/sdks/go/random/v3/random"));
    }

    #[test]
    fn the_readme_leads_to_the_repository() {
        let facts = PackageFacts {
            package: "random",
            major: 0,
            description: "",
            organisation: "hashicorp",
            repository: "",
        };
        let lines = readme(facts);
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.ends_with(
            "[`terraform-provider-random` repo](https://github.com/hashicorp/terraform-provider-random/issues)."
        ));
        let own = readme(PackageFacts { repository: "https://github.com/pulumi/x", ..facts });
        assert!(own.contains("[`pulumi-random` repo](https://github.com/pulumi/x/issues)"), "{own}");
    }
}
