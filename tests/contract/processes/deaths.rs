//! Providers that die, hang, or will not end.

use std::time::{Duration, Instant};

use crate::harness::processes::{ended, lives};
use crate::harness::{Code, Setup, Status, Stored, json, on_one_protocol};

on_one_protocol! {
    async fn a_provider_that_dies_while_it_applies_may_have_done_it(session: sandbox) {
        let status = session.faulty().make(&json!({"mode": "crash"})).await.expect_err("the provider dies");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        for words in ["ApplyResourceChange", "exit status 2", "sandbox_faulty was asked to crash"] {
            assert!(status.message().contains(words), "{words:?} is not in: {}", status.message());
        }
        let (sentence, trace) = status.message().split_once("\npanic of the provider:\n").expect("what it printed");
        assert_eq!(
            sentence,
            "the provider sandbox panicked during ApplyResourceChange: exit status 2; this is a bug in the provider: please \
             report it to its maintainers"
        );
        assert!(trace.starts_with("    panic: ") && trace.lines().all(|line| line.starts_with("    ")), "{trace}");
    }

    async fn a_refusal_is_not_taken_for_a_death(session: sandbox) {
        let begun = Instant::now();
        session.faulty().make(&json!({"mode": "refusal"})).await.expect_err("the provider refuses");
        // Seeing whether a process ended takes time; one that has answered need not be waited for.
        let taken = begun.elapsed();
        assert!(taken < Duration::from_millis(1500), "{taken:?}");
    }

    async fn a_provider_that_is_starting_ends_when_the_engine_cancels(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_HANDSHAKE", "silent").start().await;
        let session = host.greeted().await?;
        let provider = host.provider();
        let words = [provider.as_str()];
        let (chosen, cancelled) = tokio::join!(session.parameterize(&words), async {
            let starting = host.child().await;
            session.cancel().await?;
            Ok::<_, Status>(starting)
        });
        let status = chosen.expect_err("it was cancelled");
        assert_eq!(status.code(), Code::Cancelled, "{status}");
        ended(cancelled?).await;
    }

    async fn a_provider_that_ends_after_an_answer_has_answered(host, session: sandbox) {
        session.faulty().make(&json!({"mode": "exit-after"})).await?;
        ended(host.provider_process()).await;
        // Whoever comes first may find the connection broken before the daemon has seen the process end.
        if let Err(first) = session.note().create(&json!({"title": "Hello"})).await {
            assert!(first.message().contains("exit status 0"), "{first}");
            assert_ne!(first.code(), Code::Unknown, "nothing was applied: {first}");
        }
        session.note().create(&json!({"title": "Hello"})).await?;
    }

    async fn what_waits_in_the_framework_ends_when_the_engine_cancels(host, session: conformance) {
        let record = session.record();
        let inputs = json!({"name": "slow-one"});
        let (created, cancelled) = tokio::join!(record.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            session.cancel().await
        });
        cancelled?;
        let status = created.expect_err("it was cancelled");
        assert!(status.message().contains("Creation interrupted"), "{status}");
        assert!(host.objects().is_empty());
    }

    async fn cancelling_ends_only_what_is_in_its_own_session(protocol) {
        let (host, first) = Setup::sandbox(protocol).session().await?;
        let second = host.session().await?;
        let [first_process, second_process] = host.provider_processes()[..] else {
            panic!("each session has a provider process of its own: {:?}", host.provider_processes())
        };
        let (first_faulty, second_faulty) = (first.faulty(), second.faulty());
        let inputs = json!({"mode": "hang"});
        let mut other = Box::pin(second_faulty.create(&inputs));
        let (first_created, outcome) = tokio::join!(first_faulty.create(&inputs), async {
            tokio::select! {
                early = &mut other => panic!("the second session's call ended: {early:?}"),
                () = host.provider_is_in("ApplyResourceChange", 2) => {}
            }
            first.cancel().await
        });
        outcome?;
        let status = first_created.expect_err("its session was cancelled");
        assert_eq!(status.code(), Code::Unknown, "it may have been made: {status}");
        // A whole life of a note in the cancelled session, and the other session's call still hangs.
        let note = first.note();
        let made = note.make(&json!({"title": "Hello"})).await?;
        note.delete(&made).await?;
        assert!(futures_pending(&mut other).await, "the other session's call was ended, too");
        assert!(lives(first_process) && lives(second_process));

        let (second_created, cancelled) = tokio::join!(other, second.cancel());
        cancelled?;
        second_created.expect_err("now its session was cancelled as well");
    }

    async fn a_provider_that_refuses_to_end_is_ended(protocol) {
        for manner in ["refuse", "hang"] {
            let (host, session) = Setup::sandbox(protocol).with("SANDBOX_SHUTDOWN", manner).session().await?;
            let provider = host.provider_process();
            drop(session);
            ended(provider).await;
            assert!(host.lives());
        }
    }

    async fn a_change_goes_to_its_end_although_the_engine_has_left(host, session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = json!({"name": "web", "bootTime": "300ms"});
        tokio::select! {
            early = server.create(&inputs) => panic!("booting takes longer: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 1) => {}
        }
        // Only the call was given up, not the connection.
        let again = session.note().make(&json!({"title": "Hello"})).await?;
        assert!(!again.id.is_empty());
        drop((server, session));
        ended(host.provider_process()).await;
        assert!(host.objects().iter().any(|object| object["name"] == "web"), "the server was made all the same");
    }
}

/// Whether a future is not done yet.
async fn futures_pending(future: &mut (impl Future<Output = Result<Stored, Status>> + Unpin)) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
    })
    .await
}
