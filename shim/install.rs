//! Finding providers' programs.

mod executable;

pub use executable::find_executable;
