//! Many sessions of one large provider at a shared daemon: what they have in common is in memory once.

use std::time::Duration;

use super::figures::Usage;
use crate::harness::{Protocol, Setup, Status, json, on_one_protocol};

/// Sessions after the first one.
const SESSIONS: u64 = 30;

/// Most memory of a further session in KiB: its connections, its environment, its log. The names and the schemas of the
/// provider alone would take several times as much.
const MEMORY: u64 = 192;

/// Most descriptors of a further session: its connection. The file with the schemas would be another one.
const DESCRIPTORS: u64 = 1;

/// Longer than memory takes that a call has used to be given back.
const SETTLED: Duration = Duration::from_millis(1_500);

/// A provider with as many resources as a large cloud's have.
fn setup(protocol: Protocol) -> Setup {
    Setup::sandbox(protocol).with("SANDBOX_RESOURCES", "1000x70").without_a_record().with_daemon()
}

async fn usage(daemon: u32) -> Usage {
    // The allocator tells nothing of it.
    tokio::time::sleep(SETTLED).await;
    Usage::of(daemon)
}

on_one_protocol! {
    async fn a_further_session_takes_no_memory_for_what_it_shares(protocol) {
        let host = match std::env::var_os("ISTHMUS_LOAD_EXECUTABLE") {
            Some(executable) => setup(protocol).build(executable.into()).start().await,
            None => setup(protocol).start().await,
        }
        .with_own_provider();
        let open = async || {
            let session = host.parameterized().await?;
            session.configure(&json!({"token": "t"})).await?;
            session.note().preview_create(&json!({"title": "one"})).await?;
            Ok::<_, Status>(session)
        };
        drop(open().await?);
        host.schema_is_kept().await;
        let mut sessions = vec![open().await?];
        let first = usage(host.daemon().process()).await;
        for _ in 0..SESSIONS {
            sessions.push(open().await?);
        }
        let all = usage(host.daemon().process()).await;
        let memory = all.memory.saturating_sub(first.memory) / SESSIONS;
        let descriptors = all.descriptors.saturating_sub(first.descriptors) / SESSIONS;
        println!(
            "protocol {protocol}: with one session {first}; with {SESSIONS} more {all}; for each {memory} KiB and \
             {descriptors} descriptors"
        );
        assert!(descriptors <= DESCRIPTORS, "{descriptors} descriptors and not at most {DESCRIPTORS}");
        assert!(memory <= MEMORY, "{memory} KiB of memory and not at most {MEMORY}");
        drop(sessions);
        let released = usage(host.daemon().process()).await;
        println!("protocol {protocol}: without any {released}");
    }
}
