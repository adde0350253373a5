//! Property bags to Terraform values and back, directed by a resource's shape. Pure: no I/O, no clock.

mod absent_block;
pub mod attribute_paths;
pub mod config_values;
mod dynamic;
pub mod exact_numbers;
pub mod ignore_changes;
pub mod ignored_attributes;
pub mod import;
pub mod inputs;
pub mod marked_secrets;
pub mod meta;
pub mod outputs;
pub mod property;
pub mod property_path;
pub mod raw_state;
mod secret_paths;
pub mod set_matching;
pub mod sets;
#[cfg(test)]
pub(crate) mod testing;
