//! The terminal, while something is shown again and again on it: a screen of its own, without echo. Dropping it gives back what
//! was there.

use std::io;

use isthmus_platform::terminal::{Keys, size};

use crate::cli::output::print;

/// Switches to the other screen, and hides the cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";

/// Shows the cursor, and switches back.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Moves to the top left; clears to the end of a line; clears to the end of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_REST: &str = "\x1b[J";

/// Columns and rows of a terminal that does not tell.
const USUAL: (usize, usize) = (80, 24);

#[derive(Debug)]
pub(super) struct Screen(#[expect(dead_code, reason = "dropping it gives back the terminal")] Keys);

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        let keys = Keys::take()?;
        print(ENTER);
        Ok(Self(keys))
    }

    /// Shows a text in place of the one before, as far as there is space for it.
    pub(super) fn show(&self, text: &str) {
        let (columns, rows) = size().unwrap_or(USUAL);
        let lines = text.lines().take(rows).map(|line| line.chars().take(columns).collect::<String>());
        let lines: Vec<String> = lines.map(|line| line + CLEAR_LINE).collect();
        print(&format!("{HOME}{}{CLEAR_REST}", lines.join("\r\n")));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print(LEAVE);
    }
}
