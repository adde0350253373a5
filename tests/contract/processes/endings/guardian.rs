//! The guardian of a provider: what it costs, what it keeps from the provider, and what is said of it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use crate::harness::processes::Signal;

use crate::harness::engine::Severity;
use crate::harness::host::EngineInput;
use crate::harness::processes::{children, ended, lives, signal};
use crate::harness::{Host, Setup, json, on_one_protocol};

/// The most memory that a guardian may have for itself. What is not optimised has tables for the loader that are as
/// large again, all of which it has to fill in.
const MOST_KIB: u64 = if cfg!(debug_assertions) { 4 * 1024 } else { 2 * 1024 };

/// Starts a provider that has a helper in another session, which is there before the provider begins.
const WITH_A_HELPER: &str = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > \"$0.helper\"
until grep -q sleep /proc/$!/comm; do sleep 0.01; done
exec \"$REAL\" \"$@\"
";

/// The one guardian of a daemon, and its provider.
fn guardian_and_provider(host: &Host) -> (u32, u32) {
    let guardians = host.children();
    assert_eq!(guardians.len(), 1, "one provider has one guardian: {guardians:?}");
    let providers = children(guardians[0]);
    assert_eq!(providers.len(), 1, "a guardian has one provider: {providers:?}");
    (guardians[0], providers[0])
}

/// Fields of `/proc/PID/stat` from the parent on: parent, process group, session.
fn numbers(process: u32) -> [u32; 3] {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
    let fields = stat.rsplit_once(") ").expect("a name in parentheses").1.split(' ').skip(1);
    let numbers: Vec<u32> = fields.take(3).map(|field| field.parse().expect("a number")).collect();
    numbers.try_into().expect("three of them")
}

/// What the open descriptors of a process refer to.
fn descriptors(process: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("the process is ours");
    let target =
        |entry: fs::DirEntry| fs::read_link(entry.path()).ok().map(|path| path.display().to_string());
    entries.flatten().filter_map(target).collect()
}

fn private_kib(process: u32) -> u64 {
    let sums = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("the process is ours");
    let kib = |field: &str| -> u64 {
        let line = sums.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel knows it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    kib("Private_Clean:") + kib("Private_Dirty:")
}

on_one_protocol! {
    async fn a_guardian_is_the_parent_of_a_provider_in_a_session_of_its_own(protocol) {
        let (host, _session) = Setup::sandbox(protocol).session().await?;
        let (guardian, provider) = guardian_and_provider(&host);
        assert_eq!(provider, host.provider_process());
        assert_eq!(numbers(guardian), [host.process(), guardian, guardian]);
        assert_eq!(numbers(provider), [guardian, provider, provider]);
        let name = fs::read_to_string(format!("/proc/{guardian}/comm")).expect("it runs");
        assert_eq!(name, "isthmus-guard\n");
    }

    async fn a_guardian_costs_little_memory(protocol) {
        let (host, _session) = Setup::sandbox(protocol).session().await?;
        let (guardian, _) = guardian_and_provider(&host);
        let kib = private_kib(guardian);
        println!("{kib} KiB of private memory");
        assert!(kib < MOST_KIB, "{kib} KiB");
    }

    async fn a_provider_inherits_its_standard_streams_and_no_other_descriptor(protocol) {
        let host = Setup::sandbox(protocol).after("exec 9</etc/passwd").start().await;
        let _session = host.session().await?;
        let (guardian, provider) = guardian_and_provider(&host);
        let inherited = "/etc/passwd".to_owned();
        assert!(descriptors(host.process()).contains(&inherited), "the daemon has inherited it");
        assert!(!descriptors(provider).contains(&inherited), "{:?}", descriptors(provider));
        // Else the daemon would not see the end of the provider's output.
        let output = fs::read_link(format!("/proc/{provider}/fd/1")).expect("a pipe").display().to_string();
        assert!(output.starts_with("pipe:"), "{output}");
        assert!(!descriptors(guardian).contains(&output), "{output} is in {:?}", descriptors(guardian));
    }

    async fn a_provider_whose_guardian_is_killed_is_reported_and_started_anew(host, session: sandbox) {
        let (guardian, provider) = guardian_and_provider(&host);
        signal(guardian, Signal::KILL);
        ended(provider).await;
        let words = "killed with its guardian process, which ended by signal 9 (SIGKILL)";
        // The first call may find the connection broken before the daemon has seen the process end.
        if let Err(first) = session.note().create(&json!({"title": "Hello"})).await {
            assert!(first.message().contains(words), "{first}");
        }
        session.note().make(&json!({"title": "Hello"})).await?;
        host.engine.line("of the restart", |line| line.message.contains(words)).await;
    }

    async fn a_process_in_another_session_is_left_and_reported(protocol) {
        let (host, session) = Setup::sandbox(protocol).wrapped(WITH_A_HELPER).session().await?;
        let helper = fs::read_to_string(format!("{}.helper", host.provider())).expect("the script writes it");
        let helper: u32 = helper.trim().parse().expect("a process id");
        let provider = host.provider_process();
        drop(session);
        ended(provider).await;
        let line = host.engine.line("of the process that is left", |line| line.message.contains("another session")).await;
        let expected = format!("the provider has left process {helper} (sleep) running in another session");
        assert!(line.message.contains(&expected) && line.severity == Severity::Warning, "{line:?}");
        assert!(lives(helper), "it is to be left alone");
        signal(helper, Signal::KILL);
    }

    async fn a_process_in_another_session_is_killed_where_that_is_asked_for(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_KILL_SESSIONS", "true");
        let (host, session) = setup.wrapped(WITH_A_HELPER).session().await?;
        let helper = fs::read_to_string(format!("{}.helper", host.provider())).expect("the script writes it");
        let helper: u32 = helper.trim().parse().expect("a process id");
        drop(session);
        ended(helper).await;
        let line = host.engine.line("of the process that was killed", |line| line.message.contains("another session")).await;
        assert!(line.message.contains(&format!("{helper} (sleep)")) && line.message.contains("was killed"), "{line:?}");
    }

    async fn helpers_that_end_do_not_stay_zombies_while_their_provider_runs(protocol) {
        let script = "(sleep 0.01 &)\nexec \"$REAL\" \"$@\"\n";
        let (host, session) = Setup::sandbox(protocol).wrapped(script).session().await?;
        let (guardian, provider) = loop {
            // It is there until it has ended and was waited for.
            if let [guardian] = host.children()[..]
                && let [provider] = children(guardian)[..]
            {
                break (guardian, provider);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(provider, host.provider_process());
        assert!(lives(guardian));
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_daemon_attachable_outlives_its_starter(protocol) {
        let host = Setup::sandbox(protocol).attachable().below_an_engine(EngineInput::Null).start().await;
        host.kill_starter();
        host.session().await?.note().make(&json!({"title": "Hello"})).await?;
        assert!(host.lives());
        signal(host.process(), Signal::KILL);
    }

    async fn a_hangup_is_ignored_below_an_engine_that_ignores_it(protocol) {
        let host = Setup::sandbox(protocol).after("trap '' HUP").start().await;
        let session = host.session().await?;
        host.signal(Signal::HUP);
        session.note().make(&json!({"title": "Hello"})).await?;
        // A daemon that ends takes no more connections.
        host.session().await?.note().make(&json!({"title": "Hello"})).await?;
        assert!(host.lives());
    }
}

#[test]
fn a_guardian_started_by_hand_says_what_it_is() {
    for arguments in [&[][..], &["leave", "/bin/true"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
        let output = command.arg0("isthmus-guardian").args(arguments).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("isthmus-guardian was not started by isthmus"), "{stderr}");
    }
}
