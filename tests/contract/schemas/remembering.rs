//! What the daemon remembers of a provider from one process to the next, and what it does not.

use crate::harness::engine::Severity;
#[cfg(unix)]
use crate::harness::host::make_executable;
use crate::harness::host::mode;
use crate::harness::{Code, Host, Json, Outcome, Protocol, Session, Setup, Status, json, on_one_protocol};

/// Where [`Setup`]s of this file put switches of the sandbox that are to change without the environment doing so.
const SWITCHES: &str = "switches";

/// A resource that the sandbox does not have with `SANDBOX_SCHEMA=changed`.
const SECRET: &str = "sandbox:index/secret:Secret";

/// A daemon beside a provider that it has met, and which it is not connected to any more.
async fn acquainted(setup: &Setup) -> Result<Host, Status> {
    let host = setup.clone().start().await.with_own_provider();
    host.parameterized().await?;
    host.schema_is_kept().await;
    Ok(host)
}

/// The sandbox, whose switches may change without its environment doing so. Protocol minor 3 is the last without
/// `get_provider_schema_optional`.
fn changeable(protocol: Protocol) -> Setup {
    let minor = format!("{protocol}.3");
    Setup::sandbox(protocol).with("SANDBOX_FILE", SWITCHES).with("SANDBOX_MINOR", &minor)
}

fn switch(host: &Host, switches: &str) {
    switch_in(host, "", switches);
}

/// Changes the switches of providers that are started in a directory of the host's directory.
fn switch_in(host: &Host, directory: &str, switches: &str) {
    std::fs::write(host.directory().join(directory).join(SWITCHES), switches)
        .expect("a file in the host's directory");
}

/// Takes a secret from Check to Delete.
async fn secret_lives(session: &Session) -> Outcome {
    let secret = session.resource(SECRET, "it");
    let made = secret.make(&json!({"length": 8})).await?;
    assert!(!made.id.is_empty(), "{made:?}");
    secret.delete(&made).await
}

async fn resources(session: &Session) -> Result<Vec<String>, Status> {
    let schema = session.schema().await?;
    Ok(schema["resources"].as_object().expect("resources").keys().cloned().collect())
}

fn schema_call(protocol: Protocol) -> &'static str {
    if protocol == Protocol::V5 { "GetSchema" } else { "GetProviderSchema" }
}

/// The types of the package that are named in a part of its schema.
fn references(part: &Json) -> Vec<String> {
    match part {
        Json::Object(fields) => match fields.get("$ref").and_then(Json::as_str) {
            Some(reference) => reference.strip_prefix("#/types/").map(str::to_owned).into_iter().collect(),
            None => fields.values().flat_map(references).collect(),
        },
        Json::Array(items) => items.iter().flat_map(references).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Vec::new(),
    }
}

on_one_protocol! {
    async fn a_large_provider_is_described_as_a_whole_with_and_without_its_process(protocol) {
        // The answers both ways are beyond what gRPC takes by default, which is 4 MiB.
        let setup = Setup::sandbox(protocol).with("SANDBOX_RESOURCES", "100x200");
        let first = acquainted(&setup).await?;
        let session = first.parameterized().await?;
        let (schema, mapping) = (session.schema().await?, session.mapping("terraform", "").await?);
        assert!(schema.to_string().len() > 8 << 20 && mapping.data.len() > 1 << 20);

        let generated = schema["resources"].as_object().expect("resources").iter();
        let generated: Vec<_> = generated.filter(|(_, resource)| resource["properties"].get("revision").is_none()
            && resource["properties"].as_object().is_some_and(|properties| properties.len() > 100)).collect();
        assert_eq!(generated.len(), 100);
        let types = schema["types"].as_object().expect("types");
        for (token, resource) in generated {
            // 140 attributes at the top and six blocks; the id is no property.
            assert_eq!(resource["properties"].as_object().map(serde_json::Map::len), Some(145), "{token}");
            assert_eq!(resource["properties"], resource["stateInputs"]["properties"], "{token}");
            let nested = references(&resource["properties"]);
            assert!(nested.len() >= 6, "{token}: {nested:?}");
            for outer in nested {
                let inner = &types[&outer]["properties"];
                assert!(inner.as_object().is_some_and(|inner| !inner.is_empty()), "{token}: {outer} is empty");
                for innermost in references(inner) {
                    assert!(types.contains_key(&innermost), "{token}: {innermost} is no type");
                }
            }
        }
        let data: Json = serde_json::from_slice(&mapping.data).expect("a mapping is JSON");
        let resources = |package: &Json| package["resources"].as_object().map(serde_json::Map::len);
        assert_eq!(resources(&data["provider"]), resources(&schema));

        let second = setup.beside(&first).start().await;
        let session = second.parameterized().await?;
        assert_eq!(session.schema().await?, schema);
        assert_eq!(session.mapping("terraform", "").await?, mapping);
        assert_eq!(second.children(), [0; 0], "no provider was started");
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_second_process_answers_for_the_package_without_the_provider(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let session = first.parameterized().await?;
        let (schema, mapping) = (session.schema().await?, session.mapping("terraform", "").await?);
        let asked = first.call_names();

        let second = setup.beside(&first).start().await;
        let session = second.greeted().await?;
        let answer = session.parameterize(&[&second.provider()]).await?;
        assert_eq!((answer.name.as_str(), answer.version.as_str()), ("sandbox", "0.0.0"));
        assert_eq!(session.plugin_version().await?, "0.0.0");
        assert_eq!(session.schema().await?, schema);
        assert_eq!(session.mapping("terraform", "").await?, mapping);
        assert_eq!(session.mappings("terraform").await?, ["sandbox"]);
        session.cancel().await?;

        assert_eq!(second.call_names(), asked, "the provider was asked nothing more");
        assert_eq!(second.children(), [0; 0], "no provider was started");
    }

    async fn the_first_call_that_needs_the_provider_starts_it(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let host = setup.beside(&first).start().await;
        let session = host.parameterized().await?;
        assert_eq!(host.children(), [0; 0]);
        session.configure(&json!({})).await?;
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        session.note().delete(&made).await?;
        assert_eq!(host.provider_processes().len(), 2, "one of each daemon");
    }

    async fn a_provider_is_called_for_its_schema_once_if_it_says_that_each_process_need_not_be(protocol) {
        // Protocol minor 4 has the capability.
        for (minor, asked) in [(3, [1, 2, 3]), (4, [1, 1, 1])] {
            let setup = Setup::sandbox(protocol).with("SANDBOX_MINOR", &format!("{protocol}.{minor}"));
            let first = acquainted(&setup).await?;
            for (time, asked) in asked.into_iter().enumerate() {
                let host = setup.clone().beside(&first).start().await;
                let calls = || first.count(schema_call(protocol));
                if time > 0 {
                    let session = host.parameterized().await?;
                    session.configure(&json!({})).await?;
                    let made = session.note().make(&json!({"title": "Hello"})).await?;
                    session.note().delete(&made).await?;
                }
                assert_eq!(calls(), asked, "minor {minor}, start {time}: {:?}", first.call_names());
                assert_eq!(first.provider_processes().len(), time + 1);
            }
        }
    }

    async fn a_schema_that_changes_although_it_need_not_be_asked_for_is_noticed_after_a_failure(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_FILE", SWITCHES);
        let first = acquainted(&setup).await?;
        let session = first.parameterized().await?;
        session.configure(&json!({})).await?;
        let made = session.resource(SECRET, "it").make(&json!({"length": 8})).await?;
        // It calls the length a size from now on, and the day has not passed.
        switch(&first, "SANDBOX_SCHEMA=newer");
        let second = setup.clone().beside(&first).start().await;
        let session = second.parameterized().await?;
        session.configure(&json!({})).await?;
        let status = session.resource(SECRET, "it").refresh(&made).await.expect_err("the schema is another");
        assert!(status.message().contains("unsupported attribute \"size\""), "{status}");
        assert_eq!(first.count(schema_call(protocol)), 1);
        second.schema_is_doubted().await;

        let third = setup.beside(&first).start().await;
        let session = third.parameterized().await?;
        session.configure(&json!({})).await?;
        session.resource(SECRET, "it").refresh(&made).await?;
        assert_eq!(first.count(schema_call(protocol)), 2);
        third.schemas_have("variable-", 1).await;
    }

    async fn what_has_come_to_a_schema_that_need_not_be_asked_for_is_known_after_a_failure(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_FILE", SWITCHES);
        let first = setup.clone().start().await.with_own_provider();
        switch(&first, "SANDBOX_SCHEMA=changed");
        first.parameterized().await?;
        first.schema_is_kept().await;
        switch(&first, "");

        let second = setup.clone().beside(&first).start().await;
        let session = second.parameterized().await?;
        let status = session.resource(SECRET, "it").check(&json!({"length": 8})).await.expect_err("it is not known");
        assert_eq!(status.code(), Code::NotFound);
        second.schema_is_doubted().await;

        let third = setup.beside(&first).start().await;
        let session = third.parameterized().await?;
        session.configure(&json!({})).await?;
        secret_lives(&session).await?;
        assert!(resources(&session).await?.contains(&SECRET.to_owned()), "as it is");
    }

    async fn a_provider_in_another_place_or_of_another_build_is_called_for_its_schema(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let elsewhere = setup.clone().beside(&first).working_in("elsewhere").start().await;
        elsewhere.parameterized().await?.configure(&json!({})).await?;
        assert_eq!(first.count(schema_call(protocol)), 2);
        let changed = setup.clone().with("AWS_REGION", "eu-west-1").beside(&first).start().await;
        changed.parameterized().await?.configure(&json!({})).await?;
        assert_eq!(first.count(schema_call(protocol)), 3);
    }

    async fn many_calls_that_need_the_provider_at_once_start_it_once(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let host = setup.beside(&first).start().await;
        let session = host.parameterized().await?;
        let note = session.note();
        let inputs = json!({"title": "Hello"});
        let (one, two, three) = tokio::join!(note.check(&inputs), note.check(&inputs), note.check(&inputs));
        for checked in [one?, two?, three?] {
            assert_eq!(checked.failures, []);
        }
        assert_eq!(host.children().len(), 1);
        assert_eq!(host.provider_processes().len(), 2, "one of each daemon");
    }

    async fn two_sessions_have_a_process_each(protocol) {
        let host = acquainted(&Setup::sandbox(protocol).attachable()).await?;
        let (one, other) = (host.parameterized().await?, host.parameterized().await?);
        let (configured, and_the_other) = tokio::join!(
            async { one.configure(&json!({"directory": host.directory().join("one").to_str()})).await },
            async { other.configure(&json!({"directory": host.directory().join("other").to_str()})).await },
        );
        configured?;
        and_the_other?;
        one.note().make(&json!({"title": "One"})).await?;
        other.note().make(&json!({"title": "Other"})).await?;
        assert_eq!(host.provider_processes().len(), 3, "one that was met, and one for each session");
        for directory in ["one", "other"] {
            assert_eq!(std::fs::read_dir(host.directory().join(directory)).expect("a directory").count(), 1);
        }
    }

    async fn a_schema_that_has_changed_is_noticed_before_any_call_is_served(protocol) {
        let setup = changeable(protocol);
        let first = acquainted(&setup).await?;
        switch(&first, "SANDBOX_SCHEMA=changed");

        let second = setup.clone().beside(&first).start().await;
        let session = second.parameterized().await?;
        assert!(resources(&session).await?.contains(&SECRET.to_owned()), "as it was remembered");
        let checked = session.resource(SECRET, "gone").check(&json!({"length": 8})).await;
        assert_eq!(checked.expect_err("the provider has it no more").code(), Code::NotFound);
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        assert!(!resources(&session).await?.contains(&SECRET.to_owned()), "as it is");
        second.engine.line("the change", |line| {
            line.severity == Severity::Debug && line.message.contains("differs from the cached one")
        }).await;
        drop(session);

        // It may change again, so it is asked from then on, wherever it is started.
        second.schemas_have("variable-", 1).await;
        second.schemas_have("schema-", 0).await;
        switch(&first, "");
        for (time, directory) in ["", "elsewhere", ""].into_iter().enumerate() {
            let third = setup.clone().beside(&first).working_in(directory).start().await;
            assert!(resources(&third.parameterized().await?).await?.contains(&SECRET.to_owned()), "as it is");
            assert_eq!(first.provider_processes().len(), 3 + time, "it was asked in {directory:?}");
        }
        assert_eq!(first.schema_files("schema-"), 0);
    }

    async fn what_has_come_to_a_schema_can_be_used_before_it_is_remembered(protocol) {
        let setup = changeable(protocol);
        let first = setup.clone().start().await.with_own_provider();
        switch(&first, "SANDBOX_SCHEMA=changed");
        first.parameterized().await?;
        first.schema_is_kept().await;
        switch(&first, "");

        let second = setup.beside(&first).start().await;
        let session = second.parameterized().await?;
        assert!(!resources(&session).await?.contains(&SECRET.to_owned()), "as it was remembered");
        // The very first call about a resource is about what the remembered schema does not have.
        let checked = session.resource(SECRET, "it").check(&json!({"length": 8})).await?;
        assert_eq!(checked.failures, []);
        session.configure(&json!({})).await?;
        secret_lives(&session).await?;
        assert!(resources(&session).await?.contains(&SECRET.to_owned()), "as it is");
    }

    async fn a_schema_that_changes_while_a_process_is_up_is_the_old_one_to_that_process_alone(protocol) {
        let setup = changeable(protocol);
        let first = acquainted(&setup).await?;
        let old = first.session().await?;
        secret_lives(&old).await?;
        switch(&first, "SANDBOX_SCHEMA=changed");

        let second = setup.beside(&first).start().await;
        let new = second.parameterized().await?;
        let (checked, ()) = tokio::try_join!(
            async { Ok(new.resource(SECRET, "gone").check(&json!({"length": 8})).await) },
            secret_lives(&old),
        )?;
        assert_eq!(checked.expect_err("the new process does not have it").code(), Code::NotFound);
        secret_lives(&old).await?;
        assert!(resources(&old).await?.contains(&SECRET.to_owned()));
        second.schemas_have("variable-", 1).await;
        let newest = first.parameterized().await?;
        assert!(!resources(&newest).await?.contains(&SECRET.to_owned()), "of the old daemon too");
    }

    async fn directories_with_the_same_schema_are_remembered_each_and_share_it(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = setup.clone().working_in("one").start().await.with_own_provider();
        first.parameterized().await?;
        first.schema_is_kept().await;
        let mut processes = 1;
        for (known, directory) in ["two", "three"].into_iter().enumerate() {
            let host = setup.clone().beside(&first).working_in(directory).start().await;
            host.parameterized().await?;
            processes += 1;
            assert_eq!(host.provider_processes().len(), processes, "it was asked in {directory}");
            host.schemas_have("schema-of-", known + 2).await;
        }
        for directory in ["one", "two", "three"] {
            let host = setup.clone().beside(&first).working_in(directory).start().await;
            let session = host.parameterized().await?;
            assert!(resources(&session).await?.contains(&SECRET.to_owned()));
            assert_eq!(host.provider_processes().len(), processes, "it was not asked again in {directory}");
        }
        assert_eq!(first.schema_files("schema-") - first.schema_files("schema-of-"), 1, "one copy of the schema");
        assert_eq!(first.schema_files("variable-"), 0);
    }

    async fn another_provider_in_the_same_place_is_noticed(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        // The same program, but not the same file: what stands behind the end of a program does not change it.
        let mut file = std::fs::OpenOptions::new().append(true).open(first.provider()).expect("the provider");
        std::io::Write::write_all(&mut file, b"another build").expect("the provider can be written");
        drop(file);
        let second = setup.beside(&first).start().await;
        second.parameterized().await?;
        assert_eq!(second.provider_processes().len(), 2, "the new one was asked");
    }

    async fn another_environment_is_noticed(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let same = [("PULUMI_CONFIG", "{}"), ("PWD", "/elsewhere"), ("TRACEPARENT", "00-1-2-01")];
        let same = same.into_iter().fold(setup.clone(), |setup, (name, value)| setup.with(name, value));
        let second = same.beside(&first).start().await;
        second.parameterized().await?;
        assert_eq!(second.provider_processes().len(), 1, "nothing that counts has changed");
        let third = setup.with("AWS_REGION", "eu-west-1").beside(&first).start().await;
        third.parameterized().await?;
        assert_eq!(third.provider_processes().len(), 2);
    }

    async fn warnings_about_the_schema_are_shown_each_time(protocol) {
        let setup = changeable(protocol).with("SANDBOX_SCHEMA", "warn");
        let host = setup.start().await.with_own_provider();
        let warned = || {
            let is_warning = |text: &str| text.contains("The sandbox is not sure what it offers");
            host.engine.shown().iter().filter(|line| is_warning(&line.message)).count()
        };
        for time in 1..=2 {
            let session = host.parameterized().await?;
            session.configure(&json!({})).await?;
            assert_eq!(warned(), time);
        }
        assert_eq!(host.provider_processes().len(), 2);
    }

    async fn a_provider_that_fails_to_start_is_reported_by_the_call_that_needs_it(protocol) {
        let setup = changeable(protocol);
        let first = acquainted(&setup).await?;
        switch(&first, "SANDBOX_HANDSHAKE=exit-before");
        let host = setup.beside(&first).start().await;
        let session = host.parameterized().await?;
        let status = session.configure(&json!({})).await.expect_err("it does not start");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
        assert!(status.message().contains("ended before it announced itself"), "{status}");
        assert!(resources(&session).await?.contains(&"sandbox:index/note:Note".to_owned()));

        switch(&first, "");
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn what_is_kept_is_for_its_owner_alone_and_may_be_lost_or_damaged(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let files = || std::fs::read_dir(first.schemas()).expect("the directory").map(|entry| entry.expect("a file").path());
        for file in files() {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
            let beginning = std::fs::read(&file).expect("a file of ours").into_iter().take(20);
            std::fs::write(&file, beginning.chain(*b"damaged").collect::<Vec<_>>()).expect("a file of ours");
        }
        let second = setup.clone().beside(&first).start().await;
        second.parameterized().await?;
        assert_eq!(second.provider_processes().len(), 2, "it was asked again");
        second.schema_is_kept().await;

        std::fs::remove_dir_all(first.schemas()).expect("a directory of ours");
        let third = setup.beside(&first).start().await;
        third.parameterized().await?;
        assert_eq!(third.provider_processes().len(), 3);
        third.schema_is_kept().await;
    }

    async fn what_starts_no_more_fails_when_it_is_chosen(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let second = setup.beside(&first).start().await;
        isthmus_platform::files::set_mode(first.provider().as_ref(), 0o644).expect("a file of ours");
        let status = second.parameterized().await.expect_err("it cannot be executed");
        assert!(status.message().contains("not executable"), "{status}");
        std::fs::remove_file(first.provider()).expect("a file of ours");
        let status = second.parameterized().await.expect_err("it is gone");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("does not exist"), "{status}");
    }

    async fn the_memory_can_be_turned_off(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_SCHEMA_CACHE", "off");
        let host = setup.start().await.with_own_provider();
        for time in 1..=2 {
            host.parameterized().await?;
            assert_eq!(host.provider_processes().len(), time);
        }
        assert!(!host.schemas().exists());
    }

    async fn a_provider_that_does_not_describe_itself_cannot_be_chosen(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_SCHEMA", "incomplete").start().await;
        let status = host.parameterized().await.expect_err("core refuses it as well");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("the provider sandbox cannot be used"), "{status}");
        assert!(status.message().contains("the provider sent none"), "{status}");
    }

    async fn a_provider_that_refuses_to_describe_itself_cannot_be_chosen(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_SCHEMA", "refuse").start().await;
        let status = host.parameterized().await.expect_err("nothing is known of it");
        assert!(status.message().contains("The sandbox does not say what it offers"), "{status}");
    }
}

#[tokio::test]
async fn a_home_that_cannot_be_written_is_no_hindrance() -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let in_the_way = directory.path().join("file");
    std::fs::write(&in_the_way, "").expect("a file");
    let home = in_the_way.join("isthmus");
    let setup = Setup::sandbox(Protocol::V6).with("ISTHMUS_HOME", home.to_str().expect("a path in UTF-8"));
    let host = setup.start().await.with_own_provider();
    for time in 1..=2 {
        let session = host.parameterized().await?;
        session.configure(&Json::from(serde_json::Map::new())).await?;
        assert_eq!(host.provider_processes().len(), time);
    }
    let said = "schemas are not remembered from one start to the next";
    host.engine.line("the reason", |line| line.message.contains(said)).await;
    let times = host.engine.lines().iter().filter(|line| line.message.contains(said)).count();
    assert_eq!(times, 1, "it is told once");
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_script_is_not_remembered_because_it_runs_something_else() -> Outcome {
    let setup = Setup::sandbox(Protocol::V6);
    let host = setup.start().await.with_own_provider();
    let script = host.directory().join("scripts").join("terraform-provider-sandbox");
    std::fs::create_dir(host.directory().join("scripts")).expect("a directory");
    std::fs::write(&script, format!("#!/bin/sh\nexec '{}'\n", host.provider())).expect("a file");
    let script = make_executable(&script);
    for time in 1..=2 {
        let session = host.greeted().await?;
        session.parameterize(&[script.to_str().expect("a path in UTF-8")]).await?;
        assert_eq!(host.provider_processes().len(), time);
    }
    assert!(!host.schemas().exists());
    Ok(())
}
