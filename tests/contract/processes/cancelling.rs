//! Calls that do not come to an end when they are asked to: whoever waits for them is told so.

use crate::harness::processes::ended;
use crate::harness::{Code, Protocol, Setup, json, on_one_protocol};

use crate::harness::processes::Signal;

fn stop(protocol: Protocol) -> &'static str {
    if protocol == Protocol::V5 { "Stop" } else { "StopProvider" }
}

/// A connection that says nothing, or only half of what it should, is no reason to stay.
#[tokio::test]
async fn idle_connections_do_not_keep_a_daemon_alive_that_is_told_to_end() {
    for said in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PRI * HT"] {
        let mut host = Setup::sandbox(Protocol::V6).with("ISTHMUS_STOP_GRACE_PERIOD", "0.1").start().await;
        let mut connection = std::net::TcpStream::connect(("127.0.0.1", host.port())).expect("a connection");
        std::io::Write::write_all(&mut connection, said).expect("sent");
        host.greeted().await.expect("it serves others meanwhile");
        host.signal(Signal::TERM);
        let status = host.exit().await;
        assert!(status.success(), "{said:?}: {status}");
        drop(connection);
    }
}

on_one_protocol! {
    async fn what_hangs_on_after_a_second_cancel_is_answered(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.3").session().await?;
        let faulty = session.faulty();
        let inputs = json!({"mode": "hang-forever"});
        let mut creating = Box::pin(faulty.create(&inputs));
        tokio::select! {
            early = &mut creating => panic!("it hangs: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 1) => {}
        }
        session.cancel().await?;
        // It is asked again each second: more than the grace has gone by, and the first Cancel waits.
        tokio::select! {
            early = &mut creating => panic!("nobody has asked twice: {early:?}"),
            () = host.provider_is_in(stop(protocol), 2) => {}
        }
        let (created, cancelled) = tokio::join!(creating, session.cancel());
        cancelled?;
        let status = created.expect_err("it was broken off");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        for words in ["was cancelled", "did not stop within 300ms", "ApplyResourceChange", "unknown", "`pulumi import`"] {
            assert!(status.message().contains(words), "{words:?} is not in: {}", status.message());
        }
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn only_what_was_asked_twice_is_broken_off(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.1").session().await?;
        let (first, second) = (session.resource("sandbox:index/faulty:Faulty", "first"), session.faulty());
        let inputs = json!({"mode": "hang-forever"});
        let mut one = Box::pin(first.create(&inputs));
        tokio::select! {
            early = &mut one => panic!("it hangs: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 1) => {}
        }
        session.cancel().await?;
        let mut other = Box::pin(second.create(&inputs));
        tokio::select! {
            early = &mut one => panic!("nobody has asked twice: {early:?}"),
            early = &mut other => panic!("it hangs: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 2) => {}
        }
        session.cancel().await?;
        tokio::select! {
            answer = &mut one => answer.expect_err("it was broken off"),
            early = &mut other => panic!("it was asked once: {early:?}"),
        };
        let (answer, cancelled) = tokio::join!(other, session.cancel());
        cancelled?;
        answer.expect_err("now it was asked twice as well");
    }

    async fn a_provider_that_will_not_stop_is_complained_of(protocol) {
        for (manner, complaint) in [("refuse", "the sandbox was asked not to stop"), ("hang", "did not answer")] {
            let setup = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.1").with("SANDBOX_STOP", manner);
            let (host, session) = setup.session().await?;
            let faulty = session.faulty();
            let inputs = json!({"mode": "hang"});
            let (created, cancelled) = tokio::join!(faulty.create(&inputs), async {
                host.provider_is_in("ApplyResourceChange", 1).await;
                session.cancel().await?;
                let shown = host.engine.shown();
                assert!(
                    shown.iter().any(|line| line.message.contains(complaint) && line.message.contains(stop(protocol))),
                    "{shown:?}"
                );
                session.cancel().await
            });
            cancelled?;
            let status = created.expect_err("it was broken off");
            assert_eq!(status.code(), Code::Unknown, "{status}");
        }
    }

    async fn what_hangs_on_when_the_daemon_ends_is_answered(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.3").session().await?;
        let faulty = session.faulty();
        let (applied, planned) = (json!({"mode": "hang-forever"}), json!({"mode": "hang-forever", "during": "plan"}));
        let (applying, planning, ()) = tokio::join!(faulty.create(&applied), faulty.create(&planned), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            host.provider_is_in("PlanResourceChange", 2).await;
            host.signal(Signal::TERM);
        });
        let codes = [applying, planning].map(|answer| answer.expect_err("it was broken off").code());
        assert_eq!(codes, [Code::Unknown, Code::Cancelled]);
        drop((faulty, session));
        assert_eq!(host.exit().await.code(), Some(0));
        ended(host.provider_process()).await;
    }
}
