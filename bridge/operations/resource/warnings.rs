//! What operations report beside their results.
//!
//! Nearly every step of an operation may warn, so its target collects warnings, and no step passes them on.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_provider::{Diagnostic, Plan};
use isthmus_state::OperationId;

use super::Target;
use isthmus_translate::exact_numbers::LostDigits;

/// What an operation yields besides its result.
#[derive(Debug, Default)]
pub struct OperationWarnings {
    /// The provider's warnings, each once.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings that name properties already.
    pub texts: Vec<String>,
    /// Numbers that lose digits, of which a user is warned once a path.
    pub lost_digits: Vec<LostDigits>,
    /// Operations that these texts report.
    pub reported: Vec<OperationId>,
    /// Whether the name among checked inputs is generated.
    pub is_name_generated: bool,
}

/// The warnings of the operations on one target, so far.
#[derive(Debug, Default)]
pub struct CollectedWarnings(Mutex<OperationWarnings>);

impl CollectedWarnings {
    /// To read and to change them.
    pub fn lock(&self) -> MutexGuard<'_, OperationWarnings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a warning.
    pub fn warn(&self, warning: Diagnostic) {
        self.lock().diagnostics.push(warning);
    }

    /// Adds warnings that name properties already.
    pub fn warn_in_texts(&self, texts: impl IntoIterator<Item = String>) {
        self.lock().texts.extend(texts);
    }

    /// Takes all of them.
    pub fn take(&self) -> OperationWarnings {
        std::mem::take(&mut *self.lock())
    }

    /// Takes the provider's warnings in one call. They are added when this is dropped.
    pub fn of_call(&self) -> CallWarnings<'_> {
        CallWarnings { diagnostics: Vec::new(), all: self }
    }

    /// Carries out a step whose warnings may be of no interest, and returns these beside its result.
    pub async fn aside<T>(&self, step: impl Future<Output = T>) -> (T, OperationWarnings) {
        let before = self.take();
        let done = step.await;
        (done, std::mem::replace(&mut *self.lock(), before))
    }
}

/// The provider's warnings in one call.
#[derive(Debug)]
pub struct CallWarnings<'a> {
    diagnostics: Vec<Diagnostic>,
    all: &'a CollectedWarnings,
}

impl Deref for CallWarnings<'_> {
    type Target = Vec<Diagnostic>;

    fn deref(&self) -> &Vec<Diagnostic> {
        &self.diagnostics
    }
}

impl DerefMut for CallWarnings<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.diagnostics
    }
}

impl Drop for CallWarnings<'_> {
    fn drop(&mut self) {
        if !self.diagnostics.is_empty() {
            self.all.lock().diagnostics.append(&mut self.diagnostics);
        }
    }
}

impl OperationWarnings {
    pub fn append(&mut self, other: Self) {
        let Self { diagnostics, texts, lost_digits, reported, is_name_generated } = other;
        self.diagnostics.extend(diagnostics);
        self.texts.extend(texts);
        self.lost_digits.extend(lost_digits);
        self.reported.extend(reported);
        self.is_name_generated |= is_name_generated;
    }

    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty() && self.texts.is_empty() && self.lost_digits.is_empty()
    }
}

impl Target<'_> {
    /// Warns of a deferred plan. Its apply fails.
    pub(super) fn warn_of_deferral(&self, plan: &Plan) {
        if let Some(deferral) = plan.deferral {
            let subject = format!("this {}", self.shape.terraform_type);
            let meanwhile = "Until then, what the provider computes is unknown, and an update fails.";
            self.warn(deferral.warning(&subject, meanwhile));
        }
    }
}
