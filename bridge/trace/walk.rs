//! Messages of providers and engines, decoded, with marks on what is secret: by the schema, and by the program's marks.
//!
//! A value is secret unless its schema proves that it is public. A user of a [`Traced`] message decides what becomes of its
//! values, and redacts the known secrets of the session in its texts.

mod calls;
mod messages;
mod values;

use std::fmt;

use bytes::Bytes;
use isthmus_cty::{Refinements, Type};
use isthmus_proto::property::Struct;

pub(crate) use calls::CapturedCall;
pub use calls::CapturedCalls;
pub use messages::{METHODS, Schemas, rpc_name, without_values};
pub(crate) use messages::{MessageWalk, Subject, bytes_of, decode, rpc_of, type_name};
pub(crate) use values::{SecretPaths, ValueWalk};

/// Members by their names or keys.
pub(crate) type Members = Vec<(String, Traced)>;

/// A message, or a part of one. `Debug` omits its contents, which include secrets.
pub enum Traced {
    Null,
    Bool(bool),
    /// The decimal text of a number.
    Number(String),
    Text(String),
    /// A value of an enumeration, by its name, which an unknown one has not, and its number.
    Enum(Option<String>, i32),
    /// A value of a type that is not known yet.
    Unknown(Option<Box<Refinements>>, Type),
    List(Vec<Self>),
    Set(Vec<Self>),
    /// A set with secret elements, into which no path leads.
    MixedSet(Vec<Self>),
    /// By names of a contract or a schema.
    Object(Members),
    /// By keys of a program.
    Map(Members),
    /// A map of a message, in the order of its keys.
    Entries(Members),
    /// A value that brings its type.
    Dynamic(Type, Box<Self>),
    /// The same in a stored state: its members are `type` and `value`.
    StoredDynamic(Type, Members),
    /// A secret. Secrets within it are marked again.
    Secret(Box<Self>),
    /// A value of a schema.
    Value(Box<Self>),
    /// A stored state in JSON.
    State(Box<Self>),
    /// An identity, and its MessagePack.
    Identity(Box<Self>, Bytes),
    /// The message of a path.
    Path(Box<Self>),
    /// The properties of an engine, in which nothing is marked here.
    Bag(Struct),
    /// Private data of a provider.
    Private(Bytes),
    /// Bytes that hold no value of a user.
    Open(Bytes),
    /// Bytes that cannot be decoded, by their number.
    Withheld(usize),
}

impl fmt::Debug for Traced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Traced")
    }
}
