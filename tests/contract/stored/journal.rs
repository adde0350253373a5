//! What today's engines are told of changes that were begun and never ended, and of a journal that cannot be written.

use isthmus_proto::pulumirpc::ConfigureRequest;
use isthmus_state::EncryptedStore;
use rustix::process::Signal;

use crate::harness::engine::{Line, Severity};
use crate::harness::{Host, Setup, json, on_both_protocols};

fn warnings(host: &Host) -> Vec<String> {
    let warned = |line: Line| (line.severity == Severity::Warning).then_some(line.message);
    host.engine.shown().into_iter().filter_map(warned).collect()
}

/// A daemon that is told to configure a provider of this stack, and ends.
async fn told(setup: &Setup, first: &Host, stack: &str) -> Result<Vec<String>, tonic::Status> {
    let mut host = setup.clone().beside(first).start().await;
    let session = host.parameterized().await?;
    let urn = format!("urn:pulumi:{stack}::contract::pulumi:providers:sandbox::default");
    let request = ConfigureRequest { urn: Some(urn), ..ConfigureRequest::default() };
    session.call("Configure", request, async |mut client, request| client.configure(request).await).await?;
    // What it does besides is done before it ends.
    host.signal(Signal::INT);
    host.exit().await;
    Ok(warnings(&host))
}

on_both_protocols! {
    async fn what_was_cut_short_is_told_to_its_stack_when_the_provider_is_configured(protocol) {
        let setup = Setup::sandbox(protocol);
        let (mut host, session) = setup.clone().session().await?;
        let old = session.resource("sandbox:index/faulty:Faulty", "old");
        let made = old.make(&json!({"mode": "hang-forever", "during": "delete"})).await?;
        let new = session.resource("sandbox:index/faulty:Faulty", "new");
        let stuck = json!({"mode": "hang-forever"});
        let (created, deleted, ()) = tokio::join!(new.create(&stuck), old.delete(&made), async {
            host.provider_is_in("ApplyResourceChange", 3).await;
            host.signal(Signal::KILL);
        });
        created.expect_err("nobody answers");
        deleted.expect_err("nobody answers");
        host.exit().await;

        assert_eq!(told(&setup, &host, "another").await?, Vec::<String>::new());
        let warned = told(&setup, &host, "test").await?;
        assert_eq!(warned.len(), 2, "{warned:#?}");
        let creation = format!("the creation of {} (sandbox_faulty of package sandbox)", new.urn());
        let deletion = format!("the deletion of {} (sandbox_faulty {:?} of package sandbox)", old.urn(), made.id);
        for part in [&creation[..], &deletion[..]] {
            let warning = warned.iter().find(|warning| warning.contains(part));
            let warning = warning.unwrap_or_else(|| panic!("{part:?} is not in {warned:#?}"));
            assert!(warning.contains("its outcome is unknown"), "{warning}");
            assert!(warning.contains("isthmus state dismiss"), "{warning}");
        }
        // They are told until somebody has seen to them.
        let state_store = EncryptedStore::open(&host.directory().join("isthmus"), None).await.expect("the store");
        let open = state_store.journal().open_intents().await.expect("the journal").intents;
        let creation = open.iter().find(|open| open.intent.subject == new.urn()).expect("the creation");
        state_store.journal().dismiss(creation.number).await.expect("dismissed");
        let warned = told(&setup, &host, "test").await?;
        assert!(matches!(&warned[..], [warning] if warning.contains(&deletion)), "{warned:#?}");
    }

    async fn a_journal_that_cannot_be_written_is_warned_of_once(protocol) {
        let setup = Setup::sandbox(protocol);
        let host = setup.start().await;
        std::fs::write(host.directory().join("isthmus"), "no directory").expect("a file in the directory's place");
        let session = host.session().await?;
        for name in ["one", "two", "three"] {
            let note = session.resource("sandbox:index/note:Note", name);
            let made = note.make(&json!({"title": name})).await?;
            let made = note.update(&made, &json!({"title": name, "body": "changed"})).await?;
            note.delete(&made).await?;
        }
        let warned = warnings(&host);
        let [warning] = &warned[..] else { panic!("one warning, not {warned:#?}") };
        assert!(warning.contains("Failed to write the journal") && warning.contains("ISTHMUS_HOME"), "{warning}");
    }
}
