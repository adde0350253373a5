//! Translation of either protocol's messages to calls of [`Provider`](crate::provider::Provider),
//! and back.
//!
//! The files in `edge/` are compiled twice, as modules of `protocol5.rs` and of `protocol6.rs`,
//! each time with that protocol's messages as `super::message`. The messages are different types
//! with (nearly) the same names; the differences are in these two files. Fields are matched by
//! name, never by number, so that the sandbox shares no assumption of a client that the wire
//! formats of both protocols are the same.

#[cfg(feature = "misbehaviour")]
#[path = "edge/actions.rs"]
mod actions;
#[cfg(feature = "misbehaviour")]
#[path = "edge/broken.rs"]
mod broken;
#[cfg(feature = "misbehaviour")]
#[path = "edge/ephemeral.rs"]
mod ephemeral;
#[cfg(feature = "misbehaviour")]
#[path = "edge/fixtures.rs"]
mod fixtures;
#[cfg(feature = "misbehaviour")]
#[path = "edge/functions.rs"]
mod functions;
#[cfg(feature = "misbehaviour")]
#[path = "edge/generated.rs"]
mod generated;
#[cfg(feature = "misbehaviour")]
#[path = "edge/lists.rs"]
mod lists;
#[path = "edge/lookups.rs"]
mod lookups;
#[path = "edge/objects.rs"]
mod objects;
#[path = "edge/provider.rs"]
mod provider;
#[path = "edge/values.rs"]
mod values;

pub(crate) use provider::Edge;

use super::{message, own};
