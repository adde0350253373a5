//! What the daemon's host lacks or does to it: directories, descriptors, memory, signals, and names that programs trip over.

#[cfg(unix)]
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;

use isthmus_platform::IS_WINDOWS;

#[cfg(unix)]
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

#[cfg(unix)]
use crate::harness::Host;
#[cfg(unix)]
use crate::harness::host::until;
use crate::harness::processes::{self, Signal, ended};
use crate::harness::{Setup, json, native, on_one_protocol};
use crate::services::driver::{At, Service};

/// Sets a soft limit of the daemon, and returns what it was.
#[cfg(unix)]
fn limit(host: &Host, resource: Resource, current: Option<u64>) -> Rlimit {
    let process = Pid::from_raw(i32::try_from(host.process()).expect("a process id"));
    prlimit(process, resource, Rlimit { current, maximum: getrlimit(resource).maximum })
        .expect("an allowed limit")
}

on_one_protocol! {
    async fn directories_may_have_names_with_spaces_newlines_quotes_and_unicode(protocol) {
        for service in [Service::Today, Service::Legacy] {
            // Windows has neither quotes nor lines in names.
            let (name, project) = match IS_WINDOWS {
                true => ("a b 'c' $e ü→", "a project of mine"),
                false => ("a b\n'c' \"d\" $e ü→", "a project\nof mine"),
            };
            let directory = tempfile::Builder::new().prefix(name).tempdir().expect("a directory");
            let setup = Setup::sandbox(protocol).within(&Arc::new(directory)).working_in(project);
            let client = At { service, protocol }.start(setup).await?;
            let note = client.note();
            let made = note.make(&json!({"title": "Hello"})).await?;
            assert!(note.read(&made).await?.is_some(), "{service:?}");
            note.delete(&made).await?;
        }
    }

    async fn without_a_directory_for_temporary_files_a_provider_is_not_started(protocol) {
        let host = Setup::sandbox(protocol).with(crate::harness::TMPDIR, "/nonexistent/tmp").start().await;
        let status = host.parameterized().await.expect_err("there is no place for a socket");
        assert!(status.message().contains("/nonexistent/tmp"), "{status}");
        assert!(host.lives());
    }

    async fn a_home_that_cannot_be_written_is_reported_and_changes_are_made(protocol) {
        // Not even root can create anything there.
        let (host, session) = Setup::sandbox(protocol).with("ISTHMUS_HOME", "/proc/isthmus").session().await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        session.note().delete(&made).await?;
        let home = native("/proc/isthmus").display().to_string();
        assert!(host.engine.shown().iter().any(|line| line.message.contains(&home)), "{:?}", host.engine.shown());
    }

    #[cfg(unix)]
    async fn without_descriptors_a_provider_is_not_started_and_with_them_it_is(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        let before = limit(&host, Resource::Nofile, Some(3));
        let status = session.parameterize(&[&host.provider()]).await.expect_err("there is no descriptor");
        assert!(status.message().contains("Too many open files"), "{status}");
        limit(&host, Resource::Nofile, before.current);
        session.parameterize(&[&host.provider()]).await?;
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    #[cfg(unix)]
    async fn without_memory_the_daemon_ends_and_leaves_no_provider(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        let provider = host.provider_process();
        limit(&host, Resource::As, Some(1));
        let body = "x".repeat(48 << 20);
        session.note().check(&json!({"title": "Hello", "body": body})).await.expect_err("there is no memory for it");
        let status = host.exit().await;
        assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()), "{status}");
        ended(provider).await;
    }

    #[cfg(unix)]
    async fn every_signal_that_ends_the_daemon_ends_its_provider(protocol) {
        for signal in [
            Signal::HUP, Signal::INT, Signal::TERM, Signal::QUIT, Signal::ABORT, Signal::ALARM, Signal::USR1, Signal::USR2,
            Signal::FPE, Signal::ILL, Signal::TRAP, Signal::SYS, Signal::XCPU, Signal::SEGV, Signal::BUS,
        ] {
            let (mut host, session) = Setup::sandbox(protocol).session().await?;
            let provider = host.provider_process();
            if is_in("SigIgn:", host.process(), signal) {
                // Whoever runs the tests has it ignored, as shells do for what they run in the background.
                continue;
            }
            if [Signal::SEGV, Signal::BUS].contains(&signal) {
                // From outside, the first only takes Rust's handler for overflown stacks away.
                host.signal(signal);
                until("its handler is gone", || (!is_in("SigCgt:", host.process(), signal)).then_some(())).await;
            }
            host.signal(signal);
            let status = host.exit().await;
            let in_order = [Signal::HUP, Signal::INT, Signal::TERM].contains(&signal);
            assert_eq!(status.code() == Some(0), in_order, "{signal:?}: {status}");
            ended(provider).await;
            drop(session);
        }
    }

    async fn a_suspended_provider_is_killed_when_the_grace_period_is_over(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "1");
        let (mut host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let provider = host.provider_process();
        processes::signal(provider, Signal::STOP);
        host.signal(Signal::TERM);
        let status = host.exit().await;
        assert_eq!(status.code(), Some(0), "{status}");
        ended(provider).await;
    }

    async fn a_suspended_guardian_ends_its_provider_when_it_goes_on(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let (provider, guardian) = (host.provider_process(), host.children()[0]);
        processes::signal(guardian, Signal::STOP);
        host.signal(Signal::KILL);
        host.exit().await;
        assert!(processes::lives(provider), "nothing else may kill it");
        processes::signal(guardian, Signal::CONT);
        ended(provider).await;
        ended(guardian).await;
    }

    #[cfg(unix)]
    async fn signals_that_do_not_end_the_daemon_do_not_disturb_it(host, session: sandbox) {
        for signal in [Signal::PIPE, Signal::XFSZ, Signal::CHILD, Signal::URG, Signal::WINCH, Signal::CONT] {
            host.signal(signal);
            session.note().make(&json!({"title": "Hello"})).await?;
        }
    }
}

/// Whether a signal is in a mask of a process: `SigIgn:` has those that it ignores, `SigCgt:` those that it handles.
#[cfg(unix)]
fn is_in(mask: &str, process: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let mask = status.lines().find_map(|line| line.strip_prefix(mask)).expect("a field of Linux");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    mask >> (signal.as_raw() - 1) & 1 == 1
}
