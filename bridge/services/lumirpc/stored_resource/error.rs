//! Failures specific to stored resources.

use isthmus_state::{EncryptedStoreError, RecordNumber, StoreKey, Unconfirmed};

use isthmus_operations::resource::OperationError;

/// How an object differs from what the engine sent. Properties are named without values, which may
/// be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The object's record; `None` if only the provider has the object.
    pub record: Option<RecordNumber>,
    pub properties: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoredResourceError {
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// An update failed after the provider changed the object, whose new state is stored.
    #[error(transparent)]
    Partial(OperationError),
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
    /// The prior state is neither stored nor importable.
    #[error(
        "the prior state of {key} is not in the store {store}, and it cannot be imported: {cause}\nEither point \
         ISTHMUS_HOME to the store that was used when the resource was made, or remove the resource from the \
         environment and delete it by hand"
    )]
    Unknown {
        key: StoreKey,
        /// Location of the state store.
        store: String,
        /// Why it cannot be imported.
        cause: String,
    },
    /// Several resources have this id, and the call does not distinguish them.
    #[error(
        "{count} resources in the store are {key}, and the call does not show which one it means; change an input that \
         makes the provider replace the resource, so that it gets a state of its own"
    )]
    Ambiguous { key: StoreKey, count: usize },
    /// The store or the provider has another object under the id than the engine means.
    #[error("cannot {operation} {key}: {}", contradiction(differences))]
    Contradicted {
        /// "delete" or the like.
        operation: &'static str,
        key: StoreKey,
        /// One for each object that it could be.
        differences: Vec<Contradiction>,
    },
    /// Several records have the id, and the provider's object matches none of them.
    #[error(
        "cannot {operation} {key}: {count} records of the state store have this id, and the provider's object differs from all of \
         them\nhelp: `isthmus state list` shows them; remove those whose object does not exist any more with `isthmus state rm`, \
         and repeat the operation"
    )]
    Unattributed {
        /// "delete" or the like.
        operation: &'static str,
        key: StoreKey,
        count: usize,
    },
    /// The resource to update does not exist any more.
    #[error(
        "{key} does not exist any more\nhelp: remove it from the environment, or change an input for which the provider replaces it"
    )]
    Gone { key: StoreKey },
    /// A creation failed half-way and was undone.
    #[error("{cause}\nThe partially created object was deleted")]
    Undone { cause: String },
    /// A creation failed half-way and could not be undone.
    #[error(
        "{cause}\nThe object made by then, {key}, could not be deleted again: {obstacle}\nIt still exists{}; delete it by \
         hand",
        if .stored.is_some() { ", and is kept in the store as damaged" } else { "" }
    )]
    LeftBehind {
        cause: String,
        key: StoreKey,
        /// Why it cannot be deleted.
        obstacle: Box<str>,
        /// Records that the engine has this error; `None` if the state store does not have the object.
        stored: Option<Box<Unconfirmed>>,
    },
    /// A change was applied and could not be stored.
    #[error("{key} was {done}, but its new state could not be stored")]
    NotStored {
        key: StoreKey,
        /// "changed" or the like.
        done: &'static str,
        #[source]
        error: Box<Self>,
    },
}

impl StoredResourceError {
    /// Records that the engine has this error, if it names an object that the state store has.
    pub(crate) fn unconfirmed(&self) -> Option<Unconfirmed> {
        match self {
            Self::LeftBehind { stored, .. } => stored.as_deref().cloned(),
            _ => None,
        }
    }

    /// Wraps an error that prevented an applied change from being stored.
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
