//! Protocol 5: the older names of some calls, `PreparedConfig`, and no nested attributes.

#[path = "edge.rs"]
mod edge;
mod own;
mod service;

use isthmus_proto::tfplugin5 as message;

pub(crate) use edge::Edge;
