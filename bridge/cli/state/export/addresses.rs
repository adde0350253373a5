//! Resource addresses in an exported state.
//!
//! The legacy engine names resources without passing names to providers; the store identifies
//! objects by id. So an object's address is the first of: the user's, that of the state it was
//! imported from, or one derived from its id.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use isthmus_cty::json::Json;
use isthmus_state::{ComponentAddress, EncryptedStore, ObjectAddress, ResourceAddress};

use crate::cli::state::error::StateError;
use crate::cli::state::read_file;
use crate::cli::state::record::Record;
use crate::cli::state::selector::Selector;

/// Maximum length of an id's part of a name.
const LONGEST: usize = 40;

/// The user's addresses, by record number.
#[derive(Debug, Default)]
pub(super) struct Addresses(HashMap<i64, ObjectAddress>);

/// Addresses that are in use, each in its component.
type Taken = HashSet<(Option<ComponentAddress>, ObjectAddress)>;

impl Addresses {
    /// Reads them from a file, if there is one.
    pub(super) fn read(
        path: Option<&Path>,
        records: &[Record],
        state_store: &EncryptedStore,
    ) -> Result<Self, StateError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let bytes = read_file(path)?;
        let wrong = |reason: String| StateError::Addresses { file: path.to_owned(), reason };
        let Json::Object(members) = Json::parse(&bytes).map_err(|error| wrong(error.to_string()))? else {
            return Err(wrong("it holds something else".to_owned()));
        };
        let mut addresses = HashMap::new();
        for (address, selector) in members {
            let address: ObjectAddress = address.parse().map_err(|error| wrong(format!("{error}")))?;
            let (Json::String(text) | Json::Number(text)) = selector else {
                return Err(wrong(format!("{address} has a value that is not a record")));
            };
            let selector: Selector = text.parse().unwrap_or_else(|never| match never {});
            let record = selector.find(records, state_store)?;
            if record.key.type_name != address.resource.type_name {
                let found = &record.key.type_name;
                return Err(wrong(format!("{address} is given to {selector}, which is a {found}")));
            }
            if let Some(other) = addresses.insert(record.number(), address) {
                return Err(wrong(format!("record {} is also given {other}", record.number())));
            }
        }
        Ok(Self(addresses))
    }

    /// Assigns an address to each record.
    ///
    /// Addresses are unique within each component.
    pub(super) fn give(
        self,
        records: Vec<Record>,
        component_of: impl Fn(&Record) -> Option<ComponentAddress>,
    ) -> Vec<(ObjectAddress, Record)> {
        let mut addresses = self.0;
        let given = records.iter().filter_map(|record| {
            let address = addresses.get(&record.number())?;
            Some((component_of(record), address.clone()))
        });
        let mut taken: Taken = given.collect();
        let known: Vec<Option<ObjectAddress>> = records
            .iter()
            .map(|record| {
                let given = addresses.remove(&record.number());
                given.or_else(|| {
                    let own = record.object.address.clone()?;
                    // Objects of different states may have the same address.
                    taken.insert((component_of(record), own.clone())).then_some(own)
                })
            })
            .collect();
        let mut all = Vec::with_capacity(records.len());
        for (record, known) in records.into_iter().zip(known) {
            let component = component_of(&record);
            let address = known.unwrap_or_else(|| derived(&record, &component, &taken));
            taken.insert((component, address.clone()));
            all.push((address, record));
        }
        all
    }
}

fn derived(record: &Record, component: &Option<ComponentAddress>, taken: &Taken) -> ObjectAddress {
    let deposed = record.object.address.as_ref().and_then(|address| address.deposed.clone());
    let base = name_of(&record.key.id);
    let mut name = base.clone();
    for number in 2_u64.. {
        let resource = ResourceAddress::managed(&record.key.type_name, &name);
        let address = ObjectAddress { deposed: deposed.clone(), ..ObjectAddress::current(resource) };
        if !taken.contains(&(component.clone(), address.clone())) {
            return address;
        }
        name = format!("{base}_{number}");
    }
    unreachable!("there are more numbers than records")
}

/// A name derived from an id.
fn name_of(id: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let name: String =
        id.chars().take(LONGEST).map(|character| if is_part(character) { character } else { '_' }).collect();
    if ResourceAddress::is_name(&name) { name } else { format!("_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::state::record::tests::record;

    fn given(addresses: &[(i64, &str)], records: Vec<Record>) -> Vec<(i64, String)> {
        let parse = |(number, address): &(i64, &str)| (*number, address.parse().expect("an address"));
        Addresses(addresses.iter().map(parse).collect())
            .give(records, |_| None)
            .into_iter()
            .map(|(address, record)| (record.number(), address.to_string()))
            .collect()
    }

    #[test]
    fn the_users_address_goes_before_the_states_and_that_before_one_made_up() {
        let records = vec![
            record(1, "able-dog", None),
            record(2, "shy-cat", Some("module.m.random_pet.cat[0]")),
            record(3, "x", Some("random_pet.x")),
        ];
        assert_eq!(
            given(&[(3, "random_pet.mine")], records),
            [
                (1, "random_pet.able-dog".to_owned()),
                (2, "module.m.random_pet.cat[0]".to_owned()),
                (3, "random_pet.mine".to_owned())
            ]
        );
    }

    #[test]
    fn no_two_objects_are_called_alike() {
        let records = vec![
            record(1, "a", None),
            record(2, "a", None),
            record(3, "b", Some("random_pet.a")),
            record(4, "c", Some("random_pet.a")),
        ];
        let addresses = given(&[], records);
        let expected = ["random_pet.a_2", "random_pet.a_3", "random_pet.a", "random_pet.c"];
        assert_eq!(addresses.iter().map(|(_, address)| address.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn any_id_becomes_a_name() {
        for (id, name) in [
            ("able-dog", "able-dog"),
            ("", "_"),
            ("2020-01-01T00:00:00Z", "_2020-01-01T00_00_00Z"),
            ("größe/ \n", "gr__e___"),
            ("-x", "_-x"),
        ] {
            assert_eq!(name_of(id), name);
            assert!(ResourceAddress::is_name(name));
        }
        assert!(name_of(&"x".repeat(1000)).len() <= LONGEST + 1);
    }
}
