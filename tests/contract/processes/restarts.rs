//! Providers that have ended are started again by the next call: once, with the same configuration, and nothing is repeated.

use std::process::Stdio;
use std::time::Duration;

use crate::harness::host::named;
use crate::harness::processes::Signal;
use isthmus_platform::IS_WINDOWS;
use isthmus_proto::pulumirpc::ListRequest;
use isthmus_sandbox::MAGIC_COOKIE;

use crate::harness::engine::{Line, Severity};
use crate::harness::processes::{self, ended};
use crate::harness::{
    Code, Host, PATIENCE, Protocol, Session, Setup, Status, Stored, json, on_both_protocols, secret,
};
use crate::services::driver::{At, Service};

/// Switches that change while the environment stays the same.
const SWITCHES: &str = "switches";

/// The provider's last words.
const CRASHED: &str = "sandbox_faulty was asked to crash";

fn switch(host: &Host, switches: &str) {
    std::fs::write(host.directory().join(SWITCHES), switches).expect("a file in the host's directory");
}

/// A session beside a provider whose next process may be another.
async fn changeable(protocol: Protocol) -> Result<(Host, Session), Status> {
    Setup::sandbox(protocol).with("SANDBOX_FILE", SWITCHES).session().await
}

/// Has the provider die while it applies something.
async fn crash(session: &Session) {
    let status = session.faulty().make(&json!({"mode": "crash"})).await.expect_err("the provider dies");
    assert!(status.message().contains(CRASHED), "{status}");
}

fn configure_call(protocol: Protocol) -> &'static str {
    if protocol == Protocol::V5 { "Configure" } else { "ConfigureProvider" }
}

/// What a process was asked.
fn calls_of(host: &Host, process: u32) -> Vec<String> {
    let calls = host.calls().into_iter().filter(|call| call["process"] == process);
    calls.map(|call| call["call"].as_str().expect("a name").to_owned()).collect()
}

/// The warnings that a provider was started again.
fn restarts(host: &Host) -> Vec<String> {
    let shown = host.engine.shown().into_iter().filter(|line| line.severity == Severity::Warning);
    shown.map(|line| line.message).filter(|message| message.contains("was started again")).collect()
}

async fn call_of_kind(session: &Session, made: &Stored, kind: &str) -> Result<(), Status> {
    let note = session.note();
    let found =
        session.list(ListRequest { token: "sandbox:index/note:Note".to_owned(), ..Default::default() });
    let hello = json!({"title": "Hello"});
    match kind {
        "Check" => drop(note.check(&hello).await?),
        "Diff" => drop(note.diff(made, &json!({"title": "Hi"})).await?),
        "Create" => drop(note.make(&json!({"title": "Another"})).await?),
        "Update" => drop(note.update(made, &json!({"title": "Hello", "body": "again"})).await?),
        "Read" => assert!(note.refresh(made).await?.is_some(), "it is where the configuration says"),
        "import" => assert!(note.import(&made.id).await?.is_some(), "it is where the configuration says"),
        "List" => assert!(!found.await?.results.is_empty(), "it is where the configuration says"),
        "Delete" => note.delete(made).await?,
        _ => {
            let (token, arguments) = match kind {
                "data source" => ("sandbox:index/getNote:getNote", hello),
                "function" => ("sandbox:index/greet:greet", json!({"name": "Ada"})),
                "ephemeral resource" => {
                    ("sandbox:index/ephemeralToken:ephemeralToken", json!({"audience": "me"}))
                }
                "action" => ("sandbox:index/actionBroadcast:actionBroadcast", json!({"message": "Hello"})),
                other => panic!("{other} is no kind of call"),
            };
            session
                .invoke(token, &arguments)
                .await?
                .unwrap_or_else(|failures| panic!("{kind}: {failures:?}"));
        }
    }
    Ok(())
}

on_both_protocols! {
    async fn every_kind_of_call_after_a_death_reaches_a_fresh_process_that_is_configured_alike(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let elsewhere = host.directory().join("elsewhere");
        let configuration = json!({"directory": elsewhere.to_str().expect("UTF-8"), "token": secret("hush")});
        let session = host.parameterized().await?;
        session.configure(&configuration).await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        let kinds = [
            "Check", "Diff", "Create", "Update", "Read", "import", "data source", "function", "ephemeral resource",
            "action", "List", "Delete",
        ];
        for (deaths, kind) in kinds.into_iter().enumerate() {
            crash(&session).await;
            call_of_kind(&session, &made, kind).await.unwrap_or_else(|status| panic!("{kind} after a death: {status}"));
            let processes = host.provider_processes();
            assert_eq!(processes.len(), deaths + 2, "one fresh process for {kind}");
            let asked = calls_of(&host, processes[deaths + 1]);
            assert_eq!(asked.iter().filter(|call| *call == configure_call(protocol)).count(), 1, "{kind}: {asked:?}");
            assert_eq!(restarts(&host).len(), deaths + 1, "{kind}: one warning a restart");
        }
        let warning = restarts(&host).remove(0);
        let wanted = "the provider sandbox has ended (exit status 2), and was started again with the same configuration";
        assert!(warning.contains(wanted), "{warning}");
        assert!(host.objects().is_empty(), "every process was told of the directory elsewhere");
        assert!(std::fs::read_dir(&elsewhere).expect("the directory").next().is_some());
        let applied = host.calls().into_iter().filter(|call| {
            call["call"] == "ApplyResourceChange" && call["type_name"] == "sandbox_faulty"
        });
        assert_eq!(applied.count(), kinds.len(), "what was cut off by a death is not repeated");
    }

    async fn both_services_go_on_after_a_death(protocol) {
        for service in [Service::Today, Service::Legacy] {
            let client = At { service, protocol }.sandbox().await?;
            let note = client.note();
            let made = note.make(&json!({"title": "Hello"})).await?;
            let crash = async || {
                let applied = client.applied();
                let status = client.faulty().make(&json!({"mode": "crash"})).await.expect_err("the provider dies");
                assert!(status.message().contains(CRASHED), "{service:?}: {status}");
                assert_eq!(client.applied(), applied + 1);
            };
            crash().await;
            assert!(note.read(&made).await?.is_some(), "{service:?}");
            crash().await;
            let changed = note.update(&made, &json!({"title": "Hello", "body": "again"})).await?;
            crash().await;
            note.delete(&changed).await?;
            crash().await;
            note.make(&json!({"title": "Hello"})).await?;
            assert_eq!(restarts(&client.host).len(), 4, "{service:?}");
        }
    }

    async fn callers_at_the_same_time_share_one_fresh_process(host, session: sandbox) {
        crash(&session).await;
        let notes: Vec<_> = (0..8).map(|number| session.resource("sandbox:index/note:Note", &number.to_string())).collect();
        let inputs = json!({"title": "Hello"});
        let making = notes.into_iter().map(|note| {
            let inputs = inputs.clone();
            tokio::spawn(async move { note.make(&inputs).await })
        });
        for made in making.collect::<Vec<_>>() {
            made.await.expect("no panic")?;
        }
        assert_eq!(host.provider_processes().len(), 2);
        assert_eq!(restarts(&host).len(), 1);
    }

    async fn a_process_that_ends_again_while_it_is_configured_is_the_last(protocol) {
        let (host, session) = changeable(protocol).await?;
        switch(&host, "SANDBOX_CONFIGURE=crash");
        crash(&session).await;
        for _ in 0..2 {
            let status = session.note().check(&json!({"title": "Hello"})).await.expect_err("it dies again");
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            for words in ["is gone: exit status 2", "could not be started again", configure_call(protocol)] {
                assert!(status.message().contains(words), "{words:?} is not in: {status}");
            }
            assert_eq!(status.message().matches(CRASHED).count(), 2, "both deaths are explained: {status}");
        }
        assert_eq!(host.provider_processes().len(), 2, "it is not started over and over");
        assert_eq!(restarts(&host), [] as [String; 0]);
    }

    async fn a_process_that_ends_again_before_it_answers_is_the_last(host, session: sandbox) {
        let dies_first = json!({"mode": "crash", "during": "plan"});
        for _ in 0..2 {
            session.faulty().create(&dies_first).await.expect_err("the provider dies of the first call");
        }
        for _ in 0..2 {
            let status = session.note().check(&json!({"title": "Hello"})).await.expect_err("it is not started again");
            assert!(status.message().contains("ended before it answered a call"), "{status}");
            assert_eq!(status.message().matches(CRASHED).count(), 2, "both deaths are explained: {status}");
        }
        assert_eq!(host.provider_processes().len(), 2);
        // Another session is not concerned.
        host.session().await?.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_process_with_another_schema_is_not_used(protocol) {
        let (host, session) = changeable(protocol).await?;
        switch(&host, "SANDBOX_SCHEMA=changed");
        crash(&session).await;
        let status = session.note().check(&json!({"title": "Hello"})).await.expect_err("the schema is another");
        assert!(status.message().contains("its schema differs"), "{status}");
        let asked = calls_of(&host, host.provider_processes()[1]);
        assert!(!asked.contains(&configure_call(protocol).to_owned()), "{asked:?}");
        ended(host.provider_processes()[1]).await;
    }

    async fn a_provider_that_was_not_configured_is_not_configured_after_a_death(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_FILE", SWITCHES).start().await;
        switch(&host, "SANDBOX_CONFIGURE=crash");
        let session = host.parameterized().await?;
        let status = session.configure(&json!({})).await.expect_err("the provider dies");
        assert!(status.message().contains(CRASHED), "{status}");
        switch(&host, "");
        let status = session.note().create(&json!({"title": "Hello"})).await.expect_err("nothing has configured it");
        assert!(status.message().contains("not configured"), "{status}");
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_cancel_ends_a_restart_and_the_next_call_tries_again(protocol) {
        let (host, session) = changeable(protocol).await?;
        switch(&host, "SANDBOX_HANDSHAKE=silent");
        crash(&session).await;
        let note = session.note();
        let inputs = json!({"title": "Hello"});
        let (checked, cancelled) = tokio::join!(note.check(&inputs), async {
            let starting = host.child().await;
            session.cancel().await?;
            Ok::<_, Status>(starting)
        });
        let status = checked.expect_err("it was cancelled");
        assert_eq!(status.code(), Code::Cancelled, "{status}");
        ended(cancelled?).await;
        switch(&host, "");
        note.make(&inputs).await?;
    }

    async fn a_session_that_ends_leaves_no_process_that_was_being_restarted(protocol) {
        let (host, session) = changeable(protocol).await?;
        switch(&host, "SANDBOX_HANDSHAKE=silent");
        crash(&session).await;
        let note = session.note();
        let inputs = json!({"title": "Hello"});
        let guardian = tokio::select! {
            early = note.check(&inputs) => panic!("it never starts: {early:?}"),
            guardian = host.child() => guardian,
        };
        let provider = processes::children(guardian);
        drop((note, session));
        for process in provider.into_iter().chain([guardian]) {
            ended(process).await;
        }
    }

    async fn a_list_does_not_go_on_after_a_death(session: sandbox) {
        for title in ["one", "two"] {
            session.note().make(&json!({"title": title})).await?;
        }
        let request = ListRequest { token: "sandbox:index/note:Note".to_owned(), page_size: 1, ..Default::default() };
        let first = session.list(request.clone()).await?;
        crash(&session).await;
        let rest = ListRequest { continuation_token: first.continuation, ..request };
        let status = session.list(rest).await.expect_err("the rest is gone");
        assert!(status.message().contains("or the provider has ended since"), "{status}");
    }

    async fn a_provider_that_has_grown_too_large_is_replaced_between_calls(protocol) {
        for service in [Service::Today, Service::Legacy] {
            let setup = Setup::sandbox(protocol).with("ISTHMUS_PROVIDER_MEMORY", "128");
            let setup = setup.with("SANDBOX_FAULT", "ApplyResourceChange:grow");
            let client = At { service, protocol }.start(setup).await?;
            let (host, note) = (&client.host, client.note());
            let made = note.make(&json!({"title": "Hello"})).await?;
            let grown = host.provider_process();
            let is_told = |line: &Line| line.message.contains("of memory, more than ISTHMUS_PROVIDER_MEMORY allows");
            let replaced = async {
                // It is measured from time to time, when a call begins.
                while !host.engine.lines().iter().any(is_told) {
                    assert!(note.read(&made).await?.is_some(), "every call is answered, by whichever process");
                }
                Ok::<_, Status>(())
            };
            tokio::time::timeout(PATIENCE, replaced).await.expect("it is replaced")?;
            assert!(!processes::lives(grown));
            let [_, fresh] = host.provider_processes()[..] else { panic!("{:?}", host.provider_processes()) };
            assert!(calls_of(host, fresh).contains(&configure_call(protocol).to_owned()));
            assert_eq!(restarts(host), [] as [String; 0], "nothing has failed, so there is no warning");
        }
    }

    async fn without_a_limit_a_provider_may_grow(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_FAULT", "ApplyResourceChange:grow").session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        assert!(session.note().refresh(&made).await?.is_some());
        assert!(processes::lives(host.provider_process()));
    }

    async fn a_provider_that_was_attached_to_is_not_started_again(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let program = named(env!("CARGO_BIN_EXE_isthmus"), directory.path().join("terraform-provider-sandbox"));
        let mut provider = tokio::process::Command::new(program)
            .env(MAGIC_COOKIE.0, MAGIC_COOKIE.1)
            .env("PLUGIN_UNIX_SOCKET_DIR", directory.path())
            .env("SANDBOX_PROTOCOL", protocol.to_string())
            .env("SANDBOX_DIR", directory.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the provider starts");
        let stdout = provider.stdout.take().expect("a pipe");
        let line = crate::harness::engine::first_line(stdout).await;
        let [_, version, network, address, ..] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let process = provider.id().expect("it was not waited for");
        let attached = json!({"sandbox": {
            "Protocol": "grpc", "ProtocolVersion": version.parse::<u32>().expect("a number"), "Pid": process, "Test": true,
            "Addr": {"Network": network, "String": address},
        }});
        let (_host, session) = Setup::sandbox(protocol).with("TF_REATTACH_PROVIDERS", &attached.to_string()).session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        processes::signal(process, Signal::KILL);
        provider.wait().await.expect("it is a child");
        // The first calls may find the connection broken before the daemon has seen the process end. Wine says that a process has
        // ended before it has.
        let failing = async {
            loop {
                match session.note().check(&json!({"title": "Hello"})).await {
                    Ok(_) if IS_WINDOWS => tokio::time::sleep(Duration::from_millis(5)).await,
                    checked => break checked.expect_err("it is gone"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, failing).await.expect("it is gone");
        let status = session.note().check(&json!({"title": "Hello"})).await.expect_err("it is gone");
        for words in ["is gone", "is not started again", "attached to it"] {
            assert!(status.message().contains(words), "{words:?} is not in: {status}");
        }
    }
}
