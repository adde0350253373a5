//! Threads on which a simulation runs (`tests/simulation`): what would depend on the speed of other threads is done on them.

use std::cell::Cell;

use crate::planted::Bug;

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    static SIMULATED: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread that of a simulation.
pub fn begin() {
    SIMULATED.set(true);
}

/// Random numbers of the seed.
pub fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).expect("a simulation has its own");
    bytes
}

/// Whether this thread is that of a simulation.
pub fn is_simulated() -> bool {
    SIMULATED.get()
}

/// Plants a bug in this thread, or none.
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Whether a bug is planted in this thread.
pub fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}
