//! The operations on resources, between a Pulumi request and its Terraform calls, each once for both services.
//!
//! [`resource`] has a file for each: check, diff, create, read, update, delete. An operation takes a [`resource::Target`] (the
//! provider, the shape of the resource, and where warnings go) and its prior state; the services decode requests and encode what it
//! returns. `resource::operations` is the journal of what a change has begun.

pub mod resource;
