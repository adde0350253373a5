//! What today's engines are told of changes that they may not know of, and what `isthmus recover` lists.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::processes::Signal;
use isthmus_proto::pulumirpc::ConfigureRequest;

use crate::harness::{Code, Host, Json, PATIENCE, Session, Setup, json, native, on_one_protocol};
use crate::lumirpc::tofu::isthmus;

const NOTE: &str = "sandbox:index/note:Note";
const FAULTY: &str = "sandbox:index/faulty:Faulty";

/// A daemon on the files of another one, with a provider that is configured for this stack, if any is named.
async fn configured(
    setup: &Setup,
    first: &Host,
    stack: Option<&str>,
) -> Result<(Host, Session), tonic::Status> {
    let host = setup.clone().beside(first).start().await;
    let session = host.parameterized().await?;
    configure(&session, stack.map(|stack| provider(stack, "default"))).await?;
    Ok((host, session))
}

/// The URN of a provider resource.
fn provider(stack: &str, name: &str) -> String {
    format!("urn:pulumi:{stack}::contract::pulumi:providers:sandbox::{name}")
}

async fn configure(session: &Session, urn: Option<String>) -> Result<(), tonic::Status> {
    let request = ConfigureRequest { urn, ..ConfigureRequest::default() };
    session.call("Configure", request, async |mut client, request| client.configure(request).await).await?;
    Ok(())
}

/// A daemon with a provider that is configured as this resource of the stack `test`.
async fn configured_first(setup: &Setup, name: &str) -> Result<(Host, Session), tonic::Status> {
    let host = setup.clone().start().await;
    let session = host.parameterized().await?;
    configure(&session, Some(provider("test", name))).await?;
    Ok((host, session))
}

/// The operations in what `isthmus recover list --json` prints.
fn operations(document: &str) -> Vec<Json> {
    let document: Json = serde_json::from_str(document).expect("a JSON object");
    document["operations"].as_array().expect("an array").clone()
}

/// The operations that are not settled, with those of runs that ended in order.
fn all_open(host: &Host) -> Vec<Json> {
    let (code, said) = recover(host, &["list", "--json", "--all"]);
    assert_eq!(code, Some(0), "{said}");
    operations(&said)
}

/// The file that `isthmus recover import-file` writes, though it leaves something out.
fn import_file_with_warnings(host: &Host) -> Json {
    let (code, said) = recover(host, &["import-file"]);
    let end = said.rfind('}').unwrap_or_else(|| panic!("no JSON: {said}"));
    assert!(code == Some(1) && said[end..].contains("is left out, because it has a parent"), "{said}");
    serde_json::from_str(&said[..=end]).expect("JSON")
}

/// The file that `isthmus recover import-file` writes.
fn import_file(host: &Host, words: &[&str]) -> Json {
    let (code, file) = recover(host, &[&["import-file"], words].concat());
    assert_eq!(code, Some(0), "{file}");
    serde_json::from_str(&file).expect("JSON")
}

/// What a daemon says when a provider is configured for this stack. It is killed, as by a legacy engine.
async fn told(setup: &Setup, first: &Host, stack: &str) -> Result<Vec<String>, tonic::Status> {
    let (mut host, _session) = configured(setup, first, Some(stack)).await?;
    killed(&mut host).await;
    Ok(host.engine.warnings())
}

async fn killed(host: &mut Host) {
    host.signal(Signal::KILL);
    host.exit().await;
}

/// What `isthmus recover` says: its exit code, and what it prints.
fn recover(host: &Host, words: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_isthmus"))
        .arg("recover")
        .args(words)
        .env_clear()
        .env("ISTHMUS_HOME", host.directory().join("isthmus"))
        .output()
        .expect("isthmus starts");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.code(), said)
}

/// The operations that are not settled.
fn open(host: &Host) -> Vec<Json> {
    let (code, said) = recover(host, &["list", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    operations(&said)
}

/// The members of an operation that a test is about.
fn brief(operations: &[Json]) -> Vec<(String, String, String)> {
    let text = |operation: &Json, name: &str| operation[name].as_str().expect("text").to_owned();
    let mut brief: Vec<_> = operations
        .iter()
        .map(|open| (text(open, "kind"), text(open, "condition"), text(open, "id")))
        .collect();
    brief.sort();
    brief
}

/// Waits until these operations are open, because some entries are written a moment later.
async fn opens(host: &Host, mut wanted: Vec<(String, String, String)>) {
    wanted.sort();
    let since = Instant::now();
    loop {
        let found = brief(&open(host));
        if found == wanted {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{found:?} are open, not {wanted:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn entry(kind: &str, condition: &str, id: &str) -> (String, String, String) {
    (kind.to_owned(), condition.to_owned(), id.to_owned())
}

on_one_protocol! {
    async fn a_creation_that_was_cut_short_is_told_to_its_stack_once_and_listed_until_it_is_dismissed(protocol) {
        let setup = Setup::sandbox(protocol).with("PULUMI_BACKEND_URL", "https://ours.example");
        let (mut host, session) = setup.clone().session().await?;
        let old = session.resource(FAULTY, "old");
        let made = old.make(&json!({"mode": "hang-forever", "during": "delete"})).await?;
        let new = session.resource(FAULTY, "new");
        let stuck = json!({"mode": "hang-forever"});
        let (created, deleted, ()) = tokio::join!(new.create(&stuck), old.delete(&made), async {
            host.provider_is_in("ApplyResourceChange", 3).await;
            let running = brief(&open(&host));
            assert_eq!(running, [entry("creation", "in progress", ""), entry("deletion", "in progress", &made.id)]);
            host.signal(Signal::KILL);
        });
        created.expect_err("nobody answers");
        deleted.expect_err("nobody answers");
        host.exit().await;

        assert_eq!(told(&setup, &host, "another").await?, Vec::<String>::new());
        let warned = told(&setup, &host, "test").await?;
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        let operations = open(&host);
        let creation = operations.iter().find(|open| open["kind"] == "creation").expect("the creation");
        let id = creation["operation"].as_str().expect("an id");
        assert_eq!(creation["backend"], "https://ours.example");
        for part in [
            &format!("the creation of {} (sandbox_faulty of package sandbox)", new.urn())[..],
            "its outcome is unknown",
            &format!("`isthmus recover import-file {id} --id ID > import.json`"),
            &format!("isthmus recover dismiss {id}"),
        ] {
            assert!(warning.contains(part), "{part:?} is not in {warning}");
        }
        // The engine knows what it wanted to delete, and does so again.
        assert_eq!(told(&setup, &host, "test").await?, Vec::<String>::new(), "it was told");
        let left = [entry("creation", "unknown", ""), entry("deletion", "unknown", &made.id)];
        assert_eq!(brief(&open(&host)), left);
        let (code, table) = recover(&host, &["--stack", "test"]);
        assert!(code == Some(0) && table.contains(id) && table.contains("pulumi refresh --target"), "{table}");
        assert!(!recover(&host, &["--stack", "another"]).1.contains(id));

        let (code, said) = recover(&host, &["import-file", id]);
        assert!(code == Some(1) && said.contains(&format!("isthmus recover import-file {id} --id ID")), "{said}");
        let (code, file) = recover(&host, &["import-file", id, "--id", "found-it"]);
        let file: Json = serde_json::from_str(&file).unwrap_or_else(|_| panic!("no JSON: {code:?} {file}"));
        let [resource] = &file["resources"].as_array().expect("resources")[..] else { panic!("{file}") };
        assert_eq!((&resource["name"], &resource["id"]), (&json!("new-recovered"), &json!("found-it")));
        let deletion = operations.iter().find(|open| open["kind"] == "deletion").expect("the deletion");
        let deletion = deletion["operation"].as_str().expect("an id");
        let (code, said) = recover(&host, &["import-file", deletion]);
        assert!(code == Some(1) && said.contains("it has created nothing"), "{said}");
        let (code, said) = recover(&host, &["import-file", deletion, "--id", "found-it"]);
        assert!(code == Some(1) && said.contains("--id is for one operation, a creation"), "{said}");

        let (code, said) = recover(&host, &["dismiss", id, "0123456789ab-7"]);
        assert!(code == Some(3) && said.contains("no operation 0123456789ab-7 is open"), "{said}");
        let (code, said) = recover(&host, &["dismiss", id]);
        assert!(code == Some(0) && said.starts_with(&format!("dismissed {id}: the creation of")), "{said}");
        assert_eq!(brief(&open(&host)), left[1..]);
        // It succeeds now, which settles the earlier attempt.
        let (host, session) = configured(&setup, &host, Some("test")).await?;
        let old = session.resource(FAULTY, "old");
        let made = old.update(&made, &json!({})).await?;
        old.delete(&made).await?;
        opens(&host, vec![]).await;
    }

    async fn an_object_that_exists_and_cannot_be_stored_stays_open(protocol) {
        // Of the legacy type system, what was not planned is no failure.
        let setup = Setup::sandbox(protocol).with("SANDBOX_LEGACY", "true");
        let (mut host, session) = setup.clone().session().await?;
        let made = session.resource(FAULTY, "old").make(&json!({"mode": "infinite", "during": "update"})).await?;
        let new = session.resource(FAULTY, "new").make(&json!({"mode": "infinite"})).await;
        let news = json!({"mode": "infinite", "during": "update", "size": 1});
        let changed = session.resource(FAULTY, "old").update(&made, &news).await;
        for (failed, id) in [(new.err(), ""), (changed.err(), &made.id[..])] {
            let status = failed.expect("JSON has no form for an infinite number");
            assert_eq!(status.code(), Code::Unknown, "{status}");
            for part in [
                "the sandbox_faulty with id \"",
                "exists, and its new state cannot be stored",
                "an infinite number cannot be written as JSON",
                id,
            ] {
                assert!(status.message().contains(part), "{part:?} is not in {status}");
            }
        }
        opens(&host, vec![entry("creation", "unknown", ""), entry("update", "unknown", &made.id)]).await;
        killed(&mut host).await;
        let warned = told(&setup, &host, "test").await?;
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        for part in ["::new", "exists, and its new state cannot be stored", "isthmus recover import-file"] {
            assert!(warning.contains(part), "{part:?} is not in {warning}");
        }
    }

    async fn an_object_whose_id_the_engine_mentions_is_known_to_it(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let mut made = Vec::new();
        for name in ["compared", "read", "updated", "deleted"] {
            made.push(session.resource(NOTE, name).make(&json!({"title": name})).await?);
        }
        killed(&mut host).await;
        assert_eq!(open(&host).len(), 4, "nobody knows whether the engine has the answers");
        assert_eq!(told(&setup, &host, "test").await?, Vec::<String>::new());

        let (mut next, session) = configured(&setup, &host, Some("test")).await?;
        let note = |name: &str| session.resource(NOTE, name);
        assert!(!note("compared").diff(&made[0], &made[0].inputs).await?.some);
        assert!(note("read").refresh(&made[1]).await?.is_some());
        note("updated").update(&made[2], &json!({"title": "updated", "body": "more"})).await?;
        note("deleted").delete(&made[3]).await?;
        opens(&host, vec![]).await;
        killed(&mut next).await;
        assert_eq!(next.engine.warnings(), Vec::<String>::new());
        assert_eq!(told(&setup, &host, "test").await?, Vec::<String>::new());
    }

    async fn what_was_answered_of_updates_and_deletions_is_settled_however_the_daemon_ends(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        let note = session.note();
        let made = note.make(&json!({"title": "one"})).await?;
        let updated = note.update(&made, &json!({"title": "one", "body": "more"})).await?;
        note.delete(&updated).await?;
        killed(&mut host).await;
        assert_eq!(brief(&open(&host)), []);
    }

    async fn a_deletion_that_was_cut_short_is_settled_by_a_refresh_that_finds_nothing(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().with("FAIL_POINT", "applied:2").session().await?;
        let note = session.note();
        let made = note.make(&json!({"title": "one"})).await?;
        note.delete(&made).await.expect_err("the daemon is killed when the provider has answered");
        host.exit().await;
        assert_eq!(brief(&open(&host)), [entry("deletion", "unknown", &made.id)]);
        let (next, session) = configured(&setup, &host, Some("test")).await?;
        assert_eq!(session.note().refresh(&made).await?, None);
        opens(&next, vec![]).await;
    }

    async fn what_a_refresh_finds_gone_is_settled_however_the_daemon_ends(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let made = session.note().make(&json!({"title": "one"})).await?;
        killed(&mut host).await;
        assert_eq!(open(&host).len(), 1, "nobody knows whether the engine has the answer");
        host.lose_object();
        let (mut next, session) = configured(&setup, &host, Some("test")).await?;
        assert_eq!(session.note().refresh(&made).await?, None, "the engine forgets it");
        killed(&mut next).await;
        assert_eq!(brief(&open(&host)), []);
    }

    async fn an_engine_that_creates_again_what_it_does_not_know_is_told_of_the_other_object(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let lost = session.resource(NOTE, "twice").make(&json!({"title": "one"})).await?;
        killed(&mut host).await;

        let (mut next, session) = configured(&setup, &host, Some("test")).await?;
        assert_eq!(next.engine.warnings(), Vec::<String>::new(), "it may know it");
        let twice = session.resource(NOTE, "twice");
        let again = twice.make(&json!({"title": "two"})).await?;
        let warned = next.engine.warnings();
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        for part in [&lost.id[..], twice.urn(), "creates another one", "isthmus recover"] {
            assert!(warning.contains(part), "{part:?} is not in {warning}");
        }
        assert_eq!(next.objects().len(), 2, "nothing is adopted, and nothing deleted");
        assert_eq!(brief(&open(&host)), {
            let mut both = vec![entry("creation", "made", &lost.id), entry("creation", "made", &again.id)];
            both.sort();
            both
        });
        // The run ends in order: the engine presumably knows what it was answered.
        session.cancel().await?;
        killed(&mut next).await;
        let left = open(&host);
        assert_eq!(brief(&left), [entry("creation", "made", &lost.id)]);
        assert_eq!((&left[0]["reported"], &left[0]["properties"]["title"]), (&json!(true), &json!("one")));
        let (mut last, session) = configured(&setup, &host, Some("test")).await?;
        session.resource(NOTE, "twice").make(&json!({"title": "three"})).await?;
        killed(&mut last).await;
        assert_eq!(last.engine.warnings(), Vec::<String>::new(), "it was told");

        let (code, file) = recover(&host, &["import-file", left[0]["operation"].as_str().expect("an id")]);
        assert_eq!(code, Some(0), "{file}");
        let file: Json = serde_json::from_str(&file).expect("JSON");
        let [resource] = &file["resources"].as_array().expect("an array")[..] else { panic!("one resource: {file}") };
        assert_eq!(resource["type"], NOTE);
        assert_eq!((&resource["name"], &resource["id"]), (&json!("twice-recovered"), &json!(lost.id)));
        assert_eq!(resource["parameterization"]["pluginName"], "terraform-provider");
        // Some resources are imported by another id than they have.
        let operation = left[0]["operation"].as_str().expect("an id");
        let (code, file) = recover(&host, &["import-file", operation, "--id", "region/twice"]);
        let file: Json = serde_json::from_str(&file).unwrap_or_else(|_| panic!("no JSON: {code:?} {file}"));
        assert_eq!(file["resources"][0]["id"], "region/twice", "{file}");
        // The key is that of the journal: no state store is missing.
        let listed = isthmus(&host.directory().join("isthmus"), &["state", "list"]).succeeded();
        assert!(listed.stderr.contains("the state store holds no objects"), "{listed:?}");
    }

    async fn cancel_ends_what_was_answered_only_while_no_call_is_in_progress(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "1");
        let (host, session) = setup.session().await?;
        let made = session.note().make(&json!({"title": "one"})).await?;
        let stuck = session.faulty();
        let inputs = json!({"mode": "hang-forever"});
        let (created, ()) = tokio::join!(stuck.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 2).await;
            // As at Ctrl-C: the engine is about to save what it was answered.
            session.cancel().await.expect("an answer");
            assert_eq!(open(&host).len(), 2);
            session.cancel().await.expect("an answer");
        });
        created.expect_err("it was interrupted");
        assert_eq!(brief(&open(&host)), [entry("creation", "made", &made.id), entry("creation", "unknown", "")]);
        session.cancel().await?;
        assert_eq!(brief(&open(&host)), [entry("creation", "unknown", "")]);
        let (_, all) = recover(&host, &["list", "--json", "--all"]);
        let all = operations(&all);
        assert_eq!(brief(&all), [entry("creation", "made", &made.id), entry("creation", "unknown", "")]);
        let (_, said) = recover(&host, &[]);
        assert!(said.contains("1 object was created by a run that ended in order"), "{said}");
    }

    async fn what_may_have_left_its_stack_is_marked_and_what_an_export_has_is_settled(protocol) {
        let setup = Setup::sandbox(protocol);
        let (host, session) = setup.session().await?;
        let mut made = Vec::new();
        for name in ["stays", "moved", "left", "other"] {
            made.push((name, session.resource(NOTE, name).make(&json!({"title": name})).await?));
        }
        session.cancel().await?;
        let (_, said) = recover(&host, &["list", "--all"]);
        assert_eq!(said.matches(" creation  ended ").count(), 4, "{said}");
        assert!(said.contains("`pulumi state move`, `pulumi state delete`, `deletedWith`"), "{said}");
        // The stack has one under its own name, one under that of another stack, and one of another type by the same id.
        let entry = |stack: &str, of: &str, name: &str, id: &str| {
            json!({"urn": format!("urn:pulumi:{stack}::contract::{of}::{name}"), "id": id, "type": of})
        };
        let resources = json!([
            {"urn": "urn:pulumi:test::contract::pulumi:pulumi:Stack::contract-test", "type": "pulumi:pulumi:Stack"},
            entry("test", NOTE, "stays", &made[0].1.id),
            entry("prod", NOTE, "moved", &made[1].1.id),
            entry("test", "sandbox:index/secret:Secret", "other", &made[3].1.id),
        ]);
        let export = host.directory().join("stack.json");
        std::fs::write(&export, json!({"version": 3, "deployment": {"resources": resources}}).to_string()).expect("a file");
        let export = export.to_str().expect("text");
        let (code, said) = recover(&host, &["list", "--all", "--export", export]);
        assert!(code == Some(0) && said.contains("settled 2 operations, whose objects the stack has"), "{code:?}: {said}");
        let left: Vec<Json> = all_open(&host).iter().map(|open| open["id"].clone()).collect();
        assert_eq!(left, [json!(made[2].1.id), json!(made[3].1.id)]);
        std::fs::write(export, "{}").expect("a file");
        let (code, said) = recover(&host, &["--export", export]);
        assert!(code == Some(1) && said.contains("is not an output of `pulumi stack export`"), "{code:?}: {said}");
    }

    async fn an_engine_that_could_not_save_what_its_run_created_is_told_of_it(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let lost = session.note().make(&json!({"title": "lost"})).await?;
        session.cancel().await?;
        killed(&mut host).await;
        // Its state could not be written, so that it creates the resource again, and knows the new one.
        let (mut next, session) = configured(&setup, &host, Some("test")).await?;
        let made = session.note().make(&json!({"title": "again"})).await?;
        session.cancel().await?;
        killed(&mut next).await;
        assert_eq!(next.engine.warnings(), Vec::<String>::new(), "it may be about to delete the first one");
        assert_eq!(brief(&open(&host)), [entry("creation", "made", &lost.id)]);
        for run in 0..3 {
            let (mut next, session) = configured(&setup, &host, Some("test")).await?;
            assert_eq!(next.engine.warnings().len(), usize::from(run == 1), "run {run}: {:?}", next.engine.warnings());
            session.note().diff(&made, &made.inputs).await?;
            session.cancel().await?;
            killed(&mut next).await;
        }
        assert_eq!(brief(&open(&host)), [entry("creation", "made", &lost.id)]);
    }

    async fn an_import_file_names_the_provider_and_the_parent_of_a_resource(protocol) {
        const SITE: &str = "contract:index:Site";
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = configured_first(&setup, "east").await?;
        let east = session.resource(NOTE, "east").make(&json!({"title": "one"})).await?;
        let below = session.resource(NOTE, "below").below(SITE);
        below.make(&json!({"title": "two"})).await?;
        killed(&mut host).await;

        let file = import_file_with_warnings(&host);
        let [resource] = &file["resources"].as_array().expect("resources")[..] else { panic!("one resource: {file}") };
        assert_eq!((&resource["name"], &resource["id"]), (&json!("east"), &json!(east.id)));
        assert_eq!(file["nameTable"], json!({"east-existing": provider("test", "east")}), "names must differ");
        assert_eq!(resource["provider"], "east-existing");

        let operations = open(&host);
        let child = operations.iter().find(|open| open["urn"] == below.urn()).expect("the child");
        let id = child["operation"].as_str().expect("an id");
        assert!(child["command"].as_str().expect("a command").contains(&format!("import-file {id} --parent URN")));
        let (code, said) = recover(&host, &["import-file", id]);
        assert!(code == Some(1) && said.contains(&format!("{id} --parent URN")) && said.contains(SITE), "{said}");
        let other = "urn:pulumi:test::contract::contract:index:Other::site";
        let (code, said) = recover(&host, &["import-file", id, "--parent", other]);
        assert!(code == Some(1) && said.contains(&format!("for {id} it is {SITE}")), "{said}");
        let parent = format!("urn:pulumi:test::contract::{SITE}::site");
        let file = import_file(&host, &[id, "--parent", &parent]);
        assert_eq!(file["nameTable"], json!({"east": provider("test", "east"), "site": parent}));
        let resource = &file["resources"][0];
        assert_eq!((&resource["parent"], &resource["provider"]), (&json!("site"), &json!("east")));
        let only = operations.iter().find(|open| open["urn"] != below.urn()).expect("the other");
        let only = only["operation"].as_str().expect("an id");
        let (code, said) = recover(&host, &["import-file", only, "--parent", &parent]);
        assert!(code == Some(1) && said.contains("has no parent"), "{said}");
    }

    async fn where_there_is_no_journal_nothing_is_said_of_changes(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let journal = native(host.directory().join("isthmus/journal"));
        let (code, said) = recover(&host, &[]);
        let expected = format!("note: nothing to recover: {} has no journal", journal.display());
        assert!(code == Some(0) && said.starts_with(&expected), "{said}");
        std::fs::create_dir_all(host.directory().join("isthmus")).expect("a directory");
        for place in ["a file", "a link to nothing"] {
            if place == "a file" {
                std::fs::write(&journal, "").expect("a file");
            } else {
                std::fs::remove_file(&journal).expect("the file");
                isthmus_platform::files::symlink("nowhere", &journal).expect("a link");
            }
            let (code, said) = recover(&host, &[]);
            assert!(code == Some(1) && said.contains(&journal.display().to_string()), "{place}: {said}");
        }
    }

    async fn an_interrupted_update_that_has_changed_nothing_is_settled_without_a_word(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let made = session.faulty().make(&json!({"mode": "hang-forever", "during": "update"})).await?;
        let stuck = json!({"mode": "hang-forever", "during": "update+read"});
        let faulty = session.faulty();
        let (updated, ()) = tokio::join!(faulty.update(&made, &stuck), async {
            host.provider_is_in("ApplyResourceChange", 2).await;
            host.signal(Signal::KILL);
        });
        updated.expect_err("nobody answers");
        host.exit().await;
        let (next, session) = configured(&setup, &host, Some("test")).await?;
        session.faulty().diff(&made, &made.inputs).await?;
        opens(&host, vec![]).await;
        assert_eq!(next.engine.warnings(), Vec::<String>::new());
    }

    async fn an_interrupted_update_is_not_settled_by_a_read_that_is_put_off(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().with("FAIL_POINT", "applied:2").session().await?;
        let note = session.note();
        let made = note.make(&json!({"title": "one"})).await?;
        note.update(&made, &json!({"title": "two"})).await.expect_err("the daemon is killed when the provider has answered");
        host.exit().await;

        let put_off = setup.clone().with("SANDBOX_DEFER", "read:absent");
        let (mut next, session) = configured(&put_off, &host, Some("test")).await?;
        session.note().diff(&made, &made.inputs).await?;
        assert_eq!(session.note().refresh(&made).await?.as_ref(), Some(&made), "nobody knows what it is");
        // The journal is written as a whole when the daemon ends.
        next.signal(Signal::INT);
        next.exit().await;
        assert_eq!(brief(&open(&host)), [entry("update", "unknown", &made.id)]);

        let (_last, session) = configured(&setup, &host, Some("test")).await?;
        let read = session.note().refresh(&made).await?.expect("it is there");
        assert_eq!(read.outputs["title"], "two");
        opens(&host, vec![]).await;
    }

    async fn an_engine_whose_configure_names_no_stack_is_told_at_its_first_call(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let stuck = session.faulty();
        let inputs = json!({"mode": "hang-forever"});
        let (created, ()) = tokio::join!(stuck.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            host.signal(Signal::KILL);
        });
        created.expect_err("nobody answers");
        host.exit().await;
        let (next, session) = configured(&setup, &host, None).await?;
        assert_eq!(next.engine.warnings(), Vec::<String>::new());
        for _ in 0..2 {
            session.note().check(&json!({"title": "x"})).await?;
            assert_eq!(next.engine.warnings().len(), 1, "{:?}", next.engine.warnings());
        }
    }

    async fn a_creation_that_the_provider_refuses_leaves_nothing_to_recover(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        session.faulty().make(&json!({"mode": "error"})).await.expect_err("it is refused");
        killed(&mut host).await;
        assert_eq!(recover(&host, &[]), (Some(0), "note: nothing to recover: engines know the outcome of every change\n".to_owned()));
    }

    async fn a_damaged_journal_file_is_named_once_and_can_be_dismissed(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        session.note().make(&json!({"title": "one"})).await?;
        killed(&mut host).await;
        let journal = native(host.directory().join("isthmus/journal"));
        let files = std::fs::read_dir(&journal).expect("the journal").map(|entry| entry.expect("an entry").path());
        let file = files.filter(|path| path.extension().is_some_and(|end| end == "journal")).last().expect("a file");
        let mut bytes = std::fs::read(&file).expect("a file");
        bytes[60] ^= 1;
        std::fs::write(&file, bytes).expect("a file");
        let warned = told(&setup, &host, "test").await?;
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        assert!(warning.contains(&file.display().to_string()) && warning.contains("damaged"), "{warning}");
        assert_eq!(told(&setup, &host, "test").await?, Vec::<String>::new());
        assert_eq!(recover(&host, &[]).0, Some(1));
        let id = file.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        assert_eq!(recover(&host, &["dismiss", id]).0, Some(0));
        assert_eq!(recover(&host, &[]).0, Some(0));
    }

    #[cfg(unix)]
    async fn what_is_no_file_in_the_journal_is_named_and_nothing_waits_for_it(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        session.note().make(&json!({"title": "one"})).await?;
        killed(&mut host).await;
        let journal = native(host.directory().join("isthmus/journal"));
        let pipe = |name: &str| {
            let path = journal.join(name);
            std::fs::remove_file(&path).ok();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a FIFO");
            path.display().to_string()
        };
        let file = pipe("0123456789ab.journal");
        let (mut next, session) = configured(&setup, &host, Some("test")).await?;
        session.resource(NOTE, "two").make(&json!({"title": "two"})).await?;
        next.signal(Signal::TERM);
        assert_eq!(next.exit().await.code(), Some(0));
        let warned = next.engine.warnings();
        let of_path = warned.iter().filter(|warning| {
            warning.contains(file.as_str()) && warning.contains("it is a FIFO") && warning.contains("move it away")
        });
        assert_eq!(of_path.count(), 1, "{file}: {warned:#?}");
        let (code, said) = recover(&host, &["list", "--all"]);
        assert!(code == Some(1) && said.contains(&file), "{code:?}: {said}");
        assert_eq!(said.matches("sandbox_note").count(), 2, "the others are read: {said}");
        assert_eq!(recover(&host, &["dismiss", "0123456789ab.journal"]).0, Some(0));
        let (code, said) = recover(&host, &[]);
        assert!(code == Some(0) && !said.contains(&file), "{code:?}: {said}");

        let key = pipe("key");
        let (mut last, session) = configured(&setup, &host, Some("test")).await?;
        session.resource(NOTE, "three").make(&json!({"title": "three"})).await?;
        last.signal(Signal::TERM);
        assert_eq!(last.exit().await.code(), Some(0));
        let warned = last.engine.warnings();
        assert!(warned.iter().any(|warning| warning.contains(&key) && warning.contains("it is a FIFO")), "{warned:#?}");
        let (code, said) = recover(&host, &[]);
        assert!(code == Some(1) && said.contains(&key) && said.contains("help: move away"), "{code:?}: {said}");
    }

    async fn a_journal_that_cannot_be_written_is_warned_of_once(protocol) {
        let setup = Setup::sandbox(protocol);
        let host = setup.start().await;
        std::fs::write(host.directory().join("isthmus"), "no directory").expect("a file in the directory's place");
        let session = host.session().await?;
        for name in ["one", "two", "three"] {
            let note = session.resource(NOTE, name);
            let made = note.make(&json!({"title": name})).await?;
            let made = note.update(&made, &json!({"title": name, "body": "changed"})).await?;
            note.delete(&made).await?;
        }
        let warned = host.engine.warnings();
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        assert!(warning.contains("Failed to write the journal") && warning.contains("ISTHMUS_HOME"), "{warning}");
    }
}
