//! Generated SDKs: the package schemas that this program writes, put through Pulumi's own generators, compilers and engine.
//!
//! A schema is what the real command line gets from the plugin, without a warning, and `tests/tools/sdkgen` makes SDKs of
//! it. TypeScript, Python, Go, Java and C# are compiled or checked for types, programs in Python and TypeScript create and destroy
//! real resources through the real engine, and an SDK that the Go bridge's schema gave is run with this program in its place.
//! Large providers are there as recordings of their schemas (`tests/sdks/record`).
//!
//! The programs of `examples/` are run here (`examples.rs`), and `isthmus docs` is tested here as well, because its examples are
//! programs on SDKs (`reference.rs`).
//!
//! What that takes is installed by `tests/tools/build` and `tests/sdks/setup`, which the first test that needs it runs.

#[path = "../e2e/harness"]
#[expect(
    dead_code,
    reason = "it is the house of the end-to-end tests, and not every room of it is used here"
)]
mod harness {
    pub(crate) mod command;
    pub(crate) mod outcome;
    pub(crate) mod processes;
    pub(crate) mod project;
    pub(crate) mod tools;
}

mod names;
mod packages;
mod workshop;

mod csharp;
mod examples;
mod go;
mod java;
mod large;
mod life;
mod plain_forms;
mod python;
mod reference;
mod succession;
mod typescript;
