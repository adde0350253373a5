//! Many calls at once, of both services.
//!
//! With `ISTHMUS_LOAD_SECONDS` there are two thousand of them, and new lifecycles begin for so long; the slice has four hundred, for
//! one round. The slice prints the times of its answers: its calls all begin at once, and other tests run beside it. The whole
//! has the machine for itself, and asserts a bound on them.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::driver::{Service, Timings, daemon};
use super::figures::{Latency, Usage};
use super::setting;
use crate::harness::{PATIENCE, on_one_protocol};

/// Calls in progress at any moment: one for each resource of a stack that is ten times as large as engines handle at once.
const CALLS: usize = 2_000;

/// Those of the slice: twice as many as a server allows on one connection.
const SLICE: usize = 400;

/// Connections that they share. A server allows two hundred calls on one, so this many let all of them in.
const CONNECTIONS: usize = 20;

/// Most resident memory of the daemon in KiB: 64 MiB for the process itself, a provider's schema and the database's pages;
/// 96 KiB for each call, that is its task, its messages in both directions and their values; and half of that again for
/// what the allocator has not given back yet.
fn most_memory(calls: usize) -> u64 {
    (64 + calls as u64 * 96 / 1024) * 3 / 2 * 1024
}

/// Most threads of the daemon, however many calls there are.
const THREADS: u64 = 64;

/// How many times the median the slowest hundredth of answers may take. More means that calls overtake others.
const SPREAD: f64 = 5.0;

/// How often the daemon's usage is read.
const SAMPLING: Duration = Duration::from_millis(250);

on_one_protocol! {
    async fn many_calls_at_once_are_answered_with_bounded_memory_and_threads(protocol) {
        let host = daemon(protocol).start().await;
        let mut channels = Vec::new();
        for _ in 0..CONNECTIONS {
            channels.push(host.channel().await);
        }
        let idle = Usage::of(host.process());
        let seconds = setting("ISTHMUS_LOAD_SECONDS", 0);
        let calls = if seconds > 0 { CALLS } else { SLICE };
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let mut lifecycles = JoinSet::new();
        for number in 0..calls {
            let service = if number % 2 == 0 { Service::Pulumi } else { Service::Lumi };
            let channel = channels[number / 2 % CONNECTIONS].clone();
            lifecycles.spawn(async move {
                let mut timings = Timings::default();
                for round in 0.. {
                    service.lifecycle(&channel, &format!("note-{number}-{round}"), &mut timings).await?;
                    if Instant::now() >= deadline {
                        break;
                    }
                }
                Ok::<_, tonic::Status>(timings)
            });
        }
        let began = Instant::now();
        let (mut timings, mut threads, mut descriptors) = (Timings::default(), 0, 0);
        let mut sampling = tokio::time::interval(SAMPLING);
        while !lifecycles.is_empty() {
            tokio::select! {
                _ = sampling.tick() => {
                    let usage = Usage::of(host.process());
                    threads = threads.max(usage.threads);
                    descriptors = descriptors.max(usage.descriptors);
                }
                Some(ended) = lifecycles.join_next() => timings.append(ended.expect("a driver does not panic")?),
            }
        }
        let took = began.elapsed().as_secs_f64();
        let usage = Usage::of(host.process());
        let latencies = Latency::of(timings);
        let answers: usize = latencies.iter().map(|latency| latency.count).sum();
        println!(
            "\nprotocol {protocol}: {answers} answers in {took:.1} s, {:.0} a second; before {idle}; after {usage}; at most \
             {threads} threads and {descriptors} descriptors",
            answers as f64 / took
        );
        for latency in &latencies {
            println!("| {protocol} {latency}");
        }
        assert!(host.objects().is_empty(), "each resource was deleted: {:?}", host.objects());
        let memory = most_memory(calls);
        assert!(usage.peak <= memory, "{} KiB of memory and not at most {memory}", usage.peak);
        assert!(threads <= THREADS, "{threads} threads and not at most {THREADS}");
        if seconds > 0 {
            let starved: Vec<_> = latencies.iter().filter(|latency| latency.spread() >= SPREAD).collect();
            assert!(starved.is_empty(), "p99 is not below {SPREAD} times p50: {starved:?}");
        }
        // A call that comes now does not wait for what is over.
        tokio::time::timeout(PATIENCE, Service::Pulumi.lifecycle(&channels[0], "last", &mut Timings::default()))
            .await
            .expect("a lifecycle by itself is quick")?;
    }
}
