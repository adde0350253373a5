//! Diagnostics of a provider.

use std::fmt;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep};
use isthmus_proto::tfplugin6;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed.
    Error,
    /// Nothing failed. Unknown severities are warnings.
    Warning,
}

/// A provider's diagnostic.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// In one line.
    pub summary: String,
    /// May have several lines, or be empty.
    pub detail: String,
    /// Path from the root of the request's object; empty for the whole object.
    pub path: AttributePath,
}

impl Diagnostic {
    /// An error about the whole object.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            path: AttributePath::default(),
        }
    }

    /// A warning about the whole object.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// Whether it says that credentials are missing, wrong or expired, as far as words tell. There is no code for it.
    pub(crate) fn is_about_credentials(&self) -> bool {
        const WORDS: [&str; 12] = [
            "401",
            "403",
            "access denied",
            "accessdenied",
            "authentic",
            "authoriz",
            "credential",
            "expired",
            "forbidden",
            "invalidclienttokenid",
            "permission denied",
            "token",
        ];
        let text = format!("{}\n{}", self.summary, self.detail).to_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl From<tfplugin6::Diagnostic> for Diagnostic {
    fn from(message: tfplugin6::Diagnostic) -> Self {
        let severity = match tfplugin6::diagnostic::Severity::try_from(message.severity) {
            Ok(tfplugin6::diagnostic::Severity::Error) => Severity::Error,
            _ => Severity::Warning,
        };
        Self {
            severity,
            summary: message.summary,
            detail: message.detail,
            path: message.attribute.map(attribute_path).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.0.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.summary)?;
        if !self.detail.is_empty() && self.detail != self.summary {
            write!(formatter, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// Decodes a path. It is truncated at a step without a selector, or with a negative index.
pub(crate) fn attribute_path(message: tfplugin6::AttributePath) -> AttributePath {
    use tfplugin6::attribute_path::step::Selector;
    let steps = message.steps.into_iter().map_while(|step| match step.selector? {
        Selector::AttributeName(name) => Some(PathStep::Attribute(Arc::from(name))),
        Selector::ElementKeyString(key) => Some(PathStep::Key(Arc::from(key))),
        Selector::ElementKeyInt(index) => usize::try_from(index).ok().map(PathStep::Index),
    });
    AttributePath(steps.collect())
}

/// Splits diagnostics: warnings are added to `warnings`, errors are returned.
pub(crate) fn errors_of(
    messages: Vec<tfplugin6::Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let (errors, others): (Vec<_>, Vec<_>) =
        messages.into_iter().map(Diagnostic::from).partition(Diagnostic::is_error);
    warnings.extend(others);
    errors
}

#[cfg(test)]
mod tests {
    use tfplugin6::attribute_path::Step;
    use tfplugin6::attribute_path::step::Selector;

    use super::*;

    fn path(selectors: Vec<Option<Selector>>) -> tfplugin6::AttributePath {
        tfplugin6::AttributePath { steps: selectors.into_iter().map(|selector| Step { selector }).collect() }
    }

    fn name(text: &str) -> Option<Selector> {
        Some(Selector::AttributeName(text.to_owned()))
    }

    fn message(severity: i32, summary: &str, detail: &str) -> tfplugin6::Diagnostic {
        tfplugin6::Diagnostic {
            severity,
            summary: summary.to_owned(),
            detail: detail.to_owned(),
            attribute: Some(path(vec![name("rule"), Some(Selector::ElementKeyInt(2)), name("port")])),
        }
    }

    #[test]
    fn a_message_says_where_what_and_why() {
        for (summary, detail, expected) in [
            ("Bad port", "It is taken.", "rule[2].port: Bad port: It is taken."),
            ("Bad port", "", "rule[2].port: Bad port"),
            ("Bad port", "Bad port", "rule[2].port: Bad port"),
        ] {
            assert_eq!(Diagnostic::from(message(1, summary, detail)).to_string(), expected);
        }
        assert_eq!(Diagnostic::error("Gone", "").to_string(), "Gone");
    }

    #[test]
    fn what_is_about_credentials_says_so_in_some_words() {
        for (summary, detail, expected) in [
            ("No valid credential sources found", "", true),
            ("Request failed", "ExpiredToken: The security token included in the request is expired", true),
            (
                "Error creating bucket",
                "operation error S3: https response error StatusCode: 403, AccessDenied",
                true,
            ),
            ("error", "HTTP 401: Unauthorized", true),
            ("Invalid value", "The length must be at least 1.", false),
        ] {
            let diagnostic = Diagnostic::error(summary, detail);
            assert_eq!(diagnostic.is_about_credentials(), expected, "{summary}: {detail}");
        }
    }

    #[test]
    fn only_an_error_is_an_error() {
        let mut warnings = Vec::new();
        let messages = (0..4).map(|severity| message(severity, &severity.to_string(), "")).collect();
        let errors = errors_of(messages, &mut warnings);
        let said = |of: &[Diagnostic]| of.iter().map(|one| one.summary.clone()).collect::<Vec<_>>();
        assert_eq!(
            (said(&errors), said(&warnings)),
            (vec!["1".to_owned()], ["0", "2", "3"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn a_path_ends_where_it_cannot_be_followed() {
        for (selectors, expected) in [
            (vec![], ""),
            (vec![name("tags"), Some(Selector::ElementKeyString("a b".to_owned()))], "tags[\"a b\"]"),
            (vec![name("list"), Some(Selector::ElementKeyInt(-1)), name("x")], "list"),
            (vec![name("list"), None, name("x")], "list"),
        ] {
            assert_eq!(attribute_path(path(selectors)).to_string(), expected);
        }
    }
}
