//! A record of the store, as the commands show it.

use isthmus_cty::json::Json;
use isthmus_state::{EncryptedStore, Fault, RecordNumber, RecordRef, SavedObject, Status, StoreKey};

use super::error::StateError;
use crate::cli::output::warn;

/// How many records are read at once.
const PAGE: u32 = 1000;

#[derive(Debug)]
pub(super) struct Record {
    pub(super) place: RecordRef,
    pub(super) key: StoreKey,
    pub(super) object: SavedObject,
}

#[derive(Debug, Default)]
pub(super) struct Records {
    /// The readable records, sorted by key.
    pub(super) records: Vec<Record>,
    /// The unreadable ones.
    pub(super) faults: Vec<Fault>,
}

/// All records, of one package or of all.
pub(super) async fn records(
    state_store: &EncryptedStore,
    package: Option<&str>,
) -> Result<Records, StateError> {
    let mut found = Records::default();
    let mut after = Some(RecordNumber(0));
    while let Some(from) = after {
        let page = state_store.page(package, from, PAGE).await?;
        let records = page.records.into_iter();
        found.records.extend(records.map(|(place, key, saved)| Record { place, key, object: saved.object }));
        found.faults.extend(page.faults);
        after = page.next;
    }
    found.records.sort_by(|one, other| (&one.key, one.place).cmp(&(&other.key, other.place)));
    Ok(found)
}

/// Warns of unreadable records.
pub(super) fn warn_of(faults: &[Fault]) {
    for fault in faults {
        let what_to_do = match fault.number {
            Some(number) => {
                format!("restore the store from a backup, or forget it with `isthmus state rm {}`", number.0)
            }
            None => "records may be missing here; restore the store from a backup".to_owned(),
        };
        warn(&format!("the store is damaged: {}; {what_to_do}", fault.reason));
    }
}

impl Record {
    pub(super) fn number(&self) -> i64 {
        self.place.number.0
    }

    /// `ready`, `damaged`, or `deposed`.
    pub(super) fn condition(&self) -> &'static str {
        match (&self.object.status, &self.object.address) {
            (_, Some(address)) if address.deposed.is_some() => "deposed",
            (Status::Ready, _) => "ready",
            (Status::Damaged, _) => "damaged",
        }
    }

    /// The JSON members that every command shows.
    pub(super) fn summary(&self) -> Vec<(String, Json)> {
        let text = |text: &str| Json::String(text.to_owned());
        let (address, component) = (self.object.address.as_ref(), self.object.component.as_ref());
        vec![
            ("number".to_owned(), Json::Number(self.number().to_string())),
            ("package".to_owned(), text(&self.key.package)),
            ("type".to_owned(), text(&self.key.type_name)),
            ("id".to_owned(), text(&self.key.id)),
            ("condition".to_owned(), text(self.condition())),
            ("address".to_owned(), address.map_or(Json::Null, |address| text(&address.to_string()))),
            ("component".to_owned(), component.map_or(Json::Null, |component| text(&component.to_string()))),
            ("provider".to_owned(), text(&self.object.provider)),
            ("schema_version".to_owned(), Json::Number(self.object.schema_version.to_string())),
        ]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A `random_pet`.
    pub(in crate::cli::state) fn record(number: i64, id: &str, address: Option<&str>) -> Record {
        Record {
            place: RecordRef { number: RecordNumber(number), version: 1 },
            key: StoreKey {
                package: "random".to_owned(),
                type_name: "random_pet".to_owned(),
                id: id.to_owned(),
            },
            object: SavedObject {
                value: Json::Object(vec![("id".to_owned(), Json::String(id.to_owned()))]),
                schema_version: 0,
                private: bytes::Bytes::new(),
                identity: None,
                status: Status::Ready,
                sensitive_paths: Vec::new(),
                dependencies: Vec::new(),
                create_before_destroy: false,
                provider: r#"provider["registry.terraform.io/hashicorp/random"]"#.to_owned(),
                address: address.map(|address| address.parse().expect("an address")),
                component: None,
            },
        }
    }

    #[test]
    fn a_deposed_object_is_that_and_nothing_else() {
        let mut record = record(1, "a", Some("random_pet.a"));
        record.object.status = Status::Damaged;
        assert_eq!(record.condition(), "damaged");
        let deposed = isthmus_state::DeposedKey::parse("0123cafe");
        record.object.address.as_mut().expect("an address").deposed = deposed;
        assert_eq!(record.condition(), "deposed");
    }
}
