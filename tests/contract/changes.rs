//! What becomes of a resource when its program changes: Check, Diff, Create, Update and Delete.

mod autonaming;
mod check_failures;
mod checks;
mod computed_blocks;
mod deferrals;
mod deletions;
mod differences;
mod failures;
mod forms;
mod ignoring;
mod lifecycle;
mod nested_sets;
mod plans;
mod previews;
mod timeouts;
