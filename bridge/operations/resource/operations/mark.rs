//! What isthmus notes of an operation of today's engine after it began, and what follows from it.
//!
//! `docs/decisions/journal.md` has the reasons.

use isthmus_state::{Mark, OpenIntent};

/// It was reported.
pub const SHOWN: Mark = Mark::REPORTED;
/// A run of its stack has passed without mentioning its object.
pub const PASSED: Mark = Mark(2);
/// The run that created its object has ended in order.
pub const ENDED: Mark = Mark(3);
/// The engine has created the resource again after that, without having mentioned the object: it may not
/// know it after all.
pub const DOUBTED: Mark = Mark(4);

/// Whether the engine presumably knows the created object: its run has ended in order, and nothing speaks
/// against it.
pub fn is_presumably_known(open: &OpenIntent) -> bool {
    open.marks.has(ENDED) && !open.marks.has(DOUBTED)
}
