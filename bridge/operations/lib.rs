//! The operations on resources, between a Pulumi request and its Terraform calls, each once for both services.

pub mod resource;
