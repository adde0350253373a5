//! Translation between property bags and Terraform values, directed by a resource's shape. Pure: no
//! I/O, no clock.

mod absent_block;
pub(crate) mod attribute_paths;
pub(crate) mod config_values;
mod dynamic;
pub(crate) mod exact_numbers;
pub(crate) mod ignore_changes;
pub(crate) mod ignored_attributes;
pub(crate) mod ignored_digits;
pub(crate) mod import;
pub(crate) mod inputs;
pub(crate) mod marked_secrets;
pub mod meta;
pub(crate) mod outputs;
pub mod property;
pub(crate) mod property_path;
pub mod raw_state;
mod secret_paths;
pub(crate) mod set_matching;
pub(crate) mod sets;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod unread;
