//! A daemon that goes away: before and after a resource was changed through it.

use crate::harness::processes::Signal;

use crate::harness::processes::signal;
use crate::harness::{Code, Host, Setup, json, on_one_protocol};

/// What the engine was told of the loss.
pub(super) fn fallbacks(host: &Host) -> Vec<String> {
    let lines = host.engine.lines().into_iter().map(|line| line.message);
    lines.filter(|message| message.contains("providers are started by this plugin")).collect()
}

on_one_protocol! {
    async fn a_run_that_has_changed_nothing_goes_on_without_its_daemon(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        session.note().check(&json!({"title": "one"})).await?;
        host.daemon_mut().kill().await;
        // The session is made again in the plugin: its provider, and its configuration.
        let made = session.note().make(&json!({"title": "one"})).await?;
        session.note().delete(&made).await?;
        assert_eq!(host.provider_processes().len(), 2);
        assert_eq!(fallbacks(&host).len(), 1, "{:?}", host.engine.lines());
        assert_eq!(host.children().len(), 1, "the plugin has its own provider");
    }

    async fn a_call_that_changes_nothing_is_made_again_when_the_daemon_dies_in_it(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        let inputs = json!({"mode": "hang", "during": "plan"});
        let preview = session.faulty();
        let previewing = preview.preview_create(&inputs);
        let killed = async {
            host.provider_is_in("PlanResourceChange", 1).await;
            signal(host.daemon().process(), Signal::KILL);
            // In the plugin's own provider.
            host.provider_is_in("PlanResourceChange", 2).await;
            session.cancel().await
        };
        let (previewed, cancelled) = tokio::join!(previewing, killed);
        cancelled?;
        previewed.expect_err("it was cancelled");
        host.daemon_mut().kill().await;
    }

    async fn an_action_whose_daemon_dies_in_it_is_not_carried_out_again(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        let arguments = json!({"message": "Hello", "fault": "hang"});
        let killed = async {
            host.provider_is_in("InvokeAction", 1).await;
            signal(host.daemon().process(), Signal::KILL);
        };
        let action = "sandbox:index/actionBroadcast:actionBroadcast";
        let (invoked, ()) = tokio::join!(session.invoke(action, &arguments), killed);
        let status = invoked.expect_err("nobody answers it");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        assert!(status.message().contains("before you invoke it again"), "{status}");
        assert_eq!(host.count("InvokeAction"), 1);
        host.daemon_mut().kill().await;
    }

    async fn a_change_whose_daemon_dies_has_an_unknown_outcome_and_the_run_does_not_go_on_without_it(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        let faulty = session.faulty();
        let inputs = json!({"mode": "hang-forever"});
        let killed = async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            signal(host.daemon().process(), Signal::KILL);
        };
        let (created, ()) = tokio::join!(faulty.create(&inputs), killed);
        let status = created.expect_err("nobody answers it");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        assert!(status.message().contains("isthmus recover"), "{status}");
        host.daemon_mut().kill().await;
        // It waits for a daemon that goes on, until the engine cancels.
        let note = session.note();
        let inputs = json!({"title": "two"});
        let creating = note.create(&inputs);
        let waits = async {
            host.engine.line("that it waits", |line| line.message.contains("waiting up to 60 seconds")).await;
            session.cancel().await
        };
        let (created, cancelled) = tokio::join!(creating, waits);
        cancelled.expect_err("there is no daemon to cancel anything at");
        let status = created.expect_err("it is not made here");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains("start the daemon again"), "{status}");
        assert!(host.children().is_empty(), "no provider was started");
        // With a daemon again, the run goes on where it was.
        host.restart_daemon().await;
        session.note().make(&json!({"title": "two"})).await?;
        assert_eq!(fallbacks(&host), [""; 0], "{:?}", host.engine.lines());
    }

    async fn what_a_killed_plugin_has_made_is_told_to_a_later_run_though_the_daemon_lives(protocol) {
        let setup = Setup::sandbox(protocol).with_daemon();
        let mut host = setup.clone().start().await;
        let made = host.session().await?.note().make(&json!({"title": "one"})).await?;
        host.signal(Signal::KILL);
        host.exit().await;
        let mut told = Vec::new();
        for _ in 0..4 {
            let next = setup.clone().beside(&host).start().await;
            let session = next.session().await?;
            session.resource("sandbox:index/note:Note", "other").check(&json!({"title": "two"})).await?;
            session.cancel().await?;
            let lines = next.engine.lines().into_iter().map(|line| line.message);
            told.push(lines.filter(|message| message.contains(&made.id)).count());
        }
        // Two runs may pass without it: they may not have come to it.
        assert_eq!(told, [0, 0, 1, 0]);
    }

    async fn a_plugin_without_a_daemon_says_so_only_where_one_was_asked_for(protocol) {
        let silent = Setup::sandbox(protocol).start().await;
        silent.session().await?.note().make(&json!({"title": "one"})).await?;
        assert_eq!(fallbacks(&silent), [""; 0]);
        let asked = Setup::sandbox(protocol).with("ISTHMUS_DAEMON", "/nowhere/daemon.sock").start().await;
        asked.session().await?.note().make(&json!({"title": "one"})).await?;
        let [warning] = &fallbacks(&asked)[..] else { panic!("{:?}", asked.engine.lines()) };
        let words = ["no daemon listens on ", "/nowhere/daemon.sock"];
        assert!(words.iter().all(|words| warning.contains(words)), "{warning}");
        let off = Setup::sandbox(protocol).with("ISTHMUS_DAEMON", "off").start().await;
        off.session().await?.note().make(&json!({"title": "one"})).await?;
        assert_eq!(fallbacks(&off), [""; 0]);
    }
}
