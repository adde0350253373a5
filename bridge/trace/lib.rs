//! Traces: the calls of a session on both sides, in a form for people and in files.
//!
//! [`walk`] decodes messages and decides once what is secret in them. Its users decide what becomes of a value: [`transcript`]
//! masks secrets; [`recording`] writes sessions to files, with placeholders for secrets, and plays both sides of such a file;
//! the log of calls withholds all values.

pub mod recording;
pub mod transcript;
pub mod walk;
