//! Colours on standard output, where it is a terminal that shows them and the user has not turned them off.
//!
//! `NO_COLOR` with any value turns them off (<https://no-color.org>), and so does `TERM=dumb`. Help and usage errors obey the same
//! variables: clap's own writer does.

use std::borrow::Cow;

use super::output;

/// How a word is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Good,
    Warning,
    Error,
}

/// A word in a style, for standard output.
pub(super) fn styled(word: &str, style: Style) -> Cow<'_, str> {
    if is_coloured() { painted(word, style) } else { Cow::Borrowed(word) }
}

fn is_coloured() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    output::is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

fn painted(word: &str, style: Style) -> Cow<'_, str> {
    let code = match style {
        Style::Plain => return Cow::Borrowed(word),
        Style::Good => "32",
        Style::Warning => "33",
        Style::Error => "1;31",
    };
    Cow::Owned(format!("\x1b[{code}m{word}\x1b[0m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_ended_behind_the_word() {
        assert_eq!(painted("FAULT", Style::Error), "\x1b[1;31mFAULT\x1b[0m");
        assert_eq!(painted("skipped", Style::Plain), "skipped");
    }
}
