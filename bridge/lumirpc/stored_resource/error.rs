//! What can go wrong with kept resources, beyond what can go wrong with any.

use isthmus_state::{EncryptedStoreError, RecordNumber, StoreKey};

use crate::resource::OperationError;

/// How an object differs from what the engine sent. Properties are named without their values, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// The object's record; absent of one that only the provider has.
    pub record: Option<RecordNumber>,
    /// The properties that differ.
    pub properties: Vec<String>,
}

/// An operation on a kept resource failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredResourceError {
    /// The operation itself.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The store.
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
    /// Nobody knows what the resource was before.
    #[error(
        "the prior state of {key} is not in the store {store}, and it cannot be imported: {cause}\nEither point \
         ISTHMUS_HOME to the store that was used when the resource was made, or remove the resource from the \
         environment and delete it by hand"
    )]
    Unknown {
        /// Which resource.
        key: StoreKey,
        /// Where it should be.
        store: String,
        /// Why it cannot be imported.
        cause: String,
    },
    /// Several resources have this id, and the call does not tell which is meant.
    #[error(
        "{count} resources in the store are {key}, and nothing in the call tells which one is meant; change an input that \
         makes the provider replace the resource, so that it gets a state of its own"
    )]
    Ambiguous {
        /// Their common key.
        key: StoreKey,
        /// How many.
        count: usize,
    },
    /// The store or the provider has another object under the id than the engine means.
    #[error("cannot {doing} {key}: {}", contradiction(differences))]
    Contradicted {
        /// "delete" or the like.
        doing: &'static str,
        /// Which resource.
        key: StoreKey,
        /// All objects that it could be.
        differences: Vec<Contradiction>,
    },
    /// Several records have the id, and the provider's object is that of none of them.
    #[error(
        "cannot {doing} {key}: {count} records of the state store have this id, and the provider's object differs from all of \
         them\nhelp: `isthmus state list` shows them; remove those whose object does not exist any more with `isthmus state rm`, \
         and repeat the operation"
    )]
    Unattributed {
        /// "delete" or the like.
        doing: &'static str,
        /// Which resource.
        key: StoreKey,
        /// How many records.
        count: usize,
    },
    /// The resource that is to be changed is not there any more.
    #[error(
        "{key} does not exist any more\nhelp: remove it from the environment, or change an input for which the provider replaces it"
    )]
    Gone {
        /// Which resource.
        key: StoreKey,
    },
    /// A creation failed half-way, and has been undone.
    #[error("{cause}\nThe partially created object was deleted")]
    Undone {
        /// Why it failed.
        cause: String,
    },
    /// A creation failed half-way, and could not be undone.
    #[error(
        "{cause}\nWhat had been made by then, {key}, could not be deleted again: {obstacle}\nIt still exists{}; delete it by \
         hand",
        if *.kept { ", and is kept in the store as damaged" } else { "" }
    )]
    LeftBehind {
        /// Why it failed.
        cause: String,
        /// What is left.
        key: StoreKey,
        /// Why it cannot be deleted.
        obstacle: String,
        /// Whether the store has it.
        kept: bool,
    },
    /// Something was done that could not be stored.
    #[error("{key} was {done}, but its new state could not be stored")]
    NotStored {
        /// Which resource.
        key: StoreKey,
        /// "changed" or the like.
        done: &'static str,
        /// Why.
        #[source]
        error: Box<Self>,
    },
}

impl StoredResourceError {
    /// The same error, when it has kept something from being stored that was done already.
    pub(super) fn after(self, done: &'static str, key: &StoreKey) -> Self {
        Self::NotStored { key: key.clone(), done, error: Box::new(self) }
    }
}

fn contradiction(differences: &[Contradiction]) -> String {
    let listed = |difference: &Contradiction| {
        let names: Vec<String> = difference.properties.iter().map(|name| format!("`{name}`")).collect();
        let object = match difference.record {
            Some(number) => format!("record {} of the state store", number.0),
            None => "the provider's object with this id".to_owned(),
        };
        format!("{object} differs from what the engine has in {}", names.join(", "))
    };
    let listed: Vec<String> = differences.iter().map(listed).collect();
    let records: Vec<String> =
        differences.iter().filter_map(|difference| Some(difference.record?.0.to_string())).collect();
    let gone = "remove the resource from the environment";
    let help = if records.is_empty() {
        format!("if it is the engine's object, delete it by hand; in either case {gone}")
    } else {
        format!(
            "if the provider's object with this id is the one that the engine means, run `isthmus state rm {}` and repeat \
             the operation; if it is another one, {gone}",
            records.join(" ")
        )
    };
    format!("{}, so it may be another object\nhelp: {help}", listed.join("; "))
}
