//! Which sessions share a provider process, and what they have of each other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::processes::Signal;
use tokio::task::JoinSet;
use tonic::Code;

use crate::harness::engine::{Line, Severity};
use crate::harness::host::until;
use crate::harness::processes::{children, ended, signal};
use crate::harness::{Host, Json, Outcome, Protocol, Session, Setup, Status, json, on_one_protocol, unknown};

/// Two plugins of one directory, so that they have the same daemon, environment and working directory.
async fn two(setup: Setup) -> (Host, Host) {
    let first = one(setup.clone()).await;
    let second = setup.with_daemon().beside(&first).start().await;
    (first, second)
}

/// A plugin whose provider is a file of its own: one that other tests link to is another file to the daemon each time.
async fn one(setup: Setup) -> Host {
    setup.with_daemon().start().await.with_own_provider()
}

/// A session that is configured like this.
async fn configured(host: &Host, config: &Json) -> Result<Session, Status> {
    let session = host.parameterized().await?;
    session.configure(config).await?;
    Ok(session)
}

/// How often a provider was configured.
fn configurations(host: &Host, protocol: Protocol) -> usize {
    let call = if protocol == Protocol::V5 { "Configure" } else { "ConfigureProvider" };
    host.count(call)
}

on_one_protocol! {
    async fn a_resource_goes_through_its_life_and_warnings_reach_the_engine(protocol) {
        let host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        let made = session.note().make(&json!({"title": "warn"})).await?;
        session.note().refresh(&made).await?;
        session.note().delete(&made).await?;
        assert!(host.objects().is_empty());
        let warned = host.engine.lines().iter().any(|line| line.severity == Severity::Warning);
        assert!(warned, "{:?}", host.engine.lines());
        assert!(host.children().is_empty(), "the plugin has started no provider");
    }

    async fn ten_runs_pay_for_a_slow_login_once(protocol) {
        const LOGIN: Duration = Duration::from_secs(2);
        let setup = Setup::sandbox(protocol).with("SANDBOX_CONFIGURE_DELAY", &LOGIN.as_millis().to_string());
        let (first, second) = two(setup).await;
        let mut took = Vec::new();
        for run in 0..10 {
            let host = if run % 2 == 0 { &first } else { &second };
            let began = Instant::now();
            let session = configured(host, &json!({"token": "t"})).await?;
            session.note().make(&json!({"title": "one"})).await?;
            took.push(began.elapsed());
        }
        println!("protocol {protocol}: ten runs with a login of {LOGIN:?} took {took:.2?}");
        assert!(took[0] >= LOGIN, "{took:?}");
        assert!(took[1..].iter().all(|run| *run < LOGIN), "a further run took as long as a login: {took:?}");
        assert_eq!(first.provider_processes().len(), 1);
        assert_eq!(configurations(&first, protocol), 1);
    }

    async fn runs_at_the_same_time_have_one_process_for_each_of_their_configurations(protocol) {
        let host = one(Setup::sandbox(protocol).with("SANDBOX_START_DELAY", "100")).await;
        let mut runs = JoinSet::new();
        let host = Arc::new(host);
        for run in 0..12 {
            let host = Arc::clone(&host);
            runs.spawn(async move {
                let session = configured(&host, &json!({"token": format!("token-{}", run % 3)})).await?;
                session.note().make(&json!({"title": "hello"})).await?;
                Ok::<_, Status>(session)
            });
        }
        let _sessions = runs.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
        assert_eq!(host.provider_processes().len(), 3);
        assert_eq!(configurations(&host, protocol), 3);
    }

    async fn processes_of_one_provider_are_called_for_their_schema_once_if_it_says_that_they_need_not_be(protocol) {
        // Protocol minor 4 has the capability.
        for (minor, asked) in [(3, 3), (4, 1)] {
            let setup = Setup::sandbox(protocol).with("SANDBOX_MINOR", &format!("{protocol}.{minor}"));
            let host = one(setup).await;
            let mut sessions = Vec::new();
            for token in ["a", "b", "c"] {
                let session = configured(&host, &json!({"token": token})).await?;
                session.note().make(&json!({"title": "hello"})).await?;
                sessions.push(session);
            }
            assert_eq!(host.provider_processes().len(), 3, "minor {minor}");
            let call = if protocol == Protocol::V5 { "GetSchema" } else { "GetProviderSchema" };
            assert_eq!(host.count(call), asked, "minor {minor}: {:?}", host.call_names());
        }
    }

    async fn other_configurations_environments_and_directories_have_processes_of_their_own(protocol) {
        let setup = Setup::sandbox(protocol);
        let (host, same) = two(setup.clone()).await;
        let _first = configured(&host, &json!({"token": "t"})).await?;
        let _same = configured(&same, &json!({"token": "t"})).await?;
        assert_eq!(host.provider_processes().len(), 1);
        let _configuration = configured(&host, &json!({"token": "u"})).await?;
        assert_eq!(host.provider_processes().len(), 2);
        let other = setup.clone().with("AWS_PROFILE", "x").with_daemon().beside(&host).start().await;
        let _environment = configured(&other, &json!({"token": "t"})).await?;
        assert_eq!(host.provider_processes().len(), 3);
        let other = setup.clone().with_daemon().working_in("elsewhere").beside(&host).start().await;
        let _directory = configured(&other, &json!({"token": "t"})).await?;
        assert_eq!(host.provider_processes().len(), 4);
        let other = setup.clone().with("SSH_AUTH_SOCK", "x").with_daemon().beside(&host).start().await;
        let _agent = configured(&other, &json!({"token": "t"})).await?;
        assert_eq!(host.provider_processes().len(), 5);
        // A volatile name has no meaning for a provider.
        let other = setup.with("TRACEPARENT", "x").with_daemon().beside(&host).start().await;
        let _volatile = configured(&other, &json!({"token": "t"})).await?;
        assert_eq!(host.provider_processes().len(), 5);
    }

    async fn a_run_that_waits_for_another_to_configure_can_be_cancelled(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_CONFIGURE_DELAY", "600000");
        let setup = setup.with("ISTHMUS_STOP_GRACE_PERIOD", "0.1");
        let (host, same) = two(setup).await;
        let (first, second) = (host.parameterized().await?, same.parameterized().await?);
        let config = json!({"token": "t"});
        let cancelled = async {
            let call = if protocol == Protocol::V5 { "Configure" } else { "ConfigureProvider" };
            host.provider_is_in(call, 1).await;
            let cancelling = async {
                // The first ones may come before the call.
                loop {
                    second.cancel().await.expect("the daemon answers");
                }
            };
            tokio::select! {
                waited = second.configure(&config) => waited.expect_err("it was cancelled"),
                () = cancelling => unreachable!("it goes on"),
            }
        };
        let status = tokio::select! {
            configured = first.configure(&config) => panic!("it takes ten minutes: {configured:?}"),
            status = cancelled => status,
        };
        assert!(status.message().contains("the call was cancelled"), "{status}");
    }

    async fn a_run_that_asks_for_the_providers_log_has_a_process_of_its_own(protocol) {
        let setup = Setup::sandbox(protocol).with_daemon();
        let host = one(setup.clone()).await;
        let _first = configured(&host, &json!({})).await?;
        let logging = setup.with("TF_LOG_PROVIDER", "trace").beside(&host).start().await;
        let _second = configured(&logging, &json!({})).await?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn an_unknown_configuration_is_not_shared(protocol) {
        let (host, second) = two(Setup::sandbox(protocol)).await;
        let unknown = json!({"token": unknown()});
        let _first = configured(&host, &unknown).await?;
        let _second = configured(&second, &unknown).await?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_provider_that_has_complained_of_credentials_serves_no_further_run(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("SANDBOX_ODD", "usable")).await;
        let session = configured(&host, &json!({})).await?;
        let leak = session.resource("sandbox:index/leak:Leak", "leak");
        let inputs = json!({"how": "error", "during": "create", "open": "ExpiredToken: it has expired"});
        let status = leak.create(&inputs).await.expect_err("it fails as it is told");
        assert!(status.message().contains("ExpiredToken"), "{status}");
        let session_of_second = configured(&second, &json!({})).await?;
        session_of_second.note().make(&json!({"title": "one"})).await?;
        assert_eq!(host.provider_processes().len(), 2);
        // The first one ends with its last run.
        let first = host.provider_processes()[0];
        drop((leak, session));
        ended(first).await;
    }

    async fn a_configuration_expires(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("ISTHMUS_POOL_AGE", "0")).await;
        let _first = configured(&host, &json!({})).await?;
        let _second = configured(&second, &json!({})).await?;
        assert_eq!(configurations(&host, protocol), 2);
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_process_that_no_run_uses_ends_after_a_time(protocol) {
        let host = Setup::sandbox(protocol).with("ISTHMUS_POOL_IDLE", "0.2").with_daemon().start().await;
        let session = configured(&host, &json!({})).await?;
        host.end_of(session).await;
        // And is started again for the next run.
        let session = configured(&host, &json!({})).await?;
        session.note().make(&json!({"title": "one"})).await?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_run_waits_for_a_process_while_all_are_in_use_and_is_told_so(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1")).await;
        let session = configured(&host, &json!({"token": "a"})).await?;
        let is_told = || {
            let told = second.engine.lines();
            told.iter().any(|line| line.message.contains("are in use (at most 1)")).then_some(())
        };
        let waiting = async {
            let waiting = configured(&second, &json!({"token": "b"})).await?;
            waiting.note().make(&json!({"title": "one"})).await
        };
        let freeing = async {
            until("the second run is told", is_told).await;
            assert_eq!(host.provider_processes().len(), 1);
            drop(session);
        };
        let (made, ()) = tokio::join!(waiting, freeing);
        made?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn runs_that_wait_for_the_same_process_leave_it_its_place(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1")).await;
        let session = configured(&host, &json!({"token": "a"})).await?;
        // So far both have come when the first one's process is free: one that comes later may need another process.
        let (one, other) = (second.parameterized().await?, second.parameterized().await?);
        let run = async |waiting: &Session| {
            waiting.configure(&json!({"token": "b"})).await?;
            waiting.note().make(&json!({"title": "one"})).await
        };
        let freeing = async {
            let is_told = |line: &Line| line.message.contains("are in use (at most 1)");
            until("a run is told", || second.engine.lines().iter().any(is_told).then_some(())).await;
            drop(session);
        };
        let (made, also_made, ()) = tokio::join!(run(&one), run(&other), freeing);
        made?;
        also_made?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_process_that_is_not_shared_takes_its_place_all_the_same(protocol) {
        let limited = Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1").with("ISTHMUS_POOL_IDLE", "0.2");
        let logging = limited.clone().with("TF_LOG_PROVIDER", "error");
        // A script is another program than what it starts, so nothing is known of that.
        let script = limited.clone().wrapped("exec \"$REAL\"\n");
        let without_cache = limited.with("ISTHMUS_SCHEMA_CACHE", "false");
        for setup in [logging, script, without_cache] {
            let host = setup.clone().with_daemon().start().await;
            let session = configured(&host, &json!({})).await?;
            let second = setup.with_daemon().beside(&host).start().await;
            let is_told = |line: &Line| line.message.contains("are in use (at most 1)");
            let config = json!({});
            let mut waiting = std::pin::pin!(configured(&second, &config));
            tokio::select! {
                early = &mut waiting => panic!("there is no room: {early:?}"),
                () = until("the second run is told", || second.engine.lines().iter().any(is_told).then_some(())) => {}
            }
            assert_eq!(host.provider_processes().len(), 1);
            host.end_of(session).await;
            waiting.await?;
        }
    }

    async fn a_run_that_makes_no_calls_lends_its_process(protocol) {
        let limited = Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1").with("ISTHMUS_POOL_IDLE", "0.2");
        let logging = limited.clone().with("TF_LOG_PROVIDER", "error");
        for setup in [limited, logging] {
            let (host, second) = two(setup).await;
            let idle = configured(&host, &json!({"token": "a"})).await?;
            let made = idle.note().make(&json!({"title": "one"})).await?;
            let busy = configured(&second, &json!({"token": "b"})).await?;
            busy.note().make(&json!({"title": "two"})).await?;
            assert_eq!(host.provider_processes().len(), 2);
            // Its next call gets one again, when the other one makes none.
            idle.note().refresh(&made).await?;
            assert_eq!(host.provider_processes().len(), 3);
            let told = host.engine.shown();
            assert!(!told.iter().any(|line| line.message.contains("has ended")), "{told:?}");
        }
    }

    async fn cancelling_one_run_does_not_stop_the_calls_of_another(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.2")).await;
        let cancelled = configured(&host, &json!({})).await?;
        let undisturbed = configured(&second, &json!({})).await?;
        // A request to stop would end both.
        let (hanging, inputs) = (json!({"mode": "hang"}), json!({"mode": "late"}));
        let (one, other) = (cancelled.faulty(), undisturbed.faulty());
        let mut made = Box::pin(other.create(&inputs));
        let stopped = async {
            host.provider_is_in("ApplyResourceChange", 2).await;
            cancelled.cancel().await?;
            cancelled.cancel().await
        };
        let both = async { tokio::join!(one.create(&hanging), stopped) };
        let (hung, stopping) = tokio::select! {
            early = &mut made => panic!("it was not asked to stop: {early:?}"),
            both = both => both,
        };
        stopping?;
        hung.expect_err("it was broken off");
        // Its run is over, so the other one has the process for itself.
        drop((one, cancelled));
        let stopping = async {
            // Nothing tells that the daemon has noticed the end of a connection.
            while undisturbed.cancel().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            made = made => drop(made?),
            () = stopping => panic!("the daemon takes no Cancel"),
        }
    }

    async fn cancelling_ends_the_calls_that_wait_for_their_turn(protocol) {
        let host = one(Setup::sandbox(protocol)).await;
        let session = configured(&host, &json!({})).await?;
        let mut calls = JoinSet::new();
        for number in 0..300 {
            let resource = session.resource("sandbox:index/faulty:Faulty", &format!("faulty-{number}"));
            calls.spawn(async move { resource.create(&json!({"mode": "hang"})).await });
        }
        host.provider_is_in("ApplyResourceChange", 1).await;
        session.cancel().await?;
        let mut waiting = 0;
        while let Some(ended) = calls.join_next().await {
            let status = ended.expect("it does not panic").expect_err("it is cancelled");
            if status.message().contains("was cancelled before it began") {
                assert_eq!(status.code(), Code::Cancelled, "the engine knows that nothing was changed");
                waiting += 1;
            }
        }
        let begun = host.count("ApplyResourceChange");
        assert!(waiting > 0 && begun + waiting <= 300, "{begun} calls were made, {waiting} cancelled before");
        session.note().make(&json!({"title": "the session stays usable"})).await?;
    }

    async fn a_provider_that_crashes_is_replaced_once_for_all_of_its_runs_and_makes_room_for_that(protocol) {
        let (host, second) = two(Setup::sandbox(protocol).with("ISTHMUS_POOL_PROCESSES", "1")).await;
        let one = configured(&host, &json!({})).await?;
        let other = configured(&second, &json!({})).await?;
        signal(host.provider_process(), Signal::KILL);
        // Then the daemon knows of it.
        until("the provider is gone", || children(host.daemon().process()).is_empty().then_some(())).await;
        one.note().make(&json!({"title": "one"})).await?;
        other.note().make(&json!({"title": "two"})).await?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn no_run_sees_marks_of_another(protocol) {
        marks_stay_apart(protocol, "token-of-one", "token-of-other").await?;
    }

    async fn no_run_sees_marks_of_another_with_the_same_process(protocol) {
        marks_stay_apart(protocol, "token", "token").await?;
    }
}

/// Two runs with these tokens make calls at the same time. What they say and are told, and what providers quote, has marks.
async fn marks_stay_apart(protocol: Protocol, one: &str, other: &str) -> Outcome {
    let (host, second) = two(Setup::sandbox(protocol).with("SANDBOX_ODD", "usable")).await;
    let processes = if one == other { 1 } else { 2 };
    let one = configured(&host, &json!({"token": one})).await?;
    let other = configured(&second, &json!({"token": other})).await?;
    assert_eq!(host.provider_processes().len(), processes);
    let work = async |session: &Session, run: &str| -> Outcome {
        for number in 0..20 {
            let (mark, secret) = (format!("mark-of-{run}"), format!("secret-of-{run}"));
            let inputs = json!({"title": format!("{mark} {number}"), "secretHint": secret});
            let made = session.note().make(&inputs).await?;
            session.note().refresh(&made).await?;
            session.note().delete(&made).await?;
            let leak = session.resource("sandbox:index/leak:Leak", "leak");
            let leaking = |how: &str| json!({"how": how, "during": "create", "open": mark});
            let status = leak.create(&leaking("error")).await.expect_err("it fails");
            assert!(status.message().contains(&mark), "{status}");
            for how in ["warning", "log", "print"] {
                leak.create(&leaking(how)).await?;
            }
        }
        Ok(())
    };
    let (a, b) = tokio::join!(work(&one, "one"), work(&other, "other"));
    a?;
    b?;
    for (host, foreign) in [(&host, "-of-other"), (&second, "-of-one")] {
        let said = format!("{:?}{}{}", host.engine.lines(), host.stderr(), host.transcript());
        assert!(!said.contains(foreign), "{foreign} is in: {said}");
    }
    let daemon = host.daemon().stderr();
    assert!(!daemon.contains("-of-"), "{daemon}");
    Ok(())
}
