//! Addresses of a stack's resources in a state: the way back.
//!
//! A migration to Pulumi writes the address of every resource beside the stack export, because a
//! name does not determine it. With that file a resource gets its former address back; any other gets
//! `TYPE.NAME` in the root module, with a number if that is taken.

use std::collections::{BTreeMap, HashMap, HashSet};

use isthmus_cty::json::Json;
use isthmus_state::{DeposedKey, ObjectAddress, ResourceAddress};

use super::names::unique;
use isthmus_package::urn::Urn;

/// Addresses by the part of a URN after the project: `TYPE::NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(BTreeMap<String, ObjectAddress>);

/// A file of addresses is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressesError {
    #[error("it is not a JSON object of addresses")]
    Syntax,
    #[error("{0:?} is not the address of a resource")]
    Address(String),
    #[error("{address} and {other} are addresses of the same resource")]
    Twice { address: String, other: String },
}

impl Addresses {
    /// Adds the address of a resource.
    pub fn insert(&mut self, token: &str, name: &str, address: ObjectAddress) {
        self.0.insert(format!("{token}::{name}"), address);
    }

    /// The file: a JSON object of addresses, each with the resource.
    pub fn write(&self) -> String {
        let by_address: BTreeMap<String, &str> =
            self.0.iter().map(|(resource, address)| (address.to_string(), resource.as_str())).collect();
        serde_json::to_string_pretty(&by_address).expect("texts have a JSON form") + "\n"
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is no file of addresses.
    pub fn read(bytes: &[u8]) -> Result<Self, AddressesError> {
        let Ok(Json::Object(members)) = Json::parse(bytes) else { return Err(AddressesError::Syntax) };
        let mut addresses = BTreeMap::new();
        for (text, resource) in members {
            let Json::String(resource) = resource else { return Err(AddressesError::Syntax) };
            let address: ObjectAddress = text.parse().map_err(|_| AddressesError::Address(text))?;
            if let Some(other) = addresses.insert(resource, address.clone()) {
                let (address, other) = (address.to_string(), other.to_string());
                return Err(AddressesError::Twice { address, other });
            }
        }
        Ok(Self(addresses))
    }

    /// The addresses of all resources, given by URN, Terraform type, and whether they are pending
    /// deletions, which become deposed objects.
    pub fn of_all(&self, resources: &[(&str, &str, bool)]) -> Vec<ObjectAddress> {
        let mut taken: HashSet<ObjectAddress> = self.0.values().cloned().collect();
        let mut by_urn = HashMap::<&str, ObjectAddress>::new();
        let mut deposed = 0_u32;
        let mut all = Vec::with_capacity(resources.len());
        for (urn, type_name, is_pending_deletion) in resources {
            let current = by_urn.entry(urn).or_insert_with(|| {
                let key = format!("{}::{}", Urn(urn).resource_type().unwrap_or_default(), Urn(urn).name());
                match self.0.get(&key) {
                    Some(address) if address.resource.type_name == *type_name => address.clone(),
                    _ => free(type_name, Urn(urn).name(), &mut taken),
                }
            });
            let mut address = current.clone();
            if *is_pending_deletion {
                deposed += 1;
                address.deposed = DeposedKey::parse(&format!("{deposed:08x}"));
            }
            all.push(address);
        }
        all
    }
}

fn free(type_name: &str, name: &str, taken: &mut HashSet<ObjectAddress>) -> ObjectAddress {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let name: String =
        name.chars().map(|character| if is_part(character) { character } else { '_' }).collect();
    let name = if ResourceAddress::is_name(&name) { name } else { format!("_{name}") };
    let of = |name: &str| ObjectAddress::current(ResourceAddress::managed(type_name, name));
    of(&unique(&name, |name| taken.insert(of(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(name: &str) -> String {
        format!("urn:pulumi:dev::shop::random:index/pet:Pet::{name}")
    }

    fn of_all(addresses: &Addresses, resources: &[(&str, bool)]) -> Vec<String> {
        let urns: Vec<(String, bool)> = resources.iter().map(|(name, old)| (urn(name), *old)).collect();
        let resources: Vec<_> = urns.iter().map(|(urn, old)| (urn.as_str(), "random_pet", *old)).collect();
        let shown = |address: ObjectAddress| match &address.deposed {
            None => address.to_string(),
            Some(key) => format!("{address} {}", key.as_str()),
        };
        addresses.of_all(&resources).into_iter().map(shown).collect()
    }

    #[test]
    fn former_addresses_come_back() {
        let mut addresses = Addresses::default();
        let address: ObjectAddress = r#"module.m["a b"].random_pet.x[0]"#.parse().expect("an address");
        addresses.insert("random:index/pet:Pet", "m-a-b-x-0", address);
        let read = Addresses::read(addresses.write().as_bytes()).expect("addresses");
        assert_eq!(read, addresses);
        assert_eq!(of_all(&read, &[("m-a-b-x-0", false)]), [r#"module.m["a b"].random_pet.x[0]"#]);
    }

    #[test]
    fn other_resources_are_named_by_their_names() {
        let none = Addresses::default();
        assert_eq!(
            of_all(&none, &[("a", false), ("a b", false), ("a_b", false), ("1", false)]),
            ["random_pet.a", "random_pet.a_b", "random_pet.a_b-2", "random_pet._1"]
        );
    }

    #[test]
    fn pending_deletions_are_deposed_objects_of_the_same_address() {
        let none = Addresses::default();
        assert_eq!(
            of_all(&none, &[("a", true), ("a", false), ("a", true)]),
            ["random_pet.a 00000001", "random_pet.a", "random_pet.a 00000002"]
        );
    }

    #[test]
    fn what_is_no_file_of_addresses_is_refused() {
        for text in ["", "[]", r#"{"random_pet.a":1}"#, r#"{"random_pet":"x"}"#] {
            assert!(Addresses::read(text.as_bytes()).is_err(), "{text}");
        }
        let twice = br#"{"random_pet.a":"x","random_pet.b":"x"}"#;
        assert!(matches!(Addresses::read(twice), Err(AddressesError::Twice { .. })));
    }
}
