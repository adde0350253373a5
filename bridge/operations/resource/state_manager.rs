//! Storage of a resource's state between two calls.
//!
//! Today's engine stores it: one call returns properties and the next one sends them
//! ([`EngineState`]). The legacy engine cannot, so the daemon's state store does (`lumirpc`).
//! Operations differ only in how their outcome is stored.
//!
//! [`EngineState`]: super::engine_state::EngineState

use std::collections::BTreeSet;

use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::{Object, ProviderError};
use isthmus_state::OperationKind;

use super::OperationError;
use super::prior::Prior;
use isthmus_translate::unread::UnreadAttribute;

/// Journals an operation on one resource and stores its outcome. Every `Intent` is passed to
/// exactly one of the methods that end it.
#[expect(
    async_fn_in_trait,
    reason = "the two services implement it, and no caller needs its futures to be of a type"
)]
pub trait StateManager {
    type Intent;
    /// The result of a creation.
    type Created;
    type Error: From<OperationError>;

    /// Journals an operation before the provider is called.
    async fn begin(
        &self,
        operation: OperationKind,
        prior: Option<&Prior>,
    ) -> Result<Self::Intent, Self::Error>;

    /// Stores a new object.
    async fn created(&self, intent: Self::Intent, outcome: Outcome<'_>)
    -> Result<Self::Created, Self::Error>;

    /// Stores a changed object and returns its properties. Without an intent, nothing was applied.
    async fn updated(
        &self,
        intent: Option<Self::Intent>,
        outcome: Outcome<'_>,
    ) -> Result<Struct, Self::Error>;

    /// Ends a creation or an update without an object to store.
    async fn failed(&self, intent: Self::Intent, error: OperationError) -> Self::Error;

    /// Removes an object.
    async fn deleted(&self, intent: Self::Intent) -> Result<(), Self::Error>;

    /// Ends a failed deletion, and stores what is `left` if that has changed. The object may be
    /// deleted nevertheless.
    async fn not_deleted(
        &self,
        intent: Self::Intent,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
    ) -> Result<(), Self::Error>;
}

/// A resource that was created, as today's engine gets it.
#[derive(Debug)]
pub struct Created {
    pub id: String,
    pub properties: Struct,
}

/// An object after an apply.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub object: Object,
    /// Why the apply is incomplete, if it is.
    pub failure: Option<ProviderError>,
    /// Whether an update has failed, and what it left could not be read.
    pub is_unrefreshed: bool,
    /// Paths that are secret beyond the schema.
    pub secrets: &'a [AttributePath],
    /// Sensitive attributes that no read had returned before.
    pub unread: &'a BTreeSet<UnreadAttribute>,
    /// The inputs that were applied.
    pub inputs: &'a Struct,
}
