//! From a state of OpenTofu to a Pulumi stack and back, with what `isthmus migrate` writes.

mod computed;
mod exports;
mod from_configuration;
mod hcl;
mod odd_values;
mod relative_paths;
mod scale;
mod sensitive;
mod terraform;
mod there_and_back;
mod transformed;
mod unfinished;
