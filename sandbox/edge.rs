//! The edge of either protocol: messages in, calls of [`Provider`](crate::provider::Provider), messages out.
//!
//! The files below it are compiled twice, as modules of `protocol5.rs` and of `protocol6.rs`, each time with that
//! protocol's messages as `super::message`. The two families are different types with (nearly) the same names; what
//! differs stands in those two files. Fields are matched by name here, never by number, so the sandbox does not share an
//! assumption that a client may make about the two protocols' wire being the same.

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
