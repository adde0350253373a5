//! Translation between property bags and Terraform values, directed by a resource's shape. Pure: no
//! I/O, no clock.
//!
//! [`inputs`] turns a bag into the value of a configuration with the paths of its secrets, [`outputs`] a new state into a bag.
//! [`raw_state`] and [`meta`] are what the Go bridge stores beside the outputs. [`sets`] gives outputs the order of the program's
//! lists, by [`set_matching`]; which elements a preview compares is decided in `isthmus_operations`.

mod absent_block;
pub mod attribute_paths;
pub mod config_values;
#[cfg(feature = "counting")]
#[doc(hidden)]
pub mod counting;
mod dynamic;
pub mod exact_numbers;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod ignore_changes;
pub mod ignored_attributes;
pub mod ignored_digits;
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
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod unread;
