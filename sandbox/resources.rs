//! The resources of the sandbox: three of every build, and those for tests.

#[cfg(feature = "misbehaviour")]
pub(crate) mod fixtures;
pub(crate) mod note;
mod secret;
mod server;

use crate::resource::Resource;

/// Resources of every build.
pub(crate) fn all() -> Vec<Box<dyn Resource>> {
    vec![Box::new(note::Note), Box::new(secret::Secret::CURRENT), Box::new(server::Server)]
}
