//! Keys of records.

use std::fmt;

/// The key of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// Package of the resource.
    pub package: String,
    /// Terraform's type of the resource.
    pub type_name: String,
    /// The provider's id, which may be any text of any length.
    pub id: String,
}

/// Maximum length of an id in messages.
const SHOWN_ID: usize = 200;

impl fmt::Display for StoreKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, type_name, id } = self;
        match id.char_indices().nth(SHOWN_ID) {
            None => write!(formatter, "{type_name} {id:?} of package {package}"),
            Some((end, _)) => write!(formatter, "{type_name} {:?}… of package {package}", &id[..end]),
        }
    }
}
