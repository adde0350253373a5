//! The calls that are timed, and what their times amount to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// One kind of call in a resource's life, as the engine makes it. The order is that of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    /// Check of the program's inputs.
    Check,
    /// Create with `preview` set.
    CreatePreview,
    /// Create.
    Create,
    /// Diff when nothing has changed: by far the most frequent call of a grown stack.
    Diff,
    /// Read for a refresh.
    Read,
    /// Diff when an input has changed.
    DiffChanged,
    /// Update with `preview` set.
    UpdatePreview,
    /// Update.
    Update,
    /// Delete.
    Delete,
}

impl Call {
    /// What the table calls it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Check => "Check",
            Self::CreatePreview => "Create (preview)",
            Self::Create => "Create",
            Self::Diff => "Diff (no change)",
            Self::Read => "Read",
            Self::DiffChanged => "Diff (change)",
            Self::UpdatePreview => "Update (preview)",
            Self::Update => "Update",
            Self::Delete => "Delete",
        }
    }
}

/// How long calls took, by kind.
#[derive(Debug, Default)]
pub(crate) struct Samples(BTreeMap<Call, Vec<Duration>>);

impl Samples {
    /// Notes one call.
    pub(crate) fn add(&mut self, call: Call, took: Duration) {
        self.0.entry(call).or_default().push(took);
    }

    /// Takes over the samples of another worker.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (call, mut durations) in other.0 {
            self.0.entry(call).or_default().append(&mut durations);
        }
    }

    /// How many calls were noted.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The quantiles of each kind of call.
    pub(crate) fn latencies(self) -> BTreeMap<Call, Latency> {
        self.0
            .into_iter()
            .filter_map(|(call, durations)| Latency::of(durations).map(|latency| (call, latency)))
            .collect()
    }
}

/// Quantiles of the latency of one kind of call, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Latency {
    /// How many calls they are taken from.
    pub(crate) count: usize,
    /// Half of the calls took at most this long.
    pub(crate) p50: f64,
    /// Nine of ten did.
    pub(crate) p90: f64,
    /// All but one of a hundred did.
    pub(crate) p99: f64,
    /// The slowest.
    pub(crate) max: f64,
}

impl Latency {
    /// None if there were no calls. A quantile is a duration that was measured (nearest rank), never a mean of two.
    pub(crate) fn of(mut durations: Vec<Duration>) -> Option<Self> {
        durations.sort_unstable();
        let max = *durations.last()?;
        let count = durations.len();
        let rank = |percent: usize| milliseconds(durations[(count * percent).div_ceil(100) - 1]);
        Some(Self { count, p50: rank(50), p90: rank(90), p99: rank(99), max: milliseconds(max) })
    }
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks_whatever_the_order_of_the_samples() {
        let durations = (1..=200).rev().map(Duration::from_millis).collect();
        let latency = Latency::of(durations).unwrap();
        assert_eq!(latency, Latency { count: 200, p50: 100.0, p90: 180.0, p99: 198.0, max: 200.0 });
    }

    #[test]
    fn a_single_call_is_every_quantile() {
        let latency = Latency::of(vec![Duration::from_millis(3)]).unwrap();
        assert_eq!(latency, Latency { count: 1, p50: 3.0, p90: 3.0, p99: 3.0, max: 3.0 });
    }

    #[test]
    fn no_calls_have_no_quantiles() {
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
