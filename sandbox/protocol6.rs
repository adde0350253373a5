//! Protocol 6: the newer names of some calls, and nested attributes.

#[path = "edge.rs"]
mod edge;
mod own;
mod service;

use isthmus_proto::tfplugin6 as message;

pub(crate) use edge::Edge;
