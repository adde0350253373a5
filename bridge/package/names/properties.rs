//! The names of all properties of one object, which depend on each other.
//!
//! Siblings determine whether a list's name becomes a plural, and the number appended to a
//! duplicate name. Reserved names are replaced: `id` and `urn` at the top level of a resource,
//! `version` in the provider's configuration, `pulumi` everywhere.

use std::collections::HashSet;

use super::casing::property_name;
use super::choices::PropertyNames;
use super::inflector::pluralize;

/// An attribute or nested block.
#[derive(Clone, Copy, Debug)]
pub struct Nameable<'a> {
    /// Terraform's name.
    pub terraform: &'a str,
    /// A list or a set that is not flattened to its single item.
    pub several: bool,
    /// The name that the user has chosen. It is the field's unless it is reserved or another field has it.
    pub chosen: Option<&'a str>,
}

/// Parameters for top-level names of a resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceNaming<'a> {
    pub package: &'a str,
    /// Common prefix of the package's resource types, without a trailing underscore.
    pub prefix: &'a str,
    pub terraform_type: &'a str,
    /// Attribute `id` keeps its name, because it is the Pulumi id and no property.
    pub id_stays: bool,
    pub rule: PropertyNames,
}

/// The distinct Pulumi names of `fields`, in the same order, for any object but the top level of a
/// resource or of the provider's configuration.
pub(crate) fn object_names(fields: &[Nameable<'_>], rule: PropertyNames) -> Vec<String> {
    distinct(fields, natural(fields, rule), &[])
}

/// The distinct Pulumi names of the provider's configuration, in the same order.
///
/// The engine stores the plugin's version as `version` among a provider's inputs.
pub(crate) fn config_names(fields: &[Nameable<'_>], rule: PropertyNames) -> Vec<String> {
    let proposals = natural(fields, rule).into_iter().map(|proposal| match proposal.name.as_str() {
        "version" => Proposal::substitute("versionInfo"),
        _ => proposal,
    });
    distinct(fields, proposals.collect(), &["version"])
}

/// The names by the rules of case and plural alone, in the same order, possibly with duplicates.
pub(crate) fn natural_names(fields: &[Nameable<'_>], rule: PropertyNames) -> Vec<String> {
    // Only plurals depend on them.
    let siblings = if fields.iter().any(|field| field.several) { siblings(fields) } else { HashSet::new() };
    fields.iter().map(|field| natural_name(*field, &siblings, rule)).collect()
}

/// The distinct Pulumi names of a resource's top-level `fields`, in the same order.
pub fn resource_names(fields: &[Nameable<'_>], naming: &ResourceNaming<'_>) -> Vec<String> {
    let siblings = siblings(fields);
    let proposals = fields
        .iter()
        .zip(natural(fields, naming.rule))
        .map(|(field, natural)| match field.terraform {
            "id" if naming.id_stays => Proposal::natural("id"),
            "id" => first_free(&id_candidates(naming), &siblings),
            "urn" => first_free(&[format!("{}_urn", naming.package)], &siblings),
            "pulumi" => first_free(&["pulumi_info".to_owned()], &siblings),
            _ => natural,
        })
        .collect();
    distinct(fields, proposals, if naming.id_stays { &["urn"] } else { &["id", "urn"] })
}

/// Names that are reserved at every level: the engine's, those that both bridges add to the
/// attributes, and the key of special values.
const RESERVED: [&str; 4] = ["pulumi", "__meta", "__defaults", "4dabf18193072939515e22adb298388d"];

/// The name of a field, unless another field has it.
struct Proposal {
    name: String,
    /// Replaces a reserved name, and yields to fields with this name by rule.
    is_substitute: bool,
}

impl Proposal {
    fn natural(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_substitute: false }
    }

    fn substitute(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_substitute: true }
    }
}

fn siblings<'a>(fields: &[Nameable<'a>]) -> HashSet<&'a str> {
    fields.iter().map(|field| field.terraform).collect()
}

fn natural(fields: &[Nameable<'_>], rule: PropertyNames) -> Vec<Proposal> {
    let names = natural_names(fields, rule).into_iter();
    names
        .map(
            |name| {
                if name == "pulumi" { Proposal::substitute("pulumiInfo") } else { Proposal::natural(name) }
            },
        )
        .collect()
}

fn natural_name(field: Nameable<'_>, siblings: &HashSet<&str>, rule: PropertyNames) -> String {
    if field.several && rule == PropertyNames::Pulumi {
        let plural = pluralize(field.terraform);
        if !siblings.contains(plural.as_str()) {
            return property_name(&plural);
        }
    }
    rule.single(field.terraform)
}

impl PropertyNames {
    /// The name of what is not several. What is no name in a program is renamed by every rule.
    pub fn single(self, terraform: &str) -> String {
        match self {
            Self::Terraform if is_identifier(terraform) => terraform.to_owned(),
            Self::Pulumi | Self::Singular | Self::Terraform => property_name(terraform),
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Replacements for a settable `id`: the first one that no sibling has.
fn id_candidates(naming: &ResourceNaming<'_>) -> [String; 4] {
    let stripped = naming.terraform_type.strip_prefix(naming.prefix).filter(|rest| !rest.is_empty());
    let resource = stripped.unwrap_or(naming.terraform_type).trim_start_matches('_');
    let package = naming.package.replace('-', "_");
    [
        format!("{resource}_id"),
        format!("{package}_{resource}_id"),
        "resource_id".to_owned(),
        format!("{package}_id"),
    ]
}

/// The first free candidate; if there is none, the last one, which then gets a number.
fn first_free(candidates: &[String], siblings: &HashSet<&str>) -> Proposal {
    let free = candidates.iter().find(|candidate| !siblings.contains(candidate.as_str()));
    Proposal::substitute(property_name(free.or(candidates.last()).map_or("", String::as_str)))
}

/// Replaces names by chosen ones that are free: not reserved, and no other field's by rule or by an earlier choice.
fn choose(fields: &[Nameable<'_>], proposals: &mut [Proposal], reserved: &[&str]) {
    let mut order: Vec<_> = (0..fields.len()).collect();
    order.sort_by_key(|index| fields[*index].terraform);
    for index in order {
        let Some(chosen) = fields[index].chosen else { continue };
        let is_reserved = RESERVED.iter().chain(reserved).any(|name| *name == chosen);
        let mut others = proposals.iter().enumerate().filter(|(other, _)| *other != index);
        if !is_reserved && others.all(|(_, proposal)| proposal.name != chosen) {
            proposals[index] = Proposal::natural(chosen);
        }
    }
}

/// Appends the lowest free number, from 2, to duplicate names. The first by Terraform name keeps
/// the name; substitutes come last.
fn distinct(fields: &[Nameable<'_>], mut proposals: Vec<Proposal>, reserved: &[&str]) -> Vec<String> {
    if fields.iter().any(|field| field.chosen.is_some()) {
        choose(fields, &mut proposals, reserved);
    }
    let mut order: Vec<_> = (0..fields.len()).collect();
    order.sort_by_key(|index| (proposals[*index].is_substitute, fields[*index].terraform));
    let mut names: Vec<_> = proposals.into_iter().map(|proposal| proposal.name).collect();
    let mut taken: HashSet<&str> = RESERVED.iter().chain(reserved).copied().collect();
    let late: Vec<_> = order.into_iter().filter(|index| !taken.insert(&names[*index])).collect();
    if late.is_empty() {
        return names;
    }
    let mut taken: HashSet<String> = taken.into_iter().map(str::to_owned).collect();
    for index in late {
        let base = &names[index];
        let name = (2_u64..)
            .map(|number| format!("{base}{number}"))
            .find(|name| !taken.contains(name))
            .unwrap_or_else(|| base.clone());
        taken.insert(name.clone());
        names[index] = name;
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object_names(fields: &[Nameable<'_>]) -> Vec<String> {
        super::object_names(fields, PropertyNames::Pulumi)
    }

    fn config_names(fields: &[Nameable<'_>]) -> Vec<String> {
        super::config_names(fields, PropertyNames::Pulumi)
    }

    fn one(terraform: &str) -> Nameable<'_> {
        Nameable { terraform, several: false, chosen: None }
    }

    fn several(terraform: &str) -> Nameable<'_> {
        Nameable { terraform, several: true, chosen: None }
    }

    fn naming<'a>(package: &'a str, prefix: &'a str, terraform_type: &'a str) -> ResourceNaming<'a> {
        ResourceNaming { package, prefix, terraform_type, id_stays: false, rule: PropertyNames::Pulumi }
    }

    #[test]
    fn lists_and_sets_become_plurals() {
        assert_eq!(
            object_names(&[several("dns_name"), several("tls_support"), one("subject")]),
            ["dnsNames", "tlsSupports", "subject"]
        );
    }

    #[test]
    fn plurals_and_cases_are_a_choice() {
        let fields = [several("dns_name"), one("a b"), one("to_port"), one("pulumi"), one("__meta")];
        assert_eq!(
            super::object_names(&fields, PropertyNames::Singular),
            ["dnsName", "aB", "toPort", "pulumiInfo", "__meta2"]
        );
        assert_eq!(
            super::object_names(&fields, PropertyNames::Terraform),
            ["dns_name", "aB", "to_port", "pulumiInfo", "__meta2"]
        );
    }

    #[test]
    fn a_chosen_name_is_taken_if_it_is_free() {
        let chosen = |terraform, chosen| Nameable { chosen: Some(chosen), ..one(terraform) };
        assert_eq!(object_names(&[chosen("to_port", "upTo"), one("from_port")]), ["upTo", "fromPort"]);
        assert_eq!(object_names(&[chosen("a", "b"), chosen("b", "c"), chosen("d", "c")]), ["a", "c", "d"]);
        let naming = naming("x", "x", "x_thing");
        for reserved in ["urn", "id", "pulumi"] {
            assert_eq!(resource_names(&[chosen("a", reserved)], &naming), ["a"]);
        }
        assert_eq!(object_names(&[chosen("a", "id")]), ["id"]);
    }

    #[test]
    fn a_plural_that_a_sibling_already_is_stays_singular() {
        assert_eq!(object_names(&[several("tag"), one("tags")]), ["tag", "tags"]);
    }

    #[test]
    fn names_that_would_stand_twice_are_numbered_in_terraforms_order() {
        assert_eq!(object_names(&[one("a_b"), one("a__b"), one("aB2")]), ["aB3", "aB", "aB2"]);
        // A plural may collide with a sibling.
        assert_eq!(object_names(&[several("a_b"), one("aBs"), one("aBs2")]), ["aBs3", "aBs", "aBs2"]);
    }

    #[test]
    fn what_moves_aside_yields_to_those_who_are_called_so() {
        let fields = [one("pulumi"), one("pulumi_info"), one("urn"), one("x_urn"), one("id"), one("thingId")];
        assert_eq!(
            resource_names(&fields, &naming("x", "x", "x_thing")),
            ["pulumiInfo2", "pulumiInfo", "xUrn2", "xUrn", "thingId2", "thingId"]
        );
        assert_eq!(config_names(&[one("version"), one("version_info")]), ["versionInfo2", "versionInfo"]);
    }

    #[test]
    fn nothing_is_called_like_what_is_kept_beside_the_attributes() {
        let fields = [one("__meta"), one("__defaults"), one("4dabf18193072939515e22adb298388d")];
        let names = ["__meta2", "__defaults2", "4dabf18193072939515e22adb298388d2"];
        assert_eq!(object_names(&fields), names);
        assert_eq!(resource_names(&fields, &naming("x", "x", "x_x")), names);
    }

    #[test]
    fn names_that_pulumi_cannot_print_are_still_names() {
        assert_eq!(object_names(&[one("a b"), one("a\tb"), one("a_b")]), ["aB2", "aB", "aB3"]);
    }

    #[test]
    fn an_id_that_users_set_moves_to_the_first_free_name() {
        let id_and = |others: &[&'static str]| {
            let fields: Vec<_> = std::iter::once("id").chain(others.iter().copied()).map(one).collect();
            resource_names(&fields, &naming("b2", "b2", "b2_bucket")).swap_remove(0)
        };
        assert_eq!(id_and(&[]), "bucketId");
        assert_eq!(id_and(&["bucket_id"]), "b2BucketId");
        assert_eq!(id_and(&["bucket_id", "b2_bucket_id"]), "resourceId");
        assert_eq!(id_and(&["bucket_id", "b2_bucket_id", "resource_id"]), "b2Id");
        assert_eq!(id_and(&["bucket_id", "b2_bucket_id", "resource_id", "b2_id"]), "b2Id2");
    }

    #[test]
    fn the_id_of_a_renamed_package_uses_its_new_name_without_hyphens() {
        let fields = [one("id"), one("thing_id")];
        assert_eq!(resource_names(&fields, &naming("my-pkg", "test", "test_thing"))[0], "myPkgThingId");
    }

    #[test]
    fn words_of_pulumis_own_move_aside() {
        let fields = [one("urn"), one("pulumi"), one("provider"), one("version"), one("parent")];
        assert_eq!(
            resource_names(&fields, &naming("res", "res", "res_x")),
            ["resUrn", "pulumiInfo", "provider", "version", "parent"]
        );
        assert_eq!(object_names(&fields)[..2], ["urn", "pulumiInfo"]);
        assert_eq!(config_names(&fields)[..4], ["urn", "pulumiInfo", "provider", "versionInfo"]);
    }

    #[test]
    fn an_id_that_only_the_provider_sets_keeps_its_name() {
        let naming = ResourceNaming { id_stays: true, ..naming("random", "random", "random_pet") };
        assert_eq!(resource_names(&[one("id")], &naming), ["id"]);
    }

    proptest! {
        #[test]
        fn each_field_has_a_name_of_its_own_and_so_does_each_name_a_field(
            names in proptest::collection::btree_set(
                "[abs_]{1,5}|[a-c]{1,2}(_[a-cA-C0-9]{1,2}){0,3}s?|id|urn|pulumi|pulumi_info|version|x_id|x_urn|__meta|.{1,3}",
                0..30,
            ),
            flags in any::<u32>(),
            choices in any::<u32>(),
            rule in prop_oneof![
                Just(PropertyNames::Pulumi),
                Just(PropertyNames::Singular),
                Just(PropertyNames::Terraform),
            ],
            id_stays: bool,
        ) {
            let fields: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(index, name)| Nameable {
                    terraform: name,
                    several: flags >> (index % 32) & 1 == 1,
                    chosen: (choices >> (index % 32) & 1 == 1).then_some(["a", "urn", "as", "xId"][index % 4]),
                })
                .collect();
            let mut backwards = fields.clone();
            backwards.reverse();
            let naming = ResourceNaming { id_stays, rule, ..naming("x", "x", "x_x") };
            let ways = [
                Box::new(move |fields: &[Nameable<'_>]| super::object_names(fields, rule))
                    as Box<dyn Fn(&[Nameable<'_>]) -> Vec<String>>,
                Box::new(move |fields| super::config_names(fields, rule)),
                Box::new(move |fields| resource_names(fields, &naming)),
            ];
            for way in ways {
                let found = way(&fields);
                let back: std::collections::HashMap<_, _> =
                    found.iter().zip(&fields).map(|(pulumi, field)| (pulumi.as_str(), field.terraform)).collect();
                prop_assert_eq!(back.len(), fields.len(), "{:?}", found);
                for (pulumi, field) in found.iter().zip(&fields) {
                    prop_assert_eq!(back[pulumi.as_str()], field.terraform);
                    prop_assert!(!RESERVED.contains(&pulumi.as_str()), "{}", pulumi);
                    prop_assert!(!pulumi.is_empty() && !pulumi.contains(char::is_whitespace), "{:?}", pulumi);
                }
                // The order of a provider's attributes does not matter.
                let mut again = way(&backwards);
                again.reverse();
                prop_assert_eq!(again, found);
            }
        }
    }
}
