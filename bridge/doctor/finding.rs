//! What a check has found, and its result.

use isthmus_common::HELP;

use isthmus_context::error_code::ErrorCode;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something works otherwise than it seems.
    Warning,
    /// Something does not work.
    Fault,
}

/// A fault or a warning, with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub code: ErrorCode,
    pub message: String,
    /// At least one line.
    pub help: Vec<String>,
}

impl Finding {
    /// A fault with the text of an error, whose lines of help are the advice. Without any, the page of the code gives it.
    pub fn fault(code: ErrorCode, text: &str) -> Self {
        Self::new(Level::Fault, code, text)
    }

    /// The same of a warning.
    pub fn warning(code: ErrorCode, text: &str) -> Self {
        Self::new(Level::Warning, code, text)
    }

    /// The same with advice in place of that of the page.
    #[must_use]
    pub(crate) fn advising(mut self, help: impl Into<String>) -> Self {
        let is_from_page = self.help == [self.code.remedy()];
        if is_from_page {
            self.help.clear();
        }
        self.help.insert(0, help.into());
        self
    }

    fn new(level: Level, code: ErrorCode, text: &str) -> Self {
        let (text, output) = isthmus_common::split_output(text);
        let mut parts = text.split(HELP);
        let message = parts.next().unwrap_or_default().trim_end().to_owned() + &output;
        let mut help: Vec<String> = parts.map(|line| line.trim_end().to_owned()).collect();
        if help.is_empty() {
            help.push(code.remedy());
        }
        Self { level, code, message, help }
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What was found, in a line.
    pub summary: String,
    pub findings: Vec<Finding>,
    /// Whether it could not be made, for the reason in the summary.
    pub is_skipped: bool,
}

impl Judgement {
    pub fn new(summary: impl Into<String>, findings: Vec<Finding>) -> Self {
        Self { summary: summary.into(), findings, is_skipped: false }
    }

    pub fn skipped(reason: impl Into<String>) -> Self {
        Self { summary: reason.into(), findings: Vec::new(), is_skipped: true }
    }

    /// The worst of its findings.
    pub fn level(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_taken_from_the_text_or_else_from_the_page() {
        let found = Finding::fault(ErrorCode::StoreLocked, "it is locked\nhelp: unlock it\nhelp: or wait");
        assert_eq!((found.message.as_str(), found.help.len()), ("it is locked", 2));
        let found = Finding::warning(ErrorCode::StoreLocked, "it is locked");
        assert_eq!(found.help, [ErrorCode::StoreLocked.remedy()]);
        assert_eq!(found.advising("wait").help, ["wait"]);
    }
}
