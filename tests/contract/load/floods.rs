//! Floods: large messages, many connections. What they took is given back, and others are served meanwhile.

use std::time::Instant;

use bytes::Bytes;
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use tokio::task::JoinSet;

use super::driver::{Service, Timings, daemon};
use super::figures::Usage;
use crate::harness::{Protocol, on_one_protocol};

/// Messages of a flood, at once.
const MESSAGES: usize = 24;

/// Bytes of each.
const MESSAGE: usize = 4 << 20;

/// Connections of a flood.
const CONNECTIONS: usize = 1_000;

/// Resident memory in KiB that may remain of a flood: what pools and tables have grown to.
const REMAINDER: u64 = 16 * 1024;

/// Resident memory in KiB for each idle connection: its buffers and its session.
const CONNECTION: u64 = 48;

/// A text as long as a message.
fn large_note() -> Struct {
    [("title", Value::from("large")), ("body", Value::from("x".repeat(MESSAGE)))].into()
}

on_one_protocol! {
    async fn memory_is_given_back_after_a_flood_of_large_messages(protocol) {
        let host = daemon(protocol).start().await;
        Service::Pulumi.lifecycle(&host.channel().await, "first", &mut Timings::default()).await?;
        let before = Usage::of(host.process());
        let mut flood = JoinSet::new();
        for number in 0..MESSAGES {
            let channel = host.channel().await;
            flood.spawn(async move {
                let mut client = ResourceProviderClient::new(channel)
                    .max_decoding_message_size(usize::MAX)
                    .max_encoding_message_size(usize::MAX);
                let request = pulumirpc::CheckRequest {
                    urn: format!("urn:pulumi:test::load::sandbox:index/note:Note::{number}"),
                    olds: Some(Struct::new()),
                    news: Some(large_note()),
                    random_seed: Bytes::from_static(&[7; 32]),
                    ..Default::default()
                };
                client.check(request).await.map(drop)
            });
        }
        flood.join_all().await.into_iter().collect::<Result<Vec<()>, _>>()?;
        let began = Instant::now();
        let flooded = Usage::of(host.process());
        let after = Usage::settled(host.process(), before.memory + REMAINDER).await;
        let what = format!("{MESSAGES} messages of {} MiB at once", MESSAGE >> 20);
        println!("\n{}", row(protocol, &what, [before.memory, flooded.peak, after.memory], began));
        assert!(
            after.memory <= before.memory + REMAINDER,
            "{} KiB, and {} before the flood: more than {REMAINDER} remain",
            after.memory,
            before.memory,
        );
    }

    async fn a_thousand_idle_connections_take_little_and_disturb_no_engine(protocol) {
        allow_connections();
        let host = daemon(protocol).after("ulimit -S -n 1024").start().await;
        let engine = host.channel().await;
        Service::Pulumi.lifecycle(&engine, "first", &mut Timings::default()).await?;
        let before = Usage::of(host.process());
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(host.channel().await);
        }
        // An engine that is connected, and one that comes now.
        for channel in [&engine, &host.channel().await] {
            for service in [Service::Pulumi, Service::Lumi] {
                service.lifecycle(channel, "meanwhile", &mut Timings::default()).await?;
            }
        }
        let full = Usage::of(host.process());
        drop(idle);
        let began = Instant::now();
        let after = Usage::settled(host.process(), before.memory + REMAINDER).await;
        let what = format!("{CONNECTIONS} idle connections");
        println!("\n{}", row(protocol, &what, [before.memory, full.memory, after.memory], began));
        let connections = CONNECTIONS as u64;
        assert!(full.descriptors >= connections, "{} descriptors with {CONNECTIONS} connections", full.descriptors);
        let most = before.memory + connections * CONNECTION + REMAINDER;
        assert!(full.memory <= most, "{} KiB and not at most {most}", full.memory);
        assert!(
            after.memory <= before.memory + REMAINDER,
            "{} KiB, and {} before: more than {REMAINDER} remain",
            after.memory,
            before.memory,
        );
    }
}

/// The row of a table of results: resident memory before, at most and at last, and how long after the end that was.
fn row(protocol: Protocol, flood: &str, memory: [u64; 3], end: Instant) -> String {
    let [before, most, after] = memory.map(|memory| memory as f64 / 1024.0);
    let later = end.elapsed().as_secs_f64();
    format!("| {protocol} | {flood} | {before:.1} | {most:.1} | {after:.1} | {later:.1} |")
}

/// Lets this process have the other ends of all connections.
pub(super) fn allow_connections() {
    // Windows has no such limit.
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let needed = Some(4 * CONNECTIONS as u64);
        if limit.current < needed && limit.current.is_some() {
            setrlimit(Resource::Nofile, Rlimit { current: needed, ..limit })
                .expect("the hard limit allows it");
        }
    }
}
