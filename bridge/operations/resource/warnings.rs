//! What operations report beside their results.

use isthmus_provider::Diagnostic;
use isthmus_state::OperationId;

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

impl OperationWarnings {
    pub(super) fn append(&mut self, other: Self) {
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
