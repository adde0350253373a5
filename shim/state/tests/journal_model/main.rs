//! Models of the journal of operations, explored exhaustively within bounds.
//!
//! `docs/decisions/journal.md` promises what survives kills at any moment. Tests of the code try some
//! moments; these models try all of them, in three parts: [`operations`] (which entries are written when,
//! and what is reported), [`files`] (that files, compaction and rotation amount to a set of entries), and
//! [`synchronisation`] (that an entry is on the disk when a call goes on).
//!
//! `ISTHMUS_MODEL=full` explores larger bounds, for some minutes. Each test prints its states
//! and depths, or the trace that it expects (`--nocapture`).

mod explorer;
mod files;
mod operations;
mod synchronisation;

/// Whether the larger bounds are explored.
fn is_full() -> bool {
    std::env::var_os("ISTHMUS_MODEL").is_some_and(|value| value == "full")
}
