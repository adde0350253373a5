//! What operations report beside their results.

use isthmus_provider::Diagnostic;

/// What an operation yields besides its result.
#[derive(Debug, Default)]
pub(crate) struct OperationWarnings {
    /// The provider's warnings, each once.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings that name properties already.
    pub texts: Vec<String>,
    /// Whether the name among checked inputs is generated.
    pub is_name_generated: bool,
}
