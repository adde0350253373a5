//! Names of resources in a stack, by the addresses in a state.
//!
//! The rule, which `docs/migration.md` documents: the names and instance keys of the modules, then
//! the name and instance key of the resource, joined by hyphens; every character other than ASCII
//! letters, digits, `_` and `-` becomes a hyphen. `module.net["eu"].random_pet.a[0]` is `net-eu-a-0`.
//! The type is not part of the name, because it is part of a URN. Where two resources of a type get
//! the same name, the later address gets a number.
//!
//! A YAML program identifies a resource by its *key*, which must be unique across types: it is the
//! name, or the Terraform type and the name where several resources have the same name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use isthmus_state::{InstanceKey, ObjectAddress};

/// Keys with another meaning in a YAML program.
pub const RESERVED_KEYS: [&str; 1] = ["pulumi"];

/// A resource's name in a stack, and its key in a YAML program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The last part of the URN.
    pub name: String,
    /// The key in a YAML program.
    pub key: String,
}

/// The names of resource instances. Deposed objects have the name of the current one.
pub fn names<'a>(addresses: impl IntoIterator<Item = &'a ObjectAddress>) -> HashMap<ObjectAddress, Name> {
    let instances: BTreeSet<ObjectAddress> =
        addresses.into_iter().map(|address| ObjectAddress { deposed: None, ..address.clone() }).collect();
    let mut taken = HashSet::new();
    let mut holders = HashMap::<String, usize>::new();
    let mut named = BTreeMap::new();
    for address in instances {
        let wanted = plain_name(&address);
        let type_name = address.resource.type_name.clone();
        let name = unique(&wanted, |name| taken.insert((type_name.clone(), name.to_owned())));
        *holders.entry(name.clone()).or_default() += 1;
        named.insert(address, name);
    }
    let mut keys: HashSet<String> = RESERVED_KEYS.map(str::to_owned).into();
    let is_alone = |name: &str| holders.get(name) == Some(&1) && !RESERVED_KEYS.contains(&name);
    keys.extend(named.values().filter(|name| is_alone(name)).cloned());
    let with_key = named.into_iter().map(|(address, name)| {
        let key = if is_alone(&name) {
            name.clone()
        } else {
            let wanted = format!("{}-{name}", sanitized(&address.resource.type_name));
            unique(&wanted, |key| keys.insert(key.to_owned()))
        };
        (address, Name { name, key })
    });
    with_key.collect()
}

/// The first of `NAME`, `NAME-2`, `NAME-3`, … that `take` accepts.
pub fn unique(wanted: &str, mut take: impl FnMut(&str) -> bool) -> String {
    if take(wanted) {
        return wanted.to_owned();
    }
    (2_u64..)
        .map(|number| format!("{wanted}-{number}"))
        .find(|name| take(name))
        .expect("there are more numbers than resources")
}

fn plain_name(address: &ObjectAddress) -> String {
    let modules = address.resource.module.iter().map(|step| (&step.name, step.key.as_ref()));
    let own = (&address.resource.name, address.key.as_ref());
    let parts = modules.chain([own]).map(|(name, key)| match key {
        None => sanitized(name),
        Some(InstanceKey::Number(number)) => format!("{}-{number}", sanitized(name)),
        Some(InstanceKey::Text(text)) => format!("{}-{}", sanitized(name), sanitized(text)),
    });
    parts.collect::<Vec<_>>().join("-")
}

/// A text as part of a name.
pub fn sanitized(text: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    text.chars().map(|character| if is_part(character) { character } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(addresses: &[&str]) -> Vec<(String, String, String)> {
        let parsed: Vec<ObjectAddress> =
            addresses.iter().map(|address| address.parse().expect("an address")).collect();
        let names = names(&parsed);
        let of = |address: &ObjectAddress| {
            let Name { name, key } = names[address].clone();
            (address.to_string(), name, key)
        };
        parsed.iter().map(of).collect()
    }

    fn expect(expected: &[(&str, &str, &str)]) {
        let addresses: Vec<&str> = expected.iter().map(|(address, ..)| *address).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(address, name, key)| ((*address).to_owned(), (*name).to_owned(), (*key).to_owned()))
            .collect();
        assert_eq!(named(&addresses), expected);
    }

    #[test]
    fn a_name_has_the_modules_the_resource_and_all_instance_keys() {
        expect(&[
            ("random_pet.a", "a", "a"),
            ("random_pet.b[0]", "b-0", "b-0"),
            (r#"random_pet.c["x/y z"]"#, "c-x-y-z", "c-x-y-z"),
            (r#"module.net["eu"].module.sub[1].random_pet.a[2]"#, "net-eu-sub-1-a-2", "net-eu-sub-1-a-2"),
        ]);
    }

    #[test]
    fn types_tell_equal_names_apart_in_urns_and_in_keys() {
        expect(&[
            ("random_pet.a", "a", "random_pet-a"),
            ("time_static.a", "a", "time_static-a"),
            ("time_static.b", "b", "b"),
        ]);
    }

    #[test]
    fn equal_names_of_a_type_are_numbered_by_their_addresses() {
        expect(&[
            (r#"random_pet.a["x y"]"#, "a-x-y", "a-x-y"),
            (r#"random_pet.a["x/y"]"#, "a-x-y-2", "a-x-y-2"),
            ("random_pet.a-x-y-2", "a-x-y-2-2", "a-x-y-2-2"),
        ]);
    }

    #[test]
    fn a_reserved_key_is_not_used() {
        expect(&[("random_pet.pulumi", "pulumi", "random_pet-pulumi")]);
    }

    #[test]
    fn a_deposed_object_has_the_name_of_the_current_one() {
        let current: ObjectAddress = "random_pet.a".parse().expect("an address");
        let deposed =
            ObjectAddress { deposed: isthmus_state::DeposedKey::parse("0123abcd"), ..current.clone() };
        let names = names([&current, &deposed]);
        assert_eq!(names.len(), 1);
        assert_eq!(names[&current].name, "a");
    }
}
