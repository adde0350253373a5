//! Diagnostics of a call.

use isthmus_cty::AttributePath;

/// Severity; the numbers are those of both protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded, with a warning.
    Warning,
    /// A number without a meaning in the protocols (0 is "invalid", which no provider should send).
    #[cfg(feature = "misbehaviour")]
    Other(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Diagnostic {
    pub severity: Severity,
    /// In one line.
    pub summary: String,
    pub detail: String,
    /// Path in the configuration; `None`: the whole object.
    pub path: Option<AttributePath>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Diagnostics(pub Vec<Diagnostic>);

impl Severity {
    /// The number on the wire.
    pub(crate) const fn number(self) -> i32 {
        match self {
            Self::Error => 1,
            Self::Warning => 2,
            #[cfg(feature = "misbehaviour")]
            Self::Other(number) => number,
        }
    }
}

impl Diagnostic {
    /// An error about the whole object.
    pub(crate) fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Error, summary: summary.into(), detail: detail.into(), path: None }
    }

    /// A warning about the whole object.
    pub(crate) fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// Adds a path.
    #[must_use]
    pub(crate) fn at(self, path: AttributePath) -> Self {
        Self { path: Some(path), ..self }
    }
}

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether the call failed.
    pub(crate) fn failed(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}
