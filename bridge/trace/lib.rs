//! Traces: the calls of a session on both sides, in a form for people and in files.
//!
//! [`transcript`] decodes messages by the provider's schema and masks secrets; [`recording`] writes sessions to files, with
//! placeholders for secrets, and plays both sides of such a file.

pub mod recording;
pub mod transcript;
