//! What records are found by.

use std::fmt;

/// What a record is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// The package that the resource belongs to.
    pub package: String,
    /// The resource's type, in Terraform's spelling.
    pub type_name: String,
    /// The provider's id. It may be any text: of any length, with any characters.
    pub id: String,
}

/// How much of an id a message shows: ids may be as long as providers like.
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
