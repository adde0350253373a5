//! A search for secrets: a mark of its own in every place that a value can be, and in every mistake that can be made with one; then
//! everything that the daemon, its provider and the commands have written is searched for the marks.
//!
//! A row is printed for each mark, for the page `docs/reliability.md`. A mark that did not arrive where it was to go, or a mistake
//! that was not reported, fails the test as well: a search for what was never there would prove nothing. What cannot be hidden
//! is in `SECURITY.md`.

mod commands;
mod legacy;
mod marks;
mod mistakes;
mod places;
