//! The daemon's own end: whatever it is, no provider is left behind.

#[cfg(unix)]
mod guardian;
#[cfg(unix)]
mod matrix;

use crate::harness::processes::Signal;

use crate::harness::processes::ended;
use crate::harness::resource::half_made;
use crate::harness::{Protocol, Setup, json, on_one_protocol};

on_one_protocol! {
    async fn an_interrupt_ends_it_in_order(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        // What engines do at the end of every run.
        session.cancel().await?;
        drop(session);
        host.signal(Signal::INT);
        let status = host.exit().await;
        assert_eq!(status.code(), Some(0), "{status}");
        ended(host.provider_process()).await;
    }

    async fn a_daemon_attachable_outlives_its_stdin(protocol) {
        let mut host = Setup::sandbox(protocol).attachable().start().await;
        host.close_stdin();
        let session = host.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        assert!(host.lives());
    }

    async fn a_change_under_way_is_asked_to_end_and_its_outcome_told(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = json!({"name": "web", "bootTime": "1h"});
        let (created, ()) = tokio::join!(server.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            host.signal(Signal::INT);
        });
        let status = created.expect_err("booting takes longer than the daemon is given");
        assert!(status.message().contains("The server was interrupted while booting"), "{status}");
        let kept = half_made(&status).expect("the engine is told what exists");
        assert_eq!(host.objects()[0]["id"], kept.id.as_str());
        drop((server, session));
        assert_eq!(host.exit().await.code(), Some(0));
        ended(host.provider_process()).await;
    }

    async fn a_provider_that_is_starting_does_not_hold_up_the_end(protocol) {
        let mut host = Setup::sandbox(protocol).with("SANDBOX_HANDSHAKE", "silent").start().await;
        let session = host.greeted().await?;
        let provider = host.provider();
        let words = [provider.as_str()];
        let (chosen, starting) = tokio::join!(session.parameterize(&words), async {
            let starting = host.child().await;
            host.signal(Signal::INT);
            starting
        });
        chosen.expect_err("the daemon was told to end");
        assert_eq!(host.exit().await.code(), Some(0));
        ended(starting).await;
    }

    async fn a_second_signal_waits_for_nobody(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        let faulty = session.faulty();
        let inputs = json!({"mode": "hang-forever"});
        let (created, ()) = tokio::join!(faulty.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            host.signal(Signal::INT);
            // The first one was heard when the provider is asked to stop.
            let stop = if protocol == Protocol::V5 { "Stop" } else { "StopProvider" };
            host.provider_is_in(stop, 1).await;
            host.signal(Signal::INT);
        });
        created.expect_err("the provider never answers");
        assert_ne!(host.exit().await.code(), Some(0), "it did not end in order");
        ended(host.provider_process()).await;
    }
}
