//! What Terraform's stacks keep (`tfstackdata1`): states and plans, as sequences of records.
//!
//! Terraform calls the format private: only Terraform makes and reads it, and it may change at any time. So everything here
//! is strict. What is known is checked whole; what is not known is treated as its key asks (refused, kept to the byte, or
//! dropped); and whatever is wrong is told with its position in the sequence, because nobody can look into such a file.
//!
//! A *state* is a map from keys to records, told by a sequence of changes: a later record takes the place of an earlier one
//! of its key, and one without content removes it. A *plan* is a sequence that only the release of Terraform that made it
//! reads back; it begins with the state that it was made from.
//!
//! Between programs records travel one by one, over gRPC. In a file each stands behind its length, as protobuf's libraries
//! delimit messages (`sequence`).

mod error;
#[cfg(test)]
mod hostile;
mod key;
mod plan;
mod plan_change;
mod sequence;
mod state;
#[cfg(test)]
mod tests;
mod value;

pub use error::{Fault, Position, SequenceError};
pub use key::{StateKeyError, kind_and_name};
pub use plan::{PlannedComponent, PlannedInput, StacksPlan};
pub use plan_change::{PlannedChange, PlannedImport, PlannedObject};
pub use sequence::{Kind, SequenceFile, StateRecord};
pub use state::{Component, ComponentObject, StacksState, differences};
pub use value::StacksValue;
