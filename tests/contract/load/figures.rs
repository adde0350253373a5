//! Figures: what a process uses, and how long its answers took.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::driver::{Call, Timings};
use crate::harness::PATIENCE;

/// What a process uses at some moment, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Resident memory in KiB.
    pub(super) memory: u64,
    /// The most resident memory so far, in KiB.
    pub(super) peak: u64,
    pub(super) threads: u64,
    pub(super) descriptors: u64,
}

impl Usage {
    /// # Panics
    /// When the process has ended.
    pub(super) fn of(process: u32) -> Self {
        let directory = PathBuf::from(format!("/proc/{process}"));
        let status = std::fs::read_to_string(directory.join("status")).expect("the process runs");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field of Linux");
            let number = line.trim_start_matches(':').split_whitespace().next().map(str::parse);
            number.expect("a number").expect("a number")
        };
        let descriptors = std::fs::read_dir(directory.join("fd")).expect("the process runs").count();
        Self {
            memory: field("VmRSS"),
            peak: field("VmHWM"),
            threads: field("Threads"),
            descriptors: descriptors as u64,
        }
    }

    /// Waits until a process uses no more than this memory, in KiB, and returns what it uses at the end.
    pub(super) async fn settled(process: u32, memory: u64) -> Self {
        let settled = async {
            while Self::of(process).memory > memory {
                // The kernel tells nobody that a process has given memory back.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        // The caller reports what it finds.
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        Self::of(process)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, peak, threads, descriptors } = self;
        let [memory, peak] = [memory, peak].map(|memory| *memory as f64 / 1024.0);
        write!(
            formatter,
            "{memory:.1} MiB resident (at most {peak:.1}), {threads} threads, {descriptors} descriptors"
        )
    }
}

/// The answers to one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latency {
    pub(super) call: Call,
    pub(super) count: usize,
    /// In milliseconds.
    pub(super) half: f64,
    pub(super) most: f64,
    pub(super) longest: f64,
}

impl Latency {
    /// One for each call.
    pub(super) fn of(timings: Timings) -> Vec<Self> {
        let one = |(call, mut times): (Call, Vec<u32>)| {
            times.sort_unstable();
            let at = |percent: usize| f64::from(times[(times.len() - 1) * percent / 100]) / 1e3;
            Self { call, count: times.len(), half: at(50), most: at(99), longest: at(100) }
        };
        timings.0.into_iter().map(one).collect()
    }

    /// How many times the median the slowest hundredth takes.
    pub(super) fn spread(&self) -> f64 {
        self.most / self.half
    }
}

/// The row of a table of results.
impl fmt::Display for Latency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call: (service, method), count, half, most, longest } = self;
        let spread = self.spread();
        write!(
            formatter,
            "| {service} {method} | {count} | {half:.1} | {most:.1} | {longest:.1} | {spread:.1} |"
        )
    }
}
