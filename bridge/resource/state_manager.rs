//! Where the state of a resource is between two calls.
//!
//! Today's engine stores it: it gets properties back from one call and sends them with the next ([`EngineState`]). The legacy
//! engine cannot hold it, so that the daemon's state store does (`lumirpc`). An operation is the same for both but for what
//! becomes of its outcome.
//!
//! [`EngineState`]: super::engine_state::EngineState

use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::{Object, ProviderError};
use isthmus_state::OperationKind;

use super::state::Prior;
use super::{OperationError, OperationWarnings};

/// What journals an operation on one resource and stores its outcome. Every `Intent` is handed to exactly one of the methods
/// that end it, however the operation ends.
pub(crate) trait StateManager {
    /// A journaled operation.
    type Intent;
    /// What the engine gets for a new resource.
    type Created;
    /// Why an operation failed.
    type Error: From<OperationError>;

    /// Journals an operation before the provider hears of it.
    async fn begin(
        &self,
        operation: OperationKind,
        prior: Option<&Prior>,
        notes: &mut OperationWarnings,
    ) -> Result<Self::Intent, Self::Error>;

    /// Stores a new object.
    async fn created(
        &self,
        intent: Self::Intent,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Self::Created, Self::Error>;

    /// Stores a changed object, and yields its properties. Without an intent: nothing was to be done.
    async fn updated(
        &self,
        intent: Option<Self::Intent>,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, Self::Error>;

    /// Ends a creation or an update that has left no object to store.
    async fn failed(
        &self,
        intent: Self::Intent,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> Self::Error;

    /// Removes an object.
    async fn deleted(&self, intent: Self::Intent, notes: &mut OperationWarnings) -> Result<(), Self::Error>;

    /// Ends a deletion that has failed, and stores what is `left` where that has changed. The object may be gone all the same.
    async fn not_deleted(
        &self,
        intent: Self::Intent,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> Result<(), Self::Error>;
}

/// An object after an apply.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    /// What there is now.
    pub object: Object,
    /// Why the provider did not complete the apply, if so.
    pub failure: Option<ProviderError>,
    /// Secret beyond what the schema says.
    pub secrets: &'a [AttributePath],
    /// The inputs that were applied.
    pub inputs: &'a Struct,
}
