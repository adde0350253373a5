//! What providers log: all lines that a provider on HashiCorp's libraries writes to its standard error are looked at, not
//! only those that reach the engine. The provider joins one server on each library by terraform-plugin-mux.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::harness::engine::Severity;
use crate::harness::{Json, Protocol, Setup, json, on_one_protocol};

/// Level and component of each line that the provider writes in the lifecycle of a resource of each library, but for the few
/// of go-plugin when a process starts and ends, which have no component, and for which there is no variable.
async fn written(
    protocol: Protocol,
    variables: &[(&str, &str)],
) -> Result<BTreeSet<(String, String)>, tonic::Status> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("output");
    // Whatever the test run has set.
    let setup = Setup::conformance(protocol).with("TF_LOG", "");
    let setup = variables.iter().fold(setup, |setup, (name, value)| setup.with(name, value));
    let setup = setup.with_value("PROVIDER_OUTPUT", path.as_os_str());
    let (_host, session) = setup.wrapped("exec \"$REAL\" \"$@\" 2>> \"$PROVIDER_OUTPUT\"").session().await?;
    for token in ["conformance:index/record:Record", "conformance:index/legacy:Legacy"] {
        let resource = session.resource(token, "it");
        let made = resource.make(&json!({"name": "first"})).await?;
        resource.delete(&made).await?;
    }
    let text = std::fs::read_to_string(&path).expect("the wrapper has made it");
    let lines =
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no record: {line}")));
    let member = |line: &Json, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let lines = lines.map(|line: Json| (member(&line, "@level"), member(&line, "@module")));
    Ok(lines.filter(|(_, component)| !component.is_empty()).collect())
}

/// The components of which there are lines.
fn components(written: &BTreeSet<(String, String)>) -> BTreeSet<&str> {
    written.iter().map(|(_, component)| component.as_str()).collect()
}

/// Every component of HashiCorp's libraries, and the provider's own code.
const ALL: [&str; 5] = ["conformance", "sdk.framework", "sdk.helper_schema", "sdk.mux", "sdk.proto"];

/// Calls that flood the log.
const CALLS: usize = 20;

on_one_protocol! {
    async fn without_a_level_a_provider_writes_warnings_and_errors_only(protocol) {
        assert_eq!(written(protocol, &[]).await?, BTreeSet::new());
        assert_eq!(written(protocol, &[("TF_LOG", "off")]).await?, BTreeSet::new());
    }

    async fn every_library_logs_at_the_level_that_the_user_has_set(protocol) {
        for variable in ["TF_LOG", "TF_LOG_PROVIDER"] {
            let lines = written(protocol, &[(variable, "trace")]).await?;
            assert_eq!(components(&lines), BTreeSet::from(ALL), "{lines:?}");
            let lines = written(protocol, &[(variable, "debug")]).await?;
            assert!(lines.iter().any(|(level, _)| level == "debug"), "{lines:?}");
            assert!(lines.iter().all(|(level, _)| level != "trace"), "{lines:?}");
        }
    }

    async fn a_single_library_logs_what_its_own_variable_says(protocol) {
        for (variable, component) in [
            ("TF_LOG_PROVIDER_CONFORMANCE", ALL[0]),
            ("TF_LOG_SDK_FRAMEWORK", ALL[1]),
            ("TF_LOG_SDK_HELPER_SCHEMA", ALL[2]),
            ("TF_LOG_SDK_MUX", ALL[3]),
            ("TF_LOG_SDK_PROTO", ALL[4]),
        ] {
            let lines = written(protocol, &[(variable, "trace")]).await?;
            assert_eq!(components(&lines), BTreeSet::from([component]), "{variable}: {lines:?}");
            let lines = written(protocol, &[("TF_LOG", "trace"), (variable, "off")]).await?;
            let others: BTreeSet<&str> = ALL.into_iter().filter(|other| *other != component).collect();
            assert_eq!(components(&lines), others, "{variable}: {lines:?}");
        }
    }

    async fn the_libraries_follow_their_common_variable(protocol) {
        let libraries = BTreeSet::from([ALL[1], ALL[2], ALL[3], ALL[4]]);
        let lines = written(protocol, &[("TF_LOG_SDK", "trace")]).await?;
        assert_eq!(components(&lines), libraries, "{lines:?}");
        let lines = written(protocol, &[("TF_LOG", "trace"), ("TF_LOG_SDK", "off")]).await?;
        assert_eq!(components(&lines), BTreeSet::from([ALL[0]]), "{lines:?}");
    }

    async fn lines_that_a_single_variable_enables_reach_the_engine_for_debugging(protocol) {
        let setup = Setup::conformance(protocol).with("TF_LOG_PROVIDER_CONFORMANCE", "trace");
        let (host, session) = setup.session().await?;
        session.record().make(&json!({"name": "first"})).await?;
        let line = host.engine.line("the provider's line", |line| line.message.contains("creating a record")).await;
        assert_eq!(line.severity, Severity::Debug);
    }

    async fn debug_lines_of_a_tenth_of_a_second_are_one_message(protocol) {
        let setup = Setup::sandbox(protocol).with("TF_LOG_SDK", "trace");
        let (host, session) = setup.session().await?;
        let begun = std::time::Instant::now();
        for number in 0..CALLS {
            let faulty = session.resource("sandbox:index/faulty:Faulty", &format!("faulty{number}"));
            faulty.make(&json!({"mode": "flood", "size": 50})).await?;
        }
        session.cancel().await?;
        host.engine.line("the last call's lines", |line| line.message.matches("one of many").count() > 0).await;
        let windows = begun.elapsed().as_millis() / Duration::from_millis(100).as_millis() + 2;
        let lines = |message: &str| message.matches("one of many").count();
        let all: Vec<_> = host.engine.lines().iter().map(|line| lines(&line.message)).filter(|count| *count > 0).collect();
        // Each flood ends with a line of a mebibyte, for which a message is too small.
        let most = usize::try_from(windows).expect("few") + CALLS;
        assert!(all.len() <= most, "{} messages in {windows} windows of {CALLS} calls", all.len());
        let joined: usize = all.iter().sum();
        assert!(joined >= 10 * all.len(), "{joined} lines in {} messages were not joined", all.len());
    }
}
