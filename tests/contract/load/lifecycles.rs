//! Many resources through one daemon, one after another: nothing of them stays.
//!
//! `ISTHMUS_LOAD_LIFECYCLES` says how many there are after the warm-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinSet;

use super::driver::{Service, Timings, daemon};
use super::figures::Usage;
use super::setting;
use crate::harness::on_one_protocol;

/// Lifecycles in progress: as many as an engine has resources in progress by default.
const PARALLEL: usize = 16;

/// Lifecycles of the slice.
const SLICE: u64 = 600;

/// Lifecycles before the first measurement, as a tenth of those measured: caches fill, and pools reach their sizes.
const WARM_UP: u64 = 10;

/// How much more the last tenth may use than the first, in percent.
const GROWTH: u64 = 5;

/// Descriptors and threads more than a measurement in the first tenth happened to meet: those that a call has for a moment.
const MOMENTARY: u64 = 4;

/// What the daemon used on average over a tenth of the lifecycles.
#[derive(Debug, Default)]
struct Tenth {
    samples: u64,
    memory: u64,
    threads: u64,
    descriptors: u64,
}

impl Tenth {
    fn add(&mut self, usage: Usage) {
        self.samples += 1;
        self.memory += usage.memory;
        self.threads = self.threads.max(usage.threads);
        self.descriptors = self.descriptors.max(usage.descriptors);
    }

    fn memory(&self) -> u64 {
        self.memory / self.samples.max(1)
    }
}

on_one_protocol! {
    async fn nothing_of_a_resource_stays_in_the_daemon_when_it_is_deleted(protocol) {
        let host = daemon(protocol).start().await;
        let count = setting("ISTHMUS_LOAD_LIFECYCLES", SLICE);
        let warm_up = count / WARM_UP;
        let begun = Arc::new(AtomicU64::new(0));
        let mut drivers = JoinSet::new();
        let (report, mut ended) = tokio::sync::mpsc::unbounded_channel();
        for driver in 0..PARALLEL {
            let service = if driver % 2 == 0 { Service::Pulumi } else { Service::Lumi };
            let (channel, begun, report) = (host.channel().await, Arc::clone(&begun), report.clone());
            drivers.spawn(async move {
                loop {
                    let number = begun.fetch_add(1, Ordering::Relaxed);
                    if number >= warm_up + count {
                        return Ok::<_, tonic::Status>(());
                    }
                    // A new name each time: nothing that is remembered by name serves twice.
                    service.lifecycle(&channel, &format!("note-{number}"), &mut Timings::default()).await?;
                    report.send(()).ok();
                }
            });
        }
        drop(report);
        let mut tenths: [Tenth; 10] = Default::default();
        let mut done = 0;
        while ended.recv().await.is_some() {
            done += 1;
            if let Some(measured) = u64::checked_sub(done, warm_up + 1)
                && measured.is_multiple_of((count / 200).max(1))
            {
                let tenth = usize::try_from(measured * 10 / count).unwrap_or(9).min(9);
                tenths[tenth].add(Usage::of(host.process()));
            }
        }
        while let Some(driver) = drivers.join_next().await {
            driver.expect("a driver does not panic")?;
        }
        println!("\nprotocol {protocol}: {done} lifecycles, {warm_up} of them before the first measurement");
        for (number, tenth) in tenths.iter().enumerate() {
            let memory = tenth.memory() as f64 / 1024.0;
            println!("| {protocol} | {} | {memory:.1} | {} | {} |", number + 1, tenth.threads, tenth.descriptors);
        }
        assert_eq!(done, warm_up + count);
        assert!(host.objects().is_empty(), "each resource was deleted: {:?}", host.objects());
        let [first, .., last] = &tenths;
        assert!(
            last.memory() * 100 <= first.memory() * (100 + GROWTH),
            "{} KiB in the last tenth, and {} in the first: more than {GROWTH} % above it",
            last.memory(),
            first.memory(),
        );
        assert!(last.threads <= first.threads + MOMENTARY, "{} threads, and {} before", last.threads, first.threads);
        assert!(
            last.descriptors <= first.descriptors + MOMENTARY,
            "{} descriptors, and {} before",
            last.descriptors,
            first.descriptors
        );
    }
}
