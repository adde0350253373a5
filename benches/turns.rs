//! Contestants by turns, so that whatever else the machine does falls on all of them.

use anyhow::Context as _;
use serde::Serialize;

use crate::options::Contestant;

/// What was measured of one contestant in one turn.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Turn<T> {
    /// The contestant.
    pub(crate) contestant: Contestant,
    /// The number of the turn, from 1.
    pub(crate) turn: usize,
    /// The result.
    #[serde(flatten)]
    pub(crate) measured: T,
}

impl<T> Turn<T> {
    /// The same turn with another result.
    pub(crate) fn map<U>(&self, convert: impl FnOnce(&T) -> U) -> Turn<U> {
        Turn { contestant: self.contestant, turn: self.turn, measured: convert(&self.measured) }
    }
}

/// Measures each contestant once in each turn.
pub(crate) async fn by_turns<T>(
    what: &str,
    turns: usize,
    contestants: &[Contestant],
    measure: impl AsyncFn(Contestant) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<Turn<T>>> {
    let mut measured = Vec::new();
    for turn in 1..=turns {
        for &contestant in contestants {
            eprintln!("{what}, {turn} of {turns}: {}", contestant.title());
            let result = measure(contestant).await;
            let result = result.with_context(|| format!("measuring {}", contestant.title()))?;
            measured.push(Turn { contestant, turn, measured: result });
        }
    }
    Ok(measured)
}
