//! The names of all properties of one object, found together because they depend on each other.
//!
//! Whether a list's name becomes a plural depends on its siblings, and so does every number given to a name that would
//! otherwise stand twice. At the top of a resource three names are Pulumi's own and move aside: `id`, `urn`, `pulumi`.

use std::collections::HashSet;

use super::casing::property_name;
use super::inflector::pluralize;

/// One attribute or nested block that wants a name.
#[derive(Clone, Copy, Debug)]
pub struct Nameable<'a> {
    /// Terraform's name.
    pub terraform: &'a str,
    /// A list or a set that Pulumi sees as one, and not as its only item.
    pub several: bool,
}

/// What names at the top of a resource are made with.
#[derive(Clone, Copy, Debug)]
pub struct ResourceNaming<'a> {
    /// The Pulumi package.
    pub package: &'a str,
    /// What every resource type of the package starts with, without an underscore at its end.
    pub prefix: &'a str,
    /// Terraform's type name.
    pub terraform_type: &'a str,
    /// Attribute `id` keeps its name, because it is the Pulumi id and no property.
    pub id_stays: bool,
}

/// The Pulumi names of `fields`, in the same order. No two are the same.
pub fn object_names(fields: &[Nameable<'_>]) -> Vec<String> {
    number_duplicates(fields, natural_names(fields))
}

/// The names that the rules of letters and plurals alone give, in the same order. Some may stand twice.
pub fn natural_names(fields: &[Nameable<'_>]) -> Vec<String> {
    let siblings: HashSet<_> = fields.iter().map(|field| field.terraform).collect();
    fields.iter().map(|field| natural_name(*field, &siblings)).collect()
}

/// The Pulumi names of the `fields` at the top of a resource, in the same order. No two are the same.
pub fn resource_names(fields: &[Nameable<'_>], naming: &ResourceNaming<'_>) -> Vec<String> {
    let siblings: HashSet<_> = fields.iter().map(|field| field.terraform).collect();
    let natural = fields
        .iter()
        .map(|field| match field.terraform {
            "id" if !naming.id_stays => substitute(&id_candidates(naming), &siblings),
            "urn" => substitute(&[format!("{}_urn", naming.package)], &siblings),
            "pulumi" => substitute(&["pulumi_info".to_owned()], &siblings),
            _ => natural_name(*field, &siblings),
        })
        .collect();
    number_duplicates(fields, natural)
}

fn natural_name(field: Nameable<'_>, siblings: &HashSet<&str>) -> String {
    if field.several {
        let plural = pluralize(field.terraform);
        if !siblings.contains(plural.as_str()) {
            return property_name(&plural);
        }
    }
    property_name(field.terraform)
}

/// Where an `id` that users may set goes: the first of these that no sibling has.
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

/// The first candidate that is free; when none is, the last one, which then gets a number.
fn substitute(candidates: &[String], siblings: &HashSet<&str>) -> String {
    let free = candidates.iter().find(|candidate| !siblings.contains(candidate.as_str()));
    property_name(free.or(candidates.last()).map_or("", String::as_str))
}

/// Gives each field that is not the first to have its name (by the order of Terraform's names) the lowest number, from
/// 2, that makes a name nobody has.
fn number_duplicates(fields: &[Nameable<'_>], mut names: Vec<String>) -> Vec<String> {
    let mut order: Vec<_> = (0..fields.len()).collect();
    order.sort_by_key(|index| fields[*index].terraform);
    let mut taken = HashSet::with_capacity(names.len());
    let late: Vec<_> = order.into_iter().filter(|index| !taken.insert(names[*index].clone())).collect();
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

    fn one(terraform: &str) -> Nameable<'_> {
        Nameable { terraform, several: false }
    }

    fn several(terraform: &str) -> Nameable<'_> {
        Nameable { terraform, several: true }
    }

    fn naming<'a>(package: &'a str, prefix: &'a str, terraform_type: &'a str) -> ResourceNaming<'a> {
        ResourceNaming { package, prefix, terraform_type, id_stays: false }
    }

    #[test]
    fn lists_and_sets_become_plurals() {
        assert_eq!(
            object_names(&[several("dns_name"), several("tls_support"), one("subject")]),
            ["dnsNames", "tlsSupports", "subject"]
        );
    }

    #[test]
    fn a_plural_that_a_sibling_already_is_stays_singular() {
        assert_eq!(object_names(&[several("tag"), one("tags")]), ["tag", "tags"]);
    }

    #[test]
    fn names_that_would_stand_twice_are_numbered_in_terraforms_order() {
        assert_eq!(object_names(&[one("a_b"), one("a__b"), one("aB2")]), ["aB3", "aB", "aB2"]);
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
    fn urn_and_pulumi_move_aside_at_the_top_of_resources_only() {
        let fields = [one("urn"), one("pulumi"), one("provider"), one("version"), one("parent")];
        assert_eq!(
            resource_names(&fields, &naming("res", "res", "res_x")),
            ["resUrn", "pulumiInfo", "provider", "version", "parent"]
        );
        assert_eq!(object_names(&fields)[..2], ["urn", "pulumi"]);
    }

    #[test]
    fn an_id_that_only_the_provider_sets_keeps_its_name() {
        let naming = ResourceNaming { id_stays: true, ..naming("random", "random", "random_pet") };
        assert_eq!(resource_names(&[one("id")], &naming), ["id"]);
    }

    proptest! {
        #[test]
        fn no_two_properties_share_a_name(names in proptest::collection::btree_set("[ab_]{1,5}|id|urn|x_id", 0..30), flags in any::<u32>()) {
            let fields: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(index, name)| Nameable { terraform: name, several: flags >> (index % 32) & 1 == 1 })
                .collect();
            for found in [object_names(&fields), resource_names(&fields, &naming("x", "x", "x_x"))] {
                let distinct: HashSet<_> = found.iter().collect();
                prop_assert_eq!(distinct.len(), fields.len(), "{:?}", found);
            }
        }
    }
}
