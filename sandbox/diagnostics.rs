//! What the sandbox has to say about a call: errors and warnings, each with the place that it is about.

use isthmus_cty::AttributePath;

/// How bad it is. The numbers are those of the wire, the same in both protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded; the user should know all the same.
    Warning,
    /// A number that no protocol has given a meaning to (0 stands for "invalid", which no provider should send).
    #[cfg(feature = "misbehaviour")]
    Other(i32),
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// The explanation; may be empty.
    pub detail: String,
    /// Where in the configuration it is; `None` for the whole object.
    pub path: Option<AttributePath>,
}

/// What one call has to say, in order.
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

    /// The same at a place.
    #[must_use]
    pub(crate) fn at(self, path: AttributePath) -> Self {
        Self { path: Some(path), ..self }
    }
}

impl Diagnostics {
    /// Adds one.
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
